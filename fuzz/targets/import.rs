//! Texts of `ltr_import`: its own JSON, and models of other libraries. A model that it accepts has finite scores, is the same after another export, and the expression of
//! its export as SQL has the same scores.
#![no_main]

use libfuzzer_sys::fuzz_target;
use rusqlite::Connection;
use serde_json::Value;
use sqlite_ltr_fuzz::mutated::models::{connect, samples};
use sqlite_ltr_fuzz::{Database, write_seeds};

thread_local! {
    static DATABASE: Database = Database::new(connect());
}

/// Values of numbers. Text of a number, as of a CSV file, is a number, too.
const NUMBERS: [&str; 8] = ["0.5", "-1.25", "0.0", "'3'", "1e-3", "7.5", "' 1e1'", "'.25'"];
const ROWS: usize = 6;

fn name(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// Rows of the model's columns, in queries of two: numbers, and known and unknown category values.
fn rows(document: &Value, query: &str) -> String {
    let categories = document["categories"].as_array().map_or(&[][..], Vec::as_slice);
    let width: usize = categories
        .iter()
        .map(|category| {
            let values = category["values"].as_array().map_or(0, Vec::len);
            values + 2 + usize::from(!category["means"].is_null())
        })
        .sum();
    let features: Vec<&str> =
        document["features"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let numbers = features.len().saturating_sub(width);
    let row = |row: usize| {
        let value = |column: usize| NUMBERS[(5 * column + 3 * row + column / 2) % NUMBERS.len()].to_owned();
        let number = |(at, column): (usize, &&str)| format!(", {} AS {}", value(at), name(column));
        let category = |(at, category): (usize, &Value)| {
            let values = category["values"].as_array().map_or(&[][..], Vec::as_slice);
            let known = values.get((at + row) % values.len().max(1)).and_then(Value::as_str);
            let value = match (row % 5, known) {
                (0, _) => "NULL".to_owned(),
                (1, _) => "'another'".to_owned(),
                (2, _) => value(at),
                (_, Some(known)) => format!("'{}'", known.replace('\'', "''")),
                (_, None) => "5".to_owned(),
            };
            format!(", {value} AS {}", name(category["name"].as_str().unwrap_or_default()))
        };
        let columns: String = features[..numbers]
            .iter()
            .enumerate()
            .map(number)
            .chain(categories.iter().enumerate().map(category))
            .collect();
        format!("SELECT {} AS {}, {row} AS doc_id{columns}", row / 2, name(query))
    };
    (0..ROWS).map(row).collect::<Vec<_>>().join(" UNION ALL ")
}

fn scores(database: &Database, sql: &str, parameters: &[&str]) -> Option<Vec<Option<f64>>> {
    database.answer(sql, |statement| {
        let rows = statement.query_map(rusqlite::params_from_iter(parameters), |row| row.get(0))?;
        rows.collect()
    })
}

fn check(database: &Database) {
    let export = |format: &str| -> Option<String> {
        database.answer("SELECT ltr_export('imported', ?1)", |statement| {
            statement.query_row([format], |row| row.get(0))
        })
    };
    // 1. The same text again.
    let json = export("json").expect("the JSON of what was imported");
    let again = "SELECT ltr_import(?1, '{\"name\": \"again\"}'), ltr_export('again', 'json')";
    let same: Option<String> =
        database.answer(again, |statement| statement.query_row([&json], |row| row.get(1)));
    assert_eq!(same.as_deref(), Some(&json[..]), "another text after import and export");
    // 2. Texts for search engines.
    for format in ["elasticsearch", "opensearch", "solr", "xgboost"] {
        if let Some(text) = export(format) {
            assert!(serde_json::from_str::<Value>(&text).is_ok(), "no JSON: {text}");
        }
    }
    // 3. Finite scores of the rows; a model can refuse them, such as by a name of a feature that is a role.
    let document: Value = serde_json::from_str(&json).expect("JSON");
    let query = document["columns"]["query"].as_str().unwrap_or("query_id");
    let is_vector = document["columns"]["features"].is_string();
    let rows = rows(&document, query);
    let ranked = "SELECT score FROM ltr_rank('imported', ?1, '{\"threads\": 1}') ORDER BY query_id, doc_id";
    let Some(ranked) = scores(database, ranked, &[&rows]) else { return };
    let ranked: Vec<f64> = ranked.into_iter().map(|score| score.expect("a score that is a number")).collect();
    assert!(ranked.iter().all(|score| score.is_finite()), "scores that are not finite: {ranked:?}");
    // 4. The scores of the expression.
    if let (Some(sql), false) = (export("sql"), is_vector) {
        let sql = format!(
            "SELECT score FROM (SELECT {} AS q, doc_id AS d, {sql} AS score FROM ({rows})) ORDER BY q, d",
            name(query)
        );
        let found = scores(database, &sql, &[]).unwrap_or_else(|| panic!("SQLite refuses {sql}"));
        // Summands can be much larger than their sum.
        let largest = ranked.iter().fold(1.0, |largest: f64, score| largest.max(score.abs()));
        for (found, expected) in found.into_iter().zip(ranked) {
            let found = found.unwrap_or(f64::NAN);
            assert!((found - expected).abs() <= 1e-6 * largest, "{found} of SQL for {expected}: {sql}");
        }
    }
}

/// Exports of small models, and models of other libraries.
fn seeds() -> Vec<Vec<u8>> {
    let connection: Connection = connect();
    let export = |model: &Vec<u8>| -> Option<Vec<u8>> {
        let text: String =
            connection.query_row("SELECT ltr_export(?1, 'json')", [model], |row| row.get(0)).ok()?;
        let mut document: Value = serde_json::from_str(&text).ok()?;
        // Settings and results of the training are shown, not used.
        document["settings"] = serde_json::json!({ "seed": 0 });
        document["training"] = serde_json::json!({});
        Some(document.to_string().into_bytes())
    };
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/data/imported/small");
    let files = std::fs::read_dir(folder).expect("models of other libraries");
    let texts = files.map(|file| std::fs::read(file.expect("a file").path()).expect("a text"));
    samples(&connection).iter().filter_map(|sample| export(&sample.bytes)).chain(texts).collect()
}

fuzz_target!(
    init: write_seeds(seeds),
    |data: &[u8]| {
        DATABASE.with(|database| {
            let connection = &database.connection;
            connection.execute_batch("SAVEPOINT fuzz").expect("a savepoint");
            let import = "SELECT ltr_import(?1, '{\"name\": \"imported\"}') IS NULL";
            let text = String::from_utf8_lossy(data);
            let report: Option<bool> =
                database.answer(import, |statement| statement.query_row([&text], |row| row.get(0)));
            if report.is_some() {
                check(database);
            }
            connection.execute_batch("ROLLBACK TO fuzz; RELEASE fuzz").expect("a savepoint");
        });
    }
);
