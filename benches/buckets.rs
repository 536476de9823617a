//! Time and memory of training in buckets and in memory: `cargo bench --bench buckets`.
//!
//! Single-precision features, queries of 100 documents, grades 0 to 4. Each case runs in a separate process, from a
//! database in the system's folder for temporary files. Memory is the largest resident set of the process (Linux only).
//!
//! | argument | what |
//! |---|---|
//! | `--rows N --features D --buckets B` | one size; default: a table of sizes |
//! | `--algorithms a,b` | default `rank_svm,regression` |
//! | `--options JSON` | options of the training; default: one lambda, .001 |
//! | `--packs` | packs alone, without the rows in memory |
//! | `--keep` | keeps the database for the next run |
#![allow(clippy::print_stdout, clippy::unwrap_used, reason = "a program that prints its measurements")]

mod process;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use process::{largest_memory, processor};
use rusqlite::Connection;
use serde_json::{Value, json};
use sqlite_ltr::internals::math::random::Random;

const DOCUMENTS: usize = 100;

/// The sizes of the table: rows, features, buckets.
const SIZES: &[[usize; 3]] = &[
    [100_000, 50, 64],
    [300_000, 50, 64],
    [1_000_000, 50, 64],
    [1_000_000, 50, 8],
    [1_000_000, 50, 256],
    [1_000_000, 10, 64],
    [1_000_000, 136, 64],
];

fn open(path: &Path) -> Connection {
    let connection = Connection::open(path).unwrap();
    sqlite_ltr::register(&connection).unwrap();
    connection
}

/// A number of about a normal distribution: the sum of four uniform numbers, centered and scaled.
fn normal(random: &mut Random) -> f32 {
    let bits = random.bits();
    let part = |shift: u32| (bits >> shift & 0xffff) as f32 / 65536.0;
    (part(0) + part(16) + part(32) + part(48) - 2.0) * 1.732
}

/// Documents of a query: each feature is correlated with the one before, a few of them decide the grade.
fn documents(query: i64, features: usize) -> Vec<(i64, Vec<u8>)> {
    let random = &mut Random::new(query as u64 + 1);
    let document = |_| {
        let mut x: Vec<f32> = (0..features).map(|_| normal(random)).collect();
        (1..features).for_each(|j| x[j] = 0.5 * x[j - 1] + 0.866 * x[j]);
        let score: f32 = x.iter().enumerate().map(|(j, x)| x / (1.0 + j as f32)).sum();
        let score = score + 1.5 * normal(random);
        let grade = ((score - 0.7) / 0.9).ceil().clamp(0.0, 4.0) as i64;
        (grade, x.iter().flat_map(|value| value.to_le_bytes()).collect())
    };
    (0..DOCUMENTS).map(document).collect()
}

/// Fills `packs`, and `judgments` unless only packs are wanted.
fn fill(path: &Path, [rows, features, buckets]: [usize; 3], only_packs: bool) {
    let connection = open(path);
    connection
        .execute_batch(
            "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA page_size = 65536;
             CREATE TABLE packs (bucket INTEGER, rows BLOB);
             CREATE TABLE judgments (query_id INTEGER, doc_id INTEGER, relevance INTEGER, features BLOB);
             CREATE TEMP TABLE part AS SELECT * FROM judgments;",
        )
        .unwrap();
    let mut queries: Vec<Vec<i64>> = vec![Vec::new(); buckets];
    let mut bucket = connection.prepare("SELECT ltr_bucket(?, ?)").unwrap();
    for query in 0..(rows / DOCUMENTS) as i64 {
        let number: i64 = bucket.query_row((query, buckets as i64), |row| row.get(0)).unwrap();
        queries[number as usize].push(query);
    }
    for (bucket, queries) in queries.into_iter().enumerate() {
        connection.execute_batch("BEGIN").unwrap();
        let mut insert = connection.prepare("INSERT INTO part VALUES (?, ?, ?, ?)").unwrap();
        for query in queries {
            for (document, (grade, features)) in documents(query, features).into_iter().enumerate() {
                insert.execute((query, document as i64, grade, features)).unwrap();
            }
        }
        let pack = "INSERT INTO packs SELECT ?, ltr_pack(query_id, doc_id, relevance, features) FROM part HAVING count(*) > 0";
        connection.execute(pack, [bucket as i64]).unwrap();
        if !only_packs {
            connection.execute_batch("INSERT INTO judgments SELECT * FROM part").unwrap();
        }
        connection.execute_batch("DELETE FROM part; COMMIT").unwrap();
    }
}

