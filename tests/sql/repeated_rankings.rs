//! `ltr_rank` keeps its statements for the next call. Whatever changes between two calls, the next one sees it.
#![allow(unsafe_code, reason = "an authorizer is a C function")]

use std::ffi::{CStr, c_char, c_int, c_void};
use std::ptr;

use rusqlite::{Connection, ffi};

use crate::support::value;

/// Rows whose relevance is the feature a. The feature b orders documents the other way round, c as a.
const SETUP: &str = "
CREATE TABLE j AS WITH n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 39)
SELECT i / 4 AS query_id, i % 4 AS doc_id, i % 4 AS relevance, i % 4 + 0.0 AS a, i % 3 + 0.0 AS b FROM n;
CREATE TABLE t(query_id, doc_id, a, b, PRIMARY KEY (query_id, doc_id));
INSERT INTO t VALUES (1, 'x', 1, 0), (1, 'y', 2, 0), (1, 'z', 3, 0), (2, 'x', 3, 0), (2, 'y', 2, 0), (2, 'z', 1, 0);
SELECT ltr_train('regression', 'j', '{\"name\": \"m\", \"scale\": \"none\", \"lambda\": 0.001}');
CREATE TABLE reversed AS SELECT query_id, doc_id, 3 - relevance AS relevance, a, b FROM j;
CREATE TABLE versions AS SELECT 1;";

/// Calls that rank the documents of query 1 from several sources.
const CALLS: [&str; 4] = [
    "FROM ltr_rank('m', 't') WHERE query_id = 1",
    "FROM ltr_rank('m', 'SELECT * FROM t') WHERE query_id = 1",
    "FROM ltr_rank('m', 'SELECT * FROM t WHERE query_id = ?1', '{\"params\": [1]}')",
    "FROM ltr_rank('m', 'main.t') WHERE query_id IN (1, 3)",
];

fn database() -> Connection {
    let connection = crate::support::database();
    connection.execute_batch(SETUP).unwrap();
    connection
}

/// Documents from the best to the worst, or the message of the error.
fn ranked(connection: &Connection, call: &str) -> String {
    let sql = format!("SELECT group_concat(doc_id, '') FROM (SELECT doc_id {call} ORDER BY rank)");
    match connection.query_row(&sql, [], |row| row.get::<_, Option<String>>(0)) {
        Ok(documents) => documents.unwrap_or_default(),
        Err(problem) => problem.to_string(),
    }
}

/// What every call returns. Each is made twice: the second one finds the statements of the first.
fn assert_all(connection: &Connection, expected: &str, when: &str) {
    for call in CALLS {
        for time in 0..2 {
            let actual = ranked(connection, call);
            assert!(
                actual == expected || expected == "no such" && actual.contains(expected),
                "{when}: {actual} from {call}, {time}"
            );
        }
    }
}

#[test]
fn the_next_call_sees_a_change_of_the_schema() {
    let connection = database();
    assert_all(&connection, "zyx", "at first");
    for (change, expected) in [
        ("ALTER TABLE t ADD COLUMN text DEFAULT 'other'", "zyx"),
        ("UPDATE t SET a = -a", "xyz"),
        // The columns change their places.
        (
            "CREATE TABLE u AS SELECT b, a, text, doc_id, query_id FROM t; DROP TABLE t; ALTER TABLE u RENAME TO t",
            "xyz",
        ),
        (
            "ALTER TABLE t RENAME COLUMN a TO c; ALTER TABLE t RENAME COLUMN b TO a; UPDATE t SET a = unicode(doc_id); ALTER TABLE t RENAME COLUMN c TO b",
            "zyx",
        ),
        ("ALTER TABLE t RENAME TO v", "no such"),
        ("CREATE VIEW t AS SELECT query_id, doc_id, -a AS a, b FROM v", "xyz"),
        ("DROP VIEW t; CREATE VIEW t AS SELECT -a AS a, b, query_id, doc_id FROM v WHERE doc_id < 'z'", "xy"),
        ("DROP VIEW t; ALTER TABLE v RENAME TO t", "zyx"),
        ("BEGIN; DROP TABLE t", "no such"),
        ("ROLLBACK", "zyx"),
        ("CREATE INDEX by_a ON t(query_id, a); ANALYZE", "zyx"),
    ] {
        connection.execute_batch(change).unwrap();
        assert_all(&connection, expected, change);
    }
}

