//! Partially judged rankings (rules 8.2, 8.17, 8.18), against trec_eval and ir_measures:
//! tests/data/trec_eval.py.

use rusqlite::Connection;
use serde_json::Value as Json;

use crate::support::{database, value};

/// Judgments, and a ranking by each query, as tables.
const TABLES: &str = "
    CREATE TABLE qrels (query_id, doc_id, relevance, PRIMARY KEY (query_id, doc_id));
    CREATE TABLE run (query_id, doc_id, score, PRIMARY KEY (query_id, doc_id));
    CREATE VIEW both AS SELECT query_id, doc_id, relevance, score FROM qrels FULL JOIN run USING (query_id, doc_id);";

/// The metrics of tests/data/trec_eval.py.
const METRICS: [&str; 5] = ["ndcg(gain=linear)@10", "map", "precision@5", "mrr", "recall@10"];

fn judged_runs() -> (Connection, Vec<Json>) {
    let connection = database();
    connection.execute_batch(TABLES).unwrap();
    let queries: Vec<Json> = serde_json::from_str(include_str!("../data/trec_eval.json")).unwrap();
    for (query, number) in queries.iter().zip(0_i64..) {
        for (doc, grade) in query["judged"].as_object().unwrap() {
            let row = rusqlite::params![number, doc, grade.as_i64()];
            connection.execute("INSERT INTO qrels VALUES (?1, ?2, ?3)", row).unwrap();
        }
        for (rank, doc) in query["ranked"].as_array().unwrap().iter().enumerate() {
            let row = rusqlite::params![number, doc.as_str(), -(rank as f64)];
            connection.execute("INSERT INTO run VALUES (?1, ?2, ?3)", row).unwrap();
        }
    }
    (connection, queries)
}

/// The values of all queries that have one.
fn evaluated(
    connection: &Connection,
    model: Option<&str>,
    source: &str,
    unjudged: &Json,
) -> Vec<(String, f64)> {
    let options = serde_json::json!({"metric": METRICS, "unjudged": unjudged}).to_string();
    let sql = "SELECT query_id || ' ' || metric, value FROM ltr_evaluate(?1, ?2, ?3) WHERE query_id IS NOT NULL AND value IS NOT NULL";
    let mut statement = connection.prepare(sql).unwrap();
    let rows = statement.query_map((model, source, options), |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
    rows.collect::<Result<_, _>>().unwrap()
}

/// Rules 8.17, 8.18: the values of 100 rankings.
#[test]
fn values_match_trec_eval() {
    let (connection, queries) = judged_runs();
    for (unjudged, key) in [(Json::from("skip"), "skip"), (Json::from(0), "0")] {
        let actual = evaluated(&connection, None, "both", &unjudged);
        assert_eq!(actual.len(), queries.len() * (METRICS.len() + 2));
        for (name, value) in actual {
            let (query, metric) = name.split_once(' ').unwrap();
            let query = &queries[query.parse::<usize>().unwrap()];
            let expected = match METRICS.iter().position(|known| *known == metric) {
                Some(index) => query[key][index].as_f64().unwrap(),
                None if metric == "judged@10" => query["judged@10"].as_f64().unwrap(),
                None => continue,
            };
            assert!((value - expected).abs() < 1e-9, "{name}, {unjudged}: {value}, trec_eval {expected}");
        }
    }
}

/// Rules 8.2, 8.17: a model and the aggregates agree, for rows that were retrieved.
#[test]
fn a_model_measures_what_was_judged() {
    let (connection, queries) = judged_runs();
    let train = "SELECT ltr_train('rank_svm', 'SELECT query_id, doc_id, score AS grade_score, 9 + score AS relevance FROM run',
                                  '{\"name\": \"same\", \"lambda\": 1}')";
    value::<String>(&connection, train, []);
    let rows = "SELECT query_id, doc_id, relevance, score AS grade_score, score FROM run LEFT JOIN qrels USING (query_id, doc_id)";
    for unjudged in [Json::from("skip"), Json::from(0)] {
        let grade = if unjudged == 0 { "coalesce(relevance, 0)" } else { "relevance" };
        for (name, found) in evaluated(&connection, Some("same"), rows, &unjudged) {
            let (query, metric) = name.split_once(' ').unwrap();
            if metric.starts_with("judged@") {
                continue;
            }
            let sql = format!(
                "SELECT ltr_metric(?1, {grade}, score) FROM both WHERE query_id = ?2 AND {grade} IS NOT NULL AND score IS NOT NULL"
            );
            let expected: Option<f64> = value(&connection, &sql, (metric, query.parse::<i64>().unwrap()));
            assert!((found - expected.unwrap()).abs() < 1e-12, "{name}, {unjudged}");
        }
    }
    // The aggregates rank a document without a score nowhere.
    let sql = "SELECT ltr_metric('map', coalesce(relevance, 0), score) FROM both WHERE query_id = ?1";
    for (query, number) in queries.iter().zip(0_i64..) {
        let found: f64 = value(&connection, sql, [number]);
        assert!((found - query["0"][1].as_f64().unwrap()).abs() < 1e-9, "{number}");
    }
    // Both models have the shares.
    let compared = "SELECT group_concat(metric || ' ' || (name_a IS NULL) || name_b || ' ' || (mean_a = mean_b), ', ')
                      FROM ltr_compare(NULL, 'same', ?1, '{\"metric\": [\"map\", \"p@5\"], \"columns\": {\"score\": \"score\"}}')";
    let found: String = value(&connection, compared, [rows]);
    assert_eq!(found, "map 1same 1, precision@5 1same 1, judged@5 1same 1, judged@10 1same 1");
}

