//! Rule 5.31: the validated value of a training belongs to the model that it returns.

use rusqlite::Connection;
use serde_json::{Value, json};
use sqlite_ltr::Id;
use sqlite_ltr::internals::data::Dataset;
use sqlite_ltr::internals::train::select::Folds;

use crate::support::{database, value};

/// 30 queries with 7 documents, of two kinds; the last ten are a source for validation. `both` has a fifth of the documents of
/// every query.
const DATA: &str = "
CREATE TABLE j AS WITH RECURSIVE n(i) AS (VALUES (0) UNION ALL SELECT i + 1 FROM n WHERE i < 209),
x AS (SELECT i / 7 AS query_id, i % 7 AS doc_id, (i * 104729 % 101) / 101.0 AS a, (i * 1299709 % 97) / 97.0 AS b,
             (i * 15485863 % 89) / 89.0 AS c, (i / 7 * 31 % 7) / 7.0 AS q_kind FROM n)
SELECT *, CAST(3 * (0.5 * a + 0.5 * b * q_kind + 0.3 * c + 0.2 * ((i * 7919 % 83) / 83.0)) AS INTEGER) AS relevance
  FROM (SELECT *, query_id * 7 + doc_id AS i FROM x);
CREATE VIEW training AS SELECT query_id, doc_id, relevance, a, b, c, q_kind FROM j WHERE query_id < 20;
CREATE VIEW other AS SELECT query_id, doc_id, relevance, a, b, c, q_kind FROM j WHERE query_id >= 20;
CREATE VIEW few AS SELECT query_id, doc_id, relevance, a, b, c, q_kind FROM j WHERE query_id < 20 AND doc_id < 5;
CREATE VIEW rest AS SELECT query_id, doc_id, relevance, a, b, c, q_kind FROM j WHERE query_id < 20 AND doc_id >= 5;";

fn data() -> Connection {
    let connection = database();
    connection.execute_batch(DATA).unwrap();
    connection
}