#[test]
fn the_next_call_sees_what_a_name_means_now() {
    let connection = database();
    let calls = &CALLS[..3];
    let check = |expected: &str, when: &str| {
        for call in calls.iter().chain(calls) {
            assert_eq!(ranked(&connection, call), expected, "{when}: {call}");
        }
    };
    check("zyx", "at first");
    for (change, expected) in [
        ("CREATE TEMP TABLE t AS SELECT query_id, doc_id, -a AS a, b FROM main.t", "xyz"),
        ("DROP TABLE temp.t", "zyx"),
        ("CREATE TEMP VIEW t AS SELECT -a AS a, b, query_id, doc_id FROM main.t", "xyz"),
        ("DROP VIEW temp.t", "zyx"),
        // Attached databases are searched last. A table there gives way to one in main.
        (
            "ATTACH ':memory:' AS other; CREATE TABLE other.t AS SELECT query_id, doc_id, -a AS a, b FROM t",
            "zyx",
        ),
        ("ALTER TABLE main.t RENAME TO v", "xyz"),
        ("ALTER TABLE main.v RENAME TO t", "zyx"),
        (
            "ATTACH ':memory:' AS last; CREATE TABLE last.t AS SELECT * FROM main.t; DROP TABLE main.t; DROP TABLE other.t",
            "zyx",
        ),
        ("CREATE TABLE other.t AS SELECT query_id, doc_id, -a AS a, b FROM last.t", "xyz"),
        ("DETACH other", "zyx"),
        ("CREATE TABLE t AS SELECT query_id, doc_id, -a AS a, b FROM last.t; DETACH last", "xyz"),
    ] {
        connection.execute_batch(change).unwrap();
        check(expected, change);
    }
}

#[test]
fn a_table_named_like_the_statement_comes_first() {
    let connection = database();
    let call =
        "FROM ltr_rank('m', 'VALUES (1)', '{\"columns\": {\"features\": [\"column1\"], \"doc\": null}}')";
    let rank = || ranked(&connection, &call.replace("'m'", "'n'"));
    connection
        .execute_batch(
            "SELECT ltr_train('regression', 'SELECT query_id, doc_id, relevance, a AS column1 FROM j', '{\"name\": \"n\"}')",
        )
        .unwrap();
    assert_eq!((rank(), rank()), ("1".to_owned(), "1".to_owned()));
    connection.execute_batch("CREATE TABLE \"VALUES (1)\"(doc_id, column1)").unwrap();
    assert_eq!((rank(), rank()), (String::new(), String::new()));
}

#[test]
fn the_next_call_uses_the_active_version() {
    let connection = database();
    let calls = &CALLS[..];
    let version = "UPDATE ltr_models SET active = (version = ";
    let retrain = "SELECT ltr_train('regression', 'reversed', '{\"name\": \"m\", \"scale\": \"none\", \"lambda\": 0.001}')";
    let back = format!("{version}1) WHERE name = 'm'");
    let forth = format!("{version}2) WHERE name = 'm'");
    let steps = [
        ("", "zyx"),
        (retrain, "xyz"),
        (&back, "zyx"),
        (&forth, "xyz"),
        ("BEGIN", "xyz"),
        (&back, "zyx"),
        ("ROLLBACK", "xyz"),
        ("SAVEPOINT s; DELETE FROM ltr_models WHERE version = 2; UPDATE ltr_models SET active = 1", "zyx"),
        ("ROLLBACK TO s; RELEASE s", "xyz"),
        ("UPDATE ltr_models SET model = (SELECT model FROM ltr_models WHERE version = 1)", "zyx"),
        ("UPDATE ltr_models SET model = zeroblob(length(model))", "damaged"),
        ("UPDATE ltr_models SET model = 'text'", "does not contain a model BLOB"),
        ("UPDATE ltr_models SET active = 0", "is active; activate one"),
        ("DELETE FROM ltr_models", "no model 'm'"),
        ("DROP TABLE ltr_models", "no table ltr_models"),
        (retrain, "xyz"),
    ];
    for (change, expected) in steps {
        connection.execute_batch(change).unwrap();
        for call in calls.iter().chain(calls) {
            let actual = ranked(&connection, call);
            let same = if expected.len() == 3 { actual == expected } else { actual.contains(expected) };
            assert!(same, "after {change}: {actual} from {call}");
        }
    }
}

