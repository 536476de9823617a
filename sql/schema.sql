-- The table of stored models. {schema} is replaced by a quoted name.
-- It is an ordinary table, so rolling back to an earlier version, copying and deleting models is plain SQL.
CREATE TABLE IF NOT EXISTS {schema}.ltr_models (
    name       TEXT    NOT NULL,
    version    INTEGER NOT NULL,
    algorithm  TEXT    NOT NULL,
    active     INTEGER NOT NULL,
    created_at TEXT    NOT NULL,
    report     TEXT    NOT NULL,
    model      BLOB    NOT NULL,
    PRIMARY KEY (name, version)
);
