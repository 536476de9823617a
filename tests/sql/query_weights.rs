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

/// Rule 4.9: 60 queries with three different features: each third is at distance 0. Order and ids do not matter.
#[test]
fn all_queries_at_the_distance_of_the_last_neighbor_are_used() {
    let connection = simulated(60, 1.0);
    connection
        .execute_batch(
            "CREATE TABLE kinds AS SELECT query_id, doc_id, relevance, x, y, z, query_id % 3 AS q_kind FROM docs;
             CREATE TABLE renamed AS SELECT 1000 - 7 * query_id AS query_id, doc_id, relevance, x, y, z, q_kind FROM kinds
               WHERE query_id < 60;",
        )
        .unwrap();
    let scores = |name: &str, source: &str, neighbors: usize, smoothing: &str| -> Vec<f64> {
        let options = json!({"name": name, "neighbors": neighbors, "smoothing": smoothing, "lambda": 0.01, "tolerance": 1e-9, "prior": "zero"});
        let train = "SELECT ltr_train('q_svm', ?1, ?2)";
        let _: String = value(&connection, train, (source, options.to_string()));
        let rank = "SELECT score FROM ltr_rank(?1, 'SELECT * FROM kinds WHERE query_id >= 1000') ORDER BY query_id, doc_id";
        let mut statement = connection.prepare(rank).unwrap();
        statement.query_map([name], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
    };
    let queries = "SELECT * FROM kinds WHERE query_id < 60";
    for smoothing in ["knn", "gaussian"] {
        let few = scores("few", queries, 3, smoothing);
        assert_eq!(few, scores("all", queries, 20, smoothing), "{smoothing}");
        let renamed = scores("renamed", "renamed", 3, smoothing);
        let differs = |(a, b): (&f64, &f64)| (a - b).abs() > 1e-6;
        assert!(!few.iter().zip(&renamed).any(differs), "{smoothing}: {few:?} {renamed:?}");
        assert!(few != scores("more", queries, 21, smoothing), "{smoothing}");
    }
}