#[test]
fn the_next_call_sees_what_another_connection_wrote() {
    for journal in ["delete", "wal"] {
        let path = std::env::temp_dir().join(format!("ltr-repeated-{journal}-{}.db", std::process::id()));
        drop(std::fs::remove_file(&path));
        let other = Connection::open(&path).unwrap();
        sqlite_ltr::register(&other).unwrap();
        other.execute_batch(&format!("PRAGMA journal_mode = {journal}; {SETUP}")).unwrap();
        let connection = Connection::open(&path).unwrap();
        sqlite_ltr::register(&connection).unwrap();
        assert_all(&connection, "zyx", journal);
        for (change, expected) in [
            ("UPDATE t SET a = -a", "xyz"),
            ("ALTER TABLE t ADD COLUMN d", "xyz"),
            (
                "CREATE TABLE u AS SELECT b, a, doc_id, query_id FROM t; DROP TABLE t; ALTER TABLE u RENAME TO t",
                "xyz",
            ),
            (
                "SELECT ltr_train('regression', 'reversed', '{\"name\": \"m\", \"scale\": \"none\", \"lambda\": 0.001}')",
                "zyx",
            ),
            ("UPDATE ltr_models SET active = (version = 1)", "xyz"),
            ("DROP TABLE t", "no such"),
        ] {
            other.execute_batch(change).unwrap();
            assert_all(&connection, expected, &format!("{journal}, {change}"));
        }
        connection.close().unwrap();
        other.close().unwrap();
        drop(std::fs::remove_file(&path));
    }
}

#[test]
fn calls_inside_of_calls_have_their_own_statements() {
    let connection = database();
    // The same call twice in one statement, and once for each row.
    let pairs =
        "SELECT group_concat(l.doc_id || r.doc_id, ' ') FROM ltr_rank('m', 't') l JOIN ltr_rank('m', 't') r
                 USING (query_id, rank) WHERE l.query_id = 1";
    let each =
        "SELECT group_concat(doc_id, '') FROM (SELECT r.doc_id FROM (SELECT DISTINCT query_id FROM t) q
                JOIN ltr_rank('m', 't') r ON r.query_id = q.query_id ORDER BY q.query_id, r.rank)";
    // The source is a ranking by the same model of the same rows.
    let inner = "SELECT query_id, doc_id, -score AS a, 0 AS b FROM ltr_rank(''m'', ''t'')";
    let outer = format!("FROM ltr_rank('m', '{inner}') WHERE query_id = 1");
    for _ in 0..3 {
        assert_eq!(value::<String>(&connection, pairs, []), "zz yy xx");
        assert_eq!(value::<String>(&connection, each, []), "zyxxyz");
        assert_eq!(ranked(&connection, &outer), "xyz");
        assert_all(&connection, "zyx", "with nested calls");
    }
    // The connection has no statement left. SQLite would refuse to close it otherwise.
    connection.close().unwrap();
}

