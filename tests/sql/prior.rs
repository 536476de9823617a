//! A stored model as the center of the penalty (rule 5.20): warm retraining, and transfer from a large market to a small one.

use crate::support::{database, value};
use rusqlite::Connection;
use serde_json::{Value, json};
use sqlite_ltr::internals::math::random::Random;
use sqlite_ltr::internals::model::Model;

/// Features of the simulated markets.
const FEATURES: usize = 12;
/// Documents per query.
const DOCUMENTS: usize = 12;

/// The sum of twelve uniform numbers, which is nearly normal, with mean 0 and variance 1.
fn normal(random: &mut Random) -> f64 {
    (0..12).map(|_| 0.5 * random.symmetric()).sum()
}

/// Adds a table of judged queries: the grade grows with a linear function of the features and noise.
fn add_market(connection: &Connection, table: &str, queries: usize, weights: &[f64], random: &mut Random) {
    let features: Vec<String> = (0..FEATURES).map(|i| format!("x{i} REAL")).collect();
    let columns = features.join(", ");
    connection
        .execute_batch(&format!("CREATE TABLE {table}(query_id, doc_id, relevance, {columns})"))
        .unwrap();
    let values = vec!["?"; FEATURES + 3].join(", ");
    let mut insert = connection.prepare(&format!("INSERT INTO {table} VALUES ({values})")).unwrap();
    for row in 0..queries * DOCUMENTS {
        let x: Vec<f64> = (0..FEATURES).map(|_| normal(random)).collect();
        let utility = x.iter().zip(weights).map(|(x, w)| x * w).sum::<f64>() + 0.7 * normal(random);
        let grade = [0.0, 1.0, 2.0].iter().filter(|threshold| utility > **threshold).count() as f64;
        let ids = [(row / DOCUMENTS) as f64, row as f64, grade];
        insert.execute(rusqlite::params_from_iter(ids.iter().chain(&x))).unwrap();
    }
}

/// A large market, a small one that differs from it, and judged queries to test on.
fn markets(seed: u64) -> Connection {
    let connection = database();
    let mut random = Random::new(seed);
    let large: Vec<f64> = (0..FEATURES).map(|_| 0.4 * normal(&mut random)).collect();
    let small: Vec<f64> = large.iter().map(|w| w + 0.2 * normal(&mut random)).collect();
    add_market(&connection, "large", 120, &large, &mut random);
    add_market(&connection, "small", 6, &small, &mut random);
    add_market(&connection, "test", 150, &small, &mut random);
    connection
}

fn train(connection: &Connection, algorithm: &str, source: &str, options: &Value) -> Value {
    let sql = "SELECT ltr_train(?1, ?2, ?3)";
    let report: String = value(connection, sql, (algorithm, source, options.to_string()));
    serde_json::from_str(&report).unwrap()
}

fn refusal(connection: &Connection, algorithm: &str, source: &str, options: &Value) -> String {
    let sql = "SELECT ltr_train(?1, ?2, ?3)";
    let found = connection.query_row(sql, (algorithm, source, options.to_string()), |_| Ok(()));
    found.expect_err("a refusal").to_string()
}

/// Weights of the features by name.
fn weights(connection: &Connection, model: &str) -> Vec<f64> {
    let mut statement = connection.prepare("SELECT weight FROM ltr_weights(?1) ORDER BY feature").unwrap();
    statement.query_map([model], |row| row.get(0)).unwrap().collect::<Result<_, _>>().unwrap()
}

fn bytes(connection: &Connection, model: &str) -> Vec<u8> {
    value(connection, "SELECT model FROM ltr_models WHERE name = ?1 AND active", [model])
}

fn ndcg(connection: &Connection, model: &str) -> f64 {
    let sql =
        "SELECT value FROM ltr_evaluate(?1, 'test', '{\"metric\": \"ndcg@10\"}') WHERE query_id IS NULL";
    value(connection, sql, [model])
}

/// The columns of a table with the features in the opposite order.
fn reversed(table: &str) -> String {
    let features: Vec<String> = (0..FEATURES).rev().map(|i| format!("x{i}")).collect();
    format!("SELECT query_id, doc_id, relevance, {} FROM {table}", features.join(", "))
}