/// Trains in this process and prints what it took, and the weights, as JSON.
fn train(path: &Path, algorithm: &str, source: &str, options: &str) {
    let connection = open(path);
    let started = Instant::now();
    let sql = "SELECT ltr_fit(?, ?, ?)";
    let model: Vec<u8> = connection.query_row(sql, (algorithm, source, options), |row| row.get(0)).unwrap();
    let (seconds, processor, memory) = (started.elapsed().as_secs_f64(), processor(), largest_memory());
    let mut statement = connection.prepare("SELECT weight FROM ltr_weights(?)").unwrap();
    let weights = statement.query_map([&model], |row| row.get::<_, f64>(0)).unwrap();
    let weights: Vec<f64> = weights.map(Result::unwrap).collect();
    let card: String = connection.query_row("SELECT ltr_info(?)", [&model], |row| row.get(0)).unwrap();
    let card: Value = serde_json::from_str(&card).unwrap();
    println!(
        "{}",
        json!({"seconds": seconds, "processor": processor, "memory": memory, "weights": weights, "card": card})
    );
}

/// Trains by the functions of engines and prints the rounds and the largest answer and state, as JSON.
fn count(path: &Path, algorithm: &str, options: &str) {
    let connection = open(path);
    let mut state: Vec<u8> =
        connection.query_row("SELECT ltr_begin(?, ?)", (algorithm, options), |row| row.get(0)).unwrap();
    let (mut rounds, mut largest_answer, mut largest_state) = (0, 0, 0);
    loop {
        let done: bool =
            connection.query_row("SELECT ltr_info(?) ->> 'done'", [&state], |row| row.get(0)).unwrap();
        if done {
            break;
        }
        rounds += 1;
        let sql = "SELECT ltr_merge(ltr_partial(?, bucket, rows)) FROM packs";
        let answer: Vec<u8> = connection.query_row(sql, [&state], |row| row.get(0)).unwrap();
        let sql = "SELECT ltr_step(?, ?)";
        state = connection.query_row(sql, (&state, &answer), |row| row.get(0)).unwrap();
        largest_answer = largest_answer.max(answer.len());
        largest_state = largest_state.max(state.len());
    }
    println!("{}", json!({"rounds": rounds, "answer": largest_answer, "state": largest_state}));
}

/// The JSON that this program prints with these arguments, in a separate process.
fn in_process(path: &Path, arguments: &[&str]) -> Value {
    let program = std::env::current_exe().unwrap();
    let output = Command::new(program).arg("--case").arg(path).args(arguments).output().unwrap();
    let problem = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?} failed: {problem}");
    serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{arguments:?}: {problem}"))
}

/// Time, CPU time and memory.
fn figures(value: &Value) -> String {
    let of = |what: &str| value[what].as_f64().unwrap_or(f64::NAN);
    format!("{:.1} s | {:.1} s | {:.0} MB", of("seconds"), of("processor"), of("memory") / 1e6)
}

