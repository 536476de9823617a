//! Authorizers that ignore or deny one event, for each event of each call. SQLite must not crash, a failed call must store
//! nothing, and the next call must work. This covers every statement that the library prepares. The sources have no
//! subqueries, because SQLite crashes in some statements with subqueries, even if the host prepares them.
//!
//! The calls poll the host for interrupts immediately, so the events include the polling statement.
#![allow(unsafe_code, reason = "an authorizer is a C function")]

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::ffi::{c_char, c_int, c_void};
use std::panic::Location;
use std::path::Path;
use std::ptr::null_mut;

use rusqlite::{Connection, ffi};

use super::glue::probe::fault::ask_at_once;

/// Judged rows with query features, a view of them, packs, ratings, a log, lists of two rankings, and a full-text table.
const SETUP: &str = "
CREATE TABLE j AS WITH RECURSIVE n(i) AS (VALUES (0) UNION ALL SELECT i + 1 FROM n WHERE i < 23)
SELECT i / 4 AS query_id, i AS doc_id, i * 7 % 3 AS relevance, i * 17 % 31 / 31.0 AS a, i * 29 % 37 / 37.0 AS b, i / 4 AS q_1 FROM n;
CREATE VIEW v AS SELECT query_id, doc_id, relevance, a, b FROM j WHERE relevance < 9;
CREATE TABLE p AS SELECT ltr_bucket(query_id, 2) AS bucket, ltr_pack(query_id, doc_id, relevance, ltr_vec(a, b)) AS rows FROM j GROUP BY 1;
CREATE TABLE r AS SELECT i % 6 AS user, i * 5 % 7 AS item, 1 + i * 7 % 5 AS rating
FROM (WITH RECURSIVE n(i) AS (VALUES (0) UNION ALL SELECT i + 1 FROM n WHERE i < 35) SELECT i FROM n) GROUP BY 1, 2;
CREATE TABLE log AS WITH RECURSIVE n(i) AS (VALUES (0) UNION ALL SELECT i + 1 FROM n WHERE i < 59)
SELECT i / 3 AS impression, i / 3 % 2 AS query_id, i * 7 % 5 AS doc_id, 1 + i % 3 AS position, i * 7919 % 5 = 0 AS clicked FROM n;
CREATE TABLE lists AS SELECT impression, query_id, doc_id, position, clicked, 'ab' AS team FROM log;
CREATE VIRTUAL TABLE d USING fts5(title);
INSERT INTO d VALUES ('red shoes'), ('blue shoes'), ('a bag');
CREATE VIEW c AS SELECT q.query AS query_id, doc_id, a, b FROM ltr_query AS q, j WHERE j.query_id = q.query;
SELECT ltr_train('rank_svm', 'j', '{\"name\": \"lin\", \"lambda\": 0.1}'), ltr_train('rank_svm', 'j', '{\"name\": \"lin\", \"lambda\": 1}'),
       ltr_train('q_svm', 'j', '{\"name\": \"local\", \"lambda\": 0.1}'), ltr_train('perceptron', 'j', '{\"name\": \"online\"}'),
       ltr_train('cofi_rank', 'r', '{\"name\": \"cofi\", \"lambda\": 1, \"factors\": 1}'),
       ltr_train('perceptron', 'j', '{\"name\": \"inactive\"}'),
       ltr_train('rank_svm', 'SELECT query_id, doc_id, relevance FROM j', '{\"name\": \"seen\", \"candidates\": \"c\", \"lambda\": 0.1}');
UPDATE ltr_models SET active = 0 WHERE name = 'inactive';
CREATE TABLE stored AS SELECT * FROM ltr_models;";

/// Setup before each call.
const RESTORE: &str = "DROP TABLE IF EXISTS ltr_models";
const RESTORE_MODELS: &str =
    "CREATE TABLE ltr_models (name TEXT NOT NULL, version INTEGER NOT NULL, algorithm TEXT NOT NULL, active INTEGER NOT NULL,
     created_at TEXT NOT NULL, report TEXT NOT NULL, model BLOB NOT NULL, PRIMARY KEY (name, version));
     INSERT INTO ltr_models SELECT * FROM stored";

