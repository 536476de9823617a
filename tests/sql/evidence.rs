//! What held-out queries show of a training, in its report (rules 2.31 and 5.37).

use rusqlite::{Connection, params};
use serde_json::{Value, json};
use sqlite_ltr::internals::math::random::Random;

use crate::support::{database, value};

/// 60 queries with 10 documents. The grade is the sum of two columns; in `t` it is the column a with errors. Query 7 is not
/// informative.
const DATA: &str = "
CREATE TABLE s AS WITH RECURSIVE n(i) AS (VALUES (0) UNION ALL SELECT i + 1 FROM n WHERE i < 599),
x AS (SELECT i / 10 AS query_id, i % 10 AS doc_id, (i * 104729 % 1009) / 1009.0 AS a, (i * 1299709 % 997) / 997.0 AS b,
             (i * 15485863 % 991) / 991.0 AS c FROM n)
SELECT *, iif(query_id = 7, 1, CAST(2 * (a + b) AS INTEGER)) AS relevance FROM x;
CREATE TABLE t AS SELECT query_id, doc_id, a, b, c,
       iif(query_id = 7, 1, CAST(3 * a AS INTEGER) + (query_id * 31 + doc_id * 17) % 5 / 4) AS relevance FROM s;";

fn report(connection: &Connection, algorithm: &str, source: &str, options: &Value) -> Value {
    let sql = "SELECT ltr_train(?1, ?2, ?3)";
    let text: String = value(connection, sql, (algorithm, source, options.to_string()));
    serde_json::from_str(&text).unwrap()
}

/// Rule 5.37: the intervals contain their values, and a model that knows more than each column is shown to be better.
#[test]
fn the_first_lines_say_whether_a_model_is_better_than_a_column() {
    let connection = database();
    connection.execute_batch(DATA).unwrap();
    for algorithm in ["rank_svm", "regression", "boosted_trees", "auto"] {
        for (source, is_shown) in [("s", true), ("t", false)] {
            let report = report(&connection, algorithm, source, &json!({}));
            let evidence = &report["evidence"];
            let context = format!("{algorithm} {source} {evidence}");
            assert_eq!(evidence["informative_queries"], 59, "{context}");
            let within = |value: &Value, interval: &Value| {
                let [low, high] = [0, 1].map(|end| interval[end].as_f64().unwrap());
                low <= high && (low..=high).contains(&value.as_f64().unwrap())
            };
            assert!(within(&report["validation"]["best"], &evidence["interval"]), "{context}");
            assert!(within(&evidence["difference"], &evidence["difference_interval"]), "{context}");
            assert_eq!(evidence["is_shown"], is_shown, "{context}");
            let lines = evidence["lines"].to_string();
            let words =
                if is_shown { "\"better than ORDER BY " } else { "\"not shown to be better than ORDER BY " };
            assert!(lines.contains(words) && lines.contains("59 of 60 queries"), "{context}");
            assert!(is_shown || evidence["compared_with"] == "ORDER BY \"a\" DESC", "{context}");
            // The page has the same lines.
            let page: String = value(&connection, "SELECT ltr_report(?1, ?2)", (algorithm, source));
            assert!(page.contains("95% interval") && page.contains("59 of 60 queries have"), "{context}");
        }
    }
}

/// Rule 5.37: with a baseline the model is compared with it, and the short report says so. Without validation nothing is compared.
#[test]
fn the_first_lines_compare_with_the_baseline() {
    let connection = database();
    connection.execute_batch(DATA).unwrap();
    for algorithm in ["rank_svm", "boosted_trees", "auto"] {
        let options = json!({ "baseline": "a", "report": "short" });
        let line: String =
            value(&connection, "SELECT ltr_train(?1, 's', ?2)", (algorithm, options.to_string()));
        assert!(line.contains("60 queries, 59 of them informative"), "{line}");
        assert!(
            line.contains(" better than the baseline \"a\": +0.") && !line.contains("not shown"),
            "{line}"
        );
        let options = json!({ "baseline": "a" });
        let alone = report(&connection, algorithm, "SELECT *, 0 * c AS zero FROM t", &options);
        let text = alone["evidence"]["lines"].to_string();
        let words = if alone["baseline"]["alone"] == true {
            "the model is the baseline"
        } else {
            "better than the baseline"
        };
        assert!(text.contains(words), "{text}");
    }
    let fixed = report(&connection, "rank_svm", "s", &json!({ "lambda": 1 }));
    assert_eq!(fixed["evidence"]["lines"], json!(["59 of 60 queries have documents of different relevance"]));
    assert_eq!(fixed["evidence"]["compared_with"], Value::Null);
}

