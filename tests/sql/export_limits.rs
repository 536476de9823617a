//! Where the text forms of models end (rules 9.8, 9.10): many features, long and odd names, numbers beyond single precision, hostile texts. And
//! vectors of a wrong length.

use rusqlite::Connection;
use serde_json::{Value, json};

use super::support::{database, value};

/// A model of 3 features as JSON, changed.
fn changed(connection: &Connection, options: &Value, change: impl FnOnce(&mut Value)) -> String {
    let source = "SELECT query_id, doc_id, relevance, a, b, c FROM j";
    let sql = "SELECT ltr_export(ltr_fit('rank_svm', ?1, ?2), 'json')";
    let text: String = value(connection, sql, (source, options.to_string()));
    let mut document: Value = serde_json::from_str(&text).unwrap();
    change(&mut document);
    document.to_string()
}

fn connect() -> Connection {
    let connection = database();
    let rows = "CREATE TABLE j AS WITH RECURSIVE n(i) AS (VALUES (0) UNION ALL SELECT i + 1 FROM n WHERE i < 39)
        SELECT i / 5 AS query_id, i AS doc_id, i % 3 AS relevance, (i * 37) % 11 / 11.0 AS a, (i * 5) % 7 / 7.0 AS b,
               (i * 3) % 13 / 13.0 AS c FROM n";
    connection.execute_batch(rows).unwrap();
    connection
}

fn import(connection: &Connection, text: &str) -> rusqlite::Result<String> {
    let sql = "SELECT ltr_import(?1, '{\"name\": \"imported\"}')";
    connection.query_row(sql, [text], |row| row.get(0))
}

fn exported(connection: &Connection, format: &str) -> rusqlite::Result<String> {
    connection.query_row("SELECT ltr_export('imported', ?1)", [format], |row| row.get(0))
}

/// A table with a column for each feature is an expression of columns, at the largest number that SQLite allows in a table.
#[test]
fn expressions_of_up_to_two_thousand_columns_score_as_ltr_rank() {
    for (n, scale) in [
        (1, "quantile"),
        (10, "query_minmax"),
        (500, "standard"),
        (500, "quantile"),
        (500, "query_minmax"),
        (1997, "standard"),
        (1997, "max_norm"),
        (1997, "quantile"),
    ] {
        let (connection, plain) = (database(), Connection::open_in_memory().unwrap());
        let columns: Vec<String> =
            (0..n).map(|j| format!("(i * {} + {j} * 91) % 101 / 101.0 AS f{j}", 37 + j % 50)).collect();
        let rows = format!(
            "CREATE TABLE j AS WITH RECURSIVE n(i) AS (VALUES (0) UNION ALL SELECT i + 1 FROM n WHERE i < 19)
             SELECT i / 5 AS query_id, i AS doc_id, i % 3 AS relevance, {} FROM n",
            columns.join(", ")
        );
        [&connection, &plain].iter().for_each(|connection| connection.execute_batch(&rows).unwrap());
        let options = json!({ "lambda": 1, "scale": scale }).to_string();
        let model: Vec<u8> = value(&connection, "SELECT ltr_fit('rank_svm', 'j', ?1)", [options]);
        let sql: String = value(&connection, "SELECT ltr_export(?1, 'sql')", [&model]);
        let sql = format!("SELECT {sql} FROM j ORDER BY query_id, doc_id");
        let mut found = plain.prepare(&sql).unwrap_or_else(|error| panic!("{n}, {scale}: {error}"));
        let found: Vec<f64> =
            found.query_map([], |row| row.get(0)).unwrap().collect::<Result<_, _>>().unwrap();
        let sql = "SELECT json_group_array(score) FROM (SELECT score FROM ltr_rank(?1, 'j') ORDER BY query_id, doc_id)";
        let scores: Vec<f64> = serde_json::from_str(&value::<String>(&connection, sql, [&model])).unwrap();
        assert_eq!(found.len(), scores.len());
        for (found, score) in found.iter().zip(scores) {
            assert!((found - score).abs() <= 1e-12 * score.abs().max(1.0), "{n}, {scale}: {found}, {score}");
        }
    }
}