/// Calls without a table `ltr_models`.
const FIRST_CALLS: &[&str] =
    &[r#"SELECT ltr_train('rank_svm', 'j', '{"lambda": 0.1, "threads": 1}')"#, "SELECT ltr_info('lin')"];

/// Calls with stored models. Calls that fail reach statements too.
const CALLS: &[&str] = &[
    r#"SELECT ltr_train('rank_svm', 'v', '{"name": "lin", "lambda": 0.1, "threads": 1, "keep_versions": 1}')"#,
    r#"SELECT ltr_train('perceptron', 'SELECT * FROM v -- all', '{"epochs": 1}')"#,
    "SELECT ltr_update('online', 'j')",
    "SELECT ltr_import(ltr_export('lin', 'json'))",
    r#"SELECT length(ltr_fit('regression', 'p', '{"lambda": 0.1}'))"#,
    "SELECT length(ltr_fit('rank_svm', 'no_table'))",
    "SELECT ltr_info('lin')",
    "SELECT ltr_info('lin@1')",
    "SELECT ltr_activate('lin', 1)",
    "SELECT ltr_activate('lin', 99)",
    "SELECT ltr_info('inactive')",
    "SELECT ltr_info('unknown')",
    "SELECT ltr_score('lin', '[1, 2]')",
    "SELECT ltr_score('local', '[1, 2]', '[0.5]')",
    "SELECT * FROM ltr_rank('lin', 'j')",
    "SELECT * FROM ltr_rank('lin', 'SELECT * FROM v') WHERE query_id = 1",
    "SELECT * FROM ltr_rank('local', 'SELECT *, doc_id % 3 + 0.5 AS q_1 FROM v')",
    "SELECT * FROM ltr_search('seen', 3)",
    "SELECT * FROM ltr_evaluate('seen', 'SELECT query_id, doc_id, relevance FROM j')",
    "SELECT * FROM ltr_monitor('seen', 'SELECT query_id, doc_id, relevance, NULL AS params FROM j')",
    r#"SELECT length(ltr_fit('rank_svm', 'SELECT query_id, doc_id, relevance FROM j', '{"candidates": "c", "lambda": 0.1}'))"#,
    "SELECT * FROM ltr_evaluate('lin', 'j')",
    "SELECT * FROM ltr_compare('lin', 'online', 'j')",
    "SELECT setting, fold, value FROM ltr_cross_validate('perceptron', 'j', '{\"learning_rate\": [0.1, 1]}')",
    "SELECT * FROM ltr_importance('lin', 'j')",
    "SELECT * FROM ltr_explain('lin', 'j', 1, 5)",
    "SELECT * FROM ltr_monitor('lin', 'j')",
    "SELECT * FROM ltr_recommend('cofi', 1, '{\"ratings\": \"SELECT item, rating FROM r WHERE user = 0\"}')",
    "SELECT * FROM ltr_judgments('log', '{\"model\": \"ctr\"}')",
    "SELECT * FROM ltr_propensities('log')",
    "SELECT * FROM ltr_interleave('lin', 'online', 'j', '{\"seed\": 1}')",
    "SELECT * FROM ltr_interleave_result('lists')",
    "SELECT * FROM ltr_evaluate_clicks('lin', 'j', 'log')",
    "SELECT ltr_fts(d) FROM d WHERE d MATCH 'shoes'",
    "SELECT ltr_fts_names('d')",
    "SELECT ltr_fts_query('red shoes', '{\"table\": \"d\"}')",
    "SELECT ltr_fts_names('j')",
    "SELECT ltr_debug()",
    "SELECT ltr_ndcg(relevance, a) FROM j",
    "SELECT length(ltr_report('lin', 'j'))",
    REGISTER,
];

/// Adds all functions again.
const REGISTER: &str = "register";

thread_local! {
    /// File and line of each call that prepared a statement.
    static REACHED: RefCell<BTreeSet<(&'static str, u32)>> = const { RefCell::new(BTreeSet::new()) };
}

/// Records the caller of a function that prepares a statement.
#[track_caller]
pub(super) fn record() {
    let caller = Location::caller();
    REACHED.with_borrow_mut(|reached| reached.insert((caller.file(), caller.line())));
}

/// Answers an event.
struct Authorizer {
    answer: c_int,
    at: usize,
    events: Cell<usize>,
}

unsafe extern "C" fn authorize(
    data: *mut c_void,
    _: c_int,
    _: *const c_char,
    _: *const c_char,
    _: *const c_char,
    _: *const c_char,
) -> c_int {
    // SAFETY: the authorizer outlives its installation.
    let authorizer = unsafe { &*data.cast::<Authorizer>() };
    let event = authorizer.events.replace(authorizer.events.get() + 1);
    if event == authorizer.at { authorizer.answer } else { ffi::SQLITE_OK }
}

fn run(connection: &Connection, sql: &str) -> rusqlite::Result<usize> {
    if sql == REGISTER {
        return crate::register(connection).map(|()| 0);
    }
    let mut statement = connection.prepare(sql)?;
    let mut rows = statement.raw_query();
    let mut count = 0;
    while rows.next()?.is_some() {
        count += 1;
    }
    Ok(count)
}

/// Runs a call in which event `at` gets this answer. Returns whether that event occurred.
fn with_answer(
    connection: &Connection,
    sql: &str,
    answer: c_int,
    at: usize,
) -> (rusqlite::Result<usize>, bool) {
    let authorizer = Authorizer { answer, at, events: Cell::new(0) };
    let data = (&raw const authorizer).cast_mut().cast();
    // SAFETY: a live connection; the authorizer goes before its data do.
    unsafe { ffi::sqlite3_set_authorizer(connection.handle(), Some(authorize), data) };
    // Rankings cache statements for the second call.
    let again = |count| if sql.contains("ltr_rank") { run(connection, sql) } else { Ok(count) };
    let outcome = run(connection, sql).and_then(again);
    // SAFETY: as above.
    unsafe { ffi::sqlite3_set_authorizer(connection.handle(), None, null_mut()) };
    (outcome, authorizer.events.get() > at)
}

/// Names with more than one active version.
const TWO_ACTIVE: &str = "SELECT name FROM ltr_models GROUP BY name HAVING total(active) > 1";

/// Versions of the models; all can be read.
fn versions(connection: &Connection) -> Vec<String> {
    let read = "SELECT name || '@' || version || ' ' || active || (ltr_info(model) IS NULL) FROM ltr_models";
    let all = || connection.prepare(read)?.query_map([], |row| row.get(0))?.collect::<rusqlite::Result<_>>();
    // A connection may believe in a rolled-back table until it runs a statement.
    match all() {
        Err(error) => {
            assert!(error.to_string().contains("no such table: ltr_models"), "{error}");
            assert!(connection.prepare(read).is_err(), "the table exists");
            Vec::new()
        }
        found => found.unwrap(),
    }
}

/// Lines of the sources that prepare a statement.
fn preparing_lines() -> BTreeSet<(String, u32)> {
    fn walk(folder: &Path, lines: &mut BTreeSet<(String, u32)>) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                walk(&path, lines);
            } else if !path.ends_with("glue/sql.rs") && !path.ends_with("authorizer_tests.rs") {
                let text = std::fs::read_to_string(&path).unwrap();
                let name = path
                    .strip_prefix(env!("CARGO_MANIFEST_DIR"))
                    .unwrap()
                    .to_str()
                    .unwrap()
                    .replace('\\', "/");
                let calls =
                    text.lines().zip(1..).filter(|(line, _)| line.contains("sql::") && line.contains('('));
                lines.extend(calls.map(|(_, number)| (name.clone(), number)));
            }
        }
    }
    let mut lines = BTreeSet::new();
    walk(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src/sqlite"), &mut lines);
    lines
}

