//! Expected rank utility, plain and normalized, in validation, with the parameters of the call (rule 8.10).

use serde_json::{Value, json};

use crate::support::{database, value};

const SCHEMA: &str = "
CREATE TABLE judged(query_id, doc_id, relevance, a REAL, b REAL);
WITH RECURSIVE
  queries(q) AS (VALUES (1) UNION ALL SELECT q + 1 FROM queries WHERE q < 12),
  documents(d) AS (VALUES (1) UNION ALL SELECT d + 1 FROM documents WHERE d < 8)
INSERT INTO judged SELECT q, d, (2 * d + d * d + 3 * q) % 5, ((7 * d + 3 * q) % 11) / 11.0, ((5 * d + 4 * q) % 13) / 13.0
FROM queries, documents;
CREATE VIEW train AS SELECT * FROM judged WHERE query_id < 9;
CREATE VIEW held AS SELECT * FROM judged WHERE query_id > 8;
";

/// The best value of the validation on a source is the metric of the trained model on this source.
#[test]
fn validation_takes_the_parameters_of_the_metric() {
    let connection = database();
    connection.execute_batch(SCHEMA).unwrap();
    for (algorithm, options) in [
        ("rank_svm", json!({})),
        ("regression", json!({})),
        ("direct", json!({"measure": "neru", "bound": "convex"})),
        ("direct", json!({"measure": "ndcg@3", "bound": "convex"})),
    ] {
        for (metric, neutral, half_life) in [("eru", 2.0, 2.0), ("neru", 1.0, 4.0), ("NERU", 0.0, 5.0)] {
            let what = format!("{algorithm} {options} {metric}");
            let parameters = json!({"metric": metric, "neutral_grade": neutral, "half_life": half_life});
            let mut all = json!({"validation": "held", "lambda": [1, 0.1, 0.01], "name": "m"});
            for more in [&options, &parameters] {
                all.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            }
            let report: String =
                value(&connection, "SELECT ltr_train(?1, 'train', ?2)", (algorithm, all.to_string()));
            let report: Value = serde_json::from_str(&report).unwrap();
            let best = report["validation"]["best"].as_f64().unwrap();
            let sql = "SELECT value FROM ltr_evaluate('m', 'held', ?1) WHERE query_id IS NULL";
            let evaluated: f64 = value(&connection, sql, [parameters.to_string()]);
            let sql = format!(
                "SELECT avg(v) FROM (SELECT ltr_metric('{metric}(neutral_grade={neutral}, half_life={half_life})', relevance, score) AS v
                   FROM ltr_rank('m', 'held') JOIN held USING (query_id, doc_id) GROUP BY query_id)"
            );
            let aggregate: f64 = value(&connection, &sql, ());
            assert!((best - evaluated).abs() < 1e-9, "{what}: {best}, {evaluated}");
            // The same parameters in the name.
            let named = json!(format!("{metric}(neutral_grade={neutral},half_life={half_life})"));
            let measure = options.get("measure").cloned();
            all["metric"] = named;
            all.as_object_mut()
                .unwrap()
                .retain(|key, _| !["neutral_grade", "half_life"].contains(&key.as_str()));
            if let Some("neru") = measure.as_ref().and_then(Value::as_str) {
                all["measure"] = json!(format!("neru(neutral_grade={neutral},half_life={half_life})"));
            }
            let report: String =
                value(&connection, "SELECT ltr_train(?1, 'train', ?2)", (algorithm, all.to_string()));
            let report: Value = serde_json::from_str(&report).unwrap();
            assert_eq!(report["validation"]["best"].as_f64(), Some(best), "{what}");
            assert!((aggregate - evaluated).abs() < 1e-12, "{what}: {aggregate}, {evaluated}");
        }
    }
}

#[test]
fn parameters_without_a_metric_that_reads_them_are_refused() {
    let connection = database();
    connection.execute_batch(SCHEMA).unwrap();
    let train = |options: &str| {
        connection
            .query_row("SELECT ltr_fit('rank_svm', 'train', ?1)", [options], |row| row.get::<_, Vec<u8>>(0))
    };
    assert!(train(r#"{"lambda": 1, "metric": "eru", "half_life": 2}"#).is_ok());
    let error = train(r#"{"lambda": 1, "metric": "ndcg@5", "half_life": 2}"#).unwrap_err().to_string();
    let expected = "option 'half_life': it has no meaning unless the option measure or metric is eru or neru";
    assert!(error.contains(expected), "{error}");
}
