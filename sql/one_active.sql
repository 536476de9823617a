-- A version that becomes active makes the others of its name inactive, also if the change is plain SQL. Row by row, so that
-- UPDATE ltr_models SET active = (version = 1) works. {schema} is replaced by a quoted name.
CREATE TRIGGER IF NOT EXISTS {schema}.ltr_models_{event}
AFTER {change} ON ltr_models WHEN new.active BEGIN
    UPDATE ltr_models SET active = 0 WHERE name = new.name AND version <> new.version AND active;
END;
