//! A write, sync, truncation or deletion of a file that fails, at every one of them: the earlier version stays as it is.

use crate::faulty_files::{Fault, NAME, install, left, plan};
use crate::support::{Folder, MODES, TRAIN, assert_intact, has_table, m, open, run};

/// Fails at every change in turn; returns the number of changes.
fn walk(mode: &str, fault: Fault, with_table: bool, in_transaction: bool) -> usize {
    for at in 0.. {
        let folder = Folder::new(mode);
        if with_table {
            run(&folder.open(), TRAIN).expect("a version");
        }
        let before = m(&folder.open());
        let context = format!("{mode}, {fault:?} at change {at}, in a transaction: {in_transaction}");
        // 1. A training with one failing change.
        let connection = open(&folder.database(), Some(NAME));
        plan(fault, at);
        if in_transaction {
            drop(connection.execute_batch("BEGIN"));
        }
        let mut outcome = run(&connection, TRAIN);
        if in_transaction && !connection.is_autocommit() {
            let ended = connection.execute_batch("COMMIT").map_err(|problem| problem.to_string());
            outcome = outcome.and_then(|report| ended.map(|()| report));
        }
        let reached = left() < 0;
        plan(Fault::None, 0);
        // 2. The connection, if it still works, and a later one see all or nothing.
        drop(connection);
        let connection = folder.open();
        let expected = match (&outcome, with_table) {
            (Ok(_), true) => (vec![1, 2], vec![2]),
            (Ok(_), false) => (vec![1], vec![1]),
            (Err(_), _) => before,
        };
        assert_eq!(m(&connection), expected, "{context}: {outcome:?}");
        assert_eq!(has_table(&connection), with_table || outcome.is_ok(), "{context}");
        assert_intact(&connection, &context);
        // 3. The next training is stored.
        run(&connection, TRAIN).expect(&context);
        if !reached {
            outcome.expect(&context);
            return at;
        }
    }
    0
}

#[test]
fn failing_changes_of_files_leave_all_or_nothing() {
    install();
    let mut calls = 0;
    for mode in MODES {
        for fault in [Fault::Once, Fault::Sticky] {
            for (with_table, in_transaction) in [(true, false), (false, false), (true, true)] {
                calls += walk(mode, fault, with_table, in_transaction);
            }
        }
    }
    println!("{calls} failing changes");
    assert!(calls > 80, "{calls}");
}
