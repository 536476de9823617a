//! Exported models score as their models do (rules 9.8, 9.9); imported ones are the same, and texts from elsewhere are checked
//! (rule 9.10).

use rusqlite::Connection;
use serde_json::{Value, json};
use sqlite_ltr::Model;
use sqlite_ltr::internals::learn::kernel;

use super::support::{database, value};

/// 500 queries of 20 documents, with features in different units; one is an integer, one has a name to be quoted.
const SCHEMA: &str = "
CREATE TABLE judged(query_id, doc_id, relevance, small REAL, large REAL, \"it's `x`\" REAL, whole INTEGER, constant REAL);
WITH RECURSIVE
  queries(q) AS (VALUES (1) UNION ALL SELECT q + 1 FROM queries WHERE q < 500),
  documents(d) AS (VALUES (1) UNION ALL SELECT d + 1 FROM documents WHERE d < 20),
  raw AS (SELECT q, d, ((q * 7919 + d * 104729) % 1009) / 1009.0 AS a, ((q * 6007 + d * 30011) % 997) / 997.0 AS b,
                 ((q * 131 + d * 7907) % 991) / 991.0 AS c FROM queries, documents)
INSERT INTO judged
SELECT q, d, (a + b > 0.7) + (a + c > 1.2), a / 1000, b * b * 1000, 50 - c, CAST(10 * a * c AS INTEGER), 7 FROM raw;
CREATE VIEW training AS SELECT * FROM judged WHERE query_id <= 20;";

const SCALES: [&str; 6] = ["quantile", "standard", "none", "query_minmax", "quantile_minmax", "max_norm"];

const ALGORITHMS: [&str; 10] = [
    "rank_svm",
    "regression",
    "list_net",
    "list_mle",
    "cs_list_mle",
    "slam",
    "direct",
    "smooth_grad",
    "eigen_rank",
    "perceptron",
];

fn connect() -> Connection {
    let connection = database();
    connection.execute_batch(SCHEMA).unwrap();
    connection
}

/// The same tables in an SQLite without this library.
fn plain() -> Connection {
    let connection = Connection::open_in_memory().unwrap();
    connection.execute_batch(SCHEMA).unwrap();
    connection
}

fn fit(connection: &Connection, algorithm: &str, options: &Value) -> Vec<u8> {
    value(connection, "SELECT ltr_fit(?1, 'training', ?2)", (algorithm, options.to_string()))
}

fn exported(connection: &Connection, model: &[u8], format: &str) -> String {
    value(connection, "SELECT ltr_export(?1, ?2)", (model, format))
}

/// A number per row of `judged`, in the order of query and document.
fn numbers(connection: &Connection, expression: &str, condition: &str) -> Vec<f64> {
    let sql = format!(
        "SELECT score FROM (SELECT query_id, doc_id, {expression} AS score FROM judged) WHERE {condition} ORDER BY query_id, doc_id"
    );
    let mut statement = connection.prepare(&sql).unwrap_or_else(|error| panic!("{error}: {sql}"));
    statement.query_map([], |row| row.get(0)).unwrap().collect::<Result<_, _>>().unwrap()
}

/// The scores of `ltr_rank` in that order.
fn ranked(connection: &Connection, model: &[u8], condition: &str) -> Vec<f64> {
    let source = format!("SELECT * FROM judged WHERE {condition}");
    let sql = "SELECT score FROM ltr_rank(?1, ?2) ORDER BY query_id, doc_id";
    let mut statement = connection.prepare(sql).unwrap();
    statement.query_map((model, source), |row| row.get(0)).unwrap().collect::<Result<_, _>>().unwrap()
}

/// The features of the rows, for `Model::score`.
fn rows(connection: &Connection) -> Vec<[f64; 5]> {
    let sql = "SELECT small, large, \"it's `x`\", whole, constant FROM judged ORDER BY query_id, doc_id";
    let mut statement = connection.prepare(sql).unwrap();
    let row = |row: &rusqlite::Row<'_>| {
        let mut values = [0.0; 5];
        (0..5).try_for_each(|index| row.get(index).map(|value| values[index] = value))?;
        Ok(values)
    };
    statement.query_map([], row).unwrap().collect::<Result<_, _>>().unwrap()
}

