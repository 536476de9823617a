//! Trainings and updates from several connections concurrent with a steady writer, without a busy handler: none is lost, and every
//! update continues the version before it.

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use crate::kills::{start, started};
use crate::support::{Folder, MODES, assert_intact, is_long, number, open, run};

const CONNECTIONS: usize = 4;

/// One connection: `calls` trainings and as many updates, in turn; returns the errors.
fn work(database: &Path, connection_number: usize, calls: usize) -> Vec<String> {
    let connection = open(database, None);
    // The schema is read by the first statement of a connection, before any function is called.
    while connection.prepare("SELECT * FROM ltr_models").is_err() {
        std::thread::sleep(Duration::from_millis(1));
    }
    let mut errors = Vec::new();
    for call in 0..calls {
        let train = format!(
            r#"SELECT ltr_train('rank_svm', 'j', '{{"name": "t{connection_number}", "lambda": 0.1, "threads": 1}}')"#
        );
        let query = 1000 + connection_number * 100_000 + call;
        let update = format!(
            r#"SELECT ltr_update('u', 'SELECT {query} AS query_id, doc_id, relevance, a, b FROM j WHERE query_id = {}',
               '{{"on_conflict": "retry", "threads": 1}}')"#,
            call % 8
        );
        errors.extend([train, update].iter().filter_map(|sql| run(&connection, sql).err()));
    }
    errors
}

/// Writes until `stop` is set; returns the number of commits.
fn write(database: &Path, stop: &AtomicBool) -> usize {
    let connection = open(database, None);
    let mut commits = 0;
    while !stop.load(Ordering::Relaxed) {
        if connection.execute_batch("BEGIN IMMEDIATE").is_ok() {
            connection.execute("INSERT INTO log VALUES (1)", []).expect("a row");
            std::thread::sleep(Duration::from_millis(2));
            // In rollback-journal mode a commit waits for readers.
            while connection.execute_batch("COMMIT").is_err() {
                std::thread::sleep(Duration::from_millis(1));
            }
            commits += 1;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    commits
}

/// A process that works as one connection: its number and its calls are in `value`.
fn work_in_process(database: &Path, value: &str) {
    let (number, calls) = value.split_once(' ').expect("two numbers");
    let errors = work(database, number.parse().expect("a number"), calls.parse().expect("a number"));
    assert!(errors.is_empty(), "{errors:?}");
}

fn stress(mode: &str, processes: bool, calls: usize) {
    // 1. Four workers and the writer.
    let folder = Folder::new(mode);
    run(&folder.open(), r#"SELECT ltr_train('perceptron', 'j', '{"name": "u"}')"#).expect("a model");
    let (database, stop, lost) = (folder.database(), AtomicBool::new(false), AtomicUsize::new(0));
    let started = Instant::now();
    let commits = std::thread::scope(|scope| {
        let writer = scope.spawn(|| write(&database, &stop));
        if processes {
            let test = "stress::trainings_and_updates_during_writes_are_all_stored";
            let children: Vec<_> =
                (0..CONNECTIONS).map(|n| start(test, &database, &format!("{n} {calls}"))).collect();
            for mut child in children {
                let ended = child.wait().expect("the process");
                lost.fetch_add(usize::from(!ended.success()), Ordering::Relaxed);
            }
        } else {
            let work = |n: usize| {
                let errors = work(&database, n, calls);
                assert!(errors.is_empty(), "{mode}: {} lost, such as {}", errors.len(), errors[0]);
            };
            let workers: Vec<_> = (0..CONNECTIONS).map(|n| scope.spawn(move || work(n))).collect();
            for worker in workers {
                lost.fetch_add(usize::from(worker.join().is_err()), Ordering::Relaxed);
            }
        }
        stop.store(true, Ordering::Relaxed);
        writer.join().expect("the writer")
    });
    // 2. All versions, and the chain of the updates: each adds four documents to the version before.
    let connection = folder.open();
    let total = (CONNECTIONS * calls) as i64;
    let trained = number(&connection, "SELECT count(*) FROM ltr_models WHERE name <> 'u'");
    let updated = number(&connection, "SELECT count(*) - 1 FROM ltr_models WHERE name = 'u'");
    let torn = number(
        &connection,
        "SELECT count(*) FROM ltr_models WHERE name = 'u' AND (report ->> 'documents' <> 32 + 4 * (version - 1)
            OR ltr_info(model) -> 'training' ->> 'documents' <> 32 + 4 * (version - 1)
            OR coalesce(report ->> '$.from.version', 0) <> version - 1)",
    );
    println!(
        "{mode}, processes: {processes}: {trained} trainings and {updated} updates of {total} each, {torn} not based on the version \
         before, during {commits} commits, in {:.1} s",
        started.elapsed().as_secs_f64()
    );
    assert_eq!((trained, updated, torn, lost.into_inner()), (total, total, 0, 0), "{mode}");
    assert_intact(&connection, mode);
}

/// 4 x 10 trainings and as many updates; with `LTR_LONG=1` 4 x 100.
#[test]
fn trainings_and_updates_during_writes_are_all_stored() {
    if let Some((database, value)) = started() {
        return work_in_process(&database, &value);
    }
    let calls = if is_long() { 100 } else { 10 };
    for mode in MODES {
        for processes in [false, true] {
            stress(mode, processes, calls);
        }
    }
}
