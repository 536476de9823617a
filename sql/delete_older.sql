-- Deletes the versions of the model ?1 below ?2; an active version stays. {schema} is replaced by a quoted name.
DELETE FROM {schema}.ltr_models
 WHERE name = ?1 AND version < ?2 AND NOT active;
