//! A row has one score, whatever the other rows. `ltr_rank` scores rows with document ids and BLOBs as it reads them, and keeps
//! the features of other rows. Kernels score tiles of rows.

use rusqlite::Connection;

use crate::support::{database, value};

/// 700 documents with 19 features in 13 queries; some documents have the features of another.
const SETUP: &str = "
CREATE TABLE numbers AS WITH n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 699) SELECT i, i % 650 AS of FROM n;
CREATE TABLE wide AS SELECT i, i % 13 AS query_id, i / 13 AS doc_id, of * 7 % 5 AS relevance, (
    SELECT json_group_array((of * of * f + of * 13 + f) % 101 * 0.37) FROM
        (WITH n(f) AS (SELECT 1 UNION ALL SELECT f + 1 FROM n WHERE f < 19) SELECT f FROM n)) AS features FROM numbers;
CREATE TABLE j AS SELECT i, query_id, doc_id, relevance, ltr_vec(features) AS features FROM wide;";

const MODELS: [(&str, &str); 12] = [
    ("regression", r#"{"scale": "none", "lambda": 0.001}"#),
    ("regression", r#"{"scale": "standard", "lambda": 0.001}"#),
    ("regression", r#"{"scale": "quantile", "lambda": 0.001}"#),
    ("regression", r#"{"scale": "max_norm", "lambda": 0.001}"#),
    ("boosted_trees", r#"{"trees": 70}"#),
    ("regression", r#"{"kernel": "polynomial", "landmarks": 70, "lambda": 0.1}"#),
    ("regression", r#"{"kernel": "gaussian", "landmarks": 70, "lambda": 0.1}"#),
    ("regression", r#"{"kernel": "laplace", "landmarks": 70, "lambda": 0.1}"#),
    ("regression", r#"{"kernel": "laplace_l1", "landmarks": 70, "lambda": 0.1}"#),
    ("regression", r#"{"kernel": "tanh", "landmarks": 70, "lambda": 0.1}"#),
    ("perceptron", r#"{"kernel": "gaussian", "budget": 40, "epochs": 1}"#),
    ("auto", r#"{"effort": 1, "scale": "quantile", "kernel": "laplace_l1"}"#),
];

/// Models of the data in the table `j`.
fn models() -> (Connection, Vec<Vec<u8>>) {
    let connection = database();
    connection.execute_batch(SETUP).unwrap();
    let judged = "SELECT query_id, doc_id, relevance, features FROM j";
    let fit = |(algorithm, options): (&str, &str)| {
        value(&connection, "SELECT ltr_fit(?1, ?2, ?3)", (algorithm, judged, options))
    };
    let models = MODELS.into_iter().map(fit).collect();
    (connection, models)
}

fn ranked(connection: &Connection, model: &[u8], source: &str) -> String {
    let sql = "SELECT json_group_array(json_array(query_id, doc_id, score, rank)) FROM ltr_rank(?1, ?2)";
    value(connection, sql, (model, source))
}

#[test]
fn rows_rank_alike_in_any_order() {
    let (connection, models) = models();
    for (model, name) in models.iter().zip(MODELS) {
        let expected = ranked(&connection, model, "SELECT query_id, doc_id, features FROM j");
        for order in ["i * 37 % 701", "doc_id", "-i"] {
            let source = format!("SELECT query_id, doc_id, features FROM j ORDER BY {order}");
            assert_eq!(ranked(&connection, model, &source), expected, "{name:?}");
        }
    }
}

#[test]
fn scores_match_ltr_score_and_features_in_memory() {
    let (connection, models) = models();
    for (model, name) in models.iter().zip(MODELS) {
        // Without ids, documents are numbered in the order of the rows.
        let sql = "WITH alone AS MATERIALIZED (SELECT query_id, doc_id, ltr_score(?1, features) AS score FROM j),
                read AS MATERIALIZED (SELECT * FROM ltr_rank(?1, 'SELECT query_id, doc_id, features FROM j')),
                kept AS MATERIALIZED (SELECT query_id, doc_id - 1 AS doc_id, score
                    FROM ltr_rank(?1, 'SELECT query_id, features FROM j ORDER BY i', '{\"columns\": {\"doc\": null}}'))
            SELECT count(*) FROM alone JOIN read USING (query_id, doc_id, score) JOIN kept USING (query_id, doc_id, score)";
        assert_eq!(value::<i64>(&connection, sql, [model]), 700, "{name:?}");
        let equal = "SELECT count(*) FROM ltr_rank(?1, 'SELECT query_id, doc_id, features FROM j') a
            JOIN ltr_rank(?1, 'SELECT query_id, doc_id, features FROM j') b ON b.query_id = a.query_id AND b.rank = a.rank + 1
            WHERE b.score > a.score OR b.score = a.score AND b.doc_id <= a.doc_id";
        assert_eq!(value::<i64>(&connection, equal, [model]), 0, "{name:?}");
    }
}

#[test]
fn repeated_rows_and_wrong_rows_have_their_messages() {
    let (connection, models) = models();
    let model = &models[2];
    let twice = "SELECT query_id, doc_id, features FROM j UNION ALL SELECT query_id, doc_id, features FROM j";
    let count = "SELECT count(*) FROM ltr_rank(?1, ?2)";
    assert_eq!(value::<i64>(&connection, count, (model, twice)), 1400);
    let warnings: String = value(&connection, "SELECT ltr_debug()", ());
    assert!(warnings.contains("700 rows repeat a (query, document) of another row"), "{warnings}");
    let message = |source: &str| {
        let found = connection.query_row(count, (model, source), |row| row.get::<_, i64>(0));
        found.unwrap_err().to_string()
    };
    let json = "SELECT query_id, doc_id, iif(i = 600, json_array(1), features) AS features FROM j ORDER BY i";
    assert!(message(json).contains("1 features; the model needs 19"), "{}", message(json));
    let mixed = "SELECT query_id, doc_id, iif(i = 600, w.features, j.features) AS features FROM j
        JOIN wide AS w USING (i, query_id, doc_id) ORDER BY i";
    assert!(message(mixed).contains("JSON, but earlier rows have BLOBs"), "{}", message(mixed));
}
