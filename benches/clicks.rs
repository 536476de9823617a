//! Click models of a log with 10 million rows: `cargo bench --bench clicks`. Needs 0.5 GB of disk in the system's folder for
//! temporary files. A name as argument measures the cases whose names contain it.
//!
//! A million impressions show 10 of the 20 documents of one of 10,000 queries: 200,000 pairs. Users examine rows from the top
//! down; a click satisfies half of them, and nine of ten others go on. Each case runs in a separate process, with the log in
//! an SQLite file. Memory is the largest resident set of the process, CPU time covers all threads (Linux only).
#![allow(clippy::print_stdout, clippy::unwrap_used, reason = "a program that prints its measurements")]

mod process;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use process::{largest_memory, processor};
use rusqlite::Connection;
use sqlite_ltr::internals::math::random::Random;

const IMPRESSIONS: usize = 1_000_000;
const QUERIES: usize = 10_000;
const DOCUMENTS: usize = 20;
const ROWS: usize = 10;

/// Name and source of each case: `log` has no index, `indexed` is in the order of impressions and positions.
const CASES: &[(&str, &str)] = &[
    ("ctr", "log"),
    ("pbm", "log"),
    ("cascade", "log"),
    ("sdbn", "log"),
    ("ubm", "log"),
    ("auto", "log"),
    ("sdbn", "indexed"),
];

fn open(path: &Path) -> Connection {
    let connection = Connection::open(path).unwrap();
    sqlite_ltr::register(&connection).unwrap();
    connection
}

/// A number from 0 to 1.
fn uniform(random: &mut Random) -> f64 {
    f64::midpoint(random.symmetric(), 1.0)
}

fn fill(path: &Path) {
    let connection = open(path);
    connection
        .execute_batch(
            "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;
             CREATE TABLE log (impression INTEGER, query_id INTEGER, doc_id INTEGER, position INTEGER, clicked INTEGER);
             CREATE TABLE indexed (impression INTEGER, position INTEGER, query_id INTEGER, doc_id INTEGER, clicked INTEGER,
                                   PRIMARY KEY (impression, position)) WITHOUT ROWID;
             BEGIN",
        )
        .unwrap();
    let mut insert = connection.prepare("INSERT INTO log VALUES (?, ?, ?, ?, ?)").unwrap();
    let random = &mut Random::new(1);
    let attractive: Vec<f64> = (0..QUERIES * DOCUMENTS).map(|_| 0.05 + 0.5 * uniform(random)).collect();
    for impression in 0..IMPRESSIONS {
        let query = impression % QUERIES;
        let mut docs: Vec<usize> = (0..DOCUMENTS).collect();
        let mut examines = true;
        for position in 0..ROWS {
            docs.swap(position, position + (random.bits() as usize >> 8) % (DOCUMENTS - position));
            let pair = query * DOCUMENTS + docs[position];
            let clicked = examines && uniform(random) < attractive[pair];
            examines &= !(clicked && uniform(random) < 0.5) && uniform(random) < 0.9;
            let [impression, query, pair, position] =
                [impression, query, pair, position + 1].map(|id| id as i64);
            insert.execute((impression, query, pair, position, clicked)).unwrap();
        }
    }
    drop(insert);
    connection
        .execute_batch(
            "INSERT INTO indexed SELECT impression, position, query_id, doc_id, clicked FROM log;
             COMMIT",
        )
        .unwrap();
}

fn run(path: &Path, (model, source): (&str, &str)) {
    let connection = open(path);
    let started = Instant::now();
    let sql = "SELECT count(*), max(passes), min(model) FROM ltr_judgments(?1, json_object('model', ?2))";
    let (pairs, passes, chosen): (i64, i64, String) = connection
        .query_row(sql, (source, model), |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))
        .unwrap();
    let taken = started.elapsed().as_secs_f64();
    assert_eq!(pairs as usize, QUERIES * DOCUMENTS);
    let memory = largest_memory().map_or_else(String::new, |bytes| format!(", {:.0} MB", bytes / 1e6));
    let processor = processor().map_or_else(String::new, |seconds| format!(", {seconds:.1} s of processor"));
    println!("{model} ({chosen}) of {source}: {taken:.1} s{processor}, passes {passes}{memory}");
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments.iter().any(|argument| argument == "--test") {
        return;
    }
    if let Some(place) = arguments.iter().position(|argument| argument == "--case") {
        return run(
            &PathBuf::from(&arguments[place + 2]),
            CASES[arguments[place + 1].parse::<usize>().unwrap()],
        );
    }
    let path = std::env::temp_dir().join("sqlite-ltr-clicks.db");
    if !path.exists() {
        fill(&path);
    }
    let wanted: Vec<&String> = arguments.iter().filter(|argument| !argument.starts_with("--")).collect();
    for (case, (name, _)) in CASES.iter().enumerate() {
        if !wanted.is_empty() && !wanted.iter().any(|wanted| name.contains(wanted.as_str())) {
            continue;
        }
        let program = std::env::current_exe().unwrap();
        let status = Command::new(program).arg("--case").arg(case.to_string()).arg(&path).status().unwrap();
        assert!(status.success(), "{name} failed");
    }
    std::fs::remove_file(&path).unwrap();
}