#[test]
fn an_authorizer_may_ignore_or_deny_anything() {
    ask_at_once(true);
    let connection = Connection::open_in_memory().unwrap();
    crate::register(&connection).unwrap();
    connection.execute_batch(SETUP).unwrap();
    let (mut points, mut failed) = (0, 0);
    let calls = FIRST_CALLS.iter().map(|sql| (sql, false)).chain(CALLS.iter().map(|sql| (sql, true)));
    for (sql, with_models) in calls {
        for answer in [ffi::SQLITE_IGNORE, ffi::SQLITE_DENY] {
            for at in 0.. {
                connection.execute_batch(RESTORE).unwrap();
                if with_models {
                    connection.execute_batch(RESTORE_MODELS).unwrap();
                }
                let before = versions(&connection);
                let (outcome, reached) = with_answer(&connection, sql, answer, at);
                let context = format!("{sql}: answer {answer} to event {at}: {outcome:?}");
                assert!(connection.is_autocommit(), "{context}");
                assert!(outcome.is_ok() || versions(&connection) == before, "{context}");
                assert_eq!(run(&connection, TWO_ACTIVE).unwrap_or(0), 0, "{context}");
                let problem = outcome.as_ref().err().map_or_else(String::new, ToString::to_string);
                assert!(!problem.contains("internal error"), "{context}");
                if !reached {
                    break;
                }
                (points, failed) = (points + 1, failed + usize::from(outcome.is_err()));
            }
        }
    }
    ask_at_once(false);
    let reached: BTreeSet<_> =
        REACHED.take().into_iter().map(|(file, line)| (file.replace('\\', "/"), line)).collect();
    let missed: Vec<_> = preparing_lines().into_iter().filter(|line| !reached.contains(line)).collect();
    assert!(missed.is_empty(), "no call reaches {missed:?}");
    assert!(points > 2_000 && failed > 500, "{failed} of {points} calls failed");
}
