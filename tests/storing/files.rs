//! An operation on a file that fails, at every one of them: a call that fails has changed nothing, and one that succeeds has
//! stored its version and left the caller's transaction open (rule 5.19).

use rusqlite::Connection;

use crate::faulty_files::{Fault, NAME, install, left, plan};
use crate::support::{Folder, TRAIN, assert_intact, has_table, is_long, number, open, run, versions};

/// With a journal in memory SQLite cannot undo what errors stop that last: [`Fault::Sticky`] is left out.
const MODES: &[&str] = &["delete", "truncate", "persist", "memory", "wal"];

/// What the caller does before the call, and the rows that it inserts.
const BEGINS: &[(&str, i64)] = &[
    ("", 0),
    ("BEGIN", 0),
    ("BEGIN; INSERT INTO log VALUES (1)", 1),
    ("SAVEPOINT s; INSERT INTO log VALUES (1)", 1),
];

const FAULTS: &[Fault] = &[Fault::Once, Fault::Sticky, Fault::Refused, Fault::Done];

const RANK: &str = "SELECT group_concat(doc_id || ' ' || score) FROM ltr_rank('m', 'j')";

/// Calls, and whether the table exists before them.
const CALLS: &[(&str, bool)] = &[
    (
        r#"SELECT ltr_train('rank_svm', 'j', '{"name": "m", "lambda": 0.1, "threads": 1, "keep_versions": 1}')"#,
        true,
    ),
    (TRAIN, false),
    (
        r#"SELECT ltr_update('u', 'SELECT query_id + 99 AS query_id, doc_id, relevance, a, b FROM j', '{"threads": 1}')"#,
        true,
    ),
    (r#"SELECT ltr_import({text}, '{"name": "m", "keep_versions": 1}')"#, true),
    (r#"SELECT ltr_import({text}, '{"name": "m"}')"#, false),
    (RANK, true),
];

/// The rows of `ltr_models`.
type Versions = Vec<(String, i64, bool)>;

/// A call under faults: where it begins, and what it does without a fault.
struct Walk {
    folder: Folder,
    /// A copy of the database before the call.
    database: Vec<u8>,
    mode: &'static str,
    call: String,
    begin: (&'static str, i64),
    before: Versions,
    after: Versions,
    ranking: String,
}

/// A connection whose file operations can fail. The walk sets the journal mode, because the file does not keep some modes.
fn faulty(folder: &Folder, mode: &str) -> Connection {
    let connection = open(&folder.database(), Some(NAME));
    assert_eq!(run(&connection, &format!("PRAGMA main.journal_mode = {mode}")).as_deref(), Ok(mode));
    connection
}

impl Walk {
    fn new(mode: &'static str, (call, with_table): (&'static str, bool), begin: (&'static str, i64)) -> Self {
        let folder = Folder::new(mode);
        let connection = faulty(&folder, mode);
        run(&connection, TRAIN).expect("a model");
        let text = run(&connection, "SELECT quote(ltr_export('m', 'json'))").expect("a text");
        let call = call.replace("{text}", &text);
        run(&connection, "SELECT ltr_train('perceptron', 'j', '{\"name\": \"u\"}')").expect("a model");
        let ranking = run(&connection, RANK).expect("a ranking");
        if !with_table {
            connection.execute_batch("DROP TABLE ltr_models").expect("no models");
        }
        let before = versions(&connection);
        drop(connection);
        let database = std::fs::read(folder.database()).expect("a database");
        let connection = faulty(&folder, mode);
        run(&connection, &call).expect(&call);
        let after = versions(&connection);
        drop(connection);
        assert_eq!(after == before, call == RANK);
        Self { folder, database, mode, call, begin, before, after, ranking }
    }

    /// The call with a fault at one operation; returns its outcome, and whether the operation was reached.
    fn step(&self, fault: Fault, at: usize) -> (Result<String, String>, bool) {
        // 1. The call.
        for suffix in ["-journal", "-wal", "-shm"] {
            let mut path = self.folder.database().into_os_string();
            path.push(suffix);
            drop(std::fs::remove_file(path));
        }
        std::fs::write(self.folder.database(), &self.database).expect("a copy");
        let connection = faulty(&self.folder, self.mode);
        let (begin, rows) = self.begin;
        connection.execute_batch(begin).expect(begin);
        plan(fault, at);
        let outcome = run(&connection, &self.call);
        let reached = left() < 0;
        plan(Fault::None, 0);
        // 2. The transaction of the caller is open, or the call has failed and says so.
        let context = format!("{}, {begin:?}, {fault:?} at {at}, {}: {outcome:?}", self.mode, self.call);
        let problem = outcome.as_ref().err();
        let lost = !begin.is_empty() && connection.is_autocommit();
        let own = problem.is_some_and(|problem| problem.starts_with("ltr_"));
        let reported = problem
            .is_some_and(|problem| problem.contains("SQLite has rolled back the caller's transaction"));
        assert_eq!(reported, lost && (own || reported), "{context}");
        assert!(!lost || outcome.is_err(), "{context}");
        if begin.is_empty() {
            assert!(connection.is_autocommit(), "{context}");
        } else if !lost {
            connection.execute_batch("COMMIT").unwrap_or_else(|problem| panic!("{context}: {problem}"));
        }
        // 3. This connection, and a later one, see all or nothing.
        let unknown = problem.is_some_and(|problem| problem.contains("check in ltr_models"));
        assert!(!unknown || fault == Fault::Sticky, "{context}");
        let expected = if outcome.is_ok() { &self.after } else { &self.before };
        let check = |connection: &Connection| {
            let actual = versions(connection);
            assert!(actual == *expected || unknown && actual == self.after, "{context}: {actual:?}");
            assert_eq!(
                number(connection, "SELECT count(*) FROM log"),
                if lost { 0 } else { rows },
                "{context}"
            );
            assert_eq!(has_table(connection), !actual.is_empty(), "{context}");
        };
        check(&connection);
        drop(connection);
        let connection = faulty(&self.folder, self.mode);
        check(&connection);
        assert_intact(&connection, &context);
        if self.call == RANK {
            assert!(outcome.as_ref().is_err() || outcome.as_ref() == Ok(&self.ranking), "{context}");
        }
        // 4. The next call works.
        run(&connection, &self.call).unwrap_or_else(|problem| panic!("{context}, then {problem}"));
        (outcome, reached)
    }
}

/// With `LTR_LONG=1` each operation of each walk, otherwise each 3rd of each 5th walk.
#[test]
fn a_failing_operation_leaves_all_or_nothing() {
    install();
    let (every, stride) = if is_long() { (1, 1) } else { (5, 3) };
    let (mut walks, mut points, mut errors) = (0, 0, 0);
    for mode in MODES {
        for call in CALLS {
            for begin in BEGINS {
                let mut walk = None;
                for fault in FAULTS {
                    walks += 1;
                    if walks % every != 0 || (*mode == "memory" && *fault == Fault::Sticky) {
                        continue;
                    }
                    let walk = walk.get_or_insert_with(|| Walk::new(mode, *call, *begin));
                    for at in (walks % stride..).step_by(stride) {
                        let (outcome, reached) = walk.step(*fault, at);
                        errors += usize::from(outcome.is_err());
                        if !reached {
                            outcome.expect("no fault");
                            break;
                        }
                        points += 1;
                    }
                }
            }
        }
    }
    println!("{points} failing operations, {errors} calls failed");
    assert!(points > 300 && errors > 100, "{errors} of {points}");
}

/// Without a journal SQLite can undo nothing. Such a call is refused before it reads.
#[test]
fn a_database_without_a_journal_is_refused() {
    let folder = Folder::new("delete");
    let connection = folder.open();
    run(&connection, "PRAGMA journal_mode = off").expect("a journal mode");
    for (begin, end) in [("SELECT 1", "SELECT 1"), ("BEGIN; INSERT INTO log VALUES (1)", "COMMIT")] {
        connection.execute_batch(begin).expect(begin);
        let problem = run(&connection, "SELECT ltr_train('rank_svm', 'no such source')").expect_err(begin);
        assert!(problem.contains("journal mode of the database 'main' is OFF"), "{problem}");
        assert!(problem.contains("PRAGMA journal_mode = MEMORY") && !has_table(&connection), "{problem}");
        connection.execute_batch(end).expect(end);
    }
    assert_eq!(number(&connection, "SELECT count(*) FROM log"), 1);
    run(&connection, "PRAGMA journal_mode = memory").expect("a journal mode");
    run(&connection, TRAIN).expect("a version");
}