/// Norm of the difference of two weight vectors, relative to the norm of the first.
fn difference(a: &Value, b: &Value) -> f64 {
    let numbers = |value: &Value| -> Vec<f64> {
        value.as_array().unwrap().iter().map(|number| number.as_f64().unwrap()).collect()
    };
    let (a, b) = (numbers(a), numbers(b));
    let norm = |x: &mut dyn Iterator<Item = f64>| x.map(|x| x * x).sum::<f64>().sqrt();
    norm(&mut a.iter().zip(&b).map(|(a, b)| a - b)) / norm(&mut a.iter().copied())
}

fn argument(name: &str) -> Option<String> {
    let mut arguments = std::env::args().skip_while(|argument| argument != name);
    arguments.nth(1)
}

fn has(name: &str) -> bool {
    std::env::args().any(|argument| argument == name)
}

/// One size, all algorithms: a row of the table for each.
fn measure([rows, features, buckets]: [usize; 3], algorithms: &str, options: &str, only_packs: bool) {
    let path: PathBuf =
        std::env::temp_dir().join(format!("sqlite-ltr-buckets-{rows}-{features}-{buckets}.db"));
    if !path.exists() {
        fill(&path, [rows, features, buckets], only_packs);
    }
    let mut in_buckets: Value = serde_json::from_str(options).unwrap();
    in_buckets["buckets"] = json!(buckets);
    let in_buckets = in_buckets.to_string();
    for algorithm in algorithms.split(',') {
        let packs = in_process(&path, &["train", algorithm, "packs", &in_buckets]);
        let counts = in_process(&path, &["count", algorithm, &in_buckets]);
        let of = |value: &Value, what: &str| value[what].as_f64().unwrap_or(f64::NAN);
        let bytes = (rows * features * 4) as f64;
        print!(
            "| {rows} | {features} | {buckets} | {:.2} GB | {algorithm} | {} | {} | {} | {}",
            bytes / 1e9,
            counts["rounds"],
            counts["answer"],
            counts["state"],
            figures(&packs)
        );
        if only_packs {
            println!(" |");
            continue;
        }
        let in_memory = in_process(&path, &["train", algorithm, "judgments", options]);
        println!(
            " | {} | {:.2} | {:.2} | {:.1e} |",
            figures(&in_memory),
            of(&packs, "seconds") / of(&in_memory, "seconds"),
            of(&packs, "processor") / of(&in_memory, "processor"),
            difference(&in_memory["weights"], &packs["weights"])
        );
    }
    if !has("--keep") {
        std::fs::remove_file(&path).unwrap();
    }
}

fn main() {
    if has("--test") {
        return;
    }
    let arguments: Vec<String> = std::env::args().collect();
    if let Some(place) = arguments.iter().position(|argument| argument == "--case") {
        let path = PathBuf::from(&arguments[place + 1]);
        let [what, algorithm, rest @ ..] = &arguments[place + 2..] else { return };
        return match (what.as_str(), rest) {
            ("train", [source, options, ..]) => train(&path, algorithm, source, options),
            (_, [options, ..]) => count(&path, algorithm, options),
            _ => {}
        };
    }
    let number = |name: &str| argument(name).map(|text| text.parse::<usize>().unwrap());
    let options = argument("--options").unwrap_or_else(|| r#"{"lambda": 0.001}"#.to_owned());
    let algorithms = argument("--algorithms").unwrap_or_else(|| "rank_svm,regression".to_owned());
    let end = if has("--packs") {
        ""
    } else {
        " in memory | processor | memory | ratio | of CPU time | difference of weights |"
    };
    let start = "| rows | features | buckets | features' bytes | algorithm | rounds | answer | state";
    println!("{start} | packs | processor | memory |{end}");
    match (number("--rows"), number("--features"), number("--buckets")) {
        (Some(rows), features, buckets) => {
            measure(
                [rows, features.unwrap_or(50), buckets.unwrap_or(256)],
                &algorithms,
                &options,
                has("--packs"),
            );
        }
        _ => SIZES.iter().for_each(|size| measure(*size, &algorithms, &options, has("--packs"))),
    }
}
