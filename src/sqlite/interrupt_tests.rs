//! Interrupts at every check (rule 13.5): each algorithm, and functions with every kind of work, are called repeatedly, and
//! each time a later check reports an interrupt. The call must fail as interrupted and leave nothing behind, and the next
//! call must work.
//!
//! `cargo test --lib interrupt_tests`. `tests/growth/` walks all functions with long arguments, and `benches/interrupts.rs`
//! measures how late real interrupts are noticed in long work.

use rusqlite::{Connection, ErrorCode};

use super::glue::probe::fault::interrupt_after;

/// Judged rows, the same with query features of all kinds, ratings, documents at slots, and rows for aggregates.
const SETUP: &str = "
CREATE TABLE j AS WITH RECURSIVE n(i) AS (VALUES (0) UNION ALL SELECT i + 1 FROM n WHERE i < 71)
SELECT i / 6 AS query_id, i % 6 AS doc_id, (i * 7919) % 3 AS relevance, ((i * 104729) % 101) / 101.0 AS a,
       ((i * 1299709) % 97) / 97.0 AS b, (i / 6) % 3 + 0.5 AS q_1, i % 3 AS site FROM n;
CREATE TABLE m AS SELECT j.*, 'kind ' || (query_id % 3) AS q_kind,
       json_array('y', CASE query_id % 2 WHEN 0 THEN 'x' ELSE 'z' END) AS q_taste FROM j;
CREATE TABLE r AS SELECT i % 6 AS user, (i * 5) % 7 AS item, 1 + (i * 7919) % 5 AS rating
FROM (WITH RECURSIVE n(i) AS (VALUES (0) UNION ALL SELECT i + 1 FROM n WHERE i < 35) SELECT i FROM n) GROUP BY 1, 2;
CREATE TABLE s AS SELECT q AS query_id, d AS doc_id, p AS slot, d = p AS relevance, (d * 3 + p * 5 + q) % 7 AS a
FROM (SELECT 1 AS q UNION SELECT 2), (SELECT 0 AS d UNION SELECT 1 UNION SELECT 2), (SELECT 0 AS p UNION SELECT 1);
CREATE TABLE long AS WITH RECURSIVE n(i) AS (VALUES (0) UNION ALL SELECT i + 1 FROM n WHERE i < 3000)
SELECT i % 4 AS y, (i * 7919) % 1009 AS s, '[' || (i % 5) || ']' AS t FROM n;";

/// Checks at which calls are interrupted: all of the first ones, and a few later ones.
fn walk() -> impl Iterator<Item = usize> {
    (0..12).chain(std::iter::successors(Some(12), |check| Some(check + check / 2)))
}

fn connect() -> Connection {
    let connection = Connection::open_in_memory().unwrap();
    crate::register(&connection).unwrap();
    connection.execute_batch(SETUP).unwrap();
    connection
}

/// The rows of a statement as text.
fn rows(connection: &Connection, sql: &str) -> rusqlite::Result<String> {
    let mut statement = connection.prepare(sql)?;
    let columns = statement.column_count();
    let row = |row: &rusqlite::Row<'_>| -> rusqlite::Result<String> {
        (0..columns).map(|column| row.get_ref(column).map(|value| format!("{value:?} "))).collect()
    };
    statement.query_map([], row)?.collect()
}

fn models(connection: &Connection) -> String {
    let sql = "SELECT name, version, active, length(model) FROM ltr_models ORDER BY 1, 2";
    rows(connection, sql).unwrap_or_default()
}

/// Interrupts a call at each check of the walk until the call has no more checks. Returns the number of interruptions.
fn assert_interruptible(connection: &Connection, sql: &str) -> usize {
    let expected = rows(connection, sql).unwrap_or_else(|problem| panic!("{sql}: {problem}"));
    let before = models(connection);
    let mut interrupted = 0;
    for check in walk() {
        interrupt_after(Some(check));
        let outcome = rows(connection, sql);
        interrupt_after(None);
        let problem = match outcome {
            // A computation may end before it sees the interrupt of its last check.
            Ok(found) => {
                assert_eq!(found, expected, "{sql}, check {check}");
                break;
            }
            Err(problem) => problem,
        };
        assert_eq!(problem.sqlite_error_code(), Some(ErrorCode::OperationInterrupted), "{sql}: {problem}");
        assert_eq!(models(connection), before, "{sql}, check {check}");
        interrupted += 1;
    }
    assert_eq!(rows(connection, sql).unwrap(), expected, "{sql}");
    interrupted
}

fn fit(algorithm: &str, source: &str, options: &str) -> String {
    format!("SELECT hex(ltr_fit('{algorithm}', '{source}', '{{{options}}}'))")
}