fn assert_near(found: &[f64], expected: &[f64], tolerance: f64, what: &str) {
    assert_eq!(found.len(), expected.len(), "{what}");
    let largest = expected.iter().fold(1.0, |largest: f64, score| largest.max(score.abs()));
    for (row, (found, expected)) in found.iter().zip(expected).enumerate() {
        let error = (found - expected).abs();
        assert!(error <= tolerance * largest, "{what}, row {row}: {found}, expected {expected}");
    }
}

#[test]
fn an_sql_expression_scores_ten_thousand_rows_as_ltr_score_does() {
    let (connection, plain) = (connect(), plain());
    let rows = rows(&connection);
    assert_eq!(rows.len(), 10_000);
    for scale in SCALES {
        let model = fit(&connection, "rank_svm", &json!({ "lambda": 0.01, "scale": scale }));
        let found = numbers(&plain, &exported(&connection, &model, "sql"), "1");
        assert_near(&found, &ranked(&connection, &model, "1"), 1e-12, scale);
        if !scale.contains("minmax") {
            let model = Model::from_bytes(&model).unwrap();
            let scores: Vec<f64> = rows.iter().map(|row| model.score(row, None).unwrap()).collect();
            assert_near(&found, &scores, 1e-12, scale);
        }
    }
}

#[test]
fn every_algorithm_and_scaling_has_the_forms_that_it_can_have() {
    let (connection, plain) = (connect(), plain());
    let few = "query_id BETWEEN 11 AND 40";
    for algorithm in ALGORITHMS {
        for scale in SCALES {
            let what = format!("{algorithm}, {scale}");
            let mut options = json!({ "scale": scale });
            if !["slam", "eigen_rank", "perceptron"].contains(&algorithm) {
                options["lambda"] = json!(0.1);
            }
            let model = fit(&connection, algorithm, &options);
            let scores = ranked(&connection, &model, few);
            assert_near(&numbers(&plain, &exported(&connection, &model, "sql"), few), &scores, 1e-12, &what);
            same_after_import(&connection, &model, few, &what);
            for format in ["elasticsearch", "solr"] {
                check_search_engine(&connection, &plain, &model, (format, scale, few), &what);
            }
        }
    }
}

/// The form of a search engine scores as `ltr_rank` does, or is refused because of the scaling.
fn check_search_engine(
    connection: &Connection,
    plain: &Connection,
    model: &[u8],
    (format, scale, rows): (&str, &str, &str),
    what: &str,
) {
    let sql = "SELECT ltr_export(?1, ?2)";
    let text: Result<String, _> = connection.query_row(sql, (model, format), |row| row.get(0));
    if ["standard", "none", "max_norm"].contains(&scale) {
        let text = text.unwrap_or_else(|error| panic!("{what}: {error}"));
        let expression = recomputed(format, &serde_json::from_str(&text).unwrap());
        let found = numbers(plain, &expression, rows);
        assert_near(&found, &ranked(connection, model, rows), 1e-9, &format!("{what}, {format}"));
    } else {
        let error = text.unwrap_err().to_string();
        assert!(error.contains(&format!("\"{scale}\"")), "{error}");
        assert!(error.ends_with("it can be exported as 'json' or 'sql'"), "{error}");
    }
}

/// The score of a definition for a search engine, as an expression of SQL.
fn recomputed(format: &str, definition: &Value) -> String {
    let moment = |text: &Value| text.as_f64().or_else(|| text.as_str()?.parse().ok()).unwrap();
    let (weights, moments): (Value, Vec<(String, f64, f64)>) = if format == "solr" {
        let features = definition["features"].as_array().unwrap().iter().filter_map(|feature| {
            let norm = feature["norm"]["params"].as_object()?;
            Some((feature["name"].as_str()?.to_owned(), moment(&norm["avg"]), moment(&norm["std"])))
        });
        (definition["params"]["weights"].clone(), features.collect())
    } else {
        let model = &definition["model"]["model"];
        let normalizers =
            model["feature_normalizers"].as_object().into_iter().flatten().map(|(name, norm)| {
                (
                    name.clone(),
                    moment(&norm["standard"]["mean"]),
                    moment(&norm["standard"]["standard_deviation"]),
                )
            });
        (serde_json::from_str(model["definition"].as_str().unwrap()).unwrap(), normalizers.collect())
    };
    let terms = weights.as_object().unwrap().iter().map(|(name, weight)| {
        let (mean, deviation) =
            moments.iter().find(|moments| moments.0 == *name).map_or((0.0, 1.0), |found| (found.1, found.2));
        format!("{weight} * (\"{name}\" - ({mean:?})) / {deviation:?}")
    });
    terms.chain(["0.0".to_owned()]).collect::<Vec<String>>().join(" + ")
}

