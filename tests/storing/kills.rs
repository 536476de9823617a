//! Processes that end while they store: afterwards the earlier version or a complete new one is active.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use crate::faulty_files::{Fault, NAME, install, left, plan};
use crate::support::{Folder, MODES, TRAIN, assert_intact, is_long, m, open, run};

/// Starts this program again to run the test `test`, which finds the database and the value by [`started`].
pub fn start(test: &str, database: &Path, value: &str) -> Child {
    Command::new(std::env::current_exe().expect("this program"))
        .args(["--exact", test, "--nocapture"])
        .env("LTR_STORING_DATABASE", database)
        .env("LTR_STORING_VALUE", value)
        .stdout(Stdio::piped())
        .stderr(Stdio::inherit())
        .spawn()
        .expect("a process")
}

/// Database and value of a process that was started by [`start`].
pub fn started() -> Option<(std::path::PathBuf, String)> {
    Some((std::env::var_os("LTR_STORING_DATABASE")?.into(), std::env::var("LTR_STORING_VALUE").ok()?))
}

/// A process that ends at the change `at` of the files.
fn end_at_a_change(database: &Path, at: &str) {
    install();
    let connection = open(database, Some(NAME));
    plan(Fault::Kill, at.parse().expect("a number"));
    run(&connection, TRAIN).expect("a version");
    println!("left {}", left());
}

/// A process that trains until it is killed.
fn train_forever(database: &Path) -> ! {
    let connection = open(database, None);
    loop {
        let report = run(&connection, TRAIN).expect("a version");
        let report: serde_json::Value = serde_json::from_str(&report).expect("a report");
        println!("stored {}", report["version"]);
        std::io::stdout().flush().expect("the parent");
    }
}

#[test]
fn a_process_that_ends_at_any_change_leaves_all_or_nothing() {
    if let Some((database, at)) = started() {
        return end_at_a_change(&database, &at);
    }
    let this = "kills::a_process_that_ends_at_any_change_leaves_all_or_nothing";
    let mut killed = 0;
    for mode in MODES {
        for with_table in [true, false] {
            for at in 0.. {
                let folder = Folder::new(mode);
                if with_table {
                    run(&folder.open(), TRAIN).expect("a version");
                }
                let mut child = start(this, &folder.database(), &at.to_string());
                let status = child.wait().expect("the process");
                let connection = folder.open();
                let context = format!("{mode}, change {at}, with a version: {with_table}");
                let (versions, active) = m(&connection);
                assert!(versions.len() <= 1 + usize::from(with_table), "{context}");
                assert!(!with_table || !versions.is_empty(), "{context}");
                assert_eq!(active, versions.last().copied().into_iter().collect::<Vec<_>>(), "{context}");
                assert_intact(&connection, &context);
                run(&connection, TRAIN).expect(&context);
                if status.success() {
                    break;
                }
                killed += 1;
            }
        }
    }
    println!("{killed} processes ended at a change");
    assert!(killed > 30, "{killed}");
}

#[test]
fn a_killed_process_has_stored_what_it_reported() {
    if let Some((database, _)) = started() {
        train_forever(&database);
    }
    let this = "kills::a_killed_process_has_stored_what_it_reported";
    let kills = if is_long() { 500 } else { 20 };
    for mode in MODES {
        let folder = Folder::new(mode);
        let mut stored = 0;
        for kill in 0..kills {
            let mut child = start(this, &folder.database(), "");
            let mut lines = BufReader::new(child.stdout.take().expect("a pipe")).lines();
            // The first line says that the loop runs.
            let first = lines.find_map(|line| line.ok()?.strip_prefix("stored ")?.parse::<i64>().ok());
            std::thread::sleep(Duration::from_micros(kill * 7919 % 20_011));
            child.kill().expect("a kill");
            child.wait().expect("the end");
            let reported =
                lines.filter_map(|line| line.ok()?.strip_prefix("stored ")?.parse::<i64>().ok()).last();
            let connection = folder.open();
            let (versions, active) = m(&connection);
            stored = versions.last().copied().unwrap_or(0);
            assert_eq!(versions, (1..=stored).collect::<Vec<_>>(), "{mode}, kill {kill}");
            assert_eq!(active, [stored], "{mode}, kill {kill}");
            assert!(
                reported.or(first).is_some_and(|reported| reported <= stored),
                "{mode}: {reported:?} of {stored}"
            );
            if kill % 10 == 9 {
                assert_intact(&connection, mode);
            }
        }
        assert_intact(&folder.open(), mode);
        println!("{mode}: {kills} kills, {stored} versions");
    }
}
