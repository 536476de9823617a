//! `ltr_cross_validate` returns the values of `ltr_fit` on the training part and `ltr_evaluate` on the held-out part (rule
//! 5.26); the chosen setting is the best of the table, and the function equals `ltr_fit` with this setting (rule 5.27).

use rusqlite::Connection;
use serde_json::{Value, json};
use sqlite_ltr::Id;
use sqlite_ltr::internals::train::select::{fold_numbers, rating_folds};

use crate::support::{database, value};

/// 40 queries with 6 documents, every tenth with equal grades; and ratings.
const DATA: &str = "
CREATE TABLE j AS WITH RECURSIVE n(i) AS (VALUES (0) UNION ALL SELECT i + 1 FROM n WHERE i < 239),
x AS (SELECT i / 6 AS query_id, i % 6 AS doc_id, (i * 104729 % 101) / 101.0 AS a, (i * 1299709 % 97) / 97.0 AS b,
             (i * 15485863 % 89) / 89.0 AS c, (i / 6 * 31 % 7) / 7.0 AS q_kind FROM n)
SELECT *, CASE WHEN query_id % 10 = 3 THEN 1 ELSE CAST(3 * (0.6 * a + 0.4 * b * q_kind + 0.3 * c) AS INTEGER) END AS relevance,
       date('2026-01-01', (query_id * 7 % 40) || ' days') AS day FROM x;
CREATE TABLE r AS WITH RECURSIVE n(i) AS (VALUES (0) UNION ALL SELECT i + 1 FROM n WHERE i < 899)
SELECT DISTINCT i % 30 AS user, i * 7 % 25 AS item, 1 + (i * 7919 + i % 30 * (i * 7 % 25)) % 5 AS rating FROM n
 WHERE i * 31 % 3 > 0;";

/// The columns that models read.
const COLUMNS: &str = "query_id, doc_id, relevance, a, b, c, q_kind";

fn data() -> Connection {
    let connection = database();
    connection.execute_batch(DATA).unwrap();
    connection
}

fn integers(connection: &Connection, sql: &str) -> Vec<i64> {
    let mut statement = connection.prepare(sql).unwrap();
    statement.query_map([], |row| row.get(0)).unwrap().collect::<Result<_, _>>().unwrap()
}

/// A table with the fold of each query, from 1; queries without one are in every training part.
fn query_folds(connection: &Connection, folds: usize, seed: u64) {
    let ids = integers(connection, "SELECT DISTINCT query_id FROM j ORDER BY 1");
    let judged = integers(
        connection,
        "SELECT max(relevance) > min(relevance) FROM j GROUP BY query_id ORDER BY query_id",
    );
    let judged: Vec<bool> = judged.into_iter().map(|judged| judged == 1).collect();
    let numbers =
        fold_numbers(&ids.iter().copied().map(Id::Integer).collect::<Vec<_>>(), &judged, folds, seed);
    connection.execute_batch("CREATE TABLE folds (query_id, fold)").unwrap();
    for (id, fold) in ids.iter().zip(numbers) {
        connection
            .execute("INSERT INTO folds VALUES (?1, ?2)", (id, fold.map_or(0, |fold| fold as i64 + 1)))
            .unwrap();
    }
}

/// The rows of `ltr_cross_validate`: setting, fold, value.
fn validated(
    connection: &Connection,
    algorithm: &str,
    source: &str,
    options: &Value,
) -> Vec<(Value, i64, Option<f64>)> {
    let sql = "SELECT setting, fold, value FROM ltr_cross_validate(?1, ?2, ?3)";
    let mut statement = connection.prepare(sql).unwrap();
    let row = |row: &rusqlite::Row<'_>| {
        let setting: String = row.get(0)?;
        Ok((serde_json::from_str(&setting).unwrap(), row.get(1)?, row.get(2)?))
    };
    let rows = statement.query_map((algorithm, source, options.to_string()), row).unwrap();
    rows.collect::<Result<_, _>>().unwrap()
}

/// The options with the values of a setting, and without arrays that it left out.
fn with_setting(options: &Value, setting: &Value) -> Value {
    let mut plain = options.as_object().unwrap().clone();
    plain.retain(|key, value| !value.is_array() && !["folds", "split_by"].contains(&key.as_str()));
    plain.extend(setting.as_object().unwrap().clone());
    plain.retain(|_, value| !value.is_null());
    Value::Object(plain)
}

