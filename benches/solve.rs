//! Time of the pair solver on data like Example 1, scenario IV, of Dai and Wang (2019): 15 neighbors, 40 features.
//!
//! `single` is one fit with prepared pair moments, `path` the 61 lambdas 1e3 to 1e-3 and 51 lambdas 1e-3 to
//! 1e-8. Documents per query 10, 20, 50 and 100 give 675, 2,850, 18,375 and 74,250 pairs. `items` are the floating
//! point operations that no fit can do without (one pass, one Hessian), so that items per second next to the machine's
//! peak show how far a fit is from the limit.

mod pairs;

use divan::counter::ItemsCount;
use divan::{Bencher, black_box};
use pairs::{DIM, Normal, dot, least_flops};
use sqlite_ltr::internals::base::control::Control;
use sqlite_ltr::internals::cost::loss::{LossKind, find};
use sqlite_ltr::internals::learn::solve::{PairBlock, PairProblem, SolveOptions, Stop, pair_path, solve};

fn main() {
    divan::main();
}

/// 15 queries of one group with the weights of neighbors.
fn neighborhood(n_docs: usize) -> Vec<(PairBlock, f64)> {
    let mut normal = Normal::new(3);
    let middle = pairs::middle(&mut normal, 0);
    let block = |(x, labels): (Vec<f64>, Vec<f64>)| PairBlock::new(&x, &labels, DIM).expect("finite numbers");
    (0..pairs::NEIGHBORS)
        .map(|i| {
            let weight = pairs::pair_weight(pairs::neighbor_weight(i), 500, n_docs);
            (block(pairs::query(&mut normal, &middle, n_docs)).with_moment(), weight)
        })
        .collect()
}

/// Features of the graded problem.
const GRADED_DIM: usize = 136;

/// 20 queries of 100 documents with 136 correlated features and grades 0 to 4 (50, 28, 14, 6 and 2 %): 64,800
/// pairs.
fn graded() -> Vec<(PairBlock, f64)> {
    const CORRELATION: f64 = 0.5;
    let mut normal = Normal::new(9);
    let middle: Vec<f64> = (0..GRADED_DIM).map(|_| normal.next()).collect();
    (0..20)
        .map(|i| {
            let truth: Vec<f64> = middle.iter().map(|beta| beta + 0.3 * normal.next()).collect();
            let mut x: Vec<f64> = (0..100 * GRADED_DIM).map(|_| normal.next()).collect();
            for row in x.chunks_mut(GRADED_DIM) {
                for j in 1..GRADED_DIM {
                    row[j] = CORRELATION * row[j - 1] + (1.0 - CORRELATION * CORRELATION).sqrt() * row[j];
                }
            }
            let scores: Vec<f64> =
                x.chunks(GRADED_DIM).map(|row| dot(row, &truth) + 8.0 * normal.next()).collect();
            let rank = |score: f64| scores.iter().filter(|other| **other < score).count();
            let labels: Vec<f64> = scores
                .iter()
                .map(|&score| match rank(score) {
                    0..50 => 0.0,
                    50..78 => 1.0,
                    78..92 => 2.0,
                    92..98 => 3.0,
                    _ => 4.0,
                })
                .collect();
            let block = PairBlock::new(&x, &labels, GRADED_DIM).expect("finite numbers").with_moment();
            (block, pairs::pair_weight(pairs::neighbor_weight(i), 500, 100))
        })
        .collect()
}

/// The problem of these queries.
fn problem(blocks: &[(PairBlock, f64)], lambda: f64) -> PairProblem<'_> {
    let dim = blocks.first().map_or(0, |(block, _)| block.dim);
    let blocks = blocks.iter().map(|(block, weight)| (block, *weight)).collect();
    PairProblem::new(dim, blocks, lambda).expect("a valid problem")
}

fn bench(bencher: Bencher, problem: &PairProblem<'_>, tolerance: f64) {
    let options = SolveOptions::new(tolerance);
    let report = solve(problem, &options, &Control::default()).expect("a solution").report;
    assert_eq!(report.stop, Stop::Converged);
    bencher
        .counter(ItemsCount::new(least_flops(problem)))
        .bench(|| solve(black_box(problem), &options, &Control::default()).expect("a solution"));
}

