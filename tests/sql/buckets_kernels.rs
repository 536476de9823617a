//! Kernels (rule 15.6) and `auto` (rule 15.7) in buckets: landmarks and candidates are chosen from a sample.

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

/// The report about the candidates of `auto`, and how it chose lambda.
fn choice(connection: &Connection, model: &[u8]) -> String {
    let keys = "'$.training.candidates', '$.training.lambda', '$.training.validation'";
    value(connection, &format!("SELECT json_extract(ltr_info(?1), {keys})"), [model])
}

/// The kernels among the candidates of `auto`, without what tells whether trees take part.
fn kernels(connection: &Connection, model: &[u8]) -> String {
    let sql = "SELECT json_group_array(json(value)) FROM json_each(ltr_info(?1), '$.training.candidates')
               WHERE value ->> 'kernel' IS NOT NULL";
    value(connection, sql, [model])
}

/// With few documents the sample is all of them, so kernels are tried as on rows, and without trees the function is that of
/// rows.
#[test]
fn auto_in_buckets_chooses_as_on_rows() {
    let connection = judged(80);
    connection
        .execute_batch(
            "CREATE TABLE gaps AS SELECT query_id, doc_id, relevance, features FROM judgments;
             CREATE TABLE gaps_packs AS SELECT ltr_bucket(query_id, 8) AS bucket,
               ltr_pack(query_id, doc_id, relevance, features) AS rows FROM gaps GROUP BY 1;
             CREATE TABLE weighted AS SELECT query_id, doc_id, relevance, features, doc_id * 7 % 4 / 2.0 AS doc_weight FROM complete;
             CREATE TABLE weighted_packs AS SELECT ltr_bucket(query_id, 8) AS bucket,
               ltr_pack(query_id, doc_id, relevance, features, NULL, NULL, doc_weight) AS rows FROM weighted GROUP BY 1",
        )
        .unwrap();
    for (rows, packs, options) in [
        ("complete", "complete_packs", r#"{"landmarks": 20}"#),
        ("complete", "complete_packs", r#"{"kernel": "linear", "scale": "standard", "metric": "map"}"#),
        ("weighted", "weighted_packs", r#"{"landmarks": 20}"#),
        ("weighted", "weighted_packs", r#"{"kernel": "linear", "scale": "standard", "metric": "map"}"#),
        ("gaps", "gaps_packs", r#"{"landmarks": 12, "missing": "mean", "scale": "quantile_minmax"}"#),
    ] {
        let in_buckets = with(options, r#""buckets": 8"#);
        let model = recursive(&connection, "auto", packs, &in_buckets);
        assert!(model == fit(&connection, "auto", rows, &in_buckets), "{options}: rows");
        let one_thread = with(&in_buckets, r#""threads": 1"#);
        let shuffled = format!("SELECT * FROM {packs} ORDER BY random()");
        assert!(model == fit(&connection, "auto", &shuffled, &one_thread), "{options}: shuffled, one thread");
        let alone = fit(&connection, "auto", rows, options);
        if rows != "gaps" {
            assert_eq!(kernels(&connection, &model), kernels(&connection, &alone), "{options}");
        }
        if options.contains("kernel") {
            assert_eq!(choice(&connection, &model), choice(&connection, &alone), "{options}");
            let found = difference(&scores(&connection, &model), &scores(&connection, &alone));
            // Rows in memory are mapped in single precision.
            assert!(found < 2e-5, "{options}: {found}");
        }
    }
}

/// Of more documents than it tries candidates on, `auto` takes a part, and fits on all.
#[test]
fn auto_in_buckets_fits_on_more_rows_than_its_sample() {
    let connection = crate::support::database();
    connection
        .execute_batch(
            "CREATE TABLE many AS
               WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 49999),
               x AS (SELECT i, (i * 7919) % 10007 / 10007.0 AS a, (i * 104729) % 9973 / 9973.0 AS b FROM n)
             SELECT i / 4 AS query_id, i AS doc_id, (a + 0.5 * b > 0.6) + (a > 0.8) AS relevance,
               ltr_vec(a, b) AS features FROM x;
             CREATE TABLE many_packs AS SELECT ltr_bucket(query_id, 4) AS bucket,
               ltr_pack(query_id, doc_id, relevance, features) AS rows FROM many GROUP BY 1",
        )
        .unwrap();
    let options = r#"{"kernel": "linear", "scale": "quantile"}"#;
    let in_buckets = with(options, r#""buckets": 4"#);
    let model = fit(&connection, "auto", "many_packs", &in_buckets);
    assert!(model == recursive(&connection, "auto", "many_packs", &in_buckets), "statement");
    let info: String = value(&connection, "SELECT ltr_info(?1)", [&model]);
    assert!(info.contains("of 12500 queries"), "{info}");
    let ndcg = |model: &[u8]| -> f64 {
        value(&connection, "SELECT value FROM ltr_evaluate(?1, 'many') WHERE query_id IS NULL", [model])
    };
    let (found, expected) = (ndcg(&model), ndcg(&fit(&connection, "auto", "many", options)));
    assert!((found - expected).abs() < 0.001, "{found}, on rows {expected}");
}