/// Each algorithm that takes a source for validation, and each option that changes what is chosen or how it is fitted.
const CASES: &[(&str, &str)] = &[
    ("q_svm", "{}"),
    ("q_svm", r#"{"prior": "global"}"#),
    ("q_svm", r#"{"loss": "squared_hinge", "smoothing": "epanechnikov"}"#),
    ("q_svm", r#"{"kernel": "gaussian", "neighbors": 5}"#),
    ("knn_svm", r#"{"neighbors": 5, "loss": "psi"}"#),
    ("knn_svm", r#"{"query_features": "mean", "query_distance": "learned"}"#),
    ("rank_svm", "{}"),
    ("rank_svm", r#"{"tolerance": 0.1}"#),
    ("rank_svm", r#"{"tolerance": 1e-10, "scale": "query_minmax"}"#),
    ("rank_svm", r#"{"kernel": {"laplace": {"gamma": 1}}, "landmarks": 30}"#),
    ("rank_svm", r#"{"form": "ranking", "kernel": "gaussian", "lambda": [1, 0.1, 0.01]}"#),
    ("rank_svm", r#"{"loss": "logistic", "pair_weights": "gain", "weighting": "pairs"}"#),
    ("rank_svm", r#"{"solver": "admm", "lambda": [1, 0.1]}"#),
    ("rank_svm", r#"{"metric": "mre"}"#),
    ("regression", "{}"),
    ("regression", r#"{"penalty": "l1"}"#),
    ("regression", r#"{"kernel": "laplace_l1", "centering": "none"}"#),
    ("list_net", "{}"),
    ("list_net", r#"{"penalty": "ball", "radius": "auto"}"#),
    ("list_net", r#"{"penalty": "sphere", "radius": [1, 3, 10]}"#),
    ("list_mle", "{}"),
    ("cs_list_mle", r#"{"kernel": "gaussian", "lambda": [1, 0.1, 0.01]}"#),
    ("slam", "{}"),
    ("slam", r#"{"prior": "zero", "measure": "map"}"#),
    ("direct", r#"{"lambda": [1, 0.1, 0.01]}"#),
    ("direct", r#"{"decoder": "power", "decoder_power": [0.25, 0.5, 1, 2], "lambda": [1, 0.1]}"#),
    ("direct", r#"{"bound": "convex", "prior": "zero"}"#),
    ("smooth_grad", r#"{"lambda": [1, 0.1, 0.01]}"#),
    ("smooth_grad", r#"{"prior": "zero", "lambda": [1, 0.1, 0.01]}"#),
    ("eigen_rank", "{}"),
    ("eigen_rank", r#"{"components": "auto"}"#),
    ("boosted_trees", "{}"),
    ("boosted_trees", r#"{"seeds": 3, "feature_fraction": 0.5, "query_columns": "auto"}"#),
    ("boosted_trees", r#"{"loss": "logistic"}"#),
    ("lambdamart", "{}"),
];

/// The report of a training, and the metric of its model on a source.
fn trained(
    connection: &Connection,
    algorithm: &str,
    source: &str,
    options: &Value,
    on: &str,
) -> (Value, f64) {
    let train = "SELECT ltr_train(?1, ?2, ?3)";
    let report: String = value(connection, train, (algorithm, source, options.to_string()));
    let report: Value = serde_json::from_str(&report).unwrap();
    let metric = json!({ "metric": options.get("metric").unwrap_or(&json!("ndcg@10")) });
    let evaluate = "SELECT value FROM ltr_evaluate(?1, ?2, ?3) WHERE query_id IS NULL";
    let name = options["name"].as_str().unwrap_or(algorithm);
    (report, value(connection, evaluate, (name, on, metric.to_string())))
}

fn options(text: &str, more: &Value) -> Value {
    let mut options: Value = serde_json::from_str(text).unwrap();
    options.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    options
}

#[test]
fn a_source_measures_the_model_that_is_returned() {
    let connection = data();
    for (algorithm, text) in CASES {
        let options = options(text, &json!({ "validation": "other" }));
        let (report, found) = trained(&connection, algorithm, "training", &options, "other");
        let best = report["validation"]["best"].as_f64().unwrap();
        assert!((best - found).abs() < 1e-12, "{algorithm} {text}: {best} in the report, {found} evaluated");
    }
}

/// Rule 5.21: Queries with their own functions: documents of the same query judge them, each with its own lambda.
#[test]
fn documents_of_a_query_measure_its_own_function() {
    let connection = data();
    for (algorithm, scope) in [("indv_svm", "all"), ("indv_svm", "each"), ("knn_svm", "each")] {
        let lambdas = [10.0, 1.0, 0.1, 0.01];
        let options =
            json!({ "validation": "rest", "lambda_scope": scope, "lambda": lambdas, "neighbors": 5 });
        let options = if algorithm == "indv_svm" {
            json!({ "validation": "rest", "lambda_scope": scope, "lambda": lambdas })
        } else {
            options
        };
        let (report, found) = trained(&connection, algorithm, "few", &options, "rest");
        // 1. The best of the models with one lambda for all.
        let mut of_lambda = Vec::new();
        for lambda in lambdas {
            let mut fixed = options.as_object().unwrap().clone();
            fixed.retain(|key, _| key == "neighbors");
            fixed.insert("lambda".to_owned(), json!(lambda));
            fixed.insert("name".to_owned(), json!("fixed"));
            trained(&connection, algorithm, "few", &Value::Object(fixed), "rest");
            let sql = "SELECT json_group_array(value) FROM (SELECT value FROM ltr_evaluate('fixed', 'rest') \
                       WHERE query_id IS NOT NULL ORDER BY query_id)";
            let values: String = value(&connection, sql, ());
            of_lambda.push(serde_json::from_str::<Vec<Option<f64>>>(&values).unwrap());
        }
        let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
        let of_queries = |of: &Vec<Option<f64>>| of.iter().flatten().copied().collect::<Vec<f64>>();
        let best = of_lambda.iter().map(|of| mean(&of_queries(of))).fold(0.0, f64::max);
        if scope == "all" {
            let reported = report["validation"]["best"].as_f64().unwrap();
            assert!((reported - found).abs() < 1e-12, "{algorithm}: {reported} and {found}");
        } else {
            // 2. Each query has its own best.
            let queries = of_lambda[0].len();
            let own = |query: usize| of_lambda.iter().filter_map(|of| of[query]).reduce(f64::max);
            let own: Vec<f64> = (0..queries).filter_map(own).collect();
            assert!(
                (mean(&own) - found).abs() < 1e-12 && found >= best,
                "{algorithm}: {} and {found}",
                mean(&own)
            );
        }
    }
}

/// Rule 6.9: New documents of a training query, without named query features. For `indv_svm` the id is enough.
#[test]
fn the_id_of_a_query_finds_its_function() {
    let connection = data();
    let plain = |name: &str| format!("SELECT query_id, doc_id, relevance, a, b FROM {name}");
    let options = json!({ "validation": plain("rest"), "lambda": [1, 0.1] });
    let (report, found) = trained(&connection, "indv_svm", &plain("few"), &options, &plain("rest"));
    let best = report["validation"]["best"].as_f64().unwrap();
    assert!((best - found).abs() < 1e-12, "{best} and {found}");
    let debug: String = value(&connection, "SELECT ltr_debug()", ());
    assert!(!debug.contains("are new"), "{debug}");
}

/// Folds: the value is the mean over the held-out queries of models that were trained on the other queries.
#[test]
fn folds_measure_models_of_the_other_queries() {
    let connection = data();
    let ids: Vec<Id> = (0..20).map(Id::Integer).collect();
    let judged: Vec<bool> = (0..20)
        .map(|query| {
            let sql = "SELECT max(relevance) > min(relevance) FROM training WHERE query_id = ?1";
            value(&connection, sql, [query])
        })
        .collect();
    let data = Dataset { query_ids: ids, ..Dataset::default() };
    let folds = Folds::by_query(&data, &judged, 0.2, 1.0, 0).unwrap();
    let folds: Vec<Vec<bool>> = (0..5).map(|fold| folds.left_out(fold)).collect();
    // The lambda of a prior is chosen on all rows, so those with a prior are left out.
    let has_prior = |algorithm: &str, text: &str| {
        ["slam", "direct", "smooth_grad"].contains(&algorithm) || text.contains("prior")
    };
    let is_trees = |algorithm: &str| ["boosted_trees", "lambdamart"].contains(&algorithm);
    let cases = CASES.iter().filter(|(algorithm, text)| !has_prior(algorithm, text) && !is_trees(algorithm));
    for (algorithm, text) in cases {
        let options = options(text, &json!({}));
        let (report, _) = trained(&connection, algorithm, "training", &options, "other");
        let mut fixed = options.as_object().unwrap().clone();
        let key =
            ["components", "radius"].into_iter().find(|key| fixed.contains_key(*key)).unwrap_or("lambda");
        fixed.insert(key.to_owned(), report[key].clone());
        fixed.insert("name".to_owned(), json!("fold"));
        let metric = json!({ "metric": options.get("metric").unwrap_or(&json!("ndcg@10")) });
        let mut values: Vec<f64> = Vec::new();
        for fold in &folds {
            let held: Vec<String> =
                (0..20).filter(|query| fold[*query]).map(|query| query.to_string()).collect();
            let of =
                |not: &str| format!("SELECT * FROM training WHERE query_id {not} IN ({})", held.join(","));
            trained(&connection, algorithm, &of("NOT"), &Value::Object(fixed.clone()), "other");
            let sql =
                "SELECT json_group_array(value) FROM ltr_evaluate('fold', ?1, ?2) WHERE query_id IS NOT NULL";
            let found: String = value(&connection, sql, (of(""), metric.to_string()));
            values.extend(serde_json::from_str::<Vec<Option<f64>>>(&found).unwrap().into_iter().flatten());
        }
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        let best = report["validation"]["best"].as_f64().unwrap();
        // The L1 penalty has the same fractions as on all rows; a fold may have fewer components.
        assert!((best - mean).abs() < 1e-9, "{algorithm} {text}: {best} in the report, {mean} by hand");
    }
}