/// The imported model has the scores and the text of the model; and its bytes, unless the training can continue.
fn same_after_import(connection: &Connection, model: &[u8], rows: &str, what: &str) {
    let text = exported(connection, model, "json");
    let report: String = value(connection, "SELECT ltr_import(?1, '{\"name\": \"imported\"}')", [&text]);
    assert_eq!(serde_json::from_str::<Value>(&report).unwrap()["name"], "imported", "{what}");
    let imported: Vec<u8> =
        value(connection, "SELECT model FROM ltr_models WHERE name = 'imported' ORDER BY version DESC", []);
    assert_eq!(exported(connection, &imported, "json"), text, "{what}");
    assert_eq!(ranked(connection, &imported, rows), ranked(connection, model, rows), "{what}");
    if !what.starts_with("perceptron") {
        assert_eq!(imported, model, "{what}");
    }
}

#[test]
fn kernels_sums_and_the_form_ranking_have_their_forms() {
    let (connection, plain) = (connect(), plain());
    let few = "query_id BETWEEN 11 AND 40";
    for kernel in kernel::NAMES.iter().filter(|name| **name != "linear") {
        let model =
            fit(&connection, "rank_svm", &json!({ "kernel": kernel, "landmarks": 20, "lambda": 0.1 }));
        same_after_import(&connection, &model, few, kernel);
        let error: rusqlite::Error =
            connection.query_row("SELECT ltr_export(?, 'sql')", [&model], |_| Ok(())).unwrap_err();
        assert!(
            error.to_string().ends_with("its kernel is not linear; it can be exported as 'json'"),
            "{error}"
        );
    }
    let model = fit(&connection, "auto", &json!({}));
    same_after_import(&connection, &model, few, "auto");
    for scale in SCALES {
        let options = json!({ "form": "ranking", "scale": scale, "lambda": 0.1 });
        let model = fit(&connection, "rank_svm", &options);
        same_after_import(&connection, &model, few, scale);
        let found = numbers(&plain, &exported(&connection, &model, "sql"), few);
        assert_near(&found, &ranked(&connection, &model, few), 1e-12, scale);
    }
}

#[test]
fn trees_are_cases_of_sql() {
    let (connection, plain) = (connect(), plain());
    for (scale, depth) in [("none", 1), ("none", 8), ("quantile", 6), ("standard", 3), ("max_norm", 4)] {
        let what = format!("{scale}, depth {depth}");
        let options = json!({ "trees": 30, "depth": depth, "scale": scale });
        let model = fit(&connection, "boosted_trees", &options);
        let sql = exported(&connection, &model, "sql");
        assert_near(&numbers(&plain, &sql, "1"), &ranked(&connection, &model, "1"), 1e-12, &what);
        same_after_import(&connection, &model, "1", &what);
    }
    for scale in ["query_minmax", "quantile_minmax"] {
        let model = fit(&connection, "boosted_trees", &json!({ "trees": 5, "scale": scale }));
        let error: rusqlite::Error =
            connection.query_row("SELECT ltr_export(?, 'sql')", [&model], |_| Ok(())).unwrap_err();
        let expected = format!(
            "its trees compare features that \"scale\": \"{scale}\" scales within queries; train with \"quantile\", \
             \"standard\" or \"none\"; it can be exported as 'json'"
        );
        assert!(error.to_string().ends_with(&expected), "{error}");
    }
}

#[test]
fn missing_features_of_trees_count_as_in_ltr_rank() {
    let (connection, plain) = (connect(), plain());
    for connection in [&connection, &plain] {
        connection.execute_batch("UPDATE judged SET large = NULL WHERE doc_id = 3").unwrap();
    }
    for missing in ["zero", "mean", "branch"] {
        let model = fit(&connection, "boosted_trees", &json!({ "trees": 30, "missing": missing }));
        let sql = exported(&connection, &model, "sql");
        assert_near(&numbers(&plain, &sql, "1"), &ranked(&connection, &model, "1"), 1e-12, missing);
    }
}

