//! Kernels in buckets: landmarks are chosen from a sample of the documents.

use rusqlite::Connection;

use crate::buckets::{fit, judged, recursive, with};
use crate::support::value;

/// Scores of all documents.
fn scores(connection: &Connection, model: &[u8]) -> Vec<f64> {
    let sql = "SELECT score FROM ltr_rank(?1, 'complete') ORDER BY query_id, doc_id";
    let mut statement = connection.prepare(sql).unwrap();
    let rows = statement.query_map([model], |row| row.get(0)).unwrap();
    rows.map(Result::unwrap).collect()
}

/// The largest difference of scores, in standard deviations of the other ones.
fn difference(own: &[f64], other: &[f64]) -> f64 {
    assert!(own.len() == other.len() && !own.is_empty());
    let mean = other.iter().sum::<f64>() / other.len() as f64;
    let variance = other.iter().map(|score| (score - mean).powi(2)).sum::<f64>() / other.len() as f64;
    let largest = own.iter().zip(other).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
    largest / variance.sqrt()
}

/// With fewer documents than landmarks the functions are those of the exact kernel, so scores are those of a training on
/// rows, to the tolerance of the solver.
#[test]
fn a_kernel_in_buckets_is_that_of_rows() {
    let connection = judged(24);
    for (algorithm, options, tolerance) in [
        ("regression", r#"{"lambda": 0.01, "scale": "none", "kernel": {"gaussian": {"gamma": 0.1}}}"#, 1e-7),
        ("regression", r#"{"lambda": 0.01, "scale": "standard", "kernel": "gaussian"}"#, 1e-7),
        (
            "regression",
            r#"{"lambda": 0.1, "scale": "standard", "kernel": "laplace_l1", "landmarks": 40}"#,
            1e-7,
        ),
        ("eigen_rank", r#"{"components": 3, "scale": "standard", "kernel": "polynomial"}"#, 1e-7),
        (
            "list_net",
            r#"{"lambda": 0.1, "scale": "standard", "kernel": "gaussian", "tolerance": 1e-9}"#,
            1e-3,
        ),
        (
            "rank_svm",
            r#"{"lambda": 0.1, "scale": "standard", "kernel": {"gaussian": {"gamma": "median"}}}"#,
            0.01,
        ),
    ] {
        let in_buckets = with(options, r#""buckets": 8"#);
        let model = recursive(&connection, algorithm, "complete_packs", &in_buckets);
        assert!(model == fit(&connection, algorithm, "complete_packs", &in_buckets), "{algorithm}: packs");
        assert!(model == fit(&connection, algorithm, "complete", &in_buckets), "{algorithm}: rows");
        let one_thread = with(&in_buckets, r#""threads": 1"#);
        assert!(model == fit(&connection, algorithm, "complete_packs", &one_thread), "{algorithm}: threads");
        let shuffled = "SELECT * FROM complete_packs ORDER BY random()";
        assert!(model == fit(&connection, algorithm, shuffled, &in_buckets), "{algorithm}: shuffled");
        let rows = fit(&connection, algorithm, "complete", options);
        let found = difference(&scores(&connection, &model), &scores(&connection, &rows));
        assert!(found < tolerance, "{algorithm} {options}: {found}");
    }
}

/// Lambda by folds, missing features, and a sample of some of the documents: landmarks are documents of the data.
#[test]
fn landmarks_of_a_sample_rank_as_those_of_all_documents() {
    let connection = judged(700);
    let options = r#"{"scale": "quantile", "kernel": "gaussian", "landmarks": 60, "missing": "mean"}"#;
    let in_buckets = with(options, r#""buckets": 8"#);
    let model = recursive(&connection, "regression", "packs", &in_buckets);
    assert!(model == fit(&connection, "regression", "judgments", &in_buckets), "rows");
    let ndcg = |model: &[u8]| -> f64 {
        let sql = "SELECT value FROM ltr_evaluate(?1, 'judgments', '{\"missing\": \"mean\"}') WHERE query_id IS NULL";
        value(&connection, sql, [model])
    };
    let alone = fit(&connection, "regression", "judgments", options);
    let (found, expected) = (ndcg(&model), ndcg(&alone));
    assert!((found - expected).abs() < 0.005, "{found}, on rows {expected}");
    let another_seed = with(&in_buckets, r#""seed": 1"#);
    assert!(
        model != fit(&connection, "regression", "judgments", &another_seed),
        "the sample of another seed"
    );
}
