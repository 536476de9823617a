//! Training in buckets: one model from a recursive statement, from packs and from rows; merges in any order; errors.

use rusqlite::Connection;
use sqlite_ltr::internals::math::random::Random;

use crate::support::{database, value};

/// Judged documents in text ids of queries, with some missing features and weights, and packs in 8 buckets.
fn judged(queries: usize) -> Connection {
    let connection = database();
    connection
        .execute_batch(
            "CREATE TABLE judgments(query_id, doc_id, relevance, features, weight, doc_weight);
             CREATE TABLE complete(query_id, doc_id, relevance, features); BEGIN",
        )
        .unwrap();
    let mut random = Random::new(3);
    let mut all = connection.prepare("INSERT INTO judgments VALUES (?, ?, ?, ?, ?, ?)").unwrap();
    let mut complete = connection.prepare("INSERT INTO complete VALUES (?, ?, ?, ltr_vec(?))").unwrap();
    for query in 0..queries {
        let id = format!("query {query}");
        let weight = 0.5 + (query % 3) as f64;
        for doc in 0..(2 + query % 7) {
            let x: Vec<f64> = (0..4).map(|_| random.symmetric()).collect();
            let score = x[0] - 0.5 * x[1] + 0.2 * random.symmetric();
            let grade = i64::from(score > -0.3) + i64::from(score > 0.4);
            let mut json = format!("[{}, {}, {}, {}]", x[0], x[1], (9.0 * x[2]).round(), 100.0 + x[3]);
            complete.execute((&id, doc, grade, &json)).unwrap();
            if random.symmetric() > 0.4 {
                json = format!("[{}, {}, null, {}]", x[0], x[1], 100.0 + x[3]);
            }
            all.execute((&id, doc, grade, &json, weight, (doc % 2 + 1) as f64)).unwrap();
        }
    }
    drop((all, complete));
    connection
        .execute_batch(
            "COMMIT;
             CREATE TABLE packs AS SELECT ltr_bucket(query_id, 8) AS bucket,
               ltr_pack(query_id, doc_id, relevance, features, NULL, weight, doc_weight) AS rows
               FROM (SELECT * FROM judgments ORDER BY random()) GROUP BY 1;
             CREATE TABLE complete_packs AS SELECT ltr_bucket(query_id, 8) AS bucket,
               ltr_pack(query_id, doc_id, relevance, features) AS rows FROM complete GROUP BY 1",
        )
        .unwrap();
    connection
}

/// The model of the recursive statement of the documentation.
fn recursive(connection: &Connection, algorithm: &str, packs: &str, options: &str) -> Vec<u8> {
    let sql = format!(
        "WITH RECURSIVE training(state) AS (
           SELECT ltr_begin(?1, ?2)
           UNION ALL
           SELECT ltr_step(state, (SELECT ltr_merge(ltr_partial(state, bucket, rows)) FROM {packs}))
             FROM training WHERE NOT ltr_info(state) ->> 'done')
         SELECT ltr_finish(state) FROM training WHERE ltr_info(state) ->> 'done'"
    );
    value(connection, &sql, (algorithm, options))
}

fn fit(connection: &Connection, algorithm: &str, source: &str, options: &str) -> Vec<u8> {
    value(connection, "SELECT ltr_fit(?1, ?2, ?3)", (algorithm, source, options))
}

fn with(options: &str, more: &str) -> String {
    format!("{}, {more}}}", options.trim_end_matches('}'))
}

/// The weights of a model, and those of the same training without buckets.
fn compare_weights(connection: &Connection, model: &[u8], other: &[u8], tolerance: f64) {
    let weights = |model: &[u8]| -> Vec<f64> {
        let mut statement = connection.prepare("SELECT weight FROM ltr_weights(?1)").unwrap();
        let rows = statement.query_map([model], |row| row.get(0)).unwrap();
        rows.map(Result::unwrap).collect()
    };
    for (own, other) in weights(model).iter().zip(weights(other)) {
        assert!((own - other).abs() <= tolerance * (1.0 + other.abs()), "{own} {other}");
    }
}

/// Trainings of every kind: algorithm, options, the largest difference of weights from a training without buckets.
const TRAININGS: &[(&str, &str, f64)] = &[
    ("regression", r#"{"lambda": 0.01, "scale": "none", "missing": "zero"}"#, 1e-12),
    ("regression", r#"{"lambda": 0.01, "scale": "standard", "missing": "mean"}"#, 1e-12),
    ("regression", r#"{"lambda": 0.01, "scale": "standard", "missing": "zero", "weighting": "pairs"}"#, 1e-12),
    ("regression", r#"{"lambda": 0.1, "scale": "quantile", "missing": "mean"}"#, 0.02),
    ("list_net", r#"{"lambda": 0.01, "scale": "standard", "missing": "mean", "tolerance": 1e-8}"#, 1e-4),
    ("rank_svm", r#"{"lambda": 0.01, "scale": "standard", "missing": "mean"}"#, 0.01),
];

#[test]
fn one_model_from_a_statement_from_packs_and_from_rows() {
    let connection = judged(60);
    for &(algorithm, options, tolerance) in TRAININGS {
        let in_buckets = with(options, r#""buckets": 8"#);
        let model = recursive(&connection, algorithm, "packs", &in_buckets);
        assert!(model == fit(&connection, algorithm, "packs", &in_buckets), "{algorithm} {options}: packs");
        assert!(model == fit(&connection, algorithm, "judgments", &in_buckets), "{algorithm} {options}: rows");
        let one_thread = with(&in_buckets, r#""threads": 1"#);
        assert!(model == fit(&connection, algorithm, "packs", &one_thread), "{algorithm} {options}: threads");
        let rows = fit(&connection, algorithm, "judgments", options);
        compare_weights(&connection, &model, &rows, tolerance);
    }
}

/// Losses that do not weigh documents, and features in BLOBs.
#[test]
fn features_in_blobs_train_every_algorithm() {
    let connection = judged(60);
    for (algorithm, options) in [
        ("regression", r#"{"buckets": 8}"#),
        ("rank_svm", r#"{"buckets": 8, "lambda": [0.1, 0.01], "pair_weights": "grade"}"#),
        ("eigen_rank", r#"{"buckets": 8}"#),
        ("eigen_rank", r#"{"buckets": 8, "components": 2, "scale": "standard"}"#),
        ("list_net", r#"{"buckets": 8, "scale": "standard", "lambda": [0.1, 0.01]}"#),
        ("list_mle", r#"{"buckets": 8, "lambda": 0.01}"#),
        ("cs_list_mle", r#"{"buckets": 8, "lambda": 0.01, "weighting": "documents"}"#),
    ] {
        let model = recursive(&connection, algorithm, "complete_packs", options);
        assert!(model == fit(&connection, algorithm, "complete_packs", options), "{algorithm}: packs");
        assert!(model == fit(&connection, algorithm, "complete", options), "{algorithm}: rows");
        let ndcg: f64 = value(
            &connection,
            "SELECT value FROM ltr_evaluate(?1, 'complete', '{\"metric\": \"ndcg@10\"}')",
            [&model],
        );
        assert!(ndcg > 0.9, "{algorithm}: {ndcg}");
    }
}