/// The mean of the metric on the held-out part, of a model of the training part.
fn separate(connection: &Connection, algorithm: &str, parts: [&str; 2], options: &Value) -> Option<f64> {
    let mut training = options.clone();
    let metric = training["metric"].as_str().unwrap_or("ndcg@10").to_owned();
    if algorithm == "perceptron" {
        training.as_object_mut().unwrap().remove("metric");
    }
    let sql = "SELECT value FROM ltr_evaluate((SELECT ltr_fit(?1, ?2, ?3)), ?4, ?5) WHERE query_id IS NULL";
    let evaluated = json!({ "metric": metric }).to_string();
    connection
        .query_row(sql, (algorithm, parts[0], training.to_string(), parts[1], evaluated), |row| row.get(0))
        .unwrap_or_else(|problem| panic!("{algorithm} {training}: {problem}"))
}

/// Compares every value with the separate calls. Solvers that start at the solution of a larger lambda end at a point
/// within their tolerance, at which documents with almost equal scores may change places.
fn assert_values_of_separate_calls(algorithm: &str, options: &Value, tolerance: f64) {
    let connection = data();
    let folds = options["folds"].as_u64().unwrap_or(5) as usize;
    query_folds(&connection, folds, options["seed"].as_u64().unwrap_or(0));
    let rows = validated(&connection, algorithm, &format!("SELECT {COLUMNS} FROM j"), options);
    assert!(!rows.is_empty());
    for (setting, fold, value) in rows {
        let part = |how: &str| {
            format!(
                "SELECT {COLUMNS} FROM j JOIN folds USING (query_id) WHERE fold {how} {fold} ORDER BY j.rowid"
            )
        };
        let parts = [&*part("<>"), &*part("=")];
        let expected = separate(&connection, algorithm, parts, &with_setting(options, &setting));
        let difference = expected.unwrap_or(-1.0) - value.unwrap_or(-1.0);
        assert!(difference.abs() <= tolerance, "{algorithm} {setting} {fold}: {value:?} {expected:?}");
    }
}

/// Rule 5.26: in every fold.
#[test]
fn values_match_separate_calls() {
    // One setting, which chooses its lambda in the training part.
    assert_values_of_separate_calls("rank_svm", &json!({}), 0.0);
    assert_values_of_separate_calls("q_svm", &json!({ "neighbors": 4, "folds": 2 }), 0.0);
    // Algorithms without a path of lambdas.
    assert_values_of_separate_calls(
        "perceptron",
        &json!({ "learning_rate": [0.5, 2], "epochs": [1, 3], "metric": "map" }),
        0.0,
    );
    assert_values_of_separate_calls(
        "auto",
        &json!({ "scale": ["quantile", "quantile_minmax"], "landmarks": 20, "folds": 2 }),
        0.0,
    );
    // Paths of lambdas.
    let lambdas = json!([1, 0.1, 0.01]);
    assert_values_of_separate_calls(
        "rank_svm",
        &json!({ "lambda": lambdas, "scale": ["none", "standard"], "seed": 5 }),
        2e-2,
    );
    assert_values_of_separate_calls(
        "regression",
        &json!({ "lambda": lambdas, "kernel": ["linear", "gaussian"] }),
        1e-12,
    );
    assert_values_of_separate_calls(
        "q_svm",
        &json!({ "lambda": lambdas, "neighbors": [4, 9], "folds": 3 }),
        2e-2,
    );
    assert_values_of_separate_calls(
        "list_net",
        &json!({ "lambda": 0.1, "smoothing": ["uniform", "knn"], "neighbors": 9, "folds": 3 }),
        0.0,
    );
}

/// Rule 5.26: with `"missing": "mean"` the means are over all rows.
#[test]
fn missing_values_are_the_means_of_all_rows() {
    let connection = data();
    connection
        .execute_batch(
            "UPDATE j SET b = NULL WHERE (query_id * 7 + doc_id * 3) % 5 = 0;
             CREATE TABLE filled AS SELECT query_id, doc_id, relevance, a, coalesce(b, (SELECT avg(b) FROM j)) AS b, c, q_kind FROM j",
        )
        .unwrap();
    let values = |source: &str, missing: &str| {
        let options = json!({ "lambda": 0.1, "scale": "standard", "metric": "mre", "missing": missing });
        validated(&connection, "regression", &format!("SELECT {COLUMNS} FROM {source}"), &options)
    };
    let (found, expected) = (values("j", "mean"), values("filled", "error"));
    assert_eq!((found.len(), expected.len()), (5, 5));
    for (found, expected) in found.iter().zip(&expected) {
        assert!((found.2.unwrap() - expected.2.unwrap()).abs() < 1e-12, "{found:?} {expected:?}");
    }
}

