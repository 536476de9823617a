-- Stores a new version that is not active. {schema} is replaced by a quoted name.
-- ?1 name, ?2 algorithm, ?3 report without its version, ?4 model.
-- The values are no SELECT: SQLite would copy what a SELECT from the same table returns.
WITH new(version) AS (SELECT coalesce(max(version), 0) + 1 FROM {schema}.ltr_models WHERE name = ?1)
INSERT INTO {schema}.ltr_models (name, version, algorithm, active, created_at, report, model)
VALUES (?1, (SELECT version FROM new), ?2, 0, strftime('%Y-%m-%dT%H:%M:%fZ', 'now'),
        json_set(?3, '$.version', (SELECT version FROM new)), ?4)
RETURNING rowid, version;
