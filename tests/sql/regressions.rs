//! Mistakes that a review found, each with the statement that showed it.

use rusqlite::types::FromSql;
use rusqlite::{Connection, Result};

/// Twelve queries of ten documents with two features.
const JUDGMENTS: &str = "
    CREATE TABLE judgments(query_id, doc_id, relevance, a REAL, b REAL);
    WITH RECURSIVE step(i) AS (VALUES (0) UNION ALL SELECT i + 1 FROM step WHERE i < 119)
    INSERT INTO judgments
    SELECT 'Q' || char(65 + i / 10), i % 10, (i * 7 + i / 10) % 3,
           ((i * 37) % 101) / 30.0 + (i * 7) % 3, ((i * 53) % 97) / 40.0 + i / 10
      FROM step;";

fn judgments() -> Connection {
    let connection = Connection::open_in_memory().expect("a database");
    sqlite_ltr::register(&connection).expect("all functions");
    connection.execute_batch(JUDGMENTS).expect("a toy set");
    connection
}

fn one<T: FromSql>(connection: &Connection, sql: &str) -> Result<T> {
    connection.query_row(sql, [], |row| row.get(0))
}

fn refusal(connection: &Connection, sql: &str) -> String {
    one::<rusqlite::types::Value>(connection, sql).expect_err("a refusal").to_string()
}

#[test]
fn a_seen_query_is_recognized_without_the_ids_of_its_documents() {
    let connection = judgments();
    one::<String>(&connection, "SELECT ltr_train('q_svm', 'judgments')").unwrap();
    let different: i64 = one(
        &connection,
        r#"SELECT count(*) FROM ltr_rank('q_svm', 'judgments') AS x
           JOIN ltr_rank('q_svm', 'SELECT query_id, a, b FROM judgments', '{"columns": {"doc": null}}') AS y USING (query_id, rank)
          WHERE x.score <> y.score"#,
    )
    .unwrap();
    assert_eq!(different, 0);
    let fitted: i64 = one(&connection, "SELECT ltr_debug() ->> 'fits_kept'").unwrap();
    assert_eq!(fitted, 0);
}

#[test]
fn a_comparison_of_query_id_keeps_its_collation() {
    let connection = judgments();
    one::<String>(&connection, "SELECT ltr_train('rank_svm', 'judgments')").unwrap();
    for (condition, rows) in [
        ("query_id = 'qa'", 0),
        ("query_id = 'QA'", 10),
        ("query_id = 'qa' COLLATE NOCASE", 10),
        ("query_id IN ('QA', 'QB')", 20),
    ] {
        let sql = format!("SELECT count(*) FROM ltr_rank('rank_svm', 'judgments') WHERE {condition}");
        assert_eq!(one::<i64>(&connection, &sql).unwrap(), rows, "{condition}");
    }
}

