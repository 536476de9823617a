//! Storing while other connections read and write, without a busy handler (rules 5.7, 5.15, 5.16).

use std::time::{Duration, Instant};

use rusqlite::{Connection, OpenFlags};

use crate::support::{Folder, MODES, ROWS, SCALARS, TRAIN, assert_intact, m, number, run};

/// Longer than any call takes without waiting.
const HELD: Duration = Duration::from_millis(400);

/// Runs `sql` while another connection holds what `begin` has taken, for a limited time.
fn during(
    other: Connection,
    begin: &str,
    body: impl FnOnce() -> Result<String, String>,
) -> (Result<String, String>, Duration) {
    other.execute_batch(begin).expect(begin);
    let started = Instant::now();
    let holder = std::thread::spawn(move || {
        std::thread::sleep(HELD);
        // The waiting connection polls; a commit during a read is refused.
        let deadline = Instant::now() + 5 * HELD;
        while let Err(problem) = other.execute_batch("COMMIT") {
            assert!(Instant::now() < deadline, "the end of the other transaction: {problem}");
            std::thread::sleep(Duration::from_millis(1));
        }
    });
    let outcome = body();
    let seconds = started.elapsed();
    holder.join().expect("the other connection");
    (outcome, seconds)
}

#[test]
fn storing_and_reading_wait_for_a_writer() {
    for mode in MODES {
        for begin in
            ["BEGIN IMMEDIATE; INSERT INTO log VALUES (1)", "BEGIN EXCLUSIVE; INSERT INTO log VALUES (1)"]
        {
            for first in [true, false] {
                let folder = Folder::new(mode);
                let connection = folder.open();
                // The first statement of a connection reads the schema; without a busy handler SQLite refuses it.
                number(&connection, "SELECT count(*) FROM j");
                if !first {
                    run(&connection, TRAIN).expect("a version");
                }
                let (outcome, waited) = during(folder.open(), begin, || run(&connection, TRAIN));
                outcome.unwrap_or_else(|problem| panic!("{mode}, {begin}: {problem}"));
                assert!(waited >= HELD && waited < HELD + Duration::from_secs(3), "{mode}: {waited:?}");
                assert_intact(&connection, mode);
            }
        }
    }
}

/// If a lock fails the first statement of a connection, the next statement that a lock fails makes SQLite drop the schema in
/// memory, and SQLite cannot read it again before that lock ends. The check for interrupts must not fail because of this.
#[test]
fn a_lock_that_drops_the_schema_does_not_end_a_call() {
    for sql in [TRAIN, "SELECT hex(ltr_fit('rank_svm', 'j', '{\"lambda\": 0.1}'))"] {
        let folder = Folder::new("delete");
        let (connection, other) = (folder.open(), folder.open());
        other.execute_batch("BEGIN EXCLUSIVE").expect("a lock");
        connection.prepare("SELECT * FROM j").expect_err("the schema cannot be read");
        other.execute_batch("COMMIT").expect("the end of the lock");
        connection.prepare("SELECT * FROM j").expect("the schema is read");
        let (outcome, waited) = during(other, "BEGIN EXCLUSIVE", || run(&connection, sql));
        outcome.unwrap_or_else(|problem| panic!("{sql}: {problem}"));
        assert!(waited >= HELD, "{sql}: {waited:?}");
    }
}

