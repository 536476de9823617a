//! Stopping, limits and databases that cannot be written: nothing is left behind, and what can work does.

use std::ffi::{c_int, c_void};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use rusqlite::limits::Limit;
use rusqlite::{Connection, ErrorCode, OpenFlags, ffi};

/// Enough judged rows that a training takes seconds.
const LARGE: &str = "
CREATE TABLE judged AS
WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 150000)
SELECT i / 50 AS query_id, i AS doc_id, (i * 7919) % 5 AS relevance, ((i * 104729) % 1009) / 1009.0 AS a,
       ((i * 1299709) % 997) / 997.0 AS b, ((i * 15485863) % 991) / 991.0 AS c, ((i * 32452843) % 983) / 983.0 AS d FROM n";

/// Interruptions are noticed within this time, with time to spare for a loaded machine.
const SOON: Duration = Duration::from_secs(2);

const TRAIN: &str = "SELECT ltr_train('q_svm', 'judged', '{\"tolerance\": 1e-12}')";
/// Half steps of users and of items, whose losses are expensive.
const RECOMMEND: &str = "SELECT ltr_train('cofi_rank', 'SELECT query_id AS user, doc_id % 211 AS item, relevance AS rating FROM judged',
    '{\"loss\": \"direct\", \"lambda\": 0.1, \"max_rounds\": 1000, \"tolerance\": 1e-9}')";

fn connect() -> Connection {
    let connection = Connection::open_in_memory().expect("a database");
    sqlite_ltr::register(&connection).expect("registration");
    connection
}

fn run(connection: &Connection, sql: &str) -> rusqlite::Result<String> {
    connection.query_row(sql, [], |row| row.get(0))
}

fn tables(connection: &Connection) -> i64 {
    let sql = "SELECT count(*) FROM sqlite_master WHERE name = 'ltr_models'";
    connection.query_row(sql, [], |row| row.get(0)).expect("a count")
}

/// What an interrupted statement leaves: the code that hosts look for, no model, a connection that works.
fn assert_interrupted(connection: &Connection, outcome: &rusqlite::Result<String>) {
    let problem = outcome.as_ref().expect_err("interrupted");
    assert_eq!(problem.sqlite_error_code(), Some(ErrorCode::OperationInterrupted), "{problem}");
    assert_eq!(tables(connection), 0);
    assert!(connection.is_autocommit());
    let again =
        "SELECT ltr_train('rank_svm', 'SELECT * FROM judged WHERE query_id < 20', '{\"lambda\": 0.1}')";
    run(connection, again).expect("the connection still trains");
}

/// A model that a value of the database cannot hold is refused, before training where that can be known.
#[test]
fn a_model_beyond_the_limit_of_a_value_is_refused_with_ways_out() {
    let connection = connect();
    connection.execute_batch(LARGE).expect("a large set");
    let small = "SELECT * FROM judged WHERE query_id < 40";
    let train = format!("SELECT ltr_train('q_svm', '{small}', '{{\"lambda\": 0.1}}')");
    run(&connection, &train).expect("a model within the limit");
    connection.execute_batch("DROP TABLE ltr_models").expect("no models");
    // Below the documents; above them but below the whole of the model.
    let documents: i32 = connection
        .query_row(&format!("SELECT count(*) * 40 FROM ({small})"), [], |row| row.get(0))
        .expect("their bytes");
    for limit in [documents - 1, documents + 40 * 32 + 1000] {
        connection.set_limit(Limit::SQLITE_LIMIT_LENGTH, limit).expect("a lower limit");
        let problem = run(&connection, &train).expect_err("too long").to_string();
        assert!(problem.contains("SQLITE_LIMIT_LENGTH") && problem.contains("rank_svm"), "{problem}");
        assert_eq!(tables(&connection), 0);
    }
}