/// Rule 5.25: parts of the ratings of each user.
#[test]
fn ratings_of_each_user_are_held_out() {
    let connection = data();
    let users = integers(&connection, "SELECT DISTINCT user FROM r ORDER BY 1");
    connection.execute_batch("CREATE TABLE parts (user, item, part)").unwrap();
    for user in users {
        let items = integers(&connection, &format!("SELECT item FROM r WHERE user = {user} ORDER BY 1"));
        let items: Vec<Id> = items.into_iter().map(Id::Integer).collect();
        let folds = rating_folds(&Id::Integer(user), &items.iter().collect::<Vec<_>>(), 3.0, 0);
        for (item, fold) in items.iter().zip(folds) {
            let fold = fold.map_or(0, |fold| fold + 1);
            connection.execute(&format!("INSERT INTO parts VALUES ({user}, {item}, {fold})"), []).unwrap();
        }
    }
    let options = json!({ "lambda": [10, 1], "factors": [2, 4], "folds": 3, "metric": "ndcg@3" });
    let rows = validated(&connection, "cofi_rank", "r", &options);
    assert_eq!(rows.len(), 12);
    for (setting, fold, value) in rows {
        let part =
            |how: &str| format!("SELECT r.* FROM r JOIN parts USING (user, item) WHERE part {how} {fold}");
        let plain = with_setting(&options, &setting);
        let expected = separate(&connection, "cofi_rank", [&part("<>"), &part("=")], &plain);
        assert_eq!(value, expected, "{setting} {fold}");
    }
}

/// Rule 5.25: `split_by` orders the queries.
#[test]
fn a_split_by_time_trains_on_earlier_and_validates_on_later_queries() {
    let connection = data();
    let options = json!({ "lambda": 0.1, "split_by": "day", "folds": 4 });
    let source = format!("SELECT {COLUMNS}, day FROM j WHERE query_id % 10 <> 3");
    let rows = validated(&connection, "rank_svm", &source, &options);
    assert_eq!(rows.len(), 4);
    // 36 judged queries with a day each, in 5 parts: the first days of the parts.
    let parts = "WITH q AS (SELECT query_id, 5 * (2 * row_number() OVER (ORDER BY day) - 1) / 72 AS part
                   FROM j WHERE query_id % 10 <> 3 GROUP BY query_id)";
    for (setting, fold, value) in rows {
        let part = |how: &str| {
            format!("{parts} SELECT {COLUMNS} FROM j JOIN q USING (query_id) WHERE part {how} {fold}")
        };
        let expected =
            separate(&connection, "rank_svm", [&part("<"), &part("=")], &with_setting(&options, &setting));
        assert_eq!(value, expected, "fold {fold}");
    }
}

/// Values of unequal sizes, as many as parts: each later value is held out once.
#[test]
fn a_split_by_as_many_values_as_parts_holds_out_each_later_value() {
    let connection = data();
    let season = "CASE WHEN query_id < 9 THEN '2025-03' WHEN query_id < 20 THEN '2025-06' WHEN query_id < 29 THEN '2025-09' ELSE '2025-12' END";
    let options = json!({ "lambda": 0.1, "split_by": "season", "folds": 3 });
    let source = format!("SELECT {COLUMNS}, {season} AS season FROM j WHERE query_id % 10 <> 3");
    let rows = validated(&connection, "rank_svm", &source, &options);
    assert_eq!(rows.len(), 3);
    for ((setting, fold, value), season) in rows.into_iter().zip(["2025-06", "2025-09", "2025-12"]) {
        let part = |how: &str| format!("SELECT {COLUMNS} FROM ({source}) WHERE season {how} '{season}'");
        let expected =
            separate(&connection, "rank_svm", [&part("<"), &part("=")], &with_setting(&options, &setting));
        assert_eq!(value, expected, "fold {fold}");
    }
    // A fifth part has no value.
    let options = json!({ "lambda": 0.1, "split_by": "season", "folds": 4 }).to_string();
    let problem = connection
        .query_row("SELECT 1 FROM ltr_cross_validate('rank_svm', ?1, ?2)", (&source, &options), |_| Ok(()))
        .unwrap_err()
        .to_string();
    assert!(problem.contains("fewer than 5 different values in the column"), "{problem}");
}

