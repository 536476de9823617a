-- Stores a new version that is not active. {schema} is replaced by a quoted name.
INSERT INTO {schema}.ltr_models (name, version, algorithm, active, created_at, report, model)
VALUES (?1, ?2, ?3, 0, strftime('%Y-%m-%dT%H:%M:%fZ', 'now'), ?4, ?5);
