//! How well models rank new real queries: `cargo bench --bench quality` (some minutes).
//!
//! Test NDCG@10 on MQ2008 (mean of five folds), the MSLR sample and Yandex, a query without a relevant document counting
//! 0. Lambda is chosen on the validation part; of `q_svm` with the global prior also the number of neighbors. The data
//! are found through LTR_DATA (default ../shared/data).
#![allow(clippy::print_stdout, clippy::unwrap_used, reason = "a program that prints its measurements")]

use std::path::{Path, PathBuf};
use std::time::Instant;

use rusqlite::Connection;
use serde_json::{Value, json};

/// A training set, a validation set and a test set, as sources.
struct Split {
    train: String,
    validation: String,
    test: String,
}

fn load(connection: &Connection, table: &str, path: &Path, features: usize) {
    let sql = format!(
        "CREATE TABLE {table} AS SELECT query_id, doc_id, relevance, features FROM ltr_letor(?1, '{{\"feature_count\": {features}}}')"
    );
    connection.execute(&sql, [path.display().to_string()]).unwrap();
}

fn parts(connection: &Connection, folder: &Path, name: &str, features: usize) -> Split {
    for (part, file) in [("train", "train.txt"), ("validation", "vali.txt"), ("test", "test.txt")] {
        load(connection, &format!("{name}_{part}"), &folder.join(file), features);
    }
    Split {
        train: format!("{name}_train"),
        validation: format!("{name}_validation"),
        test: format!("{name}_test"),
    }
}

/// Fold f: train on parts f, f + 1, f + 2, validate on f + 3, test on f + 4 (cyclic).
fn folds(connection: &Connection, folder: &Path) -> Vec<Split> {
    (1..=5).for_each(|part| load(connection, &format!("s{part}"), &folder.join(format!("S{part}.txt")), 46));
    let part = |number: usize| format!("s{}", number % 5 + 1);
    let train = |fold: usize| {
        let parts: Vec<String> = (0..3).map(|k| format!("SELECT * FROM {}", part(fold + k))).collect();
        parts.join(" UNION ALL ")
    };
    let split = |fold: usize| Split { train: train(fold), validation: part(fold + 3), test: part(fold + 4) };
    (0..5).map(split).collect()
}

/// Test NDCG@10, validated NDCG@10 and seconds of training.
fn measure(connection: &Connection, algorithm: &str, split: &Split, options: &Value) -> (f64, f64, f64) {
    let mut options = options.clone();
    options["name"] = json!("model");
    options["undefined"] = json!("zero");
    options["metric"] = json!("ndcg@10");
    if options.get("validation").is_none() {
        options["validation"] = json!(split.validation);
    }
    let started = Instant::now();
    let train = "SELECT ltr_train(?1, ?2, ?3) ->> '$.validation.best'";
    let arguments = (algorithm, &split.train, options.to_string());
    let validated = connection.query_row(train, arguments, |row| row.get(0)).unwrap();
    let taken = started.elapsed().as_secs_f64();
    let evaluate =
        "SELECT value FROM ltr_evaluate('model', ?1, '{\"metric\": \"ndcg@10\", \"undefined\": \"zero\"}')
                     WHERE query_id IS NULL";
    (connection.query_row(evaluate, [&split.test], |row| row.get(0)).unwrap(), validated, taken)
}

/// Means over splits: of one function for all, and of functions per query that shrink to it.
fn compare(connection: &Connection, name: &str, splits: &[Split], base: &Value) {
    let (mut uniform, mut shrunk) = (0.0, 0.0);
    for split in splits {
        uniform += measure(connection, "rank_svm", split, base).0;
        let mut best = (0.0, f64::NEG_INFINITY);
        for neighbors in [15, 50, 200] {
            let mut options = base.clone();
            options["neighbors"] = json!(neighbors);
            options["prior"] = json!("global");
            options["fit_at"] = json!("query_time");
            let (test, validated, _) = measure(connection, "q_svm", split, &options);
            if validated > best.1 + 1e-12 {
                best = (test, validated);
            }
        }
        shrunk += best.0;
    }
    let n = splits.len() as f64;
    println!("{name}: rank_svm {:.4}, q_svm with the global prior {:.4}", uniform / n, shrunk / n);
}

fn kernels(connection: &Connection) {
    let split = Split {
        train: "SELECT * FROM yandex_train UNION ALL SELECT * FROM yandex_validation".to_owned(),
        validation: String::new(),
        test: "yandex_test".to_owned(),
    };
    for (kernel, loss, landmarks) in [
        ("linear", "hinge", None),
        ("gaussian", "hinge", Some(600)),
        ("gaussian", "squared_hinge", Some(600)),
        ("gaussian", "hinge", Some(1000)),
    ] {
        let mut options = json!({ "scale": "quantile_minmax", "kernel": kernel, "loss": loss, "validation": 0.2,
                                  "tolerance": 1e-3 });
        if let Some(landmarks) = landmarks {
            options["landmarks"] = json!(landmarks);
        }
        let (test, _, taken) = measure(connection, "rank_svm", &split, &options);
        let landmarks = landmarks.map_or_else(String::new, |n| format!(", {n} landmarks"));
        println!("Yandex, rank_svm, {kernel}, {loss}{landmarks}: {test:.4} in {taken:.1} s");
    }
}

fn main() {
    if std::env::args().any(|argument| argument == "--test") {
        return;
    }
    let folder = std::env::var_os("LTR_DATA").map_or_else(|| PathBuf::from("../shared/data"), PathBuf::from);
    if !folder.join("yandex/test.txt").exists() {
        println!("the data are not in {}: NOTHING is measured (set LTR_DATA)", folder.display());
        return;
    }
    let connection = Connection::open_in_memory().unwrap();
    sqlite_ltr::register(&connection).unwrap();
    let yandex = parts(&connection, &folder.join("yandex"), "yandex", 50);
    let mslr = parts(&connection, &folder.join("mslr-sample"), "mslr", 136);
    let mq2008 = folds(&connection, &folder.join("mq2008"));
    compare(&connection, "MQ2008", &mq2008, &json!({ "scale": "none" }));
    compare(&connection, "MSLR sample", &[mslr], &json!({}));
    compare(&connection, "Yandex", &[yandex], &json!({}));
    kernels(&connection);
}
