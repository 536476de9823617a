//! Cross-validation in one call, compared with the same work in separate calls: `cargo bench --bench choose`.
//!
//! Needs the real data (LTR_DATA, default ../shared/data). With `FAST=1` the separate calls are left out.
#![allow(clippy::print_stdout, clippy::unwrap_used, reason = "a program that prints its measurements")]

use std::path::PathBuf;
use std::time::Instant;

use rusqlite::Connection;
use serde_json::{Value, json};

/// A table of all documents of LETOR files with a column for the fold of each query, from 1 to 5.
fn database(folder: &str, files: &[&str]) -> Option<Connection> {
    let root = std::env::var_os("LTR_DATA").map_or_else(|| PathBuf::from("../shared/data"), PathBuf::from);
    let connection = Connection::open_in_memory().unwrap();
    sqlite_ltr::register(&connection).unwrap();
    connection.execute_batch("CREATE TABLE lines (file, query_id, doc_id, relevance, features)").unwrap();
    for file in files {
        let path = root.join(folder).join(file);
        if !path.exists() {
            println!("skipped: there is no {}", path.display());
            return None;
        }
        let sql = "INSERT INTO lines SELECT ?1, query_id, doc_id, relevance, features FROM ltr_letor(?1)";
        connection.execute(sql, [path.to_str().unwrap()]).unwrap();
    }
    let sql = "CREATE TABLE docs AS SELECT dense_rank() OVER (ORDER BY file, query_id) AS query_id, doc_id, relevance, features,
                 1 + dense_rank() OVER (ORDER BY file, query_id) * 7919 % 5 AS fold FROM lines";
    connection.execute_batch(sql).unwrap();
    Some(connection)
}

const SOURCE: &str = "SELECT query_id, doc_id, relevance, features FROM docs";

/// The settings, and how many values there are.
fn in_one_call(connection: &Connection, algorithm: &str, options: &Value) -> (Vec<Value>, f64) {
    let started = Instant::now();
    let sql = "SELECT setting, avg(value) FROM ltr_cross_validate(?1, ?2, ?3) GROUP BY setting";
    let mut statement = connection.prepare(sql).unwrap();
    let rows = statement.query_map((algorithm, SOURCE, options.to_string()), |row| {
        Ok((row.get::<_, String>(0)?, row.get::<_, f64>(1)?))
    });
    let rows: Vec<(String, f64)> = rows.unwrap().map(Result::unwrap).collect();
    let best = rows.iter().max_by(|a, b| a.1.total_cmp(&b.1)).unwrap();
    println!("  best of {}: {} {:.4}", rows.len(), best.0, best.1);
    let settings = rows.iter().map(|(setting, _)| serde_json::from_str(setting).unwrap()).collect();
    (settings, started.elapsed().as_secs_f64())
}

fn in_separate_calls(connection: &Connection, algorithm: &str, settings: &[Value]) -> f64 {
    let started = Instant::now();
    let sql = "SELECT value FROM ltr_evaluate((SELECT ltr_fit(?1, ?2, ?3)), ?4) WHERE query_id IS NULL";
    for setting in settings {
        for fold in 1..=5 {
            let part = |how: &str| format!("{SOURCE} WHERE fold {how} {fold}");
            let values = (algorithm, part("<>"), setting.to_string(), part("="));
            let _: f64 = connection.query_row(sql, values, |row| row.get(0)).unwrap();
        }
    }
    started.elapsed().as_secs_f64()
}

fn measure(name: &str, connection: &Connection, algorithm: &str, options: &Value) {
    println!("{name}");
    let (settings, one) = in_one_call(connection, algorithm, options);
    println!("  one call {one:.2} s");
    if std::env::var_os("FAST").is_none() {
        let separate = in_separate_calls(connection, algorithm, &settings);
        println!("  separate calls {separate:.2} s, {:.1} times as long", separate / one);
    }
}

fn main() {
    if let Some(connection) = database("mq2008", &["S1.txt", "S2.txt", "S3.txt", "S4.txt", "S5.txt"]) {
        let lambdas: Vec<f64> = (0..20).map(|step| 10f64.powf(2.0 - 0.25 * f64::from(step))).collect();
        let options = json!({ "lambda": lambdas });
        measure("rank_svm on MQ2008, 5 folds x 20 lambdas", &connection, "rank_svm", &options);
    }
    if let Some(connection) = database("mslr-sample", &["train.txt"]) {
        let kernels = json!(["linear", "gaussian", "laplace_l1", { "gaussian": { "width": 4 } }]);
        let options = json!({ "kernel": kernels });
        measure(
            "regression on the MSLR sample, 5 folds x 4 kernels x 15 lambdas",
            &connection,
            "regression",
            &options,
        );
    }
}
