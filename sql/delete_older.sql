-- Deletes all but the newest ?2 versions of the model ?1; an active version stays. {schema} is replaced by a quoted name.
DELETE FROM {schema}.ltr_models
 WHERE name = ?1 AND NOT active
   AND version NOT IN (SELECT version FROM {schema}.ltr_models WHERE name = ?1 ORDER BY version DESC LIMIT ?2);