/// Rules 8.17, 8.18.
#[test]
fn what_cannot_be_measured_is_refused() {
    let (connection, _) = judged_runs();
    let refusal = |sql: &str| connection.query_row(sql, [], |_| Ok(())).unwrap_err().to_string();
    let twice = "SELECT * FROM ltr_evaluate(NULL, 'SELECT * FROM both UNION ALL SELECT * FROM both WHERE query_id = 3')";
    let problem = refusal(twice);
    assert!(problem.contains("query 3 has the document ") && problem.contains("in two rows"), "{problem}");
    let nobody =
        "SELECT * FROM ltr_evaluate(NULL, 'SELECT query_id, doc_id, NULL AS relevance, score FROM run')";
    assert!(refusal(nobody).contains("the relevance is NULL in every row"), "{}", refusal(nobody));
    // With the option a part of a data set may have no judgment, and the shares are always there.
    let part = "SELECT count(*) || ' ' || count(query_id) FROM ltr_evaluate(NULL, 'SELECT query_id, doc_id, NULL AS relevance, score FROM run', '{\"unjudged\": \"skip\"}')";
    assert_eq!(value::<String>(&connection, part, []), "2 0");
    let whole = "SELECT value FROM ltr_evaluate(NULL, 'SELECT * FROM both WHERE relevance IS NOT NULL', '{\"unjudged\": \"skip\"}')
                  WHERE query_id IS NULL AND metric = 'judged@10'";
    assert_eq!(value::<Option<f64>>(&connection, whole, []), Some(1.0));
    let missing = "SELECT * FROM ltr_evaluate(NULL, 'qrels')";
    assert!(refusal(missing).contains("a NULL model ranks by the column \"score\""), "{}", refusal(missing));
    for calls in ["ltr_train('rank_svm', 'both')", "ltr_fit('regression', 'both')"] {
        let problem = refusal(&format!("SELECT {calls}"));
        assert!(problem.contains("column \"relevance\": NULL"), "{problem}");
    }
    // A query that nobody judged is left out, with a warning.
    connection.execute_batch("INSERT INTO run VALUES (1000, 'd1', 1)").unwrap();
    let sql = "SELECT count(*) FROM ltr_evaluate(NULL, 'both') WHERE query_id = 1000";
    assert_eq!(value::<i64>(&connection, sql, []), 0);
    let warnings: String = value(&connection, "SELECT ltr_debug() ->> 'last_warnings'", []);
    assert!(warnings.contains("1 of 101 queries have no judged document"), "{warnings}");
}
