//! The code behind the tables of `examples/paper_q_svm` against an independent implementation of the same
//! reading of Dai & Wang (2019), on one data set of each of their examples
//! (tests/rust/golden/qsvm/ex1_III_seed1_*, ex2_II_seed1_*).

#[path = "../../../examples/paper_q_svm/experiment.rs"]
#[allow(dead_code, reason = "the names of methods and measures are for tables")]
mod experiment;

use std::path::Path;

use experiment::{Experiment, Form, Kernel, MEASURES, METHODS, Method, Outcome, Part, Query};
use serde_json::Value;

/// Differences that two exact solvers may have, with one lambda for all queries and with one for each.
const TOLERANCES: [f64; 2] = [0.004, 0.01];

fn read(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/rust/golden/qsvm").join(name);
    std::fs::read_to_string(path).unwrap()
}

fn numbers(cells: &[&str]) -> Vec<f64> {
    cells.iter().map(|cell| cell.parse().unwrap()).collect()
}

fn rows(text: &str) -> Vec<Vec<&str>> {
    text.lines().skip(1).map(|line| line.split(',').collect()).collect()
}

fn queries(name: &str) -> Vec<Query> {
    let (queries, docs) = (read(&format!("{name}_queries.csv")), read(&format!("{name}_docs.csv")));
    let (queries, docs) = (rows(&queries), rows(&docs));
    let part = |id: &str, split: &str| {
        let mine = || docs.iter().filter(|cells| cells[0] == id && cells[1] == split);
        let x: Vec<f64> = mine().flat_map(|cells| numbers(&cells[4..])).collect();
        let y: Vec<f64> = mine().flat_map(|cells| numbers(&cells[3..4])).collect();
        Part::new(x, y, docs[0].len() - 4)
    };
    let query = |cells: &Vec<&str>| {
        let query = Query {
            features: numbers(&cells[2..]),
            train: part(cells[0], "train"),
            validation: part(cells[0], "val"),
            test: part(cells[0], "test"),
        };
        assert_eq!(query.is_new(), cells[1] == "1", "query {}", cells[0]);
        query
    };
    queries.iter().map(query).collect()
}

/// Compares the means over some queries; indv-SVM ranks new queries at random, so only its observed ones.
fn compare(found: &Outcome, file: &Value, tolerance: f64, method: Method) {
    let parts = [("observed", found.observed), ("novel", found.new), ("overall", found.overall)];
    let count = if method == Method::Individual { 1 } else { parts.len() };
    for (part, measures) in &parts[..count] {
        let keys = ["mre_pooled", "one_minus_err", "one_minus_ndcg10"];
        for ((key, name), ours) in keys.iter().zip(MEASURES).zip(measures.unwrap()) {
            let theirs = file[part][key].as_f64().unwrap();
            let what = format!("{method:?}, {part}, {name}: {ours}, file {theirs}");
            assert!((ours - theirs).abs() <= tolerance, "{what}");
        }
    }
}

fn every_method(name: &str, kernel: Kernel) {
    let queries = queries(name);
    let file: Value = serde_json::from_str(&read(&format!("{name}_results.json"))).unwrap();
    let experiment = Experiment::new(&queries, kernel, Form::Scoring).unwrap();
    for (method, key) in METHODS.into_iter().zip(["rank", "indv", "knn", "q"]) {
        let found = experiment.run(method, 0).unwrap();
        let file = &file["results"][key];
        let lambda = file["lambda_global"].as_f64().unwrap();
        assert!((found.global_lambda / lambda - 1.0).abs() < 1e-12, "{method:?}: lambda {lambda}");
        compare(&found.global, &file["global_lambda"], TOLERANCES[0], method);
        compare(&found.own, &file["per_query_lambda"], TOLERANCES[1], method);
    }
}

#[test]
fn every_method_of_the_first_example() {
    every_method("ex1_III_seed1", Kernel::Linear);
}

#[test]
fn every_method_of_the_second_example() {
    every_method("ex2_II_seed1", Kernel::Gaussian);
}
