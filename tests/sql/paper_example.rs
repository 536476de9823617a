//! Example 1, scenario III of Dai & Wang (2019) through SQL, against an independent implementation
//! (tests/rust/golden/qsvm/ex1_III_seed1_*): 40 queries, 8 of them new, 40 features, 10 training documents each.

use crate::support::{csv, database, value};
use rusqlite::Connection;
use serde_json::{Value, json};

const QUERIES: f64 = 40.0;
const TRAINING_QUERIES: f64 = 32.0;

/// One table with documents and, as columns q_*, the features of their queries.
fn load() -> Connection {
    let connection = database();
    let (query_names, queries) = csv(include_str!("../rust/golden/qsvm/ex1_III_seed1_queries.csv"));
    let (doc_names, docs) = csv(include_str!("../rust/golden/qsvm/ex1_III_seed1_docs.csv"));
    let features: Vec<String> = query_names[2..].iter().map(|name| format!("q_{name}")).collect();
    let columns = [&doc_names[..], &features[..]].concat();
    // CAST-free typing: declared REAL, so that the texts of the file become numbers.
    let typed: Vec<String> = columns.iter().map(|name| format!("{name} REAL")).collect();
    let typed =
        typed.join(", ").replace("split REAL", "split TEXT").replace("query_id REAL", "query_id INTEGER");
    connection.execute_batch(&format!("CREATE TABLE docs ({typed}); BEGIN")).unwrap();
    let marks = vec!["?"; columns.len()].join(", ");
    let mut insert = connection.prepare(&format!("INSERT INTO docs VALUES ({marks})")).unwrap();
    for doc in docs {
        let query = queries.iter().find(|query| query[0] == doc[0]).unwrap();
        let row = doc.iter().chain(&query[2..]);
        insert.execute(rusqlite::params_from_iter(row)).unwrap();
    }
    drop(insert);
    connection.execute_batch("COMMIT").unwrap();
    for split in ["train", "val", "test"] {
        let keep: Vec<&str> = columns.iter().filter(|name| *name != "split").map(String::as_str).collect();
        let view =
            format!("CREATE VIEW {split} AS SELECT {} FROM docs WHERE split = '{split}'", keep.join(", "));
        connection.execute_batch(&view).unwrap();
    }
    connection
}

fn golden() -> Value {
    let file: Value =
        serde_json::from_str(include_str!("../rust/golden/qsvm/ex1_III_seed1_results.json")).unwrap();
    file["results"].clone()
}

/// Mean over the test queries, and over the new ones, of the mis-ranking error.
fn mre(connection: &Connection, model: &str) -> (f64, f64) {
    let mean = |condition: &str| {
        let sql = format!(
            r#"SELECT avg(value) FROM ltr_evaluate(?1, 'test', '{{"metric": "mre"}}') WHERE query_id IS NOT NULL {condition}"#
        );
        value(connection, &sql, [model])
    };
    (mean(""), mean("AND query_id NOT IN (SELECT query_id FROM train)"))
}

#[test]
fn the_errors_match_the_file_with_its_lambdas() {
    let connection = load();
    let golden = golden();
    let mut overall = Vec::new();
    for (algorithm, key) in [("rank_svm", "rank"), ("knn_svm", "knn"), ("q_svm", "q")] {
        let lambda = golden[key]["lambda_global"].as_f64().unwrap() * QUERIES / TRAINING_QUERIES;
        let mut options = json!({ "scale": "none", "lambda": lambda });
        if algorithm != "rank_svm" {
            options["query_scale"] = json!("none");
            options["neighbors"] = json!(15);
            options["prior"] = json!("zero");
        }
        let sql = "SELECT ltr_train(?1, 'train', ?2)";
        let _: String = value(&connection, sql, (algorithm, options.to_string()));
        let (all, new) = mre(&connection, algorithm);
        let file = &golden[key]["global_lambda"];
        for (ours, part) in [(all, "overall"), (new, "novel")] {
            let theirs = file[part]["mre_query_mean"].as_f64().unwrap();
            assert!((ours - theirs).abs() <= 0.015, "{algorithm}, {part}: {ours}, file {theirs}");
        }
        overall.push((all, new));
    }
    let [rank, knn, q] = overall[..] else { panic!("three algorithms") };
    assert!(q.0 < knn.0 && knn.0 < rank.0, "on all queries: {q:?} {knn:?} {rank:?}");
    assert!(q.1 < knn.1 && knn.1 < rank.1, "on new queries: {q:?} {knn:?} {rank:?}");
}

/// The core reproduces the file's metric of the uniform model closely: one function, no bandwidth.
#[test]
fn the_uniform_model_agrees_within_the_tolerance_of_the_file() {
    let connection = load();
    let golden = golden();
    let lambda = golden["rank"]["lambda_global"].as_f64().unwrap() * QUERIES / TRAINING_QUERIES;
    let options = json!({ "scale": "none", "lambda": lambda }).to_string();
    let _: String = value(&connection, "SELECT ltr_train('rank_svm', 'train', ?1)", [options]);
    let theirs = golden["rank"]["global_lambda"]["overall"]["mre_query_mean"].as_f64().unwrap();
    assert!((mre(&connection, "rank_svm").0 - theirs).abs() <= 0.004);
}

#[test]
fn without_options_the_query_dependent_model_is_far_better_than_the_uniform_one() {
    let connection = load();
    for algorithm in ["rank_svm", "q_svm"] {
        let _: String = value(&connection, "SELECT ltr_train(?1, 'train')", [algorithm]);
    }
    let (rank, q) = (mre(&connection, "rank_svm"), mre(&connection, "q_svm"));
    assert!(q.0 <= rank.0 - 0.08, "q_svm {q:?}, rank_svm {rank:?}");
    assert!(q.1 <= rank.1 - 0.08, "new queries: q_svm {q:?}, rank_svm {rank:?}");
}

/// The errors with a lambda per query, chosen on the validation rows of the query. Only h of `q_svm` differs from the file:
/// it is a median over the training queries, without the novel ones.
#[test]
fn the_errors_match_the_file_with_a_lambda_per_query() {
    let connection = load();
    let golden = golden();
    let grid: Vec<f64> = (1..=61).rev().map(|v| 10_f64.powf((f64::from(v) - 31.0) / 10.0)).collect();
    for (algorithm, key, n, tolerance) in [
        ("knn_svm", "knn", QUERIES / TRAINING_QUERIES, 0.002),
        ("q_svm", "q", QUERIES / TRAINING_QUERIES, 0.01),
        ("indv_svm", "indv", 1.0, 0.002),
    ] {
        let lambdas: Vec<f64> = grid.iter().map(|lambda| lambda * n).collect();
        let mut options =
            json!({ "scale": "none", "lambda": lambdas, "lambda_scope": "each", "metric": "mre" });
        options["validation"] = json!("val");
        if algorithm != "indv_svm" {
            options["query_scale"] = json!("none");
            options["neighbors"] = json!(15);
            options["prior"] = json!("zero");
        }
        let _: String =
            value(&connection, "SELECT ltr_train(?1, 'train', ?2)", (algorithm, options.to_string()));
        let sql = r#"SELECT avg(value) FROM ltr_evaluate(?1, 'test', '{"metric": "mre"}') WHERE query_id IN (SELECT query_id FROM train)"#;
        let ours: f64 = value(&connection, sql, [algorithm]);
        let theirs = golden[key]["per_query_lambda"]["observed"]["mre_query_mean"].as_f64().unwrap();
        assert!((ours - theirs).abs() <= tolerance, "{algorithm}: {ours}, file {theirs}");
    }
}