/// The table in the report of a training.
fn report(connection: &Connection, algorithm: &str, source: &str, options: &Value) -> Value {
    let text: String =
        value(connection, "SELECT ltr_train(?1, ?2, ?3)", (algorithm, source, options.to_string()));
    serde_json::from_str(&text).unwrap()
}

fn assert_best_is_trained(algorithm: &str, source: &str, options: &Value) {
    let connection = data();
    let report = report(&connection, algorithm, source, options);
    let search = &report["search"];
    // 1. The table has the rows of the function.
    let rows = validated(&connection, algorithm, source, options);
    let settings = search["settings"].as_array().unwrap();
    let folds = options["folds"].as_u64().unwrap_or(5) as usize;
    assert_eq!(rows.len(), settings.len() * folds);
    for (line, rows) in settings.iter().zip(rows.chunks(folds)) {
        assert!(rows.iter().all(|row| row.0 == line["setting"]));
        let values: Vec<Value> = rows.iter().map(|row| json!(row.2)).collect();
        assert_eq!(line["folds"], Value::Array(values));
    }
    // 2. The first of the best means is chosen.
    let mean = |line: &Value| line["value"].as_f64().unwrap_or(-1.0);
    let best = settings.iter().map(mean).fold(f64::NEG_INFINITY, f64::max);
    let first = settings.iter().find(|line| mean(line) >= best).unwrap();
    assert_eq!((&search["setting"], &search["value"]), (&first["setting"], &first["value"]));
    // 3. The model equals a plain training.
    let mut plain = with_setting(options, &search["setting"]);
    if algorithm == "perceptron" {
        plain.as_object_mut().unwrap().remove("metric");
    }
    if let Some(column) = options["split_by"].as_str() {
        plain["columns"] = json!({ "ignore": [column] });
    }
    let model: Vec<u8> = value(&connection, "SELECT model FROM ltr_models", ());
    let fitted: Vec<u8> =
        value(&connection, "SELECT ltr_fit(?1, ?2, ?3)", (algorithm, source, plain.to_string()));
    // The value of the cross-validation is in the model, so that its bytes are others.
    let scores = |model: &Vec<u8>| -> String {
        let sql = "SELECT json_group_array(json_array(query_id, doc_id, score))
                     FROM (SELECT * FROM ltr_rank(?1, ?2) ORDER BY query_id, doc_id)";
        value(&connection, sql, (model, source))
    };
    assert!(scores(&model) == scores(&fitted), "{algorithm} {plain}");
    let threads = [1, 3].map(|threads| {
        let mut options = options.clone();
        options["threads"] = json!(threads);
        let reversed = format!("SELECT * FROM ({source}) ORDER BY 2 DESC, 1");
        let source = if algorithm == "perceptron" { source } else { &reversed };
        value::<Vec<u8>>(&connection, "SELECT ltr_fit(?1, ?2, ?3)", (algorithm, source, options.to_string()))
    });
    assert!(threads.iter().all(|other| *other == model), "threads and order of rows: {algorithm}");
}

#[test]
fn the_best_setting_is_trained() {
    let source = &*format!("SELECT {COLUMNS} FROM j");
    assert_best_is_trained(
        "rank_svm",
        source,
        &json!({ "kernel": ["linear", "gaussian"], "landmarks": 30, "lambda": [1, 0.1] }),
    );
    assert_best_is_trained("rank_svm", source, &json!({ "scale": ["none", "quantile"], "folds": 3 }));
    assert_best_is_trained(
        "q_svm",
        source,
        &json!({ "neighbors": [4, 9], "lambda": 0.1, "prior": ["zero", "global"] }),
    );
    assert_best_is_trained(
        "perceptron",
        source,
        &json!({ "learning_rate": [0.1, 1], "average": [true, false], "metric": "map" }),
    );
    assert_best_is_trained(
        "list_net",
        source,
        &json!({ "penalty": ["ridge", "ball"], "lambda": [1, 0.1], "radius": [1, 2] }),
    );
    let dated = &*format!("SELECT {COLUMNS}, day FROM j");
    assert_best_is_trained(
        "regression",
        dated,
        &json!({ "lambda": [1, 0.01], "split_by": "day", "folds": 3 }),
    );
    assert_best_is_trained("cofi_rank", "SELECT * FROM r", &json!({ "factors": [2, 3], "lambda": [10, 1] }));
}

