//! A call that reports success has stored the model; one that fails has changed nothing (rules 5.8, 5.9, 5.19).

use crate::hooks::{Action, Hooks};
use crate::support::{Folder, SCALARS, TABLES, TRAIN, assert_intact, has_table, m, number, run};

/// Success means a new active version, failure that nothing has changed.
fn assert_all_or_nothing(
    connection: &rusqlite::Connection,
    before: &[i64],
    outcome: &Result<String, String>,
    context: &str,
) {
    let (versions, active) = m(connection);
    let expected = match outcome {
        Ok(_) => [before, &[before.len() as i64 + 1]].concat(),
        Err(_) => before.to_vec(),
    };
    assert_eq!(versions, expected, "{context}: {outcome:?}");
    assert_eq!(active, expected.last().copied().into_iter().collect::<Vec<_>>(), "{context}: {outcome:?}");
    assert_intact(connection, context);
}

#[test]
fn triggers_that_leave_out_or_alter_changes_are_noticed() {
    let folder = Folder::new("delete");
    let connection = folder.open();
    run(&connection, TRAIN).expect("a first version");
    let mut stored = vec![1];
    let raise =
        ["IGNORE", "FAIL, 'no'", "ABORT, 'no'", "ROLLBACK, 'no'"].map(|what| format!("SELECT raise({what})"));
    let alter = [
        "UPDATE ltr_models SET model = x'' WHERE version = new.version",
        "UPDATE ltr_models SET model = substr(model, 1, 100) WHERE version = new.version",
        "UPDATE ltr_models SET active = 1",
        "UPDATE ltr_models SET active = 0",
        "DELETE FROM ltr_models WHERE version = new.version",
        "INSERT INTO log VALUES (new.version)",
    ];
    for when in ["BEFORE INSERT", "AFTER INSERT", "BEFORE UPDATE", "AFTER UPDATE"] {
        for what in raise.iter().map(String::as_str).chain(alter) {
            connection
                .execute_batch(&format!("CREATE TRIGGER t {when} ON ltr_models BEGIN {what}; END"))
                .expect("a trigger");
            let outcome = run(&connection, TRAIN);
            connection.execute_batch("DROP TRIGGER t").expect("no trigger");
            let context = format!("{when} {what}");
            assert!(connection.is_autocommit(), "{context}");
            assert_all_or_nothing(&connection, &stored, &outcome, &context);
            if outcome.is_ok() {
                stored.push(stored.len() as i64 + 1);
            }
            let harmless = what.starts_with("INSERT INTO log")
                || what.ends_with("active = 0") && when.ends_with("INSERT");
            assert!(!harmless || outcome.is_ok(), "{context}: {outcome:?}");
            let advice =
                outcome.err().is_none_or(|problem| problem.contains("ltr_fit returns the model as a BLOB"));
            assert!(advice, "{context}");
        }
    }
}

