-- Stores a new version and makes it the active one, in one statement. {schema} is replaced by a quoted name.
-- ?1 name, ?2 algorithm, ?3 report without its version, ?4 model.
-- The rows of earlier active versions conflict with themselves and are made inactive.
INSERT INTO {schema}.ltr_models (name, version, algorithm, active, created_at, report, model)
SELECT ?1, coalesce(max(version), 0) + 1, ?2, 1, strftime('%Y-%m-%dT%H:%M:%fZ', 'now'),
       json_set(?3, '$.version', coalesce(max(version), 0) + 1), ?4
  FROM {schema}.ltr_models WHERE name = ?1
 UNION ALL
SELECT name, version, '', 0, '', '', x'' FROM {schema}.ltr_models WHERE name = ?1 AND active
    ON CONFLICT (name, version) DO UPDATE SET active = 0
RETURNING version, active;
