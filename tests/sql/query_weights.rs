//! The option `"query_distance": "learned"` (rule 4.8) on simulated queries: one of four query features decides what is relevant, or none.

use rusqlite::Connection;
use serde_json::json;
use sqlite_ltr::internals::math::random::Random;

use crate::support::{database, value};

const DOCUMENTS: i64 = 8;
const NEW: i64 = 1000;

/// Training queries, and new ones from 1000 on. With `turn` above 0 the first query feature turns the direction of relevance.
fn simulated(queries: i64, turn: f64) -> Connection {
    let connection = database();
    connection
        .execute_batch("CREATE TABLE docs(query_id, doc_id, relevance, x, y, z, q_a, q_b, q_c, q_d); BEGIN")
        .unwrap();
    let mut random = Random::new(5);
    let mut insert = connection.prepare("INSERT INTO docs VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)").unwrap();
    for query in (0..queries).chain(NEW..NEW + 100) {
        let q = [(); 4].map(|()| 2.0 * random.symmetric());
        for doc in 0..DOCUMENTS {
            let [x, y, z] = [(); 3].map(|()| 2.0 * random.symmetric());
            let score = (turn * q[0]).cos() * x + (turn * q[0]).sin() * y + 0.3 * random.symmetric();
            let grade = i64::from(score > -0.5) + i64::from(score > 0.5);
            insert.execute((query, doc, grade, x, y, z, q[0], q[1], q[2], q[3])).unwrap();
        }
    }
    drop(insert);
    connection
        .execute_batch(&format!(
            "COMMIT; CREATE VIEW train AS SELECT * FROM docs WHERE query_id < {NEW};
             CREATE VIEW new AS SELECT * FROM docs WHERE query_id >= {NEW}"
        ))
        .unwrap();
    connection
}

/// The mis-ranking error of new queries, and the weight of the first query feature.
fn error(connection: &Connection, distance: &serde_json::Value) -> (f64, Option<f64>) {
    let options = json!({ "lambda": 0.01, "scale": "standard", "neighbors": 10, "query_distance": distance });
    let report: String = value(connection, "SELECT ltr_train('q_svm', 'train', ?1)", [options.to_string()]);
    let report: serde_json::Value = serde_json::from_str(&report).unwrap();
    let sql = r#"SELECT value FROM ltr_evaluate('q_svm', 'new', '{"metric": "mre"}') WHERE query_id IS NULL"#;
    (value(connection, sql, []), report["query_features"]["distances"]["q_a"]["weight"].as_f64())
}

#[test]
fn learned_weights_find_the_feature_that_decides() {
    let connection = simulated(80, 1.0);
    let (euclidean, _) = error(&connection, &json!({}));
    let (learned, weight) = error(&connection, &json!("learned"));
    assert!(weight.unwrap() > 3.0, "{weight:?}");
    assert!(learned < euclidean - 0.03, "learned {learned}, Euclidean {euclidean}");
}

#[test]
fn learned_weights_do_no_harm_if_no_feature_decides() {
    let connection = simulated(80, 0.0);
    let (euclidean, _) = error(&connection, &json!({}));
    let (learned, _) = error(&connection, &json!("learned"));
    assert!(learned < euclidean + 0.01, "learned {learned}, Euclidean {euclidean}");
}