fn single(bencher: Bencher, n_docs: usize, lambda: f64, tolerance: f64) {
    let blocks = neighborhood(n_docs);
    bench(bencher, &problem(&blocks, lambda), tolerance);
}

#[divan::bench(args = [10, 20, 50, 100])]
fn single_1e3(bencher: Bencher, n_docs: usize) {
    single(bencher, n_docs, 1e-3, 1e-4);
}

#[divan::bench(args = [10, 20, 50, 100])]
fn single_1e5(bencher: Bencher, n_docs: usize) {
    single(bencher, n_docs, 1e-5, 1e-4);
}

#[divan::bench(args = [10, 20, 50, 100])]
fn single_1e8(bencher: Bencher, n_docs: usize) {
    single(bencher, n_docs, 1e-8, 1e-4);
}

#[divan::bench(args = [10, 20, 50, 100])]
fn single_1e8_to_1e6(bencher: Bencher, n_docs: usize) {
    single(bencher, n_docs, 1e-8, 1e-6);
}

#[divan::bench(args = [1e-2, 1e-3, 1e-4])]
fn graded_136(bencher: Bencher, lambda: f64) {
    let blocks = graded();
    bench(bencher, &problem(&blocks, lambda), 1e-3);
}

/// One fit of every query, as rank-SVM makes it: 500 queries of 100 documents.
#[divan::bench(args = [1e-3, 1e-8], sample_count = 10)]
fn rank_svm(bencher: Bencher, lambda: f64) {
    let mut normal = Normal::new(5);
    let middles: Vec<Vec<f64>> = (0..4).map(|group| pairs::middle(&mut normal, group)).collect();
    let blocks: Vec<(PairBlock, f64)> = (0..500)
        .map(|i| {
            let (x, labels) = pairs::query(&mut normal, &middles[i % 4], 100);
            let block = PairBlock::new(&x, &labels, DIM).expect("finite numbers").with_moment();
            (block, pairs::pair_weight(1.0, 500, 100))
        })
        .collect();
    bench(bencher, &problem(&blocks, lambda), 1e-4);
}

#[divan::bench(args = ["hinge", "psi", "logistic", "squared_hinge"])]
fn losses(bencher: Bencher, name: &str) {
    let blocks = neighborhood(100);
    let LossKind::Pairwise(loss) = find(name).expect("a known loss").kind else { unreachable!() };
    bench(bencher, &problem(&blocks, 1e-5).with_loss(loss), 1e-4);
}

/// 300 documents with this many features.
#[divan::bench(args = [500, 2000], sample_count = 20)]
fn few_documents(bencher: Bencher, dim: usize) {
    let mut normal = Normal::new(6);
    let blocks: Vec<(PairBlock, f64)> = (0..6)
        .map(|_| {
            let x: Vec<f64> = (0..50 * dim).map(|_| normal.next()).collect();
            let labels: Vec<f64> = (0..50).map(|_| (2.0 * normal.next()).round()).collect();
            (PairBlock::new(&x, &labels, dim).expect("finite numbers"), 1e-3)
        })
        .collect();
    bench(bencher, &problem(&blocks, 1e-3), 1e-4);
}

fn lambdas(bencher: Bencher, n_docs: usize, first: f64, count: u32) {
    let blocks = neighborhood(n_docs);
    let problem = problem(&blocks, 1.0);
    let lambdas: Vec<f64> = (0..count).map(|i| 10f64.powf(first - 0.1 * f64::from(i))).collect();
    let options = SolveOptions::new(1e-4);
    bencher.bench(|| pair_path(black_box(&problem), &lambdas, &options, &Control::default()));
}

#[divan::bench(args = [10, 20, 50, 100])]
fn path_61(bencher: Bencher, n_docs: usize) {
    lambdas(bencher, n_docs, 3.0, 61);
}

#[divan::bench(args = [10, 20, 50, 100])]
fn path_51_small(bencher: Bencher, n_docs: usize) {
    lambdas(bencher, n_docs, -3.0, 51);
}