/// Rule 13.5: interrupts, progress handlers and the time limit stop long work soon.
#[test]
fn an_interrupt_stops_training_and_leaves_nothing() {
    for train in [TRAIN, RECOMMEND] {
        let connection = connect();
        connection.execute_batch(LARGE).expect("a large set");
        let handle = connection.get_interrupt_handle();
        let sent = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(300));
            handle.interrupt();
            Instant::now()
        });
        let outcome = run(&connection, train);
        let ended = Instant::now();
        assert!(ended.duration_since(sent.join().expect("the thread")) < SOON);
        assert_interrupted(&connection, &outcome);
    }
}

/// A progress handler that asks to stop once the instant it is given has come.
unsafe extern "C" fn stop_after(deadline: *mut c_void) -> c_int {
    // SAFETY: the argument is the instant that the test keeps alive.
    let deadline = unsafe { *deadline.cast::<Instant>() };
    c_int::from(Instant::now() > deadline)
}

/// Rule 13.5.
#[test]
fn a_progress_handler_stops_training_and_leaves_nothing() {
    let connection = connect();
    connection.execute_batch(LARGE).expect("a large set");
    let mut deadline = Instant::now() + Duration::from_millis(300);
    // SAFETY: a live connection; the handler goes before the instant does.
    unsafe {
        ffi::sqlite3_progress_handler(
            connection.handle(),
            1000,
            Some(stop_after),
            (&raw mut deadline).cast(),
        );
    }
    let outcome = run(&connection, TRAIN);
    // SAFETY: a live connection.
    unsafe { ffi::sqlite3_progress_handler(connection.handle(), 0, None, std::ptr::null_mut()) };
    assert!(Instant::now() < deadline + SOON);
    assert_interrupted(&connection, &outcome);
}

/// Rule 13.5.
#[test]
fn a_time_limit_stops_training_and_leaves_nothing() {
    let connection = connect();
    connection.execute_batch(LARGE).expect("a large set");
    let started = Instant::now();
    let outcome = run(
        &connection,
        "SELECT ltr_train('q_svm', 'judged', '{\"time_limit\": 0.3, \"tolerance\": 1e-12}')",
    );
    assert!(started.elapsed() < SOON);
    let problem = outcome.expect_err("too long").to_string();
    assert_eq!(problem, "ltr_train: time limit of 0.3 seconds reached");
    assert_eq!(tables(&connection), 0);
}

#[test]
fn an_interrupt_stops_a_ranking() {
    let connection = connect();
    connection.execute_batch(LARGE).expect("a large set");
    let small = "SELECT ltr_train('q_svm', 'SELECT * FROM judged WHERE query_id < 60', '{\"lambda\": 1e-6, \"neighbors\": 60}')";
    run(&connection, small).expect("a model");
    let handle = connection.get_interrupt_handle();
    let sent = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(100));
        handle.interrupt();
        Instant::now()
    });
    // Many new queries: all rows, over and over.
    let sql = "SELECT count(*) FROM ltr_rank('q_svm', 'SELECT query_id + 1000 * n AS query_id, doc_id, a + n AS a, b, c, d FROM judged, (WITH RECURSIVE s(n) AS (VALUES (1) UNION ALL SELECT n + 1 FROM s WHERE n < 500) SELECT n FROM s)')";
    let outcome = connection.query_row(sql, [], |row| row.get::<_, i64>(0));
    let ended = Instant::now();
    assert!(ended.duration_since(sent.join().expect("the thread")) < SOON);
    let code = outcome.expect_err("interrupted").sqlite_error_code();
    assert_eq!(code, Some(ErrorCode::OperationInterrupted));
}

/// Limits of SQL statements stop no computation whose own statements keep them.
#[test]
fn limits_of_statements_stop_no_training() {
    let limits = [
        (Limit::SQLITE_LIMIT_SQL_LENGTH, 150),
        (Limit::SQLITE_LIMIT_COLUMN, 10),
        (Limit::SQLITE_LIMIT_EXPR_DEPTH, 4),
        (Limit::SQLITE_LIMIT_COMPOUND_SELECT, 1),
        (Limit::SQLITE_LIMIT_VDBE_OP, 50),
        (Limit::SQLITE_LIMIT_FUNCTION_ARG, 3),
    ];
    for (limit, value) in limits {
        let connection = connect();
        connection.execute_batch(&LARGE.replace("150000", "1500")).expect("a set");
        connection.set_limit(limit, value).expect("a limit");
        let fit = "SELECT hex(ltr_fit('rank_svm', 'judged', '{\"lambda\": 0.1}'))";
        run(&connection, fit).unwrap_or_else(|problem| panic!("{limit:?}: {problem}"));
    }
}