/// An expression that is too long is refused before gigabytes are written.
#[test]
fn an_expression_of_long_names_is_refused() {
    let connection = connect();
    for (scale, length) in [("quantile", 1_000_000), ("standard", 600_000), ("query_minmax", 600_000)] {
        let name = "n".repeat(length);
        let options = json!({ "lambda": 0.1, "scale": scale });
        let text = changed(&connection, &options, |document| {
            document["features"] = json!([name, "b", "c"]);
            document["columns"]["query"] = json!(name);
        });
        import(&connection, &text).unwrap();
        let outcome = exported(&connection, "sql");
        if scale != "quantile" {
            assert!(outcome.unwrap().contains(&name), "{scale}");
            continue;
        }
        let error = outcome.unwrap_err().to_string();
        let start = "ltr_export: the model cannot be exported as 'sql': its text has more than 20000000 bytes; use fewer features";
        assert!(error.starts_with(start) && error.ends_with("; it can be exported as 'json'"), "{error}");
        assert!(error.len() < 300, "{error}");
    }
}

#[test]
fn odd_names_are_quoted_and_zero_bytes_are_refused() {
    let connection = connect();
    let plain = Connection::open_in_memory().unwrap();
    let odd = ["it's `x` \"y\" ]] -- ; DROP TABLE t", "line\nand\ttab /* \u{202e}é", ""];
    let quoted = |name: &str| format!("\"{}\"", name.replace('"', "\"\""));
    let columns: Vec<String> = odd.iter().map(|name| quoted(name)).collect();
    plain
        .execute_batch(&format!(
            "CREATE TABLE t({0}); INSERT INTO t VALUES (0.5, 0.25, 0.75)",
            columns.join(", ")
        ))
        .unwrap();
    let options = json!({ "lambda": 0.1, "scale": "quantile" });
    let text = changed(&connection, &options, |document| document["features"] = json!(odd));
    import(&connection, &text).unwrap();
    let sql = exported(&connection, "sql").unwrap();
    let found: f64 = value(&plain, &format!("SELECT {sql} FROM t"), []);
    let score: f64 = value(&connection, "SELECT ltr_score('imported', '[0.5, 0.25, 0.75]')", []);
    assert!((found - score).abs() < 1e-12, "{found}, {score}");
    let text = changed(&connection, &options, |document| document["features"][1] = json!("a\0b"));
    import(&connection, &text).unwrap();
    let error = exported(&connection, "sql").unwrap_err().to_string();
    assert_eq!(
        error,
        "ltr_export: the model cannot be exported as 'sql': the name \"a\\0b\" has a zero byte; it can be exported as 'json'"
    );
}

type Change = fn(&mut Value);

/// Search engines compute in single precision, take a missing feature as 0, and refuse a model without weights.
#[test]
fn what_search_engines_would_score_otherwise_is_refused() {
    let connection = connect();
    let cases: [(&str, &str, Change); 5] = [
        ("weight or scaling of feature \"a\" is beyond", "error", |d| {
            d["terms"][0]["weights"][0] = json!(1e100);
        }),
        ("weight or scaling of feature \"b\" is beyond", "error", |d| {
            d["terms"][0]["scaling"]["factors"][1] = json!(1e100);
        }),
        ("weight or scaling of feature \"c\" is beyond", "error", |d| {
            d["terms"][0]["scaling"]["centers"][2] = json!(-1e39);
        }),
        ("all its weights are 0", "error", |d| d["terms"][0]["weights"] = json!([0.0, -0.0, 0.0])),
        (
            "the model replaces missing features by their mean, but the format by 0; train with \"missing\": \"zero\"",
            "mean",
            |_| (),
        ),
    ];
    for (reason, missing, change) in cases {
        let options = json!({ "lambda": 0.1, "scale": "standard", "missing": missing });
        import(&connection, &changed(&connection, &options, change)).unwrap();
        for format in ["elasticsearch", "opensearch", "solr"] {
            let error = exported(&connection, format).unwrap_err().to_string();
            let start = format!("ltr_export: the model cannot be exported as '{format}': {reason}");
            assert!(error.starts_with(&start), "{error}");
            assert!(error.ends_with("; it can be exported as 'json' or 'sql'"), "{error}");
        }
    }
    for missing in ["error", "zero"] {
        let options = json!({ "lambda": 0.1, "scale": "standard", "missing": missing });
        import(&connection, &changed(&connection, &options, |_| ())).unwrap();
        exported(&connection, "solr").unwrap();
    }
}

