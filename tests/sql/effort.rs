//! The option `effort` of `auto`.

use rusqlite::Connection;

use crate::support::{database, value};

/// 60 queries of 8 documents.
const SCHEMA: &str = "
CREATE TABLE judged AS WITH RECURSIVE n(i) AS (VALUES (0) UNION ALL SELECT i + 1 FROM n WHERE i < 479),
x AS (SELECT i / 8 AS query_id, i % 8 AS doc_id, (i * 104729 % 1009) / 1009.0 AS a, (i * 1299709 % 997) / 997.0 AS b,
             (i * 15485863 % 991) / 991.0 AS c FROM n)
SELECT query_id, doc_id, (a > 0.5) + (b > 0.4) + (c > 0.8) AS relevance, json_array(a, b, c) AS features FROM x;
";

/// Three kernels with each of two scalings.
const FIRST_WIDTHS: i64 = 6;

fn connect() -> Connection {
    let connection = database();
    connection.execute_batch(SCHEMA).unwrap();
    connection
}

fn fit(connection: &Connection, source: &str, options: &str) -> Vec<u8> {
    value(connection, "SELECT ltr_fit('auto', ?1, ?2)", (source, options))
}

/// What a report says about the candidates of a model.
fn about(connection: &Connection, model: &[u8], sql: &str) -> i64 {
    let sql = format!("SELECT {sql} FROM json_each(ltr_info(?1), '$.training.candidates')");
    value(connection, &sql, [model])
}

#[test]
fn a_level_counts_candidates_and_ensembles() {
    let connection = connect();
    for (effort, kernels, averaged, ensembles) in
        [(1, 6, 1, 3), (2, 10, 2, 3), (3, 14, 3, 3), (4, 14, 4, 10), (5, 18, 6, 20)]
    {
        let model = fit(&connection, "judged", &format!(r#"{{"effort": {effort}, "landmarks": 30}}"#));
        let find = |sql: &str| about(&connection, &model, sql);
        // Linear functions are the best here, so that few widths of the other kernels are tried.
        let tried = find("count(value ->> 'kernel')");
        assert!((FIRST_WIDTHS..=kernels).contains(&tried) && (kernels < 10 || tried < kernels), "{effort}");
        assert_eq!(find("sum(value ->> 'averaged') FILTER (WHERE value ->> 'kernel' IS NOT NULL)"), averaged);
        assert_eq!(find("max(value ->> 'ensembles')"), ensembles, "{effort}");
    }
    let scores = |options: &str| -> String {
        let model = fit(&connection, "judged", options);
        value(&connection, "SELECT json_group_array(score) FROM ltr_rank(?1, 'judged')", [model])
    };
    assert_eq!(scores(r#"{"landmarks": 30}"#), scores(r#"{"landmarks": 30, "effort": 3}"#));
    assert_ne!(scores(r#"{"landmarks": 30}"#), scores(r#"{"landmarks": 30, "effort": 1}"#));
}

#[test]
fn the_card_counts_what_a_row_takes() {
    let connection = connect();
    let of = |call: &str| -> Option<f64> {
        value(&connection, &format!("SELECT ltr_info({call}) ->> 'row_microseconds'"), [])
    };
    let auto = |landmarks: usize| {
        of(&format!(r#"ltr_fit('auto', 'judged', '{{"landmarks": {landmarks}}}')"#)).unwrap()
    };
    let trees = of("ltr_fit('boosted_trees', 'judged')").unwrap();
    assert!(trees > 0.0 && auto(20) > trees && auto(60) > auto(20));
    let pairs =
        r#"ltr_fit('rank_svm', 'judged', '{"kernel": "gaussian", "form": "ranking", "landmarks": 20}')"#;
    assert_eq!(of(pairs), None);
}

#[test]
fn every_level_gives_the_same_bytes_for_any_threads_and_order_of_rows() {
    let connection = connect();
    for effort in [1, 2, 4, 5] {
        let options = |threads: usize| {
            format!(r#"{{"effort": {effort}, "landmarks": 20, "scale": "quantile", "threads": {threads}}}"#)
        };
        let model = fit(&connection, "judged", &options(2));
        for (order, threads) in [("doc_id", 1), ("features DESC", 8)] {
            let source = format!("SELECT * FROM judged ORDER BY {order}");
            assert!(fit(&connection, &source, &options(threads)) == model, "{effort}, {order}, {threads}");
        }
    }
}

#[test]
fn other_levels_and_algorithms_are_refused() {
    let connection = connect();
    let refusal = |algorithm: &str, effort: &str| {
        let sql = format!("SELECT ltr_fit('{algorithm}', 'judged', '{{\"effort\": {effort}}}')");
        connection.query_row(&sql, [], |_| Ok(())).expect_err(&sql).to_string()
    };
    for effort in ["0", "6", "2.5", "\"high\""] {
        let message = refusal("auto", effort);
        assert!(message.contains("option 'effort'"), "{message}");
        assert!(message.contains("a whole number from 1 to 5"), "{message}");
    }
    let message = refusal("rank_svm", "2");
    assert!(message.contains("effort") && message.contains("rank_svm"), "{message}");
}