/// Statements that run for minutes before their first row: a filter, a sort and a recursion.
const SILENT: [&str; 3] = [
    "SELECT a.* FROM judged a, judged b WHERE a.a + b.b < -1",
    "SELECT a.* FROM judged a, judged b ORDER BY a.a * b.b",
    "WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n) SELECT judged.* FROM judged, n WHERE i < 0",
];

/// The time limit ends statements that return no row, and nothing is interrupted after the call (rule 13.12).
#[test]
fn a_time_limit_stops_a_source_without_rows() {
    let connection = connect();
    connection.execute_batch(LARGE).expect("a large set");
    connection.execute_batch("CREATE TABLE r AS SELECT query_id % 9 AS user, doc_id % 7 AS item, 1 + doc_id % 7 % 3 AS rating FROM judged GROUP BY 1, 2").expect("ratings");
    run(&connection, "SELECT ltr_train('cofi_rank', 'r', '{\"lambda\": 1}')").expect("a model");
    let mut calls: Vec<String> = SILENT
        .iter()
        .map(|source| format!("SELECT ltr_fit('rank_svm', '{source}', '{{\"time_limit\": 0.1}}')"))
        .collect();
    let validation = format!("{{\"time_limit\": 0.1, \"validation\": \"{}\"}}", SILENT[0]);
    calls.push(format!(
        "SELECT ltr_fit('rank_svm', 'SELECT * FROM judged WHERE query_id < 9', '{validation}')"
    ));
    let ratings =
        "SELECT a.doc_id AS item, a.relevance AS rating FROM judged a, judged b WHERE a.a + b.b < -1";
    let options = format!("{{\"time_limit\": 0.1, \"ratings\": \"{ratings}\"}}");
    calls.push(format!("SELECT doc_id FROM ltr_recommend('cofi_rank', 1, '{options}')"));
    for sql in calls {
        let started = Instant::now();
        let problem = run(&connection, &sql).expect_err("too long").to_string();
        assert!(started.elapsed() < SOON, "{sql}");
        assert!(problem.ends_with(": time limit of 0.1 seconds reached"), "{sql}: {problem}");
        let count: i64 =
            connection.query_row("SELECT count(*) FROM judged", [], |row| row.get(0)).expect("a count");
        assert_eq!(count, 150_000);
    }
}

/// A source that ends before the time limit is not interrupted, and neither are later statements.
#[test]
fn a_time_limit_that_is_not_reached_interrupts_nothing() {
    let connection = connect();
    connection.execute_batch(LARGE).expect("a large set");
    for _ in 0..20 {
        let sql = "SELECT length(ltr_fit('rank_svm', 'SELECT * FROM judged WHERE query_id < 9', '{\"lambda\": 1, \"time_limit\": 5}')) || ''";
        run(&connection, sql).expect("a model");
    }
}

/// The actions that an authorizer denies.
unsafe extern "C" fn deny(
    denied: *mut c_void,
    action: c_int,
    _: *const std::ffi::c_char,
    function: *const std::ffi::c_char,
    _: *const std::ffi::c_char,
    _: *const std::ffi::c_char,
) -> c_int {
    // SAFETY: the argument is the list that the test keeps alive; SQLite's texts end with a zero byte.
    let (denied, is_count) = unsafe {
        let is_count = !function.is_null() && std::ffi::CStr::from_ptr(function) == c"count";
        (&*denied.cast::<Mutex<Vec<c_int>>>(), is_count)
    };
    let denied = denied.lock().expect("the list");
    let is_denied = denied.contains(&action) && (action != ffi::SQLITE_FUNCTION || is_count);
    if is_denied { ffi::SQLITE_DENY } else { ffi::SQLITE_OK }
}

