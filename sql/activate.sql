-- Makes version ?2 of the model ?1 the only active one. {schema} is replaced by a quoted name.
UPDATE {schema}.ltr_models
   SET active = (version = ?2)
 WHERE name = ?1 AND active IS NOT (version = ?2);
