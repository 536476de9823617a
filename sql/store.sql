-- Stores a new version and makes it the active one, in one statement. {schema} is replaced by a quoted name.
-- ?1 name, ?2 algorithm, ?3 report without its version, ?4 model.
-- The SELECT returns three kinds of rows: the new version with an empty model; the versions that are active now; the new
-- version again. The last two kinds conflict with existing rows. The update then deactivates the former versions, and
-- writes the model into the new row. The model is not in the SELECT, because SQLite copies what a SELECT returns here.
WITH new(version) AS (SELECT coalesce(max(version), 0) + 1 FROM {schema}.ltr_models WHERE name = ?1)
INSERT INTO {schema}.ltr_models (name, version, algorithm, active, created_at, report, model)
SELECT ?1, version, ?2, 1, strftime('%Y-%m-%dT%H:%M:%fZ', 'now'), json_set(?3, '$.version', version), x'' FROM new
 UNION ALL
SELECT name, version, '', 0, '', '', x'' FROM {schema}.ltr_models WHERE name = ?1 AND active
 UNION ALL
SELECT ?1, version, '', 1, '', '', x'' FROM new
 WHERE true
    ON CONFLICT (name, version) DO UPDATE SET active = excluded.active, model = iif(excluded.active, ?4, model)
RETURNING version, active;