#[test]
fn hostile_json_is_refused_with_a_short_reason() {
    let connection = connect();
    let text = changed(&connection, &json!({ "lambda": 0.1, "scale": "standard" }), |_| ());
    let with = |old: &str, new: &str| {
        assert!(text.contains(old), "{old}");
        text.replacen(old, new, 1)
    };
    let settings = |value: &str| with("\"settings\":{", &format!("\"settings\":{{\"x\":{value},"));
    let cases = [
        (settings(&format!("{}{}", "[".repeat(100_000), "]".repeat(100_000))), "more than 16 levels"),
        (settings(&format!("[{}0]", "0,".repeat(300_000))), "more than 262144 values"),
        (settings("{\"y\":1,\"y\":2}"), "the key \"y\" appears twice"),
        (settings("1e999"), "number out of range"),
        (with("\"weights\":[", "\"weights\":[1e999,"), "number out of range"),
        (with("\"weights\":[", "\"weights\":[NaN,"), "expected a JSON value"),
        (with("\"weights\":[", &format!("\"weights\":[\"{}\",", "a".repeat(1_000_000))), "the text \"aaa"),
        (with("\"format\":", "\"format\":\"x\",\"format\":"), "duplicate field `format`"),
        (with("\"format\":", &format!("\"{}\":1,\"format\":", "k".repeat(100_000))), "unknown field `kkk"),
        (with("\"kind\":\"standard\"", "\"kind\":\"max_norm\""), "other keys for the scaling \"max_norm\""),
        (with("\"kind\":\"standard\"", "\"kind\":\"log\""), "got 'log', expected one of"),
        (with("\"features\":[\"a\",", "\"features\":[\"B\","), "features of different names"),
        (" ".repeat(32_000_001), "got 32000001 bytes, expected at most 32000000 bytes"),
    ];
    for (text, reason) in cases {
        let error = import(&connection, &text).unwrap_err().to_string();
        assert!(error.starts_with("ltr_import: argument 'text'") && error.contains(reason), "{error}");
        assert!(error.len() < 500, "{} bytes: {error}", error.len());
    }
    assert!(import(&connection, &text).is_ok());
}

/// The length is compared before the values are copied or parsed further.
#[test]
fn vectors_of_a_wrong_length_are_refused_at_once() {
    let connection = connect();
    let sql = "SELECT ltr_train('rank_svm', 'SELECT query_id, doc_id, relevance, a, b, c FROM j', '{\"lambda\": 0.1}')";
    let _report: String = value(&connection, sql, []);
    let json = format!("[{}0]", "0,".repeat(400_000));
    let long = format!("[{}0]", "0,".repeat(20_000_000));
    let shape = "number of features (a, b, c): found 400001, expected 3";
    let bytes = "(40000003 bytes, more than 1000000 for 3 numbers)";
    for (features, reason) in [(&json, shape), (&long, bytes)] {
        for call in [
            "SELECT ltr_score('rank_svm', ?1)",
            "SELECT ltr_prefer('rank_svm', '[1, 2, 3]', ?1)",
            "SELECT count(*) FROM ltr_explain('rank_svm', ?1)",
        ] {
            let error = connection.query_row(call, [features], |_| Ok(())).unwrap_err().to_string();
            assert!(error.contains(reason), "{call}: {error}");
        }
    }
    let error = connection.query_row("SELECT ltr_score('rank_svm', zeroblob(40000000))", [], |_| Ok(()));
    let error = error.unwrap_err().to_string();
    assert_eq!(error, "ltr_score: number of features (a, b, c): found 10000000, expected 3");
    for (features, found) in [
        ("zeroblob(40000000)", "10000000 features; the model needs 3"),
        ("?1", "400001 features; the model needs 3"),
    ] {
        let source = format!("SELECT 1 AS query_id, 1 AS doc_id, {features} AS features");
        let sql =
            "SELECT count(*) FROM ltr_explain_rank('rank_svm', ?1, 1, 1, 1, '{\"max_memory\": 1000000}', ?2)";
        let outcome = match features {
            "?1" => connection.query_row(sql, (&source, &json), |_| Ok(())),
            _ => connection.query_row(&sql.replace(", ?2)", ")"), [&source], |_| Ok(())),
        };
        let error = outcome.unwrap_err().to_string();
        assert!(error.contains(", row 1 (query 1, document 1), column \"features\": "), "{error}");
        assert!(error.ends_with(found), "{error}");
    }
}