#[test]
fn a_large_lambda_gives_the_prior() {
    let connection = markets(1);
    for scale in ["quantile", "standard", "none", "query_minmax", "quantile_minmax"] {
        train(&connection, "rank_svm", "large", &json!({"name": "large", "lambda": 0.01, "scale": scale}));
        let expected = weights(&connection, "large");
        for algorithm in ["rank_svm", "list_net", "regression", "slam", "direct", "smooth_grad"] {
            let options = json!({"name": "new", "lambda": 1e12, "prior": "@large"});
            let report = train(&connection, algorithm, &reversed("small"), &options);
            assert_eq!(report["settings"]["scale"], scale);
            for (found, expected) in weights(&connection, "new").iter().zip(&expected) {
                assert!((found - expected).abs() < 1e-7, "{algorithm} {scale}: {found} {expected}");
            }
        }
    }
}

#[test]
fn data_without_information_return_the_prior() {
    let connection = markets(2);
    train(&connection, "rank_svm", "large", &json!({"name": "large", "lambda": 0.01, "scale": "none"}));
    let expected = weights(&connection, "large");
    // 1. Pairs that the prior already ranks with a margin have no loss.
    let features: Vec<String> = (0..FEATURES).map(|i| format!("1e4 * x{i} AS x{i}")).collect();
    let ranked = format!(
        "WITH scored AS (SELECT *, ltr_score('large', ltr_vec({})) AS score FROM small WHERE query_id < 3)
         SELECT query_id, doc_id, round(score) AS relevance, {} FROM scored WHERE doc_id % 6 < 2",
        (0..FEATURES).map(|i| format!("x{i}")).collect::<Vec<_>>().join(", "),
        features.join(", "),
    );
    train(&connection, "rank_svm", &ranked, &json!({"name": "same", "lambda": 0.01, "prior": "@large"}));
    assert_eq!(weights(&connection, "same"), expected);
    // 2. Equal grades have no pairs: a warning instead of the refusal.
    let flat = "SELECT * FROM small WHERE relevance = 1";
    for algorithm in ["rank_svm", "slam", "q_svm", "list_net", "regression"] {
        let report =
            train(&connection, algorithm, flat, &json!({"name": "flat", "prior": "@large", "lambda": 0.01}));
        let warning = report["warnings"][0].as_str().unwrap();
        assert!(warning.ends_with("the model is its prior"), "{report}");
        if algorithm != "q_svm" {
            assert_eq!(weights(&connection, "flat"), expected, "{algorithm}");
        }
    }
    let report = train(&connection, "rank_svm", flat, &json!({"name": "flat", "prior": "@large"}));
    assert_eq!(report["prior_model"], json!({"name": "large", "version": 1}));
    assert_eq!(weights(&connection, "flat"), expected);
}

#[test]
fn the_report_names_the_version_and_equal_bytes_give_equal_bytes() {
    let connection = markets(3);
    let large = json!({"name": "large", "lambda": 0.01});
    train(&connection, "rank_svm", "large", &large);
    train(&connection, "rank_svm", "large", &json!({"name": "large", "lambda": 100}));
    let options = |prior: &str, name: &str| json!({"name": name, "lambda": 0.1, "prior": prior});
    let newest = train(&connection, "rank_svm", "small", &options("@large", "newest"));
    assert_eq!(newest["prior_model"], json!({"name": "large", "version": 2}));
    let first = train(&connection, "rank_svm", "small", &options("@large@1", "first"));
    assert_eq!(first["prior_model"], json!({"name": "large", "version": 1}));
    assert_ne!(weights(&connection, "newest"), weights(&connection, "first"));
    // The BLOB has neither the name nor the number of its prior.
    train(&connection, "rank_svm", "large", &json!({"name": "copy", "lambda": 0.01}));
    train(&connection, "rank_svm", "small", &options("@copy", "of_copy"));
    assert_eq!(bytes(&connection, "of_copy"), bytes(&connection, "first"));
    // The first version becomes the third: another number, the same bytes.
    train(&connection, "rank_svm", "large", &large);
    connection.execute_batch("UPDATE ltr_models SET name = 'older' WHERE name = 'newest'").unwrap();
    train(&connection, "rank_svm", "small", &options("@large", "third"));
    let fourth =
        "SELECT ltr_fit('rank_svm', 'small', '{\"lambda\": 0.1, \"prior\": \"@large\", \"threads\": 1}')";
    assert_eq!(value::<Vec<u8>>(&connection, fourth, ()), bytes(&connection, "third"));
    assert_eq!(weights(&connection, "third"), weights(&connection, "first"));
}