#[test]
fn missing_features_count_as_in_ltr_rank() {
    let (connection, plain) = (connect(), plain());
    for connection in [&connection, &plain] {
        connection.execute_batch("UPDATE judged SET large = NULL WHERE doc_id = 3").unwrap();
    }
    for missing in ["zero", "mean"] {
        for scale in SCALES {
            let options = json!({ "missing": missing, "scale": scale, "lambda": 0.1 });
            let model = fit(&connection, "rank_svm", &options);
            let sql = exported(&connection, &model, "sql");
            let what = format!("{missing}, {scale}");
            assert_near(&numbers(&plain, &sql, "1"), &ranked(&connection, &model, "1"), 1e-12, &what);
        }
    }
    // By default a missing feature is an error in training; the expression gives NULL.
    for scale in SCALES {
        let options = json!({ "scale": scale, "lambda": 0.1 }).to_string();
        let sql =
            "SELECT ltr_export(ltr_fit('rank_svm', 'SELECT * FROM training WHERE doc_id <> 3', ?), 'sql')";
        let sql: String = value(&connection, sql, [options]);
        let nulls = format!("SELECT count(*) - count(score) FROM (SELECT {sql} AS score FROM judged)");
        // Scores within queries depend on all rows of the query.
        let refused = if scale.contains("minmax") { 10_000 } else { 500 };
        assert_eq!(value::<i64>(&plain, &nulls, []), refused, "{scale}");
    }
    // A table without a column of the model is an error, not a wrong score.
    plain.execute_batch("ALTER TABLE judged RENAME COLUMN large TO other").unwrap();
    let model = fit(&connection, "rank_svm", &json!({ "missing": "zero", "lambda": 0.1, "scale": "none" }));
    let sql = format!("SELECT {} FROM judged", exported(&connection, &model, "sql"));
    assert!(plain.prepare(&sql).unwrap_err().to_string().contains("no such column: large"));
}

#[test]
fn models_with_many_features_and_vectors_are_expressions() {
    let connection = database();
    let plain = Connection::open_in_memory().unwrap();
    let create = "CREATE TABLE judged(query_id, doc_id, relevance, features TEXT);
        WITH RECURSIVE n(i) AS (VALUES (0) UNION ALL SELECT i + 1 FROM n WHERE i < 29),
        f(j) AS (VALUES (0) UNION ALL SELECT j + 1 FROM f WHERE j < 1499)
        INSERT INTO judged SELECT i / 5, i, i % 3, (SELECT json_group_array((i * 37 + j * 91) % 101 / 101.0) FROM f) FROM n;
        CREATE VIEW training AS SELECT * FROM judged;";
    [&connection, &plain].iter().for_each(|connection| connection.execute_batch(create).unwrap());
    let model = fit(&connection, "rank_svm", &json!({ "scale": "standard", "lambda": 1 }));
    let found = numbers(&plain, &exported(&connection, &model, "sql"), "1");
    assert_near(&found, &ranked(&connection, &model, "1"), 1e-12, "1500 features");
}

/// Every value of a JSON document replaced, and every key left out.
fn changed(value: &Value) -> Vec<Value> {
    let replacements =
        [json!(null), json!(-1), json!(1e308), json!("x"), json!([]), json!({}), json!([[1]]), json!(true)];
    let mut all: Vec<Value> = replacements.to_vec();
    match value {
        Value::Object(object) => {
            for (key, inner) in object {
                let mut without = object.clone();
                without.remove(key);
                all.push(Value::Object(without));
                for inner in changed(inner) {
                    let mut with = object.clone();
                    with.insert(key.clone(), inner);
                    all.push(Value::Object(with));
                }
            }
        }
        Value::Array(list) => {
            all.push(Value::from(list[..list.len() / 2].to_vec()));
            all.push(Value::from([&list[..], &list[..]].concat()));
            if let Some(first) = list.first() {
                for inner in changed(first) {
                    let mut with = list.clone();
                    with[0] = inner;
                    all.push(Value::Array(with));
                }
            }
        }
        _ => {}
    }
    all
}