/// Values of the queries in the folds, in separate calls.
fn values_of_queries(connection: &Connection, algorithm: &str, folds: usize, options: &Value) -> Vec<f64> {
    let sql = "SELECT value FROM ltr_evaluate((SELECT ltr_fit(?1, ?2, ?3)), ?4) WHERE query_id IS NOT NULL";
    let mut statement = connection.prepare(sql).unwrap();
    let mut values = Vec::new();
    for fold in 1..=folds {
        let part = |how: &str| {
            format!("SELECT {COLUMNS} FROM j JOIN folds USING (query_id) WHERE fold {how} {fold}")
        };
        let of_fold = (algorithm, part("<>"), options.to_string(), part("="));
        let rows = statement.query_map(of_fold, |row| row.get::<_, Option<f64>>(0)).unwrap();
        values.extend(rows.filter_map(Result::unwrap));
    }
    values
}

/// The report, the model itself, its plot and the monitor know the value of the chosen setting and its standard error.
#[test]
fn a_tuned_model_has_the_validation_of_its_setting() {
    let connection = data();
    query_folds(&connection, 5, 0);
    let options = json!({ "lambda": [10, 1, 0.1, 0.01], "scale": ["none", "standard"] });
    let source = format!("SELECT {COLUMNS} FROM j");
    let report = report(&connection, "regression", &source, &options);
    let (search, validation) = (&report["search"], &report["validation"]);
    // 1. The value is in the table; the error is the standard error of the mean over queries.
    let values = values_of_queries(&connection, "regression", 5, &with_setting(&options, &search["setting"]));
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (n - 1.0);
    assert_eq!(validation["best"], search["value"]);
    let error = (variance / n).sqrt();
    // Later values belong to a function fitted on other queries: the factor is sqrt(1 + 5 / 4) for five folds.
    assert!((validation["error"].as_f64().unwrap() - 1.5 * error).abs() < 1e-12, "{validation}");
    assert_eq!(validation["queries"], values.len());
    let of_setting = |line: &&Value| line["setting"] == search["setting"];
    let line = search["settings"].as_array().unwrap().iter().find(of_setting).unwrap();
    assert!((line["error"].as_f64().unwrap() - error).abs() < 1e-12, "{line}");
    // 2. The curve has the lambdas of the chosen scaling.
    let stored: String = value(&connection, "SELECT report FROM ltr_models", ());
    let stored: Value = serde_json::from_str(&stored).unwrap();
    let curve = stored["validation"]["curve"].as_array().unwrap();
    let lambdas: Vec<f64> = curve.iter().map(|point| point[0].as_f64().unwrap()).collect();
    assert_eq!(lambdas, [10.0, 1.0, 0.1, 0.01]);
    let best = |point: &Value| point[0] == search["setting"]["lambda"] && point[1] == search["value"];
    assert!(curve.iter().any(best), "{curve:?}");
    let plot: String = value(&connection, "SELECT ltr_plot('validation', 'regression')", ());
    assert!(plot.contains("for each lambda that was tried") && plot.contains("chosen: lambda"));
    // 3. The reference of the monitor.
    let sql = "SELECT reference FROM ltr_monitor('regression', ?1) WHERE kind = 'metric'";
    assert_eq!(json!(value::<f64>(&connection, sql, [&source])), validation["best"]);
}

/// Whether the warnings name an end of the array of an option; and whether the table says so.
fn ends(report: &Value, option: &str) -> [bool; 2] {
    let (chosen, settings) = (&report["search"]["setting"], report["search"]["settings"].as_array().unwrap());
    let without = |setting: &Value| {
        let mut setting = setting.clone();
        setting.as_object_mut().unwrap().remove(option);
        setting
    };
    let along = settings.iter().filter(|line| without(&line["setting"]) == without(chosen));
    let number = |line: &Value| (line["setting"][option].as_f64().unwrap(), line["value"].as_f64().unwrap());
    let mut curve: Vec<(f64, f64)> = along.map(number).collect();
    curve.sort_by(|a, b| a.0.total_cmp(&b.0));
    let at = curve
        .iter()
        .position(|(value, _)| chosen[option] == json!(*value) || chosen[option] == json!(*value as i64));
    let (at, last) = (at.unwrap(), curve.len() - 1);
    let neighbor = if at == 0 { 1 } else { last - 1 };
    let is_end = (at == 0 || at == last) && curve[at].1 > curve[neighbor].1;
    let named = |warning: &Value| {
        let warning = warning.as_str().unwrap();
        warning.starts_with(&format!("{option} "))
            && warning.contains(&format!("of {} candidates", curve.len()))
    };
    [report["warnings"].as_array().unwrap().iter().any(named), is_end]
}