/// In rollback-journal mode a commit waits for readers, and new readers wait for the commit.
#[test]
fn storing_waits_for_readers_and_readers_for_storing() {
    let folder = Folder::new("delete");
    let connection = folder.open();
    let packs = "CREATE TABLE packs AS SELECT ltr_bucket(query_id, 4) AS bucket,
       ltr_pack(query_id, doc_id, relevance, json_array(a, b)) AS rows FROM j GROUP BY 1";
    connection.execute_batch(packs).expect("packs");
    let begin = "BEGIN; SELECT count(*) FROM j";
    let reader = folder.open();
    let (outcome, waited) = during(reader, &format!("{begin}; SELECT 1"), || run(&connection, TRAIN));
    outcome.expect("stored after the reader");
    assert!(waited >= HELD, "{waited:?}");
    // Scalar functions that read a model or a source wait for an exclusive lock. A SELECT from a table-valued function is itself
    // a reader: SQLite begins its transaction before the function is called.
    for sql in [
        "SELECT ltr_score('m', '[0.5, 0.5]') || ''",
        "SELECT ltr_info('m')",
        "SELECT hex(ltr_fit('rank_svm', 'j', '{\"lambda\": 0.1}'))",
        "SELECT hex(ltr_fit('regression', 'packs', '{\"lambda\": 0.1}'))",
    ] {
        let (outcome, waited) = during(folder.open(), "BEGIN EXCLUSIVE", || run(&connection, sql));
        outcome.unwrap_or_else(|problem| panic!("{sql}: {problem}"));
        assert!(waited >= HELD, "{sql}: {waited:?}");
    }
}

/// The wait ends: after 5 seconds, at the time limit, and by an interrupt. The host's busy handler stays.
#[test]
fn waiting_ends_and_leaves_the_hosts_handler() {
    for mode in MODES {
        let folder = Folder::new(mode);
        let connection = folder.open();
        run(&connection, TRAIN).expect("a version");
        let writer = folder.open();
        writer.execute_batch("BEGIN IMMEDIATE; INSERT INTO log VALUES (1)").expect("a lock");
        let started = Instant::now();
        let problem = run(&connection, &TRAIN.replace(r#""threads""#, r#""time_limit": 0.3, "threads""#))
            .expect_err("no lock");
        assert_eq!(problem, "ltr_train: time limit of 0.3 seconds reached");
        let handle = connection.get_interrupt_handle();
        let sender = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(300));
            handle.interrupt();
        });
        let problem = run(&connection, TRAIN).expect_err("an interrupt");
        sender.join().expect("the sender");
        assert!(problem.contains("interrupted"), "{problem}");
        assert!(started.elapsed() < Duration::from_secs(3));
        let started = Instant::now();
        connection.busy_timeout(Duration::from_millis(70)).expect("the host's time-out");
        let problem = run(&connection, TRAIN).expect_err("no lock");
        let waited = started.elapsed();
        assert!(waited > Duration::from_secs(5) && waited < Duration::from_secs(7), "{waited:?}");
        assert!(
            problem.contains("nothing was stored: another connection held a lock for 5 seconds")
                && problem.contains("call again"),
            "{problem}"
        );
        assert_eq!(number(&connection, "PRAGMA busy_timeout"), 70);
        assert!(connection.is_autocommit());
        writer.execute_batch("COMMIT").expect("the end");
        assert_eq!(m(&connection), (vec![1], vec![1]));
    }
}

/// A lock that does not end is an error that says so, whichever statement meets it.
#[test]
fn every_call_says_that_another_connection_holds_a_lock() {
    let folder = Folder::new("delete");
    run(&folder.open(), TRAIN).expect("a version");
    let calls: Vec<_> = SCALARS.iter().map(|sql| (*sql, folder.open())).collect();
    calls.iter().for_each(|(_, connection)| drop(m(connection)));
    let writer = folder.open();
    writer.execute_batch("BEGIN EXCLUSIVE").expect("a lock");
    std::thread::scope(|scope| {
        for (sql, connection) in calls {
            scope.spawn(move || {
                let problem = run(&connection, sql).expect_err(sql);
                let expected = "another connection held a lock for 5 seconds (";
                assert!(problem.contains(expected) && problem.contains("call again"), "{sql}: {problem}");
            });
        }
    });
}