#[test]
fn a_training_whose_model_would_not_open_is_refused() {
    let connection = judgments();
    for (source, options, problem) in [
        (
            "SELECT query_id, relevance, ''x'' || rowid AS title FROM judgments",
            "{}",
            "no column is left for features: no row of title is a number",
        ),
        (
            "SELECT query_id, relevance, a * 2e307 AS a FROM judgments",
            "{}",
            "the numbers of the feature \"a\" are too large: their mean is infinite",
        ),
        (
            "SELECT query_id, relevance, a * 2e307 AS a FROM judgments",
            r#"{"scale": "standard"}"#,
            "the numbers of the feature \"a\" are too large: their mean is infinite",
        ),
    ] {
        let sql = format!("SELECT ltr_train('rank_svm', '{source}', '{options}')");
        let message = refusal(&connection, &sql);
        assert!(message.contains(problem), "{message}");
    }
    let card: String = one(
        &connection,
        "SELECT ltr_info(ltr_fit('rank_svm', 'SELECT query_id, relevance, iif(a > 2, 5e-324, 0) AS a, b FROM judgments'))",
    )
    .unwrap();
    assert!(card.contains(r#""lambda""#));
}

#[test]
fn more_features_than_the_solver_takes_are_refused() {
    let connection = judgments();
    let wide = "SELECT query_id, relevance, zeroblob(400000) AS features FROM judgments LIMIT 20";
    let sql = format!("SELECT ltr_fit('rank_svm', '{wide}')");
    assert!(
        refusal(&connection, &sql)
            .contains("100000 features, products with query features included, are too many")
    );
}

#[test]
fn keep_counts_versions_not_numbers() {
    let connection = judgments();
    let train = |options: &str| {
        let sql = format!("SELECT ltr_train('rank_svm', 'judgments', '{options}')");
        one::<String>(&connection, &sql).unwrap();
    };
    for _ in 0..3 {
        train(r#"{"lambda": 1}"#);
    }
    connection.execute("DELETE FROM ltr_models WHERE version = 2", []).unwrap();
    train(r#"{"lambda": 1, "keep_versions": 3}"#);
    let kept = "SELECT group_concat(version) FROM (SELECT version FROM ltr_models ORDER BY version)";
    assert_eq!(one::<String>(&connection, kept).unwrap(), "1,3,4");
    train(r#"{"lambda": 1, "keep_versions": 2}"#);
    assert_eq!(one::<String>(&connection, kept).unwrap(), "4,5");
}

#[test]
fn the_contributions_of_single_precision_features_add_up_to_the_score() {
    let connection = judgments();
    one::<String>(&connection, "SELECT ltr_train('rank_svm', 'judgments')").unwrap();
    for features in ["ltr_vec(0.3, 0.1)", "'[0.3, 0.1]'"] {
        let sql = format!(
            "SELECT sum(contribution) - ltr_score('rank_svm', {features}) FROM ltr_explain('rank_svm', {features})"
        );
        assert!(one::<f64>(&connection, &sql).unwrap().abs() < 1e-12, "{features}");
    }
}

#[test]
fn without_pairs_there_is_nothing_to_learn_whatever_the_kernel() {
    let connection = judgments();
    for options in ["{}", r#"{"kernel": "gaussian"}"#, r#"{"kernel": "gaussian", "form": "ranking"}"#] {
        let source = "SELECT query_id, 1 AS relevance, a, b FROM judgments";
        let message = refusal(&connection, &format!("SELECT ltr_fit('rank_svm', '{source}', '{options}')"));
        assert!(message.contains("so there is nothing to learn (12 queries read)"), "{message}");
    }
    let source = "SELECT query_id, relevance, 1 AS a FROM judgments";
    let options = r#"{"kernel": "gaussian", "form": "ranking"}"#;
    let message = refusal(&connection, &format!("SELECT ltr_fit('rank_svm', '{source}', '{options}')"));
    assert!(message.contains("the kernel gaussian is 0 on every pair of different relevance"), "{message}");
}

#[test]
fn a_model_that_is_deleted_while_a_statement_uses_it_is_not_called_damaged() {
    let connection = judgments();
    let options = r#"{"lambda": 1, "neighbors": 2}"#;
    one::<String>(&connection, &format!("SELECT ltr_train('q_svm', 'judgments', '{options}')")).unwrap();
    let mut statement = connection
        .prepare(
            "WITH RECURSIVE step(i) AS (VALUES (0) UNION ALL SELECT i + 1 FROM step WHERE i < 9)
             SELECT ltr_score('q_svm', ltr_vec(1, 1), ltr_vec(2.6, i)) FROM step",
        )
        .unwrap();
    let mut rows = statement.query([]).unwrap();
    rows.next().unwrap();
    connection.execute("DELETE FROM ltr_models", []).unwrap();
    let error = loop {
        match rows.next() {
            Ok(row) => assert!(row.is_some(), "no row needed another block"),
            Err(error) => break error.to_string(),
        }
    };
    assert!(error.contains("replaced or deleted while it was in use"), "{error}");
}

#[test]
fn the_schema_temp_takes_models_before_it_holds_anything() {
    let connection = judgments();
    one::<String>(&connection, r#"SELECT ltr_train('rank_svm', 'judgments', '{"schema": "temp"}')"#).unwrap();
    assert_eq!(one::<i64>(&connection, "SELECT count(*) FROM temp.ltr_models").unwrap(), 1);
    let ranked = r#"SELECT count(*) FROM ltr_rank('rank_svm', 'judgments', '{"schema": "TEMP"}')"#;
    assert_eq!(one::<i64>(&connection, ranked).unwrap(), 120);
}

#[test]
fn a_stored_model_that_has_grown_is_noticed_though_it_is_kept() {
    let connection = judgments();
    one::<String>(&connection, "SELECT ltr_train('rank_svm', 'judgments')").unwrap();
    connection.execute_batch("UPDATE ltr_models SET model = CAST(model || x'0000' AS BLOB)").unwrap();
    let message = refusal(&connection, "SELECT ltr_score('rank_svm', ltr_vec(1, 1))");
    assert!(message.contains("model is damaged or not a model"), "{message}");
}

/// A table of so many documents that kernels are mapped in single precision.
fn many_documents() -> Connection {
    let connection = Connection::open_in_memory().unwrap();
    sqlite_ltr::register(&connection).unwrap();
    connection
        .execute_batch(
            "CREATE TABLE many AS
               WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 5999),
               x AS (SELECT i, (i * 7919 % 1009) / 1009.0 AS a, (i * 104729 % 997) / 997.0 AS b FROM n)
             SELECT i / 10 AS query_id, i AS doc_id, (a > 0.5) = (b > 0.5) AS relevance, a, b FROM x",
        )
        .unwrap();
    connection
}

/// The last fit takes the sums of the choice of lambda, and adds the held-out queries.
#[test]
fn sums_of_the_choice_of_lambda_give_the_function_of_all_queries() {
    let connection = many_documents();
    let scores = |options: &str| -> Vec<f64> {
        let sql = "SELECT score FROM ltr_rank(ltr_fit('regression', 'many', ?1), 'many') ORDER BY doc_id";
        let mut statement = connection.prepare(sql).unwrap();
        statement.query_map([options], |row| row.get(0)).unwrap().collect::<Result<_>>().unwrap()
    };
    let given = scores(r#"{"kernel": "gaussian", "landmarks": 20, "lambda": 0.001}"#);
    for held_out in ["0.2", r#""many""#] {
        let options = format!(
            r#"{{"kernel": "gaussian", "landmarks": 20, "lambda": [0.001], "validation": {held_out}}}"#
        );
        for (chosen, given) in scores(&options).iter().zip(&given) {
            assert!((chosen - given).abs() < 1e-4, "{held_out}: {chosen} {given}");
        }
    }
    // The same bytes for any threads and order of rows.
    let fit = |threads: usize| -> Vec<u8> {
        let options = format!(r#"{{"kernel": "gaussian", "landmarks": 20, "threads": {threads}}}"#);
        connection.query_row("SELECT ltr_fit('regression', 'many', ?1)", [options], |row| row.get(0)).unwrap()
    };
    let expected = fit(1);
    assert!(fit(8) == expected);
    let shuffle =
        "CREATE TABLE shuffled AS SELECT * FROM many ORDER BY doc_id * 7919 % 1009; DROP TABLE many;
                   ALTER TABLE shuffled RENAME TO many";
    connection.execute_batch(shuffle).unwrap();
    assert!(fit(2) == expected);
}

/// Sums in single precision would overflow or vanish. Weights and lambda times a number give the same function.
#[test]
fn kernels_on_many_documents_take_very_large_and_small_weights() {
    let connection = many_documents();
    let scores = |factor: f64| -> Vec<f64> {
        let options = format!(r#"{{"kernel": "gaussian", "landmarks": 20, "lambda": {:e}}}"#, 0.001 * factor);
        let source = format!("SELECT *, {factor:e} AS weight FROM many");
        let sql = "SELECT score FROM ltr_rank(ltr_fit('regression', ?1, ?2), 'many') ORDER BY doc_id";
        let mut statement = connection.prepare(sql).unwrap();
        statement.query_map((source, options), |row| row.get(0)).unwrap().collect::<Result<_>>().unwrap()
    };
    let expected = scores(1.0);
    assert!(expected.iter().any(|score| score.abs() > 0.01));
    for factor in [1e20, 1e-20] {
        for (found, expected) in scores(factor).iter().zip(&expected) {
            assert!((found - expected).abs() < 1e-3, "{factor:e}: {found} {expected}");
        }
    }
}

/// Going back to a savepoint aborted the statements of a transaction that had changed the schema.
#[test]
fn a_model_is_stored_by_a_statement_of_a_transaction_that_made_a_table() {
    let connection = judgments();
    let train = "SELECT ltr_train('regression', 'judgments', '{\"name\": \"m\", \"lambda\": 0.1}')";
    one::<String>(&connection, train).unwrap();
    one::<String>(&connection, train).unwrap();
    connection
        .execute_batch("BEGIN; CREATE TABLE few(doc_id); INSERT INTO few VALUES (1), (2), (3)")
        .unwrap();
    for call in ["ltr_activate('m', 1)", "ltr_train('regression', 'judgments', '{\"name\": \"n\"}')"] {
        let sql = format!(
            "SELECT count(doc_id) FROM (SELECT doc_id, CASE doc_id WHEN 2 THEN {call} END FROM few LIMIT -1)"
        );
        assert_eq!(one::<i64>(&connection, &sql).unwrap(), 3, "{call}");
        let sql = format!(
            "SELECT group_concat(doc_id) FROM (SELECT doc_id, CASE doc_id WHEN 2 THEN {call} END AS x FROM few) WHERE x IS NULL OR x <> ''"
        );
        assert_eq!(one::<String>(&connection, &sql).unwrap(), "1,2,3", "{call}");
    }
    connection.execute_batch("COMMIT").unwrap();
    assert!(one::<i64>(&connection, "SELECT count(*) FROM ltr_models WHERE name = 'n'").unwrap() >= 1);
}
