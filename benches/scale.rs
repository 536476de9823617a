//! Time and memory at scale: 10,000 queries x 120 documents x 136 single-precision features (0.65 GB) in one process
//! each: `cargo bench --bench scale`. Needs 1.5 GB of disk in the system's folder for temporary files.
//!
//! Memory is the largest resident set of the process (Linux only), as a multiple of the features' bytes.
#![allow(clippy::print_stdout, clippy::unwrap_used, reason = "a program that prints its measurements")]

mod process;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use process::largest_memory;
use rusqlite::Connection;
use sqlite_ltr::internals::math::random::Random;

const QUERIES: usize = 10_000;
const DOCUMENTS: usize = 120;
const FEATURES: usize = 136;
const BYTES: f64 = (QUERIES * DOCUMENTS * FEATURES * 4) as f64;

/// Each case runs in a separate process, in this order: later ones use the models of earlier ones.
const CASES: &[(&str, &str)] = &[
    ("rank_svm, one lambda", "SELECT ltr_train('rank_svm', 'judgments', '{\"lambda\": 0.01}')"),
    ("rank_svm, auto", "SELECT ltr_train('rank_svm', 'judgments')"),
    (
        "q_svm, fits at query time",
        "SELECT ltr_train('q_svm', 'judgments', '{\"lambda\": 0.01, \"fit_at\": \"query_time\"}')",
    ),
    ("a new query of q_svm", "SELECT count(*) FROM ltr_rank('q_svm', 'candidates')"),
    ("a query of rank_svm", "SELECT count(*) FROM ltr_rank('rank_svm', 'candidates')"),
    ("q_svm, all queries fitted", "SELECT ltr_train('q_svm', 'judgments', '{\"lambda\": 0.01}')"),
];

/// A number of a normal distribution: the sum of twelve uniform numbers less six.
fn normal(random: &mut Random) -> f32 {
    (0..12).map(|_| (random.bits() >> 11) as f32 / (1u64 << 53) as f32).sum::<f32>() - 6.0
}

fn open(path: &Path) -> Connection {
    let connection = Connection::open(path).unwrap();
    sqlite_ltr::register(&connection).unwrap();
    connection
}

/// Queries lie on a circle; the two features that matter depend on where. Grades 0 to 4, most of them 0.
fn fill(path: &Path) {
    let connection = open(path);
    connection
        .execute_batch(
            "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;
             CREATE TABLE judgments (query_id INTEGER, doc_id INTEGER, relevance INTEGER, q_x REAL, q_y REAL, features BLOB);
             CREATE TABLE candidates AS SELECT * FROM judgments;
             BEGIN",
        )
        .unwrap();
    let mut insert = connection.prepare("INSERT INTO judgments VALUES (?, ?, ?, ?, ?, ?)").unwrap();
    let random = &mut Random::new(1);
    for query in 0..QUERIES {
        let angle = std::f64::consts::TAU * query as f64 / QUERIES as f64;
        let (x, y) = (angle.cos(), angle.sin());
        for document in 0..DOCUMENTS {
            let features: Vec<f32> = (0..FEATURES).map(|_| normal(random)).collect();
            let score = x * f64::from(features[0]) + y * f64::from(features[1]) + f64::from(normal(random));
            let relevance = ((score - 0.7) / 0.7).ceil().clamp(0.0, 4.0) as i64;
            let blob: Vec<u8> = features.iter().flat_map(|value| value.to_le_bytes()).collect();
            insert.execute((query as i64, document as i64, relevance, x, y, blob)).unwrap();
        }
    }
    drop(insert);
    connection
        .execute_batch(
            "INSERT INTO candidates SELECT -1, doc_id, NULL, 0.6, 0.8, features FROM judgments WHERE query_id = 7;
             COMMIT",
        )
        .unwrap();
}

fn run(path: &Path, (name, sql): (&str, &str)) {
    let connection = open(path);
    let started = Instant::now();
    let answer: String = connection
        .query_row(sql, [], |row| row.get_ref(0).map(|value| value.as_str().unwrap_or("").to_owned()))
        .unwrap();
    let taken = started.elapsed().as_secs_f64();
    let again = if sql.contains("ltr_rank") {
        let started = Instant::now();
        connection.query_row(sql, [], |_| Ok(())).unwrap();
        format!(", again {:.4} s", started.elapsed().as_secs_f64())
    } else {
        let report: serde_json::Value = serde_json::from_str(&answer).unwrap();
        format!(", reading {} s, lambda {}", report["seconds"]["reading"], report["lambda"])
    };
    let memory = largest_memory().map_or_else(String::new, |bytes| {
        format!(", {:.2} GB of memory = {:.2} x the features", bytes / 1e9, bytes / BYTES)
    });
    println!("{name}: {taken:.3} s{again}{memory}");
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    if arguments.iter().any(|argument| argument == "--test") {
        return;
    }
    if let Some(place) = arguments.iter().position(|argument| argument == "--case") {
        return run(
            &PathBuf::from(&arguments[place + 2]),
            CASES[arguments[place + 1].parse::<usize>().unwrap()],
        );
    }
    let path = std::env::temp_dir().join("sqlite-ltr-scale.db");
    if !path.exists() {
        fill(&path);
    }
    for (case, (name, _)) in CASES.iter().enumerate() {
        let program = std::env::current_exe().unwrap();
        let status = Command::new(program).arg("--case").arg(case.to_string()).arg(&path).status().unwrap();
        assert!(status.success(), "{name} failed");
    }
    std::fs::remove_file(&path).unwrap();
}
