//! Rule 15.4: trainings in buckets give the same bytes on rows, on packs, in the recursive statement and in any engine, for
//! any number of threads, partition, order and tree of merges.

use rusqlite::Connection;
use rusqlite::types::Value;
use sqlite_ltr::internals::math::random::Random;

use crate::buckets::{fit, recursive, with};
use crate::support::{database, value};

/// What a training reads.
#[derive(Clone, Copy, Debug)]
struct Rows {
    queries: usize,
    /// Whether some features are missing.
    has_missing: bool,
    /// Whether queries have weights, and documents.
    weights: [bool; 2],
    /// Whether features are BLOBs.
    in_blobs: bool,
    seed: u64,
}

const PLAIN: Rows =
    Rows { queries: 40, has_missing: false, weights: [false, false], in_blobs: true, seed: 1 };
const WEIGHTED: Rows =
    Rows { queries: 40, has_missing: true, weights: [true, true], in_blobs: false, seed: 2 };
/// For losses that do not weigh documents.
const WEIGHTED_QUERIES: Rows = Rows { weights: [true, false], seed: 3, ..WEIGHTED };

/// Judged documents in the order of queries and, as `shuffled`, in a random one.
fn database_of(rows: Rows) -> Connection {
    let connection = database();
    let columns = "query_id, doc_id, relevance, features, weight, doc_weight";
    connection.execute_batch(&format!("CREATE TABLE packed({columns}); BEGIN")).unwrap();
    let mut insert = connection.prepare("INSERT INTO packed VALUES (?, ?, ?, ?, ?, ?)").unwrap();
    let mut random = Random::new(rows.seed);
    for query in 0..rows.queries {
        // Ids of both types that Spark hashes.
        let id = if query % 2 == 0 { format!("query {query}").into() } else { Value::from(query as i64) };
        let weight = if rows.weights[0] { 0.3 + (query % 3) as f64 } else { 1.0 };
        for doc in 0..2 + random.below(7) {
            let x: [f64; 4] = [(); 4].map(|()| random.symmetric());
            let grade = i64::from(x[0] - 0.5 * x[1] > -0.3) + i64::from(x[0] + 0.3 * x[2] > 0.4);
            let middle = if rows.has_missing && random.symmetric() > 0.4 {
                "null".to_owned()
            } else {
                (9.0 * x[2]).round().to_string()
            };
            let features = format!("[{}, {}, {middle}, {}]", x[0], x[1], 100.0 + x[3]);
            let features = if rows.in_blobs {
                Value::Blob(value(&connection, "SELECT ltr_vec(?)", [&features]))
            } else {
                Value::Text(features)
            };
            let doc_weight = if rows.weights[1] { 0.5 + (doc % 3) as f64 } else { 1.0 };
            insert.execute((&id, doc as i64, grade, features, weight, doc_weight)).unwrap();
        }
    }
    drop(insert);
    // A column of weights is refused by some losses, even if all are 1.
    let last = if rows.weights[1] { ", doc_weight" } else { "" };
    connection
        .execute_batch(&format!(
            "COMMIT; CREATE TABLE judgments AS SELECT query_id, doc_id, relevance, features, weight{last} FROM packed;
             CREATE TABLE shuffled AS SELECT * FROM judgments ORDER BY random()"
        ))
        .unwrap();
    connection
}

/// The merged answer, in a random tree of merges of two or three.
fn merged(connection: &Connection, mut answers: Vec<Vec<u8>>, random: &mut Random) -> Option<Vec<u8>> {
    let mut merge = connection.prepare("SELECT ltr_merge(column1) FROM (VALUES (?), (?), (?))").unwrap();
    while answers.len() > 1 {
        random.shuffle(&mut answers);
        let [first, second] = [answers.pop(), answers.pop()];
        let third = if random.below(2) == 0 { answers.pop() } else { None };
        answers.push(merge.query_row((first, second, third), |row| row.get(0)).unwrap());
    }
    answers.pop()
}

/// A training as an engine runs it: workers answer and merge the packs of their partition, one merges the partitions.
fn engine(
    connection: &Connection,
    (algorithm, options): (&str, &str),
    (packs, partitions): (&[(i64, Vec<u8>)], usize),
    random: &mut Random,
) -> Vec<u8> {
    let workers = [database(), database()];
    let mut state: Vec<u8> = value(connection, "SELECT ltr_begin(?, ?)", (algorithm, options));
    while !value::<bool>(connection, "SELECT ltr_info(?) ->> 'done'", [&state]) {
        let mut parts = vec![Vec::new(); partitions];
        for (bucket, rows) in packs {
            let part = random.below(partitions);
            let mut answer = workers[part % 2].prepare("SELECT ltr_partial(?, ?, ?)").unwrap();
            parts[part].push(answer.query_row((&state, bucket, rows), |row| row.get(0)).unwrap());
        }
        let parts = parts.into_iter().filter_map(|part| merged(&workers[0], part, random)).collect();
        let answer = merged(&workers[1], parts, random);
        state = value(connection, "SELECT ltr_step(?, ?)", (&state, answer));
    }
    value(connection, "SELECT ltr_finish(?)", [&state])
}

