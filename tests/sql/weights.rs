//! Weights for use outside of the library: sums of `raw_weight` times feature rank as `ltr_score` does.

use rusqlite::Connection;

use super::support::database;

/// Features in units that differ by factors of a million; `q_x` makes queries differ.
const SCHEMA: &str = "
CREATE TABLE judged(query_id, doc_id, relevance, small REAL, large REAL, shifted REAL, constant REAL, q_x REAL);
WITH RECURSIVE
  queries(q) AS (VALUES (1) UNION ALL SELECT q + 1 FROM queries WHERE q < 20),
  documents(d) AS (VALUES (1) UNION ALL SELECT d + 1 FROM documents WHERE d < 15),
  raw AS (SELECT q, d, ((q * 7919 + d * 104729) % 1009) / 1009.0 AS a, ((q * 6007 + d * 30011) % 997) / 997.0 AS b,
                 ((q * 131 + d * 7907) % 991) / 991.0 AS c FROM queries, documents)
INSERT INTO judged
SELECT q, d, (a + b * q / 20 > 0.5) + (a + c > 1.2), a / 1000, b * 1000, 50 + c, 7, q / 20.0 FROM raw;";

const FEATURES: [&str; 4] = ["small", "large", "shifted", "constant"];

fn connect() -> Connection {
    let connection = database();
    connection.execute_batch(SCHEMA).unwrap();
    connection
}

/// The documents by decreasing value of an expression.
fn order(connection: &Connection, expression: &str, params: impl rusqlite::Params) -> Vec<i64> {
    let sql = format!("SELECT rowid FROM judged ORDER BY {expression} DESC");
    let mut statement = connection.prepare(&sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
    statement.query_map(params, |row| row.get(0)).unwrap().collect::<Result<_, _>>().unwrap()
}

/// A sum of weights times features as an expression of SQL.
fn exported(connection: &Connection, model: &[u8], column: &str, query: Option<&str>) -> String {
    let sql = format!("SELECT feature, {column} FROM ltr_weights(?1, ?2)");
    let mut statement = connection.prepare(&sql).unwrap();
    let term = |row: &rusqlite::Row<'_>| {
        let (name, weight): (String, f64) = (row.get(0)?, row.get(1)?);
        assert!(FEATURES.contains(&name.as_str()));
        Ok(format!("({weight:e}) * {name}"))
    };
    let terms: Vec<String> =
        statement.query_map((model, query), term).unwrap().collect::<Result<_, _>>().unwrap();
    assert_eq!(terms.len(), FEATURES.len());
    terms.join(" + ")
}

fn fit(connection: &Connection, algorithm: &str, scale: &str) -> Vec<u8> {
    let options = format!(r#"{{"scale": "{scale}"}}"#);
    connection.query_row("SELECT ltr_fit(?1, 'judged', ?2)", (algorithm, options), |row| row.get(0)).unwrap()
}

#[test]
fn raw_weights_rank_as_scores_do() {
    let connection = connect();
    let score = "ltr_score(?1, json_array(small, large, shifted, constant))";
    for scale in ["standard", "none"] {
        for algorithm in ["rank_svm", "list_net", "regression", "perceptron"] {
            let model = fit(&connection, algorithm, scale);
            let raw = exported(&connection, &model, "raw_weight", None);
            assert_eq!(
                order(&connection, &raw, []),
                order(&connection, score, [&model]),
                "{algorithm}, scale {scale}"
            );
            // The units differ, so weights of scaled features rank otherwise.
            let scaled = exported(&connection, &model, "weight", None);
            let same = order(&connection, &scaled, []) == order(&connection, &raw, []);
            assert_eq!(same, scale == "none", "{algorithm}, scale {scale}");
        }
    }
}

#[test]
fn raw_weights_of_a_query_rank_as_its_scores_do() {
    let connection = connect();
    let score = "ltr_score(?1, json_array(small, large, shifted, constant), ?2)";
    for scale in ["standard", "none"] {
        let model = fit(&connection, "q_svm", scale);
        for query in ["[0.05]", "[0.5]", "[0.93]"] {
            let raw = exported(&connection, &model, "raw_weight", Some(query));
            let scores = order(&connection, score, (&model, query));
            assert_eq!(order(&connection, &raw, []), scores, "{query}, scale {scale}");
        }
    }
}

#[test]
fn scaled_values_are_what_center_and_scale_say() {
    let connection = connect();
    let model = fit(&connection, "rank_svm", "standard");
    let sql = "SELECT max(abs(e.contribution - w.weight * (e.value - w.center) / w.scale))
                 FROM judged, ltr_explain(?1, json_array(small, large, shifted, constant)) AS e
                 JOIN ltr_weights(?1) AS w USING (feature) WHERE feature <> 'constant'";
    let difference: f64 = connection.query_row(sql, [&model], |row| row.get(0)).unwrap();
    assert!(difference < 1e-12, "{difference}");
}