/// Every single thing that an authorizer is asked is ignored once, and denied once.
#[test]
fn authorizers_that_ignore_or_deny_leave_all_or_nothing() {
    for (action, in_transaction) in
        [(Action::Ignore, false), (Action::Deny, false), (Action::Ignore, true), (Action::Deny, true)]
    {
        for with_table in [true, false] {
            let (mut at, mut refused) = (0, 0);
            let folder = Folder::new("delete");
            let connection = folder.open();
            connection.execute_batch("PRAGMA synchronous = off").expect("no waiting for the disk");
            loop {
                connection.execute_batch("DROP TABLE IF EXISTS ltr_models").expect("no table");
                if with_table {
                    run(&connection, TRAIN).expect("a version");
                }
                let before = m(&connection).0;
                if in_transaction {
                    connection.execute_batch("BEGIN; INSERT INTO log VALUES (1)").expect("a transaction");
                }
                let train = TRAIN.replace(r#""threads""#, r#""keep_versions": 9, "threads""#);
                let (outcome, fired, event) =
                    Hooks::run(&connection, action, at, |_| run(&connection, &train));
                let context =
                    format!("{action:?} of event {at} ({event}), in a transaction: {in_transaction}");
                assert_eq!(connection.is_autocommit(), !in_transaction, "{context}: {outcome:?}");
                if !with_table && !in_transaction {
                    assert_eq!(has_table(&connection), outcome.is_ok(), "{context}");
                }
                // An ignored savepoint cannot be noticed inside a transaction of the caller, who can still roll it back.
                assert_all_or_nothing(&connection, &before, &outcome, &context);
                if in_transaction {
                    connection.execute_batch("ROLLBACK").expect("the caller's transaction");
                }
                if !fired {
                    outcome.expect("nothing was left out");
                    break;
                }
                (at, refused) = (at + 1, refused + usize::from(outcome.is_err()));
            }
            assert!(at > 50 && refused > 20, "{refused} of {at} calls were refused");
        }
    }
}

#[test]
fn a_failed_first_training_leaves_no_table() {
    for mode in ["wal", "delete"] {
        let folder = Folder::new(mode);
        let connection = folder.open();
        let problem = run(&connection, "SELECT ltr_train('rank_svm', 'SELECT *, 9e999 AS c FROM j')");
        assert!(problem.is_err() && !has_table(&connection));
        // A full disk: no page can be added.
        let pages = number(&connection, "PRAGMA page_count");
        run_any(&connection, &format!("PRAGMA max_page_count = {}", pages + 1));
        let problem = run(&connection, TRAIN).expect_err("full");
        assert!(problem.contains("the model could not be stored: database or disk is full"), "{problem}");
        assert!(!has_table(&connection) && connection.is_autocommit());
        // In a transaction of the caller SQLite may roll back everything; the message says so.
        connection.execute_batch("BEGIN; INSERT INTO log VALUES (1)").expect("a transaction");
        let problem = run(&connection, TRAIN).expect_err("full");
        assert!(!has_table(&connection));
        assert_eq!(
            connection.is_autocommit(),
            problem.contains("SQLite has rolled back the caller's transaction"),
            "{problem}"
        );
        if !connection.is_autocommit() {
            connection.execute_batch("COMMIT").expect("the caller's row");
        }
        run_any(&connection, "PRAGMA max_page_count = 1000000");
        run(&connection, TRAIN).expect("room again");
        assert_intact(&connection, mode);
    }
}

fn run_any(connection: &rusqlite::Connection, sql: &str) {
    connection.query_row(sql, [], |_| Ok(())).expect(sql);
}

/// What has the name of the table is named, by every call that looks for it.
#[test]
fn other_objects_named_ltr_models_are_refused() {
    let columns = ["name", "version", "algorithm", "active", "created_at", "report", "model"];
    let all = columns.join(", ");
    let values = "'m' AS name, 1 AS version, '' AS algorithm, 1 AS active, '' AS created_at, '{}' AS report, x'' AS model";
    let mut cases = vec![
        (format!("CREATE VIEW ltr_models AS SELECT {values}"), "a view".to_owned()),
        (format!("CREATE VIEW LTR_Models AS SELECT 1 AS rowid, {values}"), "a view".to_owned()),
        (format!("CREATE VIRTUAL TABLE ltr_models USING fts5({all})"), "a virtual table".to_owned()),
        (
            format!("CREATE TABLE ltr_models({all}, PRIMARY KEY (name, version)) WITHOUT ROWID"),
            "a table WITHOUT ROWID, or with columns named rowid, oid and _rowid_".to_owned(),
        ),
        ("CREATE INDEX ltr_models ON j(a)".to_owned(), "an index".to_owned()),
    ];
    for missing in ["name", "version", "active", "report", "model"] {
        let others = columns.iter().filter(|name| **name != missing).copied().collect::<Vec<_>>().join(", ");
        let found = format!("a table with other columns (no such column: {missing})");
        cases.push((format!("CREATE TABLE ltr_models({others})"), found));
    }
    let mut calls = 0;
    for (create, found) in &cases {
        let folder = Folder::new("delete");
        let connection = folder.open();
        connection.execute_batch(create).expect(create);
        for sql in SCALARS.iter().chain(TABLES) {
            let problem = connection.prepare(sql).and_then(|mut statement| {
                let mut rows = statement.query([])?;
                while rows.next()?.is_some() {}
                Ok(())
            });
            let problem = problem.expect_err(sql).to_string();
            let expected = format!(
                "'ltr_models' in the database 'main' is {found}, but models are stored in an ordinary table"
            );
            assert!(problem.contains(&expected), "{create}: {sql}: {problem}");
            assert!(problem.contains("rename it") && problem.contains("the option 'schema'"), "{problem}");
            calls += 1;
        }
    }
    println!("{calls} calls with another ltr_models");
    // Columns that only new versions need.
    for missing in ["algorithm", "created_at"] {
        let folder = Folder::new("delete");
        let connection = folder.open();
        run(&connection, TRAIN).expect("a version");
        connection.execute_batch(&format!("ALTER TABLE ltr_models DROP COLUMN {missing}")).expect(missing);
        run(&connection, "SELECT ltr_info('m')").expect("the model is read");
        let problem = run(&connection, TRAIN).expect_err(missing);
        assert!(problem.contains("the table ltr_models cannot take a new version"), "{problem}");
    }
}

#[test]
fn a_full_disk_keeps_the_earlier_version() {
    for mode in ["wal", "delete"] {
        let folder = Folder::new(mode);
        let connection = folder.open();
        run(&connection, TRAIN).expect("a version");
        for room in 0..4 {
            let pages = number(&connection, "PRAGMA page_count");
            run_any(&connection, &format!("PRAGMA max_page_count = {}", pages + room));
            let before = m(&connection).0;
            let outcome = run(&connection, TRAIN);
            assert_all_or_nothing(&connection, &before, &outcome, &format!("{mode}, {room} pages"));
        }
    }
}

#[test]
fn a_statement_that_writes_cannot_train() {
    let folder = Folder::new("delete");
    let connection = folder.open();
    run(&connection, TRAIN).expect("a version");
    let call = TRAIN.trim_start_matches("SELECT ");
    let update = "ltr_update('m', 'j')";
    for sql in [
        format!("UPDATE ltr_models SET name = {call}"),
        format!("INSERT INTO log SELECT {call}"),
        format!("INSERT INTO log VALUES ({update})"),
        format!("CREATE TABLE other AS SELECT {call} AS report"),
        format!("DELETE FROM log WHERE x = {call} OR 1 = (SELECT {call} IS NULL)"),
        format!("INSERT INTO log VALUES (1) RETURNING {call}"),
        format!("CREATE TEMP TABLE other AS SELECT {call} AS report"),
    ] {
        connection.execute_batch("INSERT INTO log VALUES ('a row')").expect("a row");
        let problem = connection.query_row(&sql, [], |_| Ok(())).expect_err(&sql).to_string();
        assert!(problem.contains("a statement that writes is still running"), "{sql}: {problem}");
        assert_eq!(m(&connection), (vec![1], vec![1]), "{sql}");
    }
    // A write that the host has begun on this connection and not ended.
    let mut pending = connection.prepare("INSERT INTO log VALUES (1), (2) RETURNING x").expect("a statement");
    let mut rows = pending.query([]).expect("rows");
    assert!(rows.next().expect("a row").is_some());
    let problem = run(&connection, TRAIN).expect_err("an unfinished write");
    assert!(problem.contains("a statement that writes is still running"), "{problem}");
}

/// A version that cannot be deleted is a warning, and the new version is stored.
#[test]
fn an_old_version_that_cannot_be_deleted_is_a_warning() {
    let folder = Folder::new("wal");
    let connection = folder.open();
    run(&connection, TRAIN).expect("a version");
    connection
        .execute_batch(
            "CREATE TRIGGER keep BEFORE DELETE ON ltr_models BEGIN SELECT raise(ABORT, 'archived'); END",
        )
        .expect("a trigger");
    let report =
        run(&connection, &TRAIN.replace(r#""threads""#, r#""keep_versions": 1, "threads""#)).expect("stored");
    assert!(report.contains("older versions could not be deleted: archived"), "{report}");
    assert_eq!(m(&connection), (vec![1, 2], vec![2]));
}