#[test]
fn a_failed_call_leaves_the_next_one_alone() {
    let connection = database();
    for (change, expected) in [
        ("UPDATE t SET a = NULL WHERE doc_id = 'y'", "column \"a\""),
        ("UPDATE t SET a = 2 WHERE doc_id = 'y'", "zyx"),
        ("UPDATE t SET a = 'text' WHERE doc_id = 'y'", "column \"a\""),
        ("UPDATE t SET a = 2 WHERE doc_id = 'y'", "zyx"),
    ] {
        connection.execute_batch(change).unwrap();
        for call in CALLS.iter().chain(&CALLS) {
            let actual = ranked(&connection, call);
            assert!(
                if expected.len() == 3 { actual == expected } else { actual.contains(expected) },
                "{actual}"
            );
        }
    }
    let statement = "FROM ltr_rank('m', 'SELECT * FROM t WHERE query_id = ?1'";
    for _ in 0..2 {
        assert_eq!(ranked(&connection, &format!("{statement}, '{{\"params\": [2]}}')")), "xyz");
        assert!(ranked(&connection, &format!("{statement})")).contains("has parameters (1)"));
        let found = ranked(&connection, &format!("{statement}, '{{\"params\": [2, 3]}}')"));
        assert!(found.contains("got 2"), "{found}");
        // Options that change the roles of columns.
        let features = "'{\"params\": [1], \"columns\": {\"doc\": \"a\", \"ignore\": [\"doc_id\"]}}')";
        assert!(ranked(&connection, &format!("{statement}, {features}")).contains("\"a\""));
        assert_eq!(ranked(&connection, &format!("{statement}, '{{\"params\": [1]}}')")), "zyx");
    }
}

#[test]
fn functions_that_read_a_source_otherwise_do_so_in_every_call() {
    let connection = database();
    // A feature is missing, which ltr_monitor finds, and reads as NULL.
    connection.execute_batch("CREATE TABLE half AS SELECT query_id, doc_id, a FROM t").unwrap();
    let missing = "SELECT group_concat(name) FROM ltr_monitor('m', 'half') WHERE kind = 'missing_column'";
    for _ in 0..3 {
        assert_eq!(value::<String>(&connection, missing, []), "b");
    }
    // The query is a filter in one call and not in the next.
    let explain = |query: &str| {
        let source = "SELECT query_id, doc_id, a, b FROM t WHERE query_id = 1";
        let sql = format!("SELECT count(*) FROM ltr_explain('m', '{source}', {query}, 'x')");
        value::<i64>(&connection, &sql, [])
    };
    let expected = explain("1");
    for query in ["NULL", "1", "NULL", "NULL", "1", "1"] {
        let sql = format!("ltr_explain with query {query}");
        let actual = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| explain(query)));
        assert!(query == "NULL" || actual.is_ok_and(|actual| actual == expected), "{sql}");
    }
}

/// Denies to read the table t.
unsafe extern "C" fn deny(
    _: *mut c_void,
    action: c_int,
    table: *const c_char,
    _: *const c_char,
    _: *const c_char,
    _: *const c_char,
) -> c_int {
    // SAFETY: SQLite passes null or a text that ends with a zero byte.
    let is_table = !table.is_null() && unsafe { CStr::from_ptr(table) } == c"t";
    if action == ffi::SQLITE_READ && is_table { ffi::SQLITE_DENY } else { ffi::SQLITE_OK }
}

#[test]
fn an_authorizer_is_asked_again() {
    let connection = database();
    assert_all(&connection, "zyx", "at first");
    // SAFETY: a live connection; the function needs no data.
    let authorize = |deny| unsafe {
        ffi::sqlite3_set_authorizer(connection.handle(), deny, ptr::null_mut());
    };
    authorize(Some(deny));
    for call in CALLS.iter().chain(&CALLS) {
        let found = ranked(&connection, call);
        assert!(found.contains("prohibited") || found.contains("not authorized"), "{found}");
    }
    authorize(None);
    assert_all(&connection, "zyx", "without the authorizer");
}
