//! Interrupts at every operation of storing: a call that reports an interrupt has stored nothing, and after a commit no
//! interrupt is reported (rule 5.19).

use std::sync::Arc;
use std::sync::atomic::Ordering;

use rusqlite::functions::{Context, FunctionFlags};

use crate::hooks::{Action, Hooks};
use crate::support::{Folder, assert_intact, has_table, is_long, m, number, run};

const TRAIN: &str =
    r#"ltr_train('rank_svm', 'j', '{"name": "m", "lambda": 0.1, "threads": 1, "keep_versions": 1}')"#;

/// Interrupts at every `stride`-th operation from the first savepoint on; returns the number of interrupted calls.
fn walk(mode: &str, action: Action, in_transaction: bool, stride: usize) -> usize {
    let folder = Folder::new(mode);
    let connection = folder.open();
    let (mut at, mut interrupted) = (0, 0);
    loop {
        // Half of the walks begin without the table.
        let with_table = at % 2 == 0;
        connection.execute_batch("DROP TABLE IF EXISTS ltr_models; DELETE FROM log").expect("no models");
        if with_table {
            run(&connection, &format!("SELECT {TRAIN}")).expect("a version");
        }
        if in_transaction {
            connection.execute_batch("BEGIN; INSERT INTO log VALUES (1)").expect("a transaction");
        }
        let (outcome, fired, _) = Hooks::run(&connection, action, at, |hooks| {
            // The hooks end when the call has returned: the interrupt of a later operation is the host's.
            let armed = Arc::clone(&hooks.armed);
            let received = move |context: &Context<'_>| {
                armed.store(false, Ordering::Relaxed);
                context.get::<String>(0)
            };
            connection
                .create_scalar_function("received", 1, FunctionFlags::SQLITE_UTF8, received)
                .expect("a function");
            run(&connection, &format!("SELECT received({TRAIN})"))
        });
        let context =
            format!("{mode}, {action:?} at operation {at}, in a transaction: {in_transaction}: {outcome:?}");
        check(&connection, &outcome, (with_table, in_transaction), &context);
        if !fired {
            outcome.expect(&context);
            return interrupted;
        }
        interrupted += usize::from(outcome.is_err());
        at += stride;
    }
}

fn check(
    connection: &rusqlite::Connection,
    outcome: &Result<String, String>,
    (with_table, in_transaction): (bool, bool),
    context: &str,
) {
    let rows = number(connection, "SELECT count(*) FROM log");
    if in_transaction {
        // SQLite rolls back a transaction whose write it interrupts. Otherwise the caller's row is still there.
        assert_eq!(rows, i64::from(!connection.is_autocommit()), "{context}");
    } else {
        assert!(connection.is_autocommit(), "{context}");
    }
    let expected = match (outcome, with_table) {
        (Ok(_), true) => 2,
        (Ok(_), false) | (Err(_), true) => 1,
        (Err(_), false) => 0,
    };
    let expected: Vec<i64> = if expected == 0 { Vec::new() } else { vec![expected] };
    assert_eq!(m(connection), (expected.clone(), expected), "{context}");
    assert_eq!(has_table(connection), with_table || outcome.is_ok(), "{context}");
    assert_intact(connection, context);
    if !connection.is_autocommit() {
        connection.execute_batch("ROLLBACK").expect("the caller's transaction");
    }
}

fn walk_all(stride: usize) {
    for mode in ["wal", "delete"] {
        for action in [Action::StopOnce, Action::Stop, Action::Interrupt] {
            for in_transaction in [false, true] {
                let interrupted = walk(mode, action, in_transaction, stride);
                println!(
                    "{mode}, {action:?}, in a transaction: {in_transaction}: {interrupted} calls interrupted"
                );
                assert!(interrupted > 0, "{mode}, {action:?}");
            }
        }
    }
}

#[test]
fn an_interrupted_call_has_stored_nothing() {
    walk_all(if is_long() { 1 } else { 7 });
}
