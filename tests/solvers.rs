//! Every solver against the known optima of `tests/golden/qsvm`, against every other solver on random problems, and
//! against its own report.
#![allow(clippy::unwrap_used)]

use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};

use proptest::prelude::*;
use serde_json::Value;
use sqlite_ltr::loss::PairLoss;
use sqlite_ltr::solve::{
    PairBlock, PairProblem, SOLVERS, SolveOptions, SolveReport, SolverDef, Stop, certificate, find, path, solve,
};

/// A fixed sequence of numbers in -1..1 (splitmix64).
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    }
}

/// One query as it is given.
#[derive(Debug, Clone)]
struct Query {
    c: f64,
    x: Vec<Vec<f64>>,
    labels: Vec<f64>,
}

/// A problem with its blocks.
struct Case {
    queries: Vec<Query>,
    blocks: Vec<PairBlock>,
    dim: usize,
}

impl Case {
    fn new(queries: Vec<Query>, dim: usize) -> Self {
        let blocks = queries
            .iter()
            .map(|query| PairBlock::new(&query.x.concat(), &query.labels, dim).unwrap())
            .collect();
        Self { queries, blocks, dim }
    }

    fn problem(&self, lambda: f64) -> PairProblem<'_> {
        let weights = self.queries.iter().map(|query| query.c);
        PairProblem::new(self.dim, self.blocks.iter().zip(weights).collect(), lambda).unwrap()
    }

    /// Calls `visit(c, z)` for every pair.
    fn each_pair(&self, mut visit: impl FnMut(f64, &[f64])) {
        for query in &self.queries {
            for (x, high) in query.x.iter().zip(&query.labels) {
                for (y, low) in query.x.iter().zip(&query.labels) {
                    if high > low {
                        let z: Vec<f64> = x.iter().zip(y).map(|(x, y)| x - y).collect();
                        visit(query.c, &z);
                    }
                }
            }
        }
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(x, y)| x * y).sum()
}

fn fit(problem: &PairProblem<'_>, solver: &'static SolverDef, tolerance: f64) -> (Vec<f64>, SolveReport) {
    let limit = if solver.name == "admm" { 3000 } else { 100_000 };
    solve(problem, &SolveOptions { solver, tolerance, max_iterations: limit }, &|| false)
}

fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().unwrap().iter().map(|number| number.as_f64().unwrap()).collect()
}

/// A problem of the file, its lambda in the scoring form and its optimum.
fn golden(name: &str) -> (Case, f64, f64) {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/qsvm/problems.json");
    let all: Value = serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap();
    let problem = all["problems"].as_array().unwrap().iter().find(|p| p["name"] == name).unwrap();
    let given = problem["queries"].as_array().unwrap();
    let queries: Vec<Query> = given
        .iter()
        .map(|query| {
            let x: Vec<Vec<f64>> = query["x"].as_array().unwrap().iter().map(numbers).collect();
            let share = (given.len() * x.len() * (x.len() - 1)) as f64;
            Query { c: 2.0 * query["pi"].as_f64().unwrap() / share, x, labels: numbers(&query["y"]) }
        })
        .collect();
    let factor = if problem["form"] == "ranking" { 2.0 } else { 1.0 };
    let dim = queries[0].x[0].len();
    let lambda = factor * problem["lambda"].as_f64().unwrap();
    (Case::new(queries, dim), lambda, problem["solution"]["objective"].as_f64().unwrap())
}

#[test]
fn every_solver_finds_the_known_optimum() {
    let names = [
        "p1_scoring_linear",
        "p2_scoring_linear_ties_flat_zero",
        "p5_ranking_linear",
        "p7_scoring_linear_8q_tiny_lambda",
    ];
    for name in names {
        let (case, lambda, optimum) = golden(name);
        let problem = case.problem(lambda);
        for solver in SOLVERS {
            let (_, report) = fit(&problem, solver, 1e-9);
            let what = format!("{name} by {}: {:?} after {}", solver.name, report.stop, report.iterations);
            println!("{what}, {} gap {:e}", report.objective, report.gap / report.objective);
            let error = report.objective - optimum;
            assert!(error.abs() <= report.gap + 1e-8 * optimum, "{what}: {error:e}, gap {:e}", report.gap);
            if solver.name != "admm" {
                assert_eq!(report.stop, Stop::Converged, "{what}");
                assert!(error.abs() <= 1e-8 * optimum, "{what}: {error:e}");
            }
        }
    }
}