/// All ways to train give the model of the rows.
fn check(connection: &Connection, algorithm: &str, options: &str, buckets: u32, random: &mut Random) {
    let options = with(options, &format!("\"buckets\": {buckets}"));
    let shown = |way: &str| format!("{algorithm} {options}: {way}");
    connection
        .execute_batch(&format!(
            "DROP TABLE IF EXISTS packs; CREATE TABLE packs AS SELECT ltr_bucket(query_id, {buckets}) AS bucket,
               ltr_pack(query_id, doc_id, relevance, features, NULL, weight, doc_weight) AS rows
               FROM (SELECT * FROM packed ORDER BY random()) GROUP BY 1 ORDER BY random()"
        ))
        .unwrap();
    let model = fit(connection, algorithm, "judgments", &options);
    let one_thread = with(&options, "\"threads\": 1");
    let two_threads = with(&options, "\"threads\": 2");
    for (source, options) in [("shuffled", &one_thread), ("packs", &one_thread), ("packs", &two_threads)] {
        assert!(model == fit(connection, algorithm, source, options), "{}", shown(source));
    }
    assert!(model == recursive(connection, algorithm, "packs", &options), "{}", shown("statement"));
    let packs: Vec<(i64, Vec<u8>)> = connection
        .prepare("SELECT bucket, rows FROM packs")
        .unwrap()
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?)))
        .unwrap()
        .map(Result::unwrap)
        .collect();
    for partitions in [1, 7, 64] {
        let found = engine(connection, (algorithm, &options), (&packs, partitions), random);
        assert!(model == found, "{}", shown(&format!("{partitions} partitions")));
    }
}

/// Every algorithm that trains in buckets, with scalings, missing values, weights and validation spread over the cases.
const CASES: &[(&str, &str, Rows, u32)] = &[
    ("regression", r#"{"scale": "none", "missing": "zero"}"#, WEIGHTED, 8),
    ("regression", r#"{"scale": "quantile", "missing": "mean", "lambda": 0.1}"#, WEIGHTED_QUERIES, 256),
    ("eigen_rank", r#"{"scale": "standard", "missing": "mean"}"#, WEIGHTED_QUERIES, 8),
    ("eigen_rank", r#"{"scale": "quantile", "components": 2}"#, PLAIN, 256),
    ("rank_svm", r#"{"scale": "standard", "missing": "mean", "lambda": 0.01}"#, WEIGHTED, 256),
    ("rank_svm", r#"{"scale": "quantile", "lambda": [0.1, 0.01]}"#, PLAIN, 8),
    ("list_net", r#"{"scale": "none", "missing": "mean", "lambda": 0.01}"#, WEIGHTED, 8),
    ("list_net", r#"{"scale": "quantile", "lambda": [0.1, 0.01]}"#, PLAIN, 256),
    ("list_mle", r#"{"scale": "quantile", "missing": "zero", "lambda": 0.01}"#, WEIGHTED_QUERIES, 256),
    ("list_mle", r#"{"scale": "standard", "lambda": 0.1}"#, PLAIN, 8),
    ("cs_list_mle", r#"{"scale": "standard", "missing": "zero", "lambda": 0.01}"#, WEIGHTED_QUERIES, 8),
    ("cs_list_mle", r#"{"scale": "none", "weighting": "pairs", "lambda": 0.1}"#, PLAIN, 256),
];

/// With `LTR_LONG=1` more queries, and all combinations.
#[test]
fn every_way_to_train_gives_the_same_bytes() {
    let mut random = Random::new(11);
    for &(algorithm, options, rows, buckets) in CASES {
        check(&database_of(rows), algorithm, options, buckets, &mut random);
    }
    let is_long = crate::support::is_long();
    for &(algorithm, _, rows, buckets) in CASES.iter().filter(|_| is_long) {
        let connection = database_of(Rows { queries: 200, ..rows });
        for scale in ["none", "standard", "quantile"] {
            for missing in ["mean", "zero"] {
                for lambda in ["0.01", "[0.3, 0.1, 0.01]"] {
                    let options =
                        format!(r#"{{"scale": "{scale}", "missing": "{missing}", "lambda": {lambda}}}"#);
                    check(&connection, algorithm, &options, buckets, &mut random);
                }
            }
        }
    }
}