/// 16 seasons of 6 queries with 6 of the season's 9 documents, which have 5 columns. The grade is the sum of the first column, a
/// `hidden` quality of the document and noise.
fn seasons(connection: &Connection, hidden: f64) {
    connection
        .execute_batch(
            "DROP TABLE IF EXISTS c; CREATE TABLE c(query_id, doc_id, season, relevance, a, b, c, d, e)",
        )
        .unwrap();
    let mut random = Random::new(5);
    for season in 0..16 {
        let documents: Vec<[f64; 6]> = (0..9).map(|_| std::array::from_fn(|_| random.symmetric())).collect();
        for query in 0..6 {
            let mut order: Vec<usize> = (0..9).collect();
            random.shuffle(&mut order);
            for &doc in &order[..6] {
                let [quality, a, b, c, d, e] = documents[doc];
                let grade = (2.0 + a + 2.0 * hidden * quality + 0.5 * random.symmetric()).max(0.0).floor();
                let row =
                    params![10 * season + query, 100 * season + doc as i64, season, grade, a, b, c, d, e];
                connection.execute("INSERT INTO c VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", row).unwrap();
            }
        }
    }
}

/// Rule 2.31: trees that know the documents of held-out queries by their numbers are told apart from those that know new documents.
#[test]
fn a_value_that_shared_documents_make_better_is_a_warning() {
    let connection = database();
    let warns = |algorithm: &str, source: &str, options: &Value| {
        let found = report(&connection, algorithm, source, options)["warnings"].to_string();
        found.contains("held out too")
    };
    let ignored = json!({ "columns": { "ignore": ["season"] } });
    seasons(&connection, 1.0);
    assert!(warns("boosted_trees", "c", &ignored) && warns("auto", "c", &ignored));
    assert!(!warns("boosted_trees", "c", &json!({ "group_by": "season" })));
    assert!(!warns("boosted_trees", "c", &json!({ "columns": { "ignore": ["season"] }, "trees": 20 })));
    // Documents of one query each, and documents of all seasons.
    for doc in ["doc_id + 10000 * query_id", "doc_id % 100"] {
        let source = format!("SELECT query_id, {doc} AS doc_id, relevance, a, b, c, d, e FROM c");
        assert!(!warns("boosted_trees", &source, &json!({})), "{doc}");
    }
    seasons(&connection, 0.0);
    assert!(!warns("boosted_trees", "c", &ignored));
}

/// Rules 2.30 and 5.37: judgments with a view warn as the same judgments in rows, and clicks in one order show nothing.
#[test]
fn clicks_show_the_same_with_a_view() {
    let connection = database();
    connection.execute_batch(DATA).unwrap();
    for (table, determined, is_shown) in
        [("s", 0.9, true), ("s", 0.2, false), ("t", 0.9, false), ("t", 0.2, false)]
    {
        let view = format!(
            "DROP VIEW IF EXISTS v; CREATE VIEW v AS
             SELECT q.query AS query_id, doc_id, a, b, c FROM ltr_query AS q JOIN {table} ON {table}.query_id = q.query"
        );
        connection.execute_batch(&view).unwrap();
        let judgments =
            format!("SELECT query_id, doc_id, relevance, {determined} AS determined FROM {table}");
        let rows =
            format!("SELECT query_id, doc_id, relevance, a, b, c, {determined} AS determined FROM {table}");
        let with_view = report(&connection, "rank_svm", &judgments, &json!({ "candidates": "v" }));
        let joined = report(&connection, "rank_svm", &rows, &json!({}));
        let context = format!("{table} {determined}: {with_view} {joined}");
        assert_eq!(with_view["evidence"], joined["evidence"], "{context}");
        assert_eq!(joined["evidence"]["is_shown"], is_shown, "{context}");
        for text in ["not shown to be better", "cannot be separated"] {
            let [with_view, joined] =
                [&with_view, &joined].map(|report| report["warnings"].to_string().contains(text));
            assert_eq!(with_view, joined, "{text}: {context}");
            let expected =
                if text.starts_with("not") { !is_shown && determined > 0.5 } else { determined < 0.5 };
            assert_eq!(joined, expected, "{text}: {context}");
        }
    }
}

/// The best column on few queries may be the best by chance, so the advice names none.
#[test]
fn few_queries_propose_no_column_as_the_baseline() {
    let connection = database();
    connection.execute_batch(DATA).unwrap();
    let few = "SELECT * FROM t WHERE query_id < 12";
    let current_order = "the column that orders the documents today";
    let text = report(&connection, "rank_svm", few, &json!({}))["warnings"].to_string();
    assert!(text.contains(current_order) && !text.contains("set \\\"baseline\\\""), "{text}");
    let text = report(&connection, "rank_svm", few, &json!({ "baseline": "c" }))["warnings"].to_string();
    assert!(!text.contains("not better than") && !text.contains(current_order), "{text}");
}
