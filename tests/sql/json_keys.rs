//! Rule 3.10: the keys of JSON objects as features, from training to ranking and exports.

use rusqlite::Connection;
use serde_json::{Value, json};

use super::support::{database, value};

/// 30 queries of 8 documents. The relevance rises with `bm25` and falls with `age`, which `flat` has in columns and the other
/// tables in JSON.
const ROWS: &str = "CREATE TABLE flat AS WITH RECURSIVE n(i) AS (VALUES (0) UNION ALL SELECT i + 1 FROM n WHERE i < 239)
        SELECT i / 8 AS query_id, i % 8 AS doc_id, (2 * (i * 77 % 240) - i * 31 % 17) / 120 AS relevance, i * 7 % 5 AS w,
               i * 31 % 17 AS age, (i * 77 % 240) / 8.0 AS bm25 FROM n;
    CREATE TABLE objects AS SELECT query_id, doc_id, relevance, w, json_object('bm25', bm25, 'age', age) AS log FROM flat;
    CREATE TABLE entries AS SELECT query_id, doc_id, relevance, w, json_array(json_object('name', 'age', 'value', age),
               json_object('name', 'bm25', 'value', bm25)) AS log FROM flat;";

fn filled() -> Connection {
    let connection = database();
    connection.execute_batch(ROWS).unwrap();
    connection
}

fn train(connection: &Connection, algorithm: &str, source: &str, options: &Value) -> Value {
    let sql = "SELECT ltr_train(?1, ?2, ?3)";
    let text: String = value(connection, sql, (algorithm, source, options.to_string()));
    serde_json::from_str(&text).unwrap()
}

fn problem(connection: &Connection, algorithm: &str, source: &str, options: &Value) -> String {
    let sql = "SELECT ltr_train(?1, ?2, ?3)";
    let refused =
        connection.query_row(sql, [algorithm, source, &options.to_string()], |row| row.get::<_, String>(0));
    refused.unwrap_err().to_string()
}

fn column(report: &Value, name: &str) -> Value {
    let columns = report["columns"].as_array().unwrap();
    columns.iter().find(|column| column["name"] == name).unwrap_or(&Value::Null).clone()
}

fn features(connection: &Connection, model: &str) -> Vec<String> {
    let text: String = value(connection, "SELECT ltr_info(?1) ->> 'feature_names'", [model]);
    serde_json::from_str(&text).unwrap()
}