/// Sets an authorizer that denies these actions, and a progress handler that stops statements after the deadline.
fn restrict(connection: &Connection, denied: &Mutex<Vec<c_int>>, deadline: &mut Instant) {
    // SAFETY: a live connection; list and instant outlive the statements of the test.
    unsafe {
        let deadline: *mut Instant = deadline;
        ffi::sqlite3_set_authorizer(
            connection.handle(),
            Some(deny),
            std::ptr::from_ref(denied).cast_mut().cast(),
        );
        ffi::sqlite3_progress_handler(connection.handle(), 1000, Some(stop_after), deadline.cast());
    }
}

/// Progress handlers work under an authorizer that denies recursion and the function count (rule 13.13).
#[test]
fn a_progress_handler_works_under_an_authorizer() {
    let connection = connect();
    connection.execute_batch(LARGE).expect("a large set");
    let denied = Mutex::new(vec![ffi::SQLITE_RECURSIVE, ffi::SQLITE_FUNCTION]);
    let mut deadline = Instant::now() + Duration::from_millis(300);
    restrict(&connection, &denied, &mut deadline);
    let outcome = run(&connection, "SELECT hex(ltr_fit('q_svm', 'judged', '{\"tolerance\": 1e-12}'))");
    assert!(Instant::now() < deadline + SOON);
    assert_eq!(outcome.expect_err("stopped").sqlite_error_code(), Some(ErrorCode::OperationInterrupted));
    // SAFETY: a live connection.
    unsafe {
        ffi::sqlite3_set_authorizer(connection.handle(), None, std::ptr::null_mut());
        ffi::sqlite3_progress_handler(connection.handle(), 0, None, std::ptr::null_mut());
    }
}

/// Without the checks the call fails immediately: the statement is prepared, then the authorizer denies all SELECTs.
#[test]
fn a_host_that_cannot_be_polled_is_told_what_to_allow() {
    let connection = connect();
    connection.execute_batch(LARGE).expect("a large set");
    let fit = "SELECT ltr_fit('q_svm', 'SELECT * FROM judged WHERE query_id < 9', '{\"lambda\": 1, \"fit_at\": \"query_time\"}')";
    let model: Vec<u8> = connection.query_row(fit, [], |row| row.get(0)).expect("a model");
    let denied = Mutex::new(Vec::new());
    let mut deadline = Instant::now() + Duration::from_secs(600);
    restrict(&connection, &denied, &mut deadline);
    let mut statement =
        connection.prepare("SELECT ltr_score(?1, '[1, 2, 3, 4]', '[1, 2, 3, 4]')").expect("a statement");
    denied.lock().expect("the list").push(ffi::SQLITE_SELECT);
    let problem = statement.query_row([&model], |_| Ok(())).expect_err("denied").to_string();
    assert!(problem.starts_with("ltr_score: ") && problem.contains("SQLITE_SELECT"), "{problem}");
    // SAFETY: a live connection.
    unsafe { ffi::sqlite3_set_authorizer(connection.handle(), None, std::ptr::null_mut()) };
}

/// Aggregates are computed when the last row has come; they stop too.
#[test]
fn an_interrupt_stops_an_aggregate() {
    let connection = connect();
    let rows =
        "WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 40000) SELECT i FROM n";
    connection.execute_batch(&format!("CREATE TABLE t AS {rows}")).expect("rows");
    let handle = connection.get_interrupt_handle();
    let sent = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(200));
        handle.interrupt();
        Instant::now()
    });
    // All rows are tied, which takes seconds.
    let sql = "SELECT ltr_metric('alpha_ndcg', '[' || (i % 3) || ']', 1.0) || '' FROM t";
    let outcome = run(&connection, sql);
    let ended = Instant::now();
    assert!(ended.duration_since(sent.join().expect("the thread")) < SOON);
    let code = outcome.expect_err("interrupted").sqlite_error_code();
    assert_eq!(code, Some(ErrorCode::OperationInterrupted));
}

/// A database file of this test alone, removed when the test ends.
struct File(std::path::PathBuf);

