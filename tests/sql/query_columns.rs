//! `boosted_trees` that split query features too (option `query_columns`).

use rusqlite::Connection;
use serde_json::Value;

use crate::support::{database, value};

/// 80 queries of 10 documents. Queries with q_kind 1 want small values of a, the others large ones; q_noise says nothing.
const SCHEMA: &str = "
CREATE TABLE judged AS WITH RECURSIVE n(i) AS (VALUES (0) UNION ALL SELECT i + 1 FROM n WHERE i < 799),
x AS (SELECT i / 10 AS query_id, i % 10 AS doc_id, i / 10 % 2 AS q_kind, i / 10 * 7919 % 101 / 101.0 AS q_noise,
             (i * 104729 % 1009) / 1009.0 AS a, (i * 1299709 % 997) / 997.0 AS b FROM n)
SELECT query_id, doc_id, 2 * ((a > 0.6) <> (q_kind = 1)) + (b > 0.8) AS relevance, a, b, q_kind, q_noise FROM x;
";

fn connect() -> Connection {
    let connection = database();
    connection.execute_batch(SCHEMA).unwrap();
    connection
}

fn train(connection: &Connection, source: &str, options: &str) -> Value {
    let sql = "SELECT ltr_train('boosted_trees', ?1, ?2)";
    let report: String = value(connection, sql, (source, options));
    serde_json::from_str(&report).unwrap()
}

fn ndcg(connection: &Connection) -> f64 {
    let sql = "SELECT value FROM ltr_evaluate('boosted_trees', 'SELECT * FROM judged WHERE query_id >= 60')
                WHERE query_id IS NULL AND metric = 'ndcg@10'";
    value(connection, sql, [])
}

fn refusal(connection: &Connection, sql: &str) -> String {
    connection.query_row(sql, [], |_| Ok(())).expect_err(sql).to_string()
}

const TRAINING: &str = "SELECT * FROM judged WHERE query_id < 60";