#[test]
fn a_chosen_value_at_the_end_of_its_array_is_a_warning() {
    let connection = data();
    let source = format!("SELECT {COLUMNS} FROM j");
    let mut found = Vec::new();
    for (algorithm, options, keys) in [
        ("regression", json!({ "lambda": [1e4, 3e3, 1e3], "scale": ["none", "standard"] }), vec!["lambda"]),
        (
            "perceptron",
            json!({ "learning_rate": [1e-6, 1e-3, 1], "epochs": [2, 3, 9] }),
            vec!["learning_rate", "epochs"],
        ),
        ("q_svm", json!({ "neighbors": [2, 4, 20], "lambda": 0.1 }), vec!["neighbors"]),
        ("q_svm", json!({ "neighbors": [2, 38], "lambda": [1, 0.1, 0.01] }), vec!["neighbors", "lambda"]),
    ] {
        let report = report(&connection, algorithm, &source, &options);
        for key in keys {
            let [warned, is_end] = ends(&report, key);
            assert_eq!(warned, is_end, "{algorithm} {key}: {report}");
            found.push(warned);
        }
    }
    assert!(found.contains(&true) && found.contains(&false), "{found:?}");
}

#[test]
fn a_time_limit_reports_how_many_fits_finished() {
    let connection = data();
    let source = format!("SELECT {COLUMNS} FROM j");
    let neighbors: Vec<i64> = (1..=38).collect();
    let options = json!({ "neighbors": neighbors, "tolerance": 1e-9, "time_limit": 0.4 }).to_string();
    for sql in
        ["SELECT ltr_train('q_svm', ?1, ?2)", "SELECT count(*) FROM ltr_cross_validate('q_svm', ?1, ?2)"]
    {
        let problem = connection.query_row(sql, (&source, &options), |_| Ok(())).unwrap_err().to_string();
        let (_, progress) = problem.split_once("time limit of 0.4 seconds reached; ").expect(&problem);
        let words: Vec<&str> = progress.split(' ').collect();
        let numbers = [words[0], words[2]].map(|word| word.parse::<usize>().unwrap());
        assert!(numbers[0] < numbers[1] && numbers[1] % (38 * 5) == 0, "{problem}");
        assert!(progress.ends_with("fits of the cross-validation were finished"), "{problem}");
    }
}

/// Values after the options are bound to the statement, a BLOB too.
#[test]
fn values_after_the_options_are_bound_to_the_statement() {
    let connection = data();
    let bound = format!("SELECT {COLUMNS} FROM j WHERE query_id < ? AND typeof(?) = 'blob'");
    let plain = format!("SELECT {COLUMNS} FROM j WHERE query_id < 30");
    let model: Vec<u8> = value(&connection, "SELECT ltr_fit('regression', ?1, NULL, 30, x'01')", [&bound]);
    let fitted: Vec<u8> = value(&connection, "SELECT ltr_fit('regression', ?1)", [&plain]);
    assert!(model == fitted);
    let queries = "SELECT ltr_train('regression', ?1, '{\"lambda\": 1}', 30, x'01') ->> '$.queries'";
    assert_eq!(value::<i64>(&connection, queries, [&bound]), 30);
    let sum = "SELECT sum(value) FROM ltr_cross_validate('regression', ?1";
    let values = value::<f64>(&connection, &format!("{sum}, NULL, 30, x'01')"), [&bound]);
    assert_eq!(values.to_bits(), value::<f64>(&connection, &format!("{sum})"), [&plain]).to_bits());
    let problem =
        connection.query_row("SELECT ltr_fit('regression', ?1, NULL, 30)", [&bound], |_| Ok(())).unwrap_err();
    assert!(
        problem
            .to_string()
            .contains("number of values: got 0 in the option 'params' and 1 after the options")
    );
}