impl File {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("sqlite-ltr-{}-{name}.db", std::process::id()));
        drop(std::fs::remove_file(&path));
        Self(path)
    }

    fn open(&self, flags: OpenFlags) -> Connection {
        let connection = Connection::open_with_flags(&self.0, flags).expect("a database file");
        sqlite_ltr::register(&connection).expect("registration");
        connection
    }
}

impl Drop for File {
    fn drop(&mut self) {
        drop(std::fs::remove_file(&self.0));
    }
}

/// Rule 13.6: and it trains with `ltr_fit`.
#[test]
fn a_read_only_database_ranks_scores_evaluates_and_fits() {
    let file = File::new("read-only");
    let writer = file.open(OpenFlags::default());
    writer.execute_batch("CREATE TABLE j(query_id, doc_id, relevance, a); INSERT INTO j VALUES (1, 1, 0, 0.1), (1, 2, 1, 0.9), (2, 1, 1, 0.8), (2, 2, 0, 0.3)").expect("a toy set");
    run(&writer, "SELECT ltr_train('rank_svm', 'j', '{\"lambda\": 0.1}')").expect("a model");
    drop(writer);
    let reader = file.open(OpenFlags::SQLITE_OPEN_READ_ONLY);
    for sql in [
        "SELECT count(*) || '' FROM ltr_rank('rank_svm', 'j')",
        "SELECT ltr_score('rank_svm', '[0.5]') || ''",
        "SELECT ltr_prefer('rank_svm', '[0.5]', '[0.6]') || ''",
        "SELECT count(*) || '' FROM ltr_evaluate('rank_svm', 'j')",
        "SELECT hex(ltr_fit('rank_svm', 'j'))",
    ] {
        run(&reader, sql).unwrap_or_else(|problem| panic!("{sql}: {problem}"));
    }
    let problem = run(&reader, "SELECT ltr_train('rank_svm', 'j')").expect_err("read-only").to_string();
    assert_eq!(
        problem,
        "ltr_train: the database 'main' is read-only; ltr_fit returns the model as a BLOB and writes nothing"
    );
}

#[test]
fn a_database_with_models_opens_without_this_crate() {
    let file = File::new("plain");
    let writer = file.open(OpenFlags::default());
    writer.execute_batch("CREATE TABLE j(query_id, doc_id, relevance, a); INSERT INTO j VALUES (1, 1, 0, 0.1), (1, 2, 1, 0.9)").expect("a toy set");
    for _ in 0..2 {
        run(&writer, "SELECT ltr_train('rank_svm', 'j', '{\"lambda\": 0.1}')").expect("a model");
    }
    drop(writer);
    let plain = Connection::open(&file.0).expect("the file");
    let rolled_back =
        plain.execute("UPDATE ltr_models SET active = (version = 1) WHERE name = 'rank_svm'", []);
    assert_eq!(rolled_back.expect("plain SQL"), 2);
    assert_eq!(run(&plain, "PRAGMA integrity_check").expect("a check"), "ok");
}