#[test]
fn keys_score_as_columns_through_every_door() {
    let connection = filled();
    for (algorithm, source) in [
        ("rank_svm", "objects"),
        ("boosted_trees", "objects"),
        ("knn_svm", "objects"),
        ("rank_svm", "entries"),
    ] {
        let options = |name: &str| match algorithm {
            "boosted_trees" => json!({"name": name, "trees": 10}),
            _ => json!({"name": name, "lambda": 0.01, "scale": "standard"}),
        };
        let report = train(&connection, algorithm, source, &options("keys"));
        assert!(!report["warnings"].to_string().contains("\\\"log\\\""), "{report}");
        assert_eq!(column(&report, "log")["usage"], json!("feature"), "{report}");
        assert_eq!(column(&report, "bm25")["usage"], json!("feature"), "{report}");
        assert_eq!(column(&report, "bm25")["form"], json!(r#"key ["log","bm25"]"#), "{report}");
        train(&connection, algorithm, "flat", &options("flat"));
        // 1. Rankings of objects and of columns by both models.
        let differs = |model: &str, source: &str| -> f64 {
            let sql = "SELECT max(abs(a.score - b.score)) FROM ltr_rank(?1, ?2) AS a JOIN ltr_rank('flat', 'flat') AS b \
                       USING (query_id, doc_id)";
            value(&connection, sql, (model, source))
        };
        assert!(differs("keys", source) < 1e-9, "{algorithm} {source}");
        assert!(differs("keys", "flat") < 1e-9, "{algorithm} {source}");
        let one: f64 = value(
            &connection,
            "SELECT max(abs(a.score - b.score)) FROM ltr_rank('keys', ?1) AS a, ltr_rank('flat', 'flat') AS b \
             WHERE a.query_id = 3 AND b.query_id = 3 AND a.doc_id = b.doc_id",
            [source],
        );
        assert!(one < 1e-9, "{algorithm} {source}");
        // 2. The report of changes knows the column and its keys.
        let changes =
            "SELECT count(*) FROM ltr_monitor('keys', ?1) WHERE status <> 'ok' AND kind LIKE '%column'";
        assert_eq!(value::<i64>(&connection, changes, [source]), 0);
        let without = "SELECT group_concat(name) FROM ltr_monitor('keys', 'SELECT query_id, doc_id, relevance, w FROM flat') \
                       WHERE kind = 'missing_column'";
        assert_eq!(value::<String>(&connection, without, []), "age,bm25");
        let metric = "SELECT abs(a.value - b.value) FROM ltr_evaluate('keys', ?1) AS a, ltr_evaluate('flat', 'flat') AS b \
                      WHERE a.metric = 'ndcg@10' AND b.metric = 'ndcg@10' AND a.query_id IS NULL AND b.query_id IS NULL";
        assert!(value::<f64>(&connection, metric, [source]) < 1e-12);
        if algorithm == "knn_svm" {
            continue;
        }
        // 3. Text and back.
        let json: String = value(&connection, "SELECT ltr_export('keys', 'json')", []);
        let _: String = value(&connection, "SELECT ltr_import(?1, '{\"name\": \"copy\"}')", [json]);
        assert!(differs("copy", source) < 1e-9, "{algorithm} {source}");
        // 4. Scores and explanations of one document, by position and by name.
        let by_name = "json_object('bm25', f.bm25, 'AGE', f.age, 'w', f.w, 'other', 'x')";
        for features in ["json_array(f.w, f.age, f.bm25)", by_name] {
            let score = format!(
                "SELECT max(abs(ltr_score('keys', {features}) - r.score)) FROM flat AS f JOIN ltr_rank('flat', 'flat') AS r \
                 USING (query_id, doc_id)"
            );
            assert!(value::<f64>(&connection, &score, []) < 1e-9, "{algorithm} {features}");
        }
        let explained = format!(
            "SELECT abs(sum(contribution) - ltr_score('keys', {by_name})) FROM flat AS f, ltr_explain('keys', {by_name}) \
             WHERE f.query_id = 1 AND f.doc_id = 2"
        );
        assert!(value::<f64>(&connection, &explained, []) < 1e-9, "{algorithm}");
        // Trees have a branch for what is missing.
        let lacking = "SELECT ltr_score('keys', '{\"bm25\": 1}')";
        let lacking =
            connection.query_row(lacking, [], |row| row.get::<_, f64>(0)).map_err(|e| e.to_string());
        match algorithm {
            "boosted_trees" => assert!(lacking.is_ok(), "{lacking:?}"),
            _ => {
                assert!(
                    lacking.as_ref().is_err_and(|error| error.contains("null as value 1")),
                    "{lacking:?}"
                );
            }
        }
        // 5. SQL has the keys as columns.
        let sql: String = value(&connection, "SELECT ltr_export('keys', 'sql')", []);
        assert!(sql.contains("`bm25`"), "{sql}");
    }
}

#[test]
fn updates_priors_and_validation_sources_read_the_same_keys() {
    let connection = filled();
    train(&connection, "perceptron", "objects", &json!({"name": "online"}));
    train(&connection, "perceptron", "flat", &json!({"name": "online_flat"}));
    for (name, source) in [("online", "objects"), ("online_flat", "flat")] {
        let _: String = value(&connection, "SELECT ltr_update(?1, ?2)", [name, source]);
    }
    let weights = "SELECT group_concat(feature || ' ' || round(weight, 9)) FROM ltr_weights(?1)";
    let of = |model: &str| value::<String>(&connection, weights, [model]);
    assert_eq!(of("online"), of("online_flat"));
    for (name, source) in [("keys", "objects"), ("flat", "flat")] {
        train(&connection, "rank_svm", source, &json!({"name": name, "lambda": 0.1}));
        train(
            &connection,
            "rank_svm",
            source,
            &json!({"name": format!("next_{name}"), "lambda": 1.0, "prior": format!("@{name}")}),
        );
        train(
            &connection,
            "rank_svm",
            source,
            &json!({"name": format!("chosen_{name}"), "validation": source}),
        );
    }
    assert_eq!(of("next_keys"), of("next_flat"));
    assert_eq!(of("chosen_keys"), of("chosen_flat"));
}

#[test]
fn rows_may_miss_keys_where_missing_values_are_allowed() {
    let connection = filled();
    let shuffled = |order: &str| {
        format!(
            "SELECT query_id, doc_id, relevance, w, CASE doc_id WHEN 2 THEN NULL WHEN 3 THEN '{{\"age\": 4, \"bm25\": null}}' \
             WHEN 4 THEN '{{\"clicks\": 1, \"bm25\": 3, \"never\": null}}' ELSE log END AS log FROM objects ORDER BY {order}"
        )
    };
    let report = train(&connection, "rank_svm", &shuffled("1, 2"), &json!({"lambda": 0.1}));
    assert_eq!(column(&report, "log")["usage"], json!("left_out"), "{report}");
    let warnings = report["warnings"].to_string();
    assert!(
        warnings.contains("a row lacks some of the numbers") && warnings.contains("missing"),
        "{warnings}"
    );
    for order in ["1, 2", "doc_id = 4 DESC, query_id", "log DESC"] {
        train(
            &connection,
            "rank_svm",
            &shuffled(order),
            &json!({"name": order, "lambda": 0.1, "missing": "mean"}),
        );
        assert_eq!(features(&connection, order), ["w", "age", "bm25", "clicks"]);
        let same = "SELECT count(DISTINCT hex(model)) FROM ltr_models";
        connection.execute("DELETE FROM ltr_models WHERE name = 'rank_svm'", []).unwrap();
        assert_eq!(value::<i64>(&connection, same, []), 1, "{order}");
    }
    let filled: i64 = value(
        &connection,
        "SELECT count(*) FROM ltr_rank('1, 2', ?1) WHERE score IS NOT NULL",
        [shuffled("1")],
    );
    assert_eq!(filled, 240);
    // Other values than objects are errors, as bad numbers are; missing where that is allowed.
    train(&connection, "rank_svm", "objects", &json!({"name": "strict", "lambda": 0.1}));
    for bad in ["5", "'x'", "'{\"bm25\": \"high\", \"age\": 1}'", "x'00'", "'{\"bm25\": 1}'", "NULL"] {
        let source = format!("SELECT query_id, doc_id, w, iif(doc_id = 1, {bad}, log) AS log FROM objects");
        let error = connection
            .query_row("SELECT count(*) FROM ltr_rank('strict', ?1)", [&source], |row| row.get::<_, i64>(0))
            .unwrap_err();
        assert!(error.to_string().contains("column \"age\""), "{bad}: {error}");
    }
}

#[test]
fn names_and_options_decide_which_keys_are_features() {
    let connection = filled();
    // 1. Names that collide have the name of their column before them.
    let two = "SELECT query_id, doc_id, relevance, w, json_object('w', w, 'bm25', w, 'label', 1 + w, 'q_age', w) AS a, \
               json_object('bm25', doc_id, 'x', 1 + doc_id) AS b FROM objects";
    train(&connection, "rank_svm", two, &json!({"name": "two", "lambda": 0.1}));
    assert_eq!(features(&connection, "two"), ["w", "a.bm25", "a.label", "a.q_age", "a.w", "b.bm25", "x"]);
    // 2. A column can be chosen, ignored or left unread; so can a key.
    for (columns, expected) in [
        (json!({"ignore": ["log"]}), &["w"][..]),
        (json!({"ignore": ["bm25"]}), &["w", "age"]),
        (json!({"features": ["log"]}), &["age", "bm25"]),
        (json!({"features": ["w", "age"]}), &["w", "age"]),
        (json!({"quantities": ["log"]}), &["w", "age", "bm25"]),
        (json!({"quantities": ["w"]}), &["w"]),
        (json!({"quantities": "none"}), &["w"]),
    ] {
        train(&connection, "rank_svm", "objects", &json!({"name": "m", "lambda": 0.1, "columns": columns}));
        assert_eq!(features(&connection, "m"), expected, "{columns}");
    }
    let only = "SELECT query_id, doc_id, relevance, log FROM objects";
    train(&connection, "rank_svm", only, &json!({"name": "only", "lambda": 0.1}));
    assert_eq!(features(&connection, "only"), ["age", "bm25"]);
    let unknown = problem(&connection, "rank_svm", "objects", &json!({"columns": {"ignore": ["bm52"]}}));
    assert!(unknown.contains("no") && unknown.contains("bm52") && unknown.contains("bm25"), "{unknown}");
    // 3. Folds are cut by the number under a key.
    let split = json!({"name": "split", "split_by": "bm25"});
    train(&connection, "rank_svm", "objects", &split);
    let split_flat = json!({"name": "split_flat", "split_by": "bm25"});
    train(&connection, "rank_svm", "flat", &split_flat);
    assert_eq!(features(&connection, "split"), features(&connection, "split_flat"));
}

#[test]
fn objects_with_other_values_are_left_out_with_a_warning() {
    let connection = filled();
    for (log, what) in [
        ("json_object('brand', 'b' || w, 'bm25', w + doc_id)", "JSON objects"),
        ("json_object('a', json_object('b', w + doc_id))", "JSON objects"),
        ("json_object('a', json('true'), 'b', w + doc_id)", "JSON objects"),
        ("iif(doc_id = 1 AND query_id = 7, '{\"bm25\": 1', log)", "log"),
        ("json_array(json_object('name', 'x', 'value', w + doc_id, 'unit', 'm'))", "JSON arrays"),
    ] {
        let source = format!("SELECT query_id, doc_id, relevance, w, {log} AS log FROM objects");
        let report = train(&connection, "rank_svm", &source, &json!({"name": "m", "lambda": 0.1}));
        assert_eq!(features(&connection, "m"), ["w"], "{log}");
        assert!(what == "log" || report["warnings"].to_string().contains(what), "{log}: {report}");
    }
    // Buckets read no text.
    let report =
        train(&connection, "rank_svm", "objects", &json!({"name": "m", "lambda": 0.1, "buckets": 2}));
    assert!(report["warnings"].to_string().contains("\\\"log\\\""), "{report}");
    assert_eq!(features(&connection, "m"), ["w"]);
}
