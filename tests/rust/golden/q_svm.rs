//! The pair solver against problems whose optimum is known to many digits (`tests/rust/golden/qsvm`).
//!
//! The `definitions` block of `problems.json` has the definitions and normalization; its optima were found by two
//! independent methods.

use std::collections::BTreeMap;

use super::support::{assert_close, documents, numbers, read, rows};
use serde_json::Value;
use sqlite_ltr::internals::base::control::Control;
use sqlite_ltr::internals::learn::solve::{
    PairBlock, PairProblem, Solution, SolveOptions, SolveReport, Stop, objective_by_definition, solve,
};

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(x, y)| x * y).sum()
}

/// c = 2 pi / (n N (N - 1)).
pub fn weight(pi: f64, n_queries: usize, n_docs: usize) -> f64 {
    2.0 * pi / (n_queries * n_docs * (n_docs - 1)) as f64
}

/// The queries of a case of the results with their weights.
pub fn chosen<'a>(
    blocks: &'a BTreeMap<u64, PairBlock>,
    method: &str,
    case: &Value,
) -> Vec<(&'a PairBlock, f64)> {
    let pairs_of = |pi: f64, id: u64, n| (&blocks[&id], weight(pi, n, blocks[&id].n_docs()));
    match (method, case["neighbours"].as_array()) {
        ("rank", _) => blocks.keys().map(|id| pairs_of(1.0, *id, 40)).collect(),
        ("indv", _) => vec![pairs_of(1.0, case["target"].as_u64().unwrap(), 1)],
        (_, Some(neighbors)) => neighbors
            .iter()
            .map(|pair| pairs_of(pair[1].as_f64().unwrap(), pair[0].as_u64().unwrap(), 40))
            .collect(),
        (_, None) => panic!("{method} without neighbors"),
    }
}

fn fit(dim: usize, blocks: Vec<(&PairBlock, f64)>, lambda: f64, tolerance: f64) -> (Vec<f64>, SolveReport) {
    let problem = PairProblem::new(dim, blocks, lambda).unwrap();
    let options = SolveOptions::new(tolerance);
    let Solution { w, report } = solve(&problem, &options, &Control::default()).unwrap();
    let plain = objective_by_definition(&problem, &w);
    assert!(
        (plain - report.objective).abs() <= 1e-12 * plain.max(1e-3),
        "{plain} is not {}",
        report.objective
    );
    (w, report)
}

struct Query {
    pi: f64,
    x: Vec<Vec<f64>>,
    labels: Vec<f64>,
}

fn query(value: &Value) -> Query {
    Query { pi: value["pi"].as_f64().unwrap(), x: rows(&value["x"]), labels: numbers(&value["y"]) }
}

fn block(x: &[Vec<f64>], labels: &[f64]) -> PairBlock {
    PairBlock::new(&x.concat(), labels, x[0].len()).unwrap()
}

fn linear_problem(name: &str, ranking: bool) {
    let all: Value = serde_json::from_str(&read("problems.json")).unwrap();
    let problem = all["problems"].as_array().unwrap().iter().find(|p| p["name"] == name).unwrap();
    let solution = &problem["solution"];
    let queries: Vec<Query> = problem["queries"].as_array().unwrap().iter().map(query).collect();
    let blocks: Vec<PairBlock> = queries.iter().map(|query| block(&query.x, &query.labels)).collect();
    let weights = queries.iter().map(|query| weight(query.pi, queries.len(), query.labels.len()));
    let factor = if ranking { 2.0 } else { 1.0 };
    let lambda = factor * problem["lambda"].as_f64().unwrap();
    let dim = queries[0].x[0].len();
    let (w, report) = fit(dim, blocks.iter().zip(weights).collect(), lambda, 1e-11);

    assert_eq!(report.stop, Stop::Converged, "{name}: gap {:e}", report.gap);
    let objective = solution["objective"].as_f64().unwrap();
    assert!((report.objective / objective - 1.0).abs() < 1e-8, "{name}: {} {objective}", report.objective);
    // The file's own optimum of the nearly unregularized problem is known to 1e-11.
    assert_close(&w, &numbers(&solution["w"])[..dim], 1e-5, name);
    for (query, expected) in queries.iter().zip(rows(&solution["scores"])) {
        assert_close(&scores(&query.x, &w, ranking), &expected, 1e-5, name);
    }
    let expected = numbers(&solution["test_scores"]);
    assert_close(&scores(&rows(&problem["test_x"]), &w, ranking), &expected, 1e-5, name);
}

/// Scores of one query; the ranking form centers them (3.6).
fn scores(x: &[Vec<f64>], w: &[f64], ranking: bool) -> Vec<f64> {
    let scores: Vec<f64> = x.iter().map(|row| dot(row, w)).collect();
    let mean = scores.iter().sum::<f64>() / scores.len() as f64;
    scores.iter().map(|score| if ranking { score - mean } else { *score }).collect()
}

#[test]
fn scoring_form() {
    linear_problem("p1_scoring_linear", false);
}

#[test]
fn scoring_form_with_ties_a_flat_query_and_a_zero_weight() {
    linear_problem("p2_scoring_linear_ties_flat_zero", false);
}

#[test]
fn scoring_form_with_a_tiny_lambda() {
    linear_problem("p7_scoring_linear_8q_tiny_lambda", false);
}

#[test]
fn ranking_form_is_the_scoring_form_with_twice_the_lambda() {
    linear_problem("p5_ranking_linear", true);
}

#[test]
fn every_method_of_the_first_example() {
    let documents = documents("ex1_III_seed1_docs.csv");
    let blocks: BTreeMap<u64, PairBlock> = documents
        .iter()
        .filter(|(_, (training, ..))| !training.is_empty())
        .map(|(id, (training, labels, _))| (*id, block(training, labels).with_moment()))
        .collect();
    let results: Value = serde_json::from_str(&read("ex1_III_seed1_results.json")).unwrap();
    let mut checked = 0;
    for (method, result) in results["results"].as_object().unwrap() {
        for case in result["objectives"].as_array().unwrap() {
            let target = case["target"].as_u64().unwrap();
            let chosen = chosen(&blocks, method, case);
            let (w, report) = fit(40, chosen, case["lambda"].as_f64().unwrap(), 1e-11);
            let what = format!("{method}, target {target}");
            assert_eq!(report.stop, Stop::Converged, "{what}");
            let objective = case["objective"].as_f64().unwrap();
            assert!((report.objective / objective - 1.0).abs() < 1e-6, "{what}: {}", report.objective);
            let first = scores(&documents[&target].2, &w, false);
            assert_close(&first, &numbers(&case["scores_first5_docs"]), 1e-4, &what);
            checked += 1;
        }
    }
    assert!(checked >= 8, "{checked} cases");
}