#[test]
fn hostile_texts_are_refused_or_make_a_sound_model() {
    let connection = connect();
    let (mut refused, mut accepted) = (0, 0);
    for options in [
        json!({ "scale": "standard", "lambda": 0.1 }),
        json!({ "scale": "quantile_minmax", "lambda": 0.1 }),
        json!({ "kernel": "gaussian", "landmarks": 3, "lambda": 0.1 }),
    ] {
        let model = fit(&connection, "rank_svm", &options);
        let mut document: Value = serde_json::from_str(&exported(&connection, &model, "json")).unwrap();
        // Settings and results of the training are shown, not used.
        for key in ["settings", "training"] {
            document[key] = json!({ "seed": 0 });
        }
        for text in changed(&document) {
            let text = text.to_string();
            match connection.query_row("SELECT ltr_import(?)", [&text], |row| row.get::<_, String>(0)) {
                Ok(_) => {
                    accepted += 1;
                    let sql = "SELECT ltr_info('rank_svm'), count(*) FROM ltr_rank('rank_svm', 'training')";
                    if let Err(error) = connection.query_row(sql, [], |_| Ok(())) {
                        let error = error.to_string();
                        assert!(!error.contains("internal error"), "{text}: {error}");
                    }
                }
                Err(error) => {
                    refused += 1;
                    let error = error.to_string();
                    assert!(
                        error.starts_with("ltr_import: ") && !error.contains("internal error"),
                        "{text}: {error}"
                    );
                }
            }
        }
    }
    assert!(refused > 500 && accepted > 50, "{refused} refused, {accepted} accepted");
}

#[test]
fn broken_texts_are_refused() {
    let connection = connect();
    let model = fit(&connection, "rank_svm", &json!({ "scale": "standard", "lambda": 0.1 }));
    let text = exported(&connection, &model, "json");
    let deep = "[".repeat(100_000);
    let twice = text.replacen("\"means\"", "\"features\": [], \"means\"", 1);
    let cut = text[..text.len() / 2].to_owned();
    let more = format!("{text} 1");
    for text in ["", "null", "{}", "\"\\ud800\"", &twice, &cut, &more] {
        let found = connection.query_row("SELECT ltr_import(?)", [text], |row| row.get::<_, String>(0));
        let error = found.unwrap_err().to_string();
        assert!(error.starts_with("ltr_import: argument 'text': got '"), "{error}");
        assert!(error.len() < 500, "{error}");
    }
    // A list is read as a dump of XGBoost.
    for text in ["[]", &deep] {
        let found = connection.query_row("SELECT ltr_import(?)", [text], |row| row.get::<_, String>(0));
        let error = found.unwrap_err().to_string();
        assert!(error.starts_with("ltr_import: model is damaged or not a model: "), "{error}");
    }
    assert_eq!(
        value::<i64>(&connection, "SELECT count(*) FROM sqlite_schema WHERE name = 'ltr_models'", []),
        0
    );
}

/// A long text: the time limit, which is checked where interrupts are, and `max_memory`.
#[test]
fn reading_a_long_text_can_be_stopped() {
    let connection = connect();
    let model = fit(&connection, "rank_svm", &json!({ "kernel": "gaussian", "landmarks": 3, "lambda": 0.1 }));
    let text = exported(&connection, &model, "json");
    let document = format!("[{}0.25],", "0.123456789012345,".repeat(4));
    let long = text.replacen("\"documents\":[", &format!("\"documents\":[{}", document.repeat(300_000)), 1);
    assert!(long.len() > 20_000_000);
    let import = |options: &str| -> (String, f64) {
        let started = std::time::Instant::now();
        let outcome = connection.query_row("SELECT ltr_import(?, ?)", (&long, options), |row| row.get(0));
        let error = outcome.map(|_: String| ()).unwrap_err().to_string();
        (error, started.elapsed().as_secs_f64())
    };
    let (error, all) = import("{}");
    assert!(error.contains("number of weights of a term"), "{error}");
    let (error, stopped) = import("{\"time_limit\": 0.01}");
    assert!(error.contains("time limit"), "{error}");
    assert!(stopped < 0.11 || stopped < 0.5 * all, "stopped after {stopped} of {all} seconds");
    let (error, _) = import("{\"max_memory\": 100000000}");
    assert!(error.contains("max_memory"), "{error}");
    let small = format!("{{\"max_memory\": {}}}", 200 * text.len());
    let report: String = value(&connection, "SELECT ltr_import(?, ?)", [text, small]);
    assert!(report.contains("\"version\":1"), "{report}");
}
