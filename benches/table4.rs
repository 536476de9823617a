//! The settings of table 4 of Dai and Wang (2019): n queries of N documents, 40 features, lambda 1e-8, gap 1e-4.
//!
//! Every time is the wall time of all fits of a method, including the pair moments: one fit for rank-SVM and one
//! per query for the others, on as many threads as the machine has. `paper` is the paper's time on 8 cores. `Gflop/s`
//! counts the operations that no fit can do without. Queries lie on four arcs, and the neighbors of a query are those
//! next to it.
#![allow(clippy::print_stdout)]

mod pairs;
#[allow(dead_code, reason = "the other tables belong to the example")]
#[path = "../examples/paper_q_svm/paper.rs"]
mod paper;

use std::time::Instant;

use pairs::{DIM, NEIGHBORS, Normal, least_flops, neighbor_weight, pair_weight};
use rayon::prelude::*;
use sqlite_ltr::internals::base::control::Control;
use sqlite_ltr::internals::learn::solve::{PairBlock, PairProblem, SolveOptions, Stop, solve};

const LAMBDA: f64 = 1e-8;
const TOLERANCE: f64 = 1e-4;
const METHODS: [&str; 4] = ["rank", "indv", "knn", "q"];

/// One fit: queries with their weights pi.
type Fit = Vec<(usize, f64)>;

/// The fits of a method.
fn fits(method: &str, n: usize) -> Vec<Fit> {
    let neighbors = |target: usize| {
        // Queries of a group are every fourth one; nearest first.
        let (position, size) = (target / 4, n / 4 + usize::from(target % 4 < n % 4));
        let first = position.saturating_sub(NEIGHBORS / 2).min(size.saturating_sub(NEIGHBORS));
        (first..size.min(first + NEIGHBORS))
            .map(move |other| (4 * other + target % 4, other.abs_diff(position)))
    };
    match method {
        "rank" => vec![(0..n).map(|query| (query, 1.0)).collect()],
        "indv" => (0..n).map(|query| vec![(query, 1.0)]).collect(),
        "knn" => (0..n).map(|target| neighbors(target).map(|(query, _)| (query, 1.0)).collect()).collect(),
        _ => (0..n)
            .map(|target| {
                neighbors(target).map(|(query, distance)| (query, neighbor_weight(2 * distance))).collect()
            })
            .collect(),
    }
}

/// Documents of all queries.
fn documents(n: usize, n_docs: usize) -> Vec<(Vec<f64>, Vec<f64>)> {
    let mut normal = Normal::new(17);
    let middles: Vec<Vec<f64>> = (0..4).map(|group| pairs::middle(&mut normal, group)).collect();
    (0..n).map(|query| pairs::query(&mut normal, &middles[query % 4], n_docs)).collect()
}

/// Seconds, least operations of all fits, and fits that did not reach the gap.
fn run(documents: &[(Vec<f64>, Vec<f64>)], n_docs: usize, fits: &[Fit]) -> (f64, u64, usize) {
    let began = Instant::now();
    let block =
        |(x, labels): &(Vec<f64>, Vec<f64>)| PairBlock::new(x, labels, DIM).map(PairBlock::with_moment);
    let blocks: Vec<PairBlock> =
        documents.par_iter().map(block).collect::<Result<_, _>>().expect("finite numbers");
    let options = SolveOptions::new(TOLERANCE);
    let results: Vec<(u64, bool)> = fits
        .par_iter()
        .map(|fit| {
            let weighted = fit.iter().map(|&(query, pi)| {
                let n = if fit.len() == 1 { 1 } else { documents.len() };
                (&blocks[query], pair_weight(pi, n, n_docs))
            });
            let problem = PairProblem::new(DIM, weighted.collect(), LAMBDA).expect("a valid problem");
            let report = solve(&problem, &options, &Control::default()).expect("a solution").report;
            (least_flops(&problem), report.stop == Stop::Converged)
        })
        .collect();
    let seconds = began.elapsed().as_secs_f64();
    let failed = results.iter().filter(|(_, converged)| !converged).count();
    (seconds, results.iter().map(|(flops, _)| flops).sum(), failed)
}

fn main() {
    println!("   n   N  method   seconds     paper     times  Gflop/s  not reached");
    for (n, n_docs, paper) in paper::TABLE_4 {
        let documents = documents(n, n_docs);
        for (method, paper) in METHODS.iter().zip(paper) {
            let fits = fits(method, n);
            let runs = (0..3).map(|_| run(&documents, n_docs, &fits));
            let (seconds, flops, failed) =
                runs.min_by(|a, b| a.0.total_cmp(&b.0)).unwrap_or((f64::NAN, 0, fits.len()));
            let rate = flops as f64 / seconds * 1e-9;
            let times = paper / seconds;
            println!(
                "{n:4} {n_docs:3}  {method:6} {seconds:9.4} {paper:9.3} {times:9.0} {rate:8.2}  {failed}"
            );
        }
    }
}