/// Another connection can write while this one computes. (Not while it reads its source, as with any SELECT.)
#[test]
fn training_holds_no_lock_while_it_computes() {
    let file = File::new("unlocked");
    let trainer = file.open(OpenFlags::default());
    trainer.execute_batch(LARGE).expect("a large set");
    let other = Connection::open(&file.0).expect("a second connection");
    other.busy_timeout(Duration::ZERO).expect("no waiting");
    other.execute_batch("CREATE TABLE meanwhile(a)").expect("a table");
    let sql =
        "SELECT ltr_train('q_svm', 'judged', '{\"time_limit\": 5, \"tolerance\": 1e-12, \"threads\": 1}')";
    let training = std::thread::spawn(move || run(&trainer, sql));
    let (mut written, mut busy) = (0, 0);
    while !training.is_finished() {
        match other.execute("INSERT INTO meanwhile VALUES (1)", []) {
            Ok(_) if training.is_finished() => {}
            Ok(_) => written += 1,
            Err(_) => busy += 1,
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    let outcome = training.join().expect("the thread");
    assert!(
        written >= 5,
        "{written} writes while the other connection was at work, {busy} times it was busy; {outcome:?}"
    );
}

/// The variable of the child process that counts threads.
#[cfg(target_os = "linux")]
const COUNT_THREADS: &str = "LTR_COUNT_THREADS";

/// Calls of every kind. Calls of `q_svm` fit functions for new queries.
#[cfg(target_os = "linux")]
const CALLS: &[&str] = &[
    "SELECT ltr_train('q_svm', 'small', '{\"name\": \"q\", \"lambda\": 0.1, \"fit_at\": \"query_time\"}')",
    "SELECT count(*) FROM ltr_rank('q', 'SELECT query_id, doc_id, a + 1 AS a, b, c, d FROM small')",
    "SELECT count(*) FROM ltr_evaluate('q', 'small')",
    "SELECT ltr_score('q', ltr_vec(1, 2, 3, 4), ltr_vec(1, 2, 3, 5))",
    "SELECT ltr_prefer('q', ltr_vec(1, 2, 3, 4), ltr_vec(2, 2, 3, 4), ltr_vec(1, 2, 3, 6))",
    "SELECT count(*) FROM ltr_neighbors('q', '[1, 2, 3, 4]')",
    "SELECT ltr_train('list_net', 'small', '{\"name\": \"k\", \"kernel\": \"gaussian\"}')",
    "SELECT count(*) FROM ltr_rank('k', 'small')",
    "SELECT ltr_score('k', ltr_vec(1, 2, 3, 4))",
    "SELECT ltr_train('rank_svm', 'small', '{\"name\": \"l\"}')",
    "SELECT count(*) FROM ltr_weights('l')",
    "SELECT count(*) FROM ltr_explain('l', '[1, 2, 3, 4]')",
    "SELECT count(*) FROM ltr_explain('k', 'small', 1, (SELECT min(doc_id) FROM small WHERE query_id = 1))",
    "SELECT count(*) FROM ltr_importance('k', 'small')",
    "SELECT ltr_train('perceptron', 'small', '{\"name\": \"p\"}')",
    "SELECT ltr_update('p', 'small')",
    "SELECT ltr_train('cofi_rank', 'SELECT query_id AS user, doc_id % 7 AS item, relevance AS rating FROM small',
         '{\"name\": \"f\", \"loss\": \"direct\", \"max_rounds\": 2}')",
    "SELECT count(*) FROM ltr_recommend('f', 1)",
    "SELECT count(*) FROM ltr_recommend('f', 1, '{\"ratings\": [[1, 4], [2, 1], [3, 0]]}')",
];

#[cfg(target_os = "linux")]
fn threads() -> usize {
    std::fs::read_dir("/proc/self/task").expect("the threads of this process").count()
}

/// Not an independent test: a child process, in which no other test runs.
#[test]
#[cfg(target_os = "linux")]
fn child_counts_threads() {
    if std::env::var_os(COUNT_THREADS).is_none() {
        return;
    }
    let connection = connect();
    let small = "CREATE TABLE small AS SELECT * FROM judged WHERE query_id < 20 AND doc_id % 7 = 0";
    connection.execute_batch(&format!("{LARGE}; {small}")).expect("rows");
    let before = threads();
    for call in CALLS {
        connection.query_row(call, [], |_| Ok(())).unwrap_or_else(|problem| panic!("{call}: {problem}"));
        // The last threads of a pool may still be ending.
        let deadline = Instant::now() + SOON;
        while threads() > before && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(1));
        }
        assert_eq!(threads(), before, "{call}");
    }
}

/// Threads that outlive a call would hang child processes of a host that forks.
#[test]
#[cfg(target_os = "linux")]
fn no_thread_outlives_a_call() {
    let child = std::process::Command::new(std::env::current_exe().expect("this program"))
        .args(["limits::child_counts_threads", "--exact", "--nocapture"])
        .env(COUNT_THREADS, "1")
        .output()
        .expect("a child process");
    assert!(child.status.success(), "{}", String::from_utf8_lossy(&child.stderr));
}