#[test]
fn every_training_stops_at_every_check() {
    let connection = connect();
    let lambda = r#""lambda": [0.1, 0.01]"#;
    let mut calls: Vec<String> = crate::train::ALGORITHMS
        .iter()
        .filter(|def| {
            !["boosted_trees", "lambdamart", "cofi_rank", "matching", "perceptron", "auto", "eigen_rank"]
                .contains(&def.name)
        })
        .map(|def| fit(def.name, "j", lambda))
        .collect();
    calls.push(fit("perceptron", "j", r#""epochs": 3"#));
    calls.push(fit("perceptron", "j", r#""epochs": 3, "kernel": "gaussian", "budget": 300"#));
    calls.push(fit("auto", "j", ""));
    calls.push(fit("boosted_trees", "j", r#""trees": 5"#));
    calls.push(fit("lambdamart", "j", r#""trees": 5"#));
    calls.push(fit("regression", "j", r#""kernel": ["linear", "gaussian"], "lambda": [1, 0.1]"#));
    calls.push(fit("cofi_rank", "r", r#""factors": [1, 2], "lambda": 1"#));
    calls.push(fit("eigen_rank", "j", r#""components": 2"#));
    calls.push(fit("q_svm", "m", r#""lambda": 0.1"#));
    calls.push(fit("matching", "s", r#""lambda": 0.1"#));
    calls.push(fit("direct", "j", r#""lambda": 0.1, "diversify_by": "site""#));
    for loss in ["pair_squared", "logistic", "hinge", "direct", "list_net", "slam"] {
        calls.push(fit("cofi_rank", "r", &format!(r#""loss": "{loss}", "lambda": [1, 0.1]"#)));
    }
    calls.push(fit("cofi_rank", "r", r#""feedback": "implicit", "factors": 2, "max_rounds": 2"#));
    calls.push(fit("cofi_rank", "r", r#""feedback": "implicit", "negatives": 1, "lambda": [1, 0.1]"#));
    calls.push(fit("rank_svm", "j", r#""solver": "admm", "lambda": 0.1"#));
    for loss in ["psi", "logistic", "squared_hinge"] {
        calls.push(fit("rank_svm", "j", &format!(r#""loss": "{loss}", "lambda": 0.1"#)));
    }
    calls.push(fit("rank_svm", "j", r#""kernel": "gaussian", "lambda": 0.1"#));
    calls.push(fit("rank_svm", "j", r#""kernel": "gaussian", "form": "ranking", "lambda": 0.1"#));
    for penalty in ["ball", "sphere"] {
        calls.push(fit("list_net", "j", &format!(r#""penalty": "{penalty}""#)));
    }
    calls.push(fit("regression", "j", r#""penalty": "l1", "lambda": 0.01"#));
    calls.push(fit("rank_svm", "j", r#""loss": "svm_map", "lambda": 0.1"#));
    calls.push(fit("direct", "j", r#""solver": "stochastic", "lambda": 0.1"#));
    calls.push(fit("q_svm", "j", r#""query_distance": "learned", "lambda": 0.1"#));
    for sql in &calls {
        assert!(assert_interruptible(&connection, sql) > 2, "{sql}");
    }
}

/// Stores the model `seen`, whose candidates come from a view.
fn train_on_a_view(connection: &Connection) {
    connection
        .execute_batch(
            "CREATE VIEW c AS SELECT q.query AS query_id, doc_id, a, b FROM ltr_query AS q, j WHERE j.query_id = q.query",
        )
        .unwrap();
    let seen = r#"SELECT ltr_train('rank_svm', 'SELECT query_id, doc_id, relevance FROM j', '{"name": "seen", "candidates": "c"}')"#;
    rows(connection, seen).unwrap();
}

/// Stores the model `imported`.
fn import(connection: &Connection) {
    let imported = include_str!("../../tests/data/imported/lightgbm.txt");
    let _: String = connection
        .query_row("SELECT ltr_import(?1, '{\"name\": \"imported\"}')", [imported], |row| row.get(0))
        .unwrap();
}

#[test]
fn other_work_stops_at_every_check() {
    let connection = connect();
    for (name, algorithm, source, options) in [
        ("lin", "rank_svm", "j", r#""lambda": 0.1"#),
        ("q", "q_svm", "j", r#""lambda": 0.1, "fit_at": "query_time""#),
        ("g", "rank_svm", "j", r#""lambda": 0.1, "kernel": "gaussian", "form": "ranking""#),
        ("per", "perceptron", "j", ""),
        ("cofi", "cofi_rank", "r", r#""lambda": 1"#),
        ("pairs", "cofi_rank", "r", r#""lambda": 1, "feedback": "implicit""#),
    ] {
        let comma = if options.is_empty() { "" } else { ", " };
        let train = format!(
            "SELECT ltr_train('{algorithm}', '{source}', '{{\"name\": \"{name}\"{comma}{options}}}')"
        );
        rows(&connection, &train).unwrap();
    }
    rows(&connection, "SELECT ltr_train('boosted_trees', 'j', '{\"trees\": 3, \"name\": \"trees\"}')")
        .unwrap();
    train_on_a_view(&connection);
    import(&connection);
    for sql in [
        "SELECT ltr_export('lin', 'json')",
        "SELECT ltr_export('lin', 'sql')",
        "SELECT ltr_export('trees', 'json')",
        "SELECT ltr_export('trees', 'sql')",
        "SELECT ltr_export('trees', 'elasticsearch')",
        "SELECT ltr_export('trees', 'solr')",
        "SELECT ltr_export('trees', 'xgboost')",
        "SELECT ltr_export('imported', 'sql')",
        "SELECT ltr_export('imported', 'xgboost')",
        "SELECT * FROM ltr_explain('imported', json_array(1, 2, 'acme'))",
        "SELECT * FROM ltr_rank('lin', 'j')",
        "SELECT * FROM ltr_rank('lin', 'j', '{\"diversify_by\": \"site\"}')",
        "SELECT * FROM ltr_rank('g', 'j')",
        "SELECT * FROM ltr_search('seen', 3)",
        "SELECT * FROM ltr_evaluate('seen', 'SELECT query_id, doc_id, relevance FROM j')",
        "SELECT * FROM ltr_evaluate('lin', 'j')",
        "SELECT * FROM ltr_compare('lin', 'per', 'j')",
        "SELECT setting, fold, value FROM ltr_cross_validate('rank_svm', 'j', '{\"lambda\": [0.1, 1], \"scale\": [\"none\", \"quantile\"]}')",
        "SELECT setting, fold, value FROM ltr_cross_validate('perceptron', 'j', '{\"learning_rate\": [0.1, 1]}')",
        "SELECT * FROM ltr_explain('lin', 'j', 1, 1)",
        "SELECT * FROM ltr_explain('g', 'j', 1, 1)",
        "SELECT * FROM ltr_explain_rank('g', 'j', 1, 1, 2)",
        "SELECT * FROM ltr_explain('cofi', 'r', 1, 1)",
        "SELECT * FROM ltr_importance('lin', 'j')",
        "SELECT * FROM ltr_monitor('lin', 'j')",
        "SELECT * FROM ltr_monitor('q', 'j')",
        "SELECT * FROM ltr_monitor('cofi', 'r')",
        "SELECT * FROM ltr_importance('g', 'j')",
        "SELECT * FROM ltr_compare('[\"lin\", \"per\"]', 'j', '{\"test\": \"bootstrap\", \"samples\": 500}')",
        "SELECT ltr_paired_test(y, s, '{\"samples\": 100}') FROM long",
        "SELECT ltr_paired_test(y, s, '{\"test\": \"bootstrap\", \"samples\": 100}') FROM long",
        "SELECT * FROM ltr_recommend('cofi', 1, '{\"ratings\": \"SELECT item, rating FROM r WHERE user = 0\"}')",
        "SELECT * FROM ltr_recommend('pairs', 1, '{\"ratings\": \"SELECT item FROM r WHERE user = 0\"}')",
        "SELECT * FROM ltr_recommend('cofi', '[0, 1, 2]', '{\"candidates\": \"SELECT item FROM r\"}')",
    ] {
        assert!(assert_interruptible(&connection, sql) > 0, "{sql}");
    }
    for tokenizer in ["unicode61", "trigram"] {
        let made = format!(
            "CREATE VIRTUAL TABLE {tokenizer} USING fts5(x, tokenize = '{tokenizer}'); INSERT INTO {tokenizer} VALUES ('red')"
        );
        connection.execute_batch(&made).unwrap();
        let text = "red,shoes \"blue bag\" 5\" ((a";
        for options in ["NULL".to_owned(), format!("'{{\"table\": \"{tokenizer}\"}}'")] {
            let sql = format!("SELECT ltr_fts_query('{text}', {options})");
            assert!(assert_interruptible(&connection, &sql) > 9, "{sql}");
        }
    }
    for metric in [
        "ndcg(y",
        "metric('err', y",
        "metric('mre', y",
        "metric('kendall_tau', y",
        "metric('alpha_ndcg', t",
        "metric('subtopic_recall', t",
    ] {
        let sql = format!("SELECT ltr_{metric}, s) FROM long");
        assert!(assert_interruptible(&connection, &sql) > 0, "{sql}");
    }
}

#[test]
fn plots_and_reports_stop_at_every_check() {
    let connection = connect();
    for algorithm in ["rank_svm", "regression"] {
        rows(&connection, &format!("SELECT ltr_train('{algorithm}', 'j', '{{\"lambda\": 0.1}}')")).unwrap();
    }
    for sql in [
        "SELECT ltr_plot('importance', 'rank_svm', 'j')",
        "SELECT ltr_plot('queries', 'rank_svm', 'regression', 'j')",
        "SELECT ltr_plot('calibration', 'rank_svm', 'j')",
        "SELECT ltr_plot('scores', 'rank_svm', 'j')",
        "SELECT ltr_report('rank_svm', 'j')",
    ] {
        assert!(assert_interruptible(&connection, sql) > 0, "{sql}");
    }
}

/// Functions of new queries are cached, so each interruption needs a new query.
#[test]
fn fits_of_new_queries_stop_at_every_check() {
    let connection = connect();
    rows(&connection, "SELECT ltr_train('q_svm', 'j', '{\"lambda\": 0.1, \"fit_at\": \"query_time\"}')")
        .unwrap();
    for template in [
        "SELECT * FROM ltr_rank('q_svm', 'SELECT query_id + 100 AS query_id, doc_id, a, b, q_1 + NEW AS q_1, site FROM j')",
        "SELECT * FROM ltr_explain('q_svm', '[0.5, 0.2, 1]', '[NEW]')",
        "SELECT ltr_score('q_svm', '[0.5, 0.2, 1]', '[NEW]')",
        "SELECT ltr_prefer('q_svm', '[0.5, 0.2, 1]', '[0.1, 0.2, 1]', '[NEW]')",
    ] {
        let mut done = false;
        for (number, check) in walk().enumerate() {
            let sql = template.replace("NEW", &format!("{}.25", number + 1));
            interrupt_after(Some(check));
            let outcome = rows(&connection, &sql);
            interrupt_after(None);
            let again = rows(&connection, &sql).unwrap();
            done = match outcome {
                Ok(found) => found == again,
                Err(problem) => {
                    assert_eq!(
                        problem.sqlite_error_code(),
                        Some(ErrorCode::OperationInterrupted),
                        "{sql}: {problem}"
                    );
                    false
                }
            };
            if done {
                break;
            }
        }
        assert!(done, "{template}");
    }
}

/// Comparing a query with the 12 training queries can be interrupted at each of them.
#[test]
fn neighbors_stop_at_every_training_query() {
    let connection = connect();
    rows(&connection, "SELECT ltr_train('q_svm', 'm', '{\"lambda\": 0.1}')").unwrap();
    let sql = r#"SELECT * FROM ltr_neighbors('q_svm', json_array(0.5, 'kind 1', '["z","x"]'))"#;
    let interrupted = assert_interruptible(&connection, sql);
    assert!(interrupted >= 12, "{interrupted}");
}

/// An interrupted training or update stores nothing; otherwise, it stores one version.
#[test]
fn an_interrupted_call_stores_nothing() {
    let connection = connect();
    for sql in [
        "SELECT ltr_train('perceptron', 'j') IS NULL",
        "SELECT ltr_update('perceptron', 'j') IS NULL",
        "SELECT ltr_import(ltr_export('perceptron', 'json')) IS NULL",
    ] {
        let before = models(&connection);
        for check in walk() {
            interrupt_after(Some(check));
            let outcome = rows(&connection, sql);
            interrupt_after(None);
            if outcome.is_ok() {
                break;
            }
            assert_eq!(models(&connection), before, "{sql}, check {check}");
        }
        assert_ne!(models(&connection), before, "{sql}");
    }
}

/// Rule 13.5: readers of all formats of other libraries.
#[test]
fn imports_of_other_libraries() {
    const TEXTS: [&str; 11] = [
        include_str!("../../tests/data/imported/small/catboost.json"),
        include_str!("../../tests/data/imported/small/catboost_lossguide.json"),
        include_str!("../../tests/data/imported/small/lightgbm.json"),
        include_str!("../../tests/data/imported/small/lightgbm.txt"),
        include_str!("../../tests/data/imported/small/linear.json"),
        include_str!("../../tests/data/imported/small/plugin.json"),
        include_str!("../../tests/data/imported/small/ranklib.txt"),
        include_str!("../../tests/data/imported/small/solr.json"),
        include_str!("../../tests/data/imported/small/xgboost.json"),
        include_str!("../../tests/data/imported/small/xgboost_dart.json"),
        include_str!("../../tests/data/imported/small/xgboost_dump.json"),
    ];
    let connection = connect();
    for text in TEXTS {
        let sql = format!("SELECT ltr_import('{}') IS NULL", text.replace('\'', "''"));
        let checks = assert_interruptible(&connection, &sql);
        assert!(checks >= 5, "{checks} checks: {text}");
    }
}