#[test]
fn query_features_join_where_validation_says_so() {
    let connection = connect();
    for (options, joined) in
        [("{}", true), (r#"{"trees": 40}"#, true), (r#"{"query_columns": false}"#, false)]
    {
        let report = train(&connection, TRAINING, options);
        let found = ndcg(&connection);
        assert_eq!(report["query_columns"].as_bool().unwrap_or(false), joined, "{options} {report}");
        assert_eq!(report["query_features"].is_null(), !joined, "{options} {report}");
        assert_eq!(found > 0.97, joined, "{options} {found}");
    }
    // A query feature that says nothing.
    let source = "SELECT query_id, doc_id, (a > 0.6) + (b > 0.8) AS relevance, a, b, q_noise FROM judged";
    assert_eq!(train(&connection, source, "{}")["query_columns"], false);
    // None: no cost, and no word about it.
    let none = train(&connection, "SELECT query_id, doc_id, relevance, a, b FROM judged", "{}");
    assert!(none.get("query_columns").is_none(), "{none}");
    let sql = "SELECT ltr_fit('boosted_trees', 'SELECT query_id, doc_id, relevance, a, b FROM judged', \
               '{\"query_columns\": true}')";
    assert!(refusal(&connection, sql).contains("has no column query_features"));
}

#[test]
fn a_document_scores_as_in_its_query_and_its_contributions_add_up() {
    let connection = connect();
    // Missing query features go their own way.
    connection.execute_batch("UPDATE judged SET q_kind = NULL WHERE q_kind = 1").unwrap();
    train(&connection, "judged", r#"{"trees": 30, "query_columns": true}"#);
    let differences = "
        SELECT max(abs(r.score - ltr_score('boosted_trees', ltr_vec(a, b),
                                           json_array(q_kind, q_noise))))
          FROM ltr_rank('boosted_trees', 'judged') AS r JOIN judged USING (query_id, doc_id)";
    let worst: f64 = value(&connection, differences, []);
    assert!(worst < 1e-6, "{worst}");
    let explained = "
        SELECT max(abs(e.total - ltr_score('boosted_trees', json_array(a, b), json_array(q_kind, q_noise))))
          FROM (SELECT a, b, q_kind, q_noise,
                       (SELECT sum(contribution) FROM ltr_explain('boosted_trees', json_array(a, b),
                                                                  json_array(q_kind, q_noise))) AS total
                  FROM judged LIMIT 40) AS e";
    let worst: f64 = value(&connection, explained, []);
    assert!(worst < 1e-9, "{worst}");
    let kinds: f64 = value(
        &connection,
        "SELECT ltr_score('boosted_trees', '[0.9, 0.5]', '[0, 0.5]') - ltr_score('boosted_trees', '[0.9, 0.5]', '[null, 0.5]')",
        [],
    );
    assert!(kinds > 0.5, "{kinds}");
    for (sql, says) in [
        ("SELECT ltr_score('boosted_trees', '[0.9, 0.5]')", "q_kind, q_noise"),
        ("SELECT ltr_score('boosted_trees', '[0.9, 0.5]', '[1]')", "number of query features"),
        ("SELECT ltr_export('boosted_trees', 'sql')", "has a function for each query"),
        ("SELECT ltr_export('boosted_trees', 'json')", "has a function for each query"),
        ("SELECT count(*) FROM ltr_neighbors('boosted_trees', '[1, 2]')", "uses no neighbors"),
    ] {
        let found = refusal(&connection, sql);
        assert!(found.contains(says), "{sql}: {found}");
    }
}

#[test]
fn the_same_bits_for_any_threads_and_order_of_rows() {
    let connection = connect();
    let fit = |source: &str, threads: usize| -> Vec<u8> {
        let options = format!(r#"{{"trees": 20, "query_columns": true, "threads": {threads}}}"#);
        value(&connection, "SELECT ltr_fit('boosted_trees', ?1, ?2)", (source, options))
    };
    let model = fit("judged", 1);
    assert_eq!(fit("SELECT * FROM judged ORDER BY a", 2), model);
    assert_eq!(fit("SELECT * FROM judged ORDER BY b DESC", 8), model);
}

/// Trees with two scalings, and the trees of `auto`, also split query features. The sum is one function of documents for each query.
#[test]
fn sums_of_trees_split_query_features() {
    let connection = connect();
    let fit = |algorithm: &str, source: &str, options: &str| -> Vec<u8> {
        value(&connection, "SELECT ltr_fit(?1, ?2, ?3)", (algorithm, source, options))
    };
    let both = r#"{"scale": "none+quantile_minmax", "trees": 30, "query_columns": true}"#;
    for (algorithm, options) in [("boosted_trees", both), ("auto", r#"{"effort": 1}"#)] {
        let model = fit(algorithm, "judged", options);
        let ndcg =
            "SELECT value FROM ltr_evaluate(?1, 'judged') WHERE query_id IS NULL AND metric = 'ndcg@10'";
        let found: f64 = value(&connection, ndcg, [&model]);
        assert!(found > 0.97, "{algorithm}: {found}");
        // The document of a source, and its contributions.
        let explained = "SELECT abs(sum(contribution) - (SELECT score FROM ltr_rank(?1, 'judged')
                                                          WHERE query_id = 7 AND doc_id = 4))
                           FROM ltr_explain(?1, 'judged', 7, 4)";
        let worst: f64 = value(&connection, explained, [&model]);
        assert!(worst < 1e-6, "{algorithm}: {worst}");
        // A list is ranked as it is together with others.
        let alone = "SELECT max(abs(a.score - b.score)) FROM ltr_rank(?1, 'judged') AS a
                       JOIN ltr_rank(?1, 'SELECT * FROM judged WHERE query_id = 7') AS b USING (query_id, doc_id)";
        assert!(value::<f64>(&connection, alone, [&model]) < 1e-12, "{algorithm}");
        // The same bytes for any order of rows and number of threads, and again from the database.
        let threads = options.replace('{', r#"{"threads": 3, "#);
        assert!(fit(algorithm, "SELECT * FROM judged ORDER BY b", &threads) == model, "{algorithm}");
        let info = "SELECT ltr_info(?1) -> 'training' ->> 'query_features'";
        assert!(value::<String>(&connection, info, [&model]).contains("q_kind"), "{algorithm}");
        for (sql, says) in [
            ("SELECT count(*) FROM ltr_rank(?1, 'SELECT query_id, doc_id, a, b FROM judged')", "q_kind"),
            ("SELECT ltr_export(?1, 'sql')", "has a function for each query"),
        ] {
            let error = connection.query_row(sql, [&model], |_| Ok(())).expect_err(sql).to_string();
            assert!(error.contains(says), "{algorithm}: {error}");
        }
    }
    // A query feature that says nothing is left out.
    let source = "SELECT query_id, doc_id, (a > 0.6) + (b > 0.8) AS relevance, a, b, q_noise FROM judged";
    let model = fit("auto", source, r#"{"effort": 1}"#);
    let sql = "SELECT value ->> 'query_columns' FROM json_each(ltr_info(?1), '$.training.candidates')
                WHERE value ->> 'algorithm' = 'boosted_trees'";
    assert_eq!(value::<i64>(&connection, sql, [&model]), 0);
}