#[test]
fn query_dependent_functions_shrink_to_a_stored_model() {
    let connection = markets(4);
    train(&connection, "rank_svm", "large", &json!({"name": "large", "lambda": 0.01}));
    for fit_at in ["training", "query_time"] {
        let options = json!({"name": "local", "lambda": 1e12, "prior": "@large", "fit_at": fit_at});
        train(&connection, "q_svm", "small", &options);
        let sql = "SELECT count(*), max(abs(a.score - b.score))
                     FROM ltr_rank('local', 'test') AS a JOIN ltr_rank('large', 'test') AS b USING (query_id, doc_id)";
        let (rows, difference): (i64, f64) =
            connection.query_row(sql, (), |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
        assert!(rows == 150 * DOCUMENTS as i64 && difference < 1e-7, "{rows} {difference}");
        let stored = bytes(&connection, "local");
        assert_eq!(Model::from_bytes(&stored).unwrap().to_bytes().unwrap(), stored);
    }
}

#[test]
fn other_models_and_other_features_are_refused() {
    let connection = markets(5);
    for (name, algorithm, options) in [
        ("kernel", "rank_svm", json!({"kernel": "gaussian", "lambda": 1})),
        ("local", "q_svm", json!({"lambda": 1})),
        ("stream", "perceptron", json!({})),
        ("several", "auto", json!({})),
    ] {
        let mut options = options;
        options["name"] = json!(name);
        let source = "SELECT * FROM large WHERE query_id < 20";
        train(&connection, algorithm, source, &options);
        let error = refusal(&connection, "rank_svm", "small", &json!({"prior": format!("@{name}")}));
        assert!(error.contains(&format!("option 'prior' \"@{name}\": a model of '{algorithm}'")), "{error}");
        assert!(error.contains("use a model with one linear function"), "{error}");
    }
    train(&connection, "rank_svm", "large", &json!({"name": "large", "lambda": 1}));
    let prior = json!({"prior": "@large"});
    let other =
        "SELECT query_id, doc_id, relevance, x0, x1 AS other, x2, x3, x4, x5, x6, x7, x8, x9, x10 FROM small";
    let error = refusal(&connection, "rank_svm", other, &prior);
    let expected = "the source does not have the model's features x1, x11; add them, or train the prior without them; the model has no features other; set the \
         options '{\"columns\": {\"ignore\": [\"other\"]}}'";
    assert!(error.contains(expected), "{error}");
    for (options, reason) in [
        (json!({"prior": "@large", "scale": "none"}), "option 'scale' has no effect with prior \"@name\""),
        (
            json!({"prior": "@large", "kernel": "gaussian"}),
            "does not support kernel \"gaussian\"; use prior \"zero\"",
        ),
        (json!({"prior": "@nothing"}), "unknown model 'nothing'"),
        (json!({"prior": "@large@7"}), "no version 7 of the model 'large'"),
        (
            json!({"prior": "@"}),
            "got \"@\", expected one of \"zero\", \"global\", \"regression\", \"auto\", \"@name\"",
        ),
    ] {
        let error = refusal(&connection, "rank_svm", "small", &options);
        assert!(error.contains(reason), "{error}");
    }
}

/// With few queries of a market, the model of a similar large market as prior is better than either alone: the mean over
/// simulated markets; the small one has six queries.
#[test]
fn a_prior_beats_both_little_data_and_the_other_market() {
    let mut sums = [0.0; 3];
    for seed in 0..6 {
        let connection = markets(100 + seed);
        train(&connection, "rank_svm", "large", &json!({"name": "large"}));
        train(&connection, "rank_svm", "small", &json!({"name": "alone"}));
        train(&connection, "rank_svm", "small", &json!({"name": "both", "prior": "@large"}));
        for (sum, model) in sums.iter_mut().zip(["alone", "large", "both"]) {
            *sum += ndcg(&connection, model) / 6.0;
        }
    }
    let [alone, large, both] = sums;
    assert!(both > alone + 0.005 && both > large + 0.005, "{sums:?}");
}

/// Query weights so large, or a lambda so small, that rounding hides the penalty: the gap and the report say so.
#[test]
fn a_large_gap_is_never_converged() {
    let connection = markets(6);
    for (weight, options) in [("1e20", json!({"lambda": 0.1})), ("1", json!({"lambda": 1e-21}))] {
        let mut options = options;
        options["name"] = json!("wide");
        let source = format!("SELECT *, {weight} AS doc_weight FROM small WHERE query_id < 3");
        let report = train(&connection, "rank_svm", &source, &options);
        let gap = report["largest_relative_gap"].as_f64().unwrap();
        assert_eq!(report["unconverged"] == 0, gap <= 1e-5, "{report}");
        let warned = report["warnings"].to_string().contains("stopped before the tolerance was reached");
        assert_eq!(report["unconverged"] == 1, warned, "{report}");
    }
}
