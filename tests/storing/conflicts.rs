//! `ltr_update` concurrent with other updates of the same model (rule 5.18).

use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use rusqlite::Connection;
use rusqlite::functions::FunctionFlags;

use crate::support::{Folder, assert_intact, m, number, run};

const TRAIN: &str = r#"SELECT ltr_train('perceptron', 'j', '{"name": "m", "epochs": 1}')"#;

/// An update with four documents of one query.
fn update(model: &str, query: i64, options: &str) -> String {
    format!(
        "SELECT ltr_update('{model}', 'SELECT {query} AS query_id, doc_id, relevance, a, b FROM j WHERE query_id = 0', '{options}')"
    )
}

/// A model of version 1, and a function `meanwhile()`, which changes it through another connection when its rows are read.
struct Pair {
    folder: Folder,
    connection: Connection,
    calls: Arc<AtomicUsize>,
}

impl Pair {
    /// `change` runs in the first `times` calls of `meanwhile()`.
    fn new(times: usize, change: impl Fn(&Connection) + Send + 'static) -> Self {
        let folder = Folder::new("wal");
        let connection = folder.open();
        run(&connection, TRAIN).expect("a model");
        let other = Mutex::new(folder.open());
        let calls = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&calls);
        connection
            .create_scalar_function("meanwhile", 0, FunctionFlags::SQLITE_UTF8, move |_| {
                if counted.fetch_add(1, Ordering::Relaxed) < times {
                    change(&other.lock().expect("a connection"));
                }
                Ok(1)
            })
            .expect("a function");
        Self { folder, connection, calls }
    }

    /// An update during which `meanwhile()` is called once for each attempt.
    fn update(&self, model: &str, options: &str) -> Result<String, String> {
        let source = "SELECT 99 AS query_id, doc_id, relevance, a, b FROM j WHERE query_id = (SELECT meanwhile() FROM (VALUES (1)))";
        run(&self.connection, &format!("SELECT ltr_update('{model}', '{source}', '{options}')"))
    }

    /// Version, version it continues, and number of documents of every version.
    fn chain(&self) -> Vec<(i64, i64, i64)> {
        let sql = "SELECT version, coalesce(report ->> '$.from.version', 0), report ->> 'documents' FROM ltr_models WHERE name = 'm' ORDER BY version";
        let connection = self.folder.open();
        let mut statement = connection.prepare(sql).expect("the table");
        let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)));
        rows.expect("rows").map(|row| row.expect("a row")).collect()
    }
}

fn another_update(connection: &Connection) {
    run(connection, &update("m", 50, r#"{"on_conflict": "retry"}"#)).expect("the other update");
}

#[test]
fn an_update_that_would_lose_another_fails_with_ways_out() {
    let pair = Pair::new(1, another_update);
    let problem = pair.update("m", "{}").expect_err("a conflict");
    assert_eq!(
        problem,
        "ltr_update: while this update of version 1 of the model 'm' was computed, version 2 became active, so nothing was stored; \
         call it again, or set \"on_conflict\": \"retry\""
    );
    assert_eq!(pair.chain(), [(1, 0, 32), (2, 1, 36)]);
    pair.update("m", "{}").expect("the call again");
    assert_eq!(pair.chain(), [(1, 0, 32), (2, 1, 36), (3, 2, 40)]);
}

#[test]
fn with_retry_it_continues_the_version_that_came_between() {
    let pair = Pair::new(3, another_update);
    pair.update("m", r#"{"on_conflict": "retry"}"#).expect("an update");
    assert_eq!(pair.chain(), [(1, 0, 32), (2, 1, 36), (3, 2, 40), (4, 3, 44), (5, 4, 48)]);
    assert_eq!(pair.calls.load(Ordering::Relaxed), 4);
    assert_intact(&pair.connection, "retry");
}

#[test]
fn retries_end() {
    let pair = Pair::new(usize::MAX, another_update);
    let problem = pair.update("m", r#"{"on_conflict": "retry"}"#).expect_err("no end of conflicts");
    assert!(problem.contains("100 attempts failed"), "{problem}");
    assert_eq!(pair.calls.load(Ordering::Relaxed), 100);
    let problem =
        pair.update("m", r#"{"on_conflict": "retry", "time_limit": 0.05}"#).expect_err("the time limit");
    assert!(problem.contains("time limit"), "{problem}");
}

#[test]
fn a_named_version_can_be_continued_twice() {
    let pair = Pair::new(1, |other| {
        run(other, &update("m@1", 50, "{}")).expect("a branch");
    });
    pair.update("m@1", "{}").expect("another branch");
    assert_eq!(pair.chain(), [(1, 0, 32), (2, 1, 36), (3, 1, 36)]);
    assert_eq!(m(&pair.connection).1, [3]);
}

/// 'm' does not mean an inactive version in between; an update under another name still continues 'm'.
#[test]
fn what_the_name_means_decides() {
    let pair = Pair::new(1, |other| {
        run(other, &update("m", 50, r#"{"activate": false}"#)).expect("an inactive version");
    });
    pair.update("m", "{}").expect("version 1 is still active");
    assert_eq!(pair.chain(), [(1, 0, 32), (2, 1, 36), (3, 1, 36)]);
    let pair = Pair::new(1, another_update);
    let problem = pair.update("m", r#"{"name": "copy"}"#).expect_err("a conflict");
    assert!(problem.contains("version 2 became active"), "{problem}");
}

#[test]
fn versions_that_are_replaced_or_go_are_conflicts() {
    let cases: [(&str, &str); 4] = [
        ("UPDATE ltr_models SET active = 0", "that version was deleted or deactivated"),
        ("DELETE FROM ltr_models", "that version was deleted or deactivated"),
        (
            "INSERT OR REPLACE INTO ltr_models SELECT 'm', 1, algorithm, 1, created_at, report, ltr_fit('perceptron', 'SELECT * FROM j WHERE query_id < 5') FROM ltr_models",
            "that version was replaced",
        ),
        ("UPDATE ltr_models SET version = 7", "version 7 became active"),
    ];
    for (sql, expected) in cases {
        let pair = Pair::new(1, move |other| {
            other.execute(sql, []).expect(sql);
        });
        let problem = pair.update("m", "{}").expect_err(sql);
        assert!(problem.contains(expected), "{sql}: {problem}");
    }
}

#[test]
fn an_inactive_update_says_so_and_is_activated_by_sql() {
    let pair = Pair::new(0, |_| ());
    let report = run(&pair.connection, &update("m", 50, r#"{"activate": false}"#)).expect("an update");
    assert!(report.contains(r#""version":2,"active":false"#), "{report}");
    assert_eq!(m(&pair.connection), (vec![1, 2], vec![1]));
    let documents = "SELECT (ltr_info('m') -> 'training' ->> 'documents') * 100 + (ltr_info('m@2') -> 'training' ->> 'documents')";
    assert_eq!(number(&pair.connection, documents), 3236);
    pair.connection
        .execute("UPDATE ltr_models SET active = (version = 2) WHERE name = 'm'", [])
        .expect("plain SQL");
    let report = run(&pair.connection, &update("m", 51, "{}")).expect("an update");
    assert!(report.contains(r#""version":3,"active":true,"from":{"name":"m","version":2}"#), "{report}");
}