/// A transaction that can no longer write is refused before the source is read.
#[test]
fn a_stale_transaction_is_refused_before_the_training() {
    for mode in MODES {
        let folder = Folder::new(mode);
        let (connection, writer) = (folder.open(), folder.open());
        let (model, options) = (TRAIN, "m");
        run(&connection, model).expect("a version");
        connection.execute_batch("BEGIN").expect("a transaction");
        number(&connection, "SELECT count(*) FROM j");
        // In WAL mode the writer commits; in rollback-journal mode it has the lock and waits for this reader.
        writer.execute_batch("BEGIN IMMEDIATE; INSERT INTO log VALUES (1)").expect("a lock");
        if *mode == "wal" {
            writer.execute_batch("COMMIT").expect("a commit");
        }
        let started = Instant::now();
        let problem = run(&connection, "SELECT ltr_train('rank_svm', 'no such source')").expect_err(options);
        assert!(started.elapsed() < Duration::from_secs(1));
        assert!(
            problem.contains("this transaction has read") && problem.contains("BEGIN IMMEDIATE"),
            "{mode}: {problem}"
        );
        assert!(problem.contains("ltr_fit"), "{problem}");
        assert!(!connection.is_autocommit());
        connection.execute_batch("COMMIT").expect("the transaction still works");
        if *mode == "delete" {
            writer.execute_batch("COMMIT").expect("a commit");
        }
        run(&connection, TRAIN).expect("outside of the transaction");
    }
}

/// Inside a transaction the write lock is taken first, so that nothing can come between, and the training is not lost.
#[test]
fn a_transaction_has_the_write_lock_before_it_reads() {
    for mode in MODES {
        for (begin, first) in [("BEGIN", true), ("BEGIN", false), ("BEGIN; SELECT count(*) FROM j", false)] {
            let folder = Folder::new(mode);
            let connection = folder.open();
            let other = folder.open();
            if !first {
                run(&connection, TRAIN).expect("a version");
            }
            connection
                .create_scalar_function(
                    "write",
                    0,
                    rusqlite::functions::FunctionFlags::SQLITE_UTF8,
                    move |_| {
                        Ok(other
                            .execute("INSERT INTO log VALUES (1)", [])
                            .map_err(|problem| problem.to_string())
                            .is_err())
                    },
                )
                .expect("a function");
            connection.execute_batch(begin).expect(begin);
            let sql = "SELECT ltr_train('rank_svm', 'SELECT query_id, doc_id, relevance, a, b FROM j WHERE write()', '{\"name\": \"m\", \"lambda\": 0.1}')";
            let report = run(&connection, sql).unwrap_or_else(|problem| panic!("{mode}, {begin}: {problem}"));
            // The other connection could write in no row.
            assert!(report.contains(r#""documents":32"#), "{report}");
            connection.execute_batch("COMMIT").expect("the caller's commit");
            assert_intact(&connection, mode);
        }
    }
}

/// A deferred transaction that has not read waits for a writer, and sees what it wrote.
#[test]
fn a_transaction_that_has_not_read_waits() {
    for mode in MODES {
        let folder = Folder::new(mode);
        let connection = folder.open();
        let (outcome, waited) =
            during(folder.open(), "BEGIN IMMEDIATE; DELETE FROM j WHERE query_id = 0", || {
                connection.execute_batch("BEGIN").expect("a transaction");
                run(&connection, TRAIN)
            });
        let report = outcome.unwrap_or_else(|problem| panic!("{mode}: {problem}"));
        assert!(waited >= HELD && report.contains(r#""documents":28"#), "{mode}: {report}");
        connection.execute_batch("COMMIT").expect("the caller's commit");
    }
}

/// Connections with a shared cache report SQLITE_LOCKED, which busy handlers never see.
#[test]
fn storing_waits_in_a_shared_cache() {
    let flags = OpenFlags::default() | OpenFlags::SQLITE_OPEN_SHARED_CACHE | OpenFlags::SQLITE_OPEN_MEMORY;
    let open = || {
        let connection = Connection::open_with_flags("file:ltr_shared?mode=memory&cache=shared", flags)
            .expect("a database");
        sqlite_ltr::register(&connection).expect("registration");
        connection
    };
    let (connection, other) = (open(), open());
    connection.execute_batch(ROWS).expect("a toy set");
    run(&connection, TRAIN).expect("a version");
    let (outcome, waited) =
        during(other, "BEGIN IMMEDIATE; UPDATE j SET a = a; UPDATE ltr_models SET active = active", || {
            run(&connection, TRAIN)
        });
    outcome.expect("stored after the other connection");
    assert!(waited >= HELD, "{waited:?}");
    assert_intact(&connection, "shared cache");
}
