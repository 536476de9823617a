//! The table `ltr_models` as people change it: triggers, columns and versions (rules 5.8, 5.10, 5.17).

use rusqlite::Connection;

use crate::support::{database, value};

/// Imports a version of the model m.
fn import(connection: &Connection) -> rusqlite::Result<String> {
    let sql = r#"SELECT ltr_import('{"class": "LinearModel", "features": [{"name": "a"}], "params": {"weights": {"a": 1}}}', '{"name": "m"}')"#;
    connection.query_row(sql, [], |row| row.get(0))
}

/// The versions that stay active after plain SQL has activated all.
fn active_after_all(connection: &Connection) -> i64 {
    connection.execute_batch("UPDATE ltr_models SET active = 1").unwrap();
    value(connection, "SELECT count(*) FROM ltr_models WHERE active", [])
}

#[test]
fn triggers_of_the_same_names_elsewhere_change_nothing() {
    for before in [
        "",
        "CREATE TRIGGER ltr_models_inserted AFTER INSERT ON o BEGIN SELECT 1; END",
        "CREATE TRIGGER ltr_models_activated AFTER INSERT ON o BEGIN SELECT 1; END",
        "CREATE TRIGGER LTR_MODELS_INSERTED AFTER INSERT ON o BEGIN SELECT 1; END;
         CREATE TRIGGER ltr_models_activated AFTER DELETE ON o BEGIN SELECT 1; END;
         CREATE TRIGGER ltr_models_activated_2 AFTER DELETE ON o BEGIN SELECT 1; END",
        "CREATE TEMP TRIGGER ltr_models_activated AFTER INSERT ON o BEGIN SELECT 1; END",
    ] {
        let connection = database();
        connection.execute_batch(&format!("CREATE TABLE o(a); {before}")).unwrap();
        import(&connection).unwrap();
        import(&connection).unwrap();
        assert_eq!(active_after_all(&connection), 1, "{before}");
        let triggers =
            "SELECT count(*) FROM sqlite_master WHERE type = 'trigger' AND tbl_name = 'ltr_models'";
        assert_eq!(value::<i64>(&connection, triggers, []), 2, "{before}");
    }
    // Triggers of the names on the table itself that do something else.
    let connection = database();
    import(&connection).unwrap();
    connection
        .execute_batch(
            "DROP TRIGGER ltr_models_activated;
             CREATE TRIGGER ltr_models_activated AFTER UPDATE ON ltr_models BEGIN SELECT 1; END",
        )
        .unwrap();
    import(&connection).unwrap();
    assert_eq!(active_after_all(&connection), 1);
}

#[test]
fn a_column_may_have_a_name_of_the_row_number() {
    for columns in [&["rowid"][..], &["oid"], &["_rowid_"], &["RowID", "oid"], &["rowid", "_rowid_"]] {
        let connection = database();
        connection.execute_batch("CREATE TABLE t AS SELECT column1 AS a FROM (VALUES (1), (2))").unwrap();
        import(&connection).unwrap();
        for column in columns {
            connection.execute_batch(&format!("ALTER TABLE ltr_models ADD COLUMN {column}")).unwrap();
        }
        import(&connection).unwrap();
        connection.execute_batch("SELECT ltr_activate('m', 1)").unwrap();
        let rank = "SELECT count(*) FROM ltr_rank('m', 't')";
        for _ in 0..3 {
            assert_eq!(value::<i64>(&connection, rank, []), 2, "{columns:?}");
        }
        assert!((value::<f64>(&connection, "SELECT ltr_score('m@2', '[3]')", []) - 3.0).abs() < 1e-12);
        assert_eq!(value::<i64>(&connection, "SELECT count(ltr_info('m'))", []), 1);
    }
    // Without a name for the row number no model can be opened.
    let connection = database();
    import(&connection).unwrap();
    for column in ["rowid", "oid", "_rowid_"] {
        connection.execute_batch(&format!("ALTER TABLE ltr_models ADD COLUMN {column}")).unwrap();
    }
    let activate = connection.query_row("SELECT ltr_activate('m', 1)", [], |_| Ok(()));
    for problem in [import(&connection).unwrap_err(), activate.unwrap_err()] {
        let problem = problem.to_string();
        assert!(problem.contains("with columns named rowid, oid and _rowid_"), "{problem}");
    }
}

#[test]
fn the_journal_mode_off_is_refused_by_all_that_write() {
    let connection = database();
    import(&connection).unwrap();
    connection.execute_batch("PRAGMA journal_mode = OFF").unwrap();
    let activate = || connection.query_row("SELECT ltr_activate('m', 1)", [], |_| Ok(()));
    for problem in [import(&connection).unwrap_err(), activate().unwrap_err()] {
        assert!(problem.to_string().contains("the journal mode of the database 'main' is OFF"), "{problem}");
    }
    // The remedy of the message.
    connection.execute_batch("PRAGMA journal_mode = MEMORY").unwrap();
    activate().unwrap();
}
