//! Time of the pair solver on data like Example 1, scenario IV, of Dai and Wang (2019): 15 neighbours, 40 features.
//!
//! `single` is one fit with the shared pair moments at hand, `path` the 61 lambdas 1e3 to 1e-3 and 51 lambdas 1e-3 to
//! 1e-8. Documents per query 10, 20, 50 and 100 give 675, 2,850, 18,375 and 74,250 pairs.

use divan::{Bencher, black_box};
use sqlite_ltr::solve::{PairBlock, PairProblem, SolveOptions, Stop, path, solve};

const DIM: usize = 40;
const NEIGHBOURS: usize = 15;
const QUERIES: usize = 500;

fn main() {
    divan::main();
}

/// Numbers of a normal distribution (splitmix64 and Box-Muller).
struct Normal(u64);

impl Normal {
    fn uniform(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64
    }

    fn next(&mut self) -> f64 {
        let radius = (-2.0 * (1.0 - self.uniform()).ln()).sqrt();
        radius * (std::f64::consts::TAU * self.uniform()).cos()
    }
}

/// Queries on a line of slowly turning directions, so that neighbours agree without being equal; documents with
/// variance 0.1 and labels by the rank of the true score.
fn neighbourhood(n_docs: usize) -> Vec<(PairBlock, f64)> {
    let mut normal = Normal(3);
    let shift = 0.1f64.sqrt();
    let middle: Vec<f64> = (0..DIM).map(|j| f64::from(u8::from(j < 10)) + shift * normal.next()).collect();
    (0..NEIGHBOURS)
        .map(|i| {
            let truth: Vec<f64> = middle.iter().map(|beta| beta + shift * normal.next()).collect();
            let x: Vec<f64> = (0..n_docs * DIM).map(|_| shift * normal.next()).collect();
            let labels: Vec<f64> =
                x.chunks(DIM).map(|row| row.iter().zip(&truth).map(|(x, b)| x * b).sum()).collect();
            let pi = (-0.5 * (i as f64 / NEIGHBOURS as f64).powi(2)).exp();
            let weight = 2.0 * pi / (QUERIES * n_docs * (n_docs - 1)) as f64;
            (PairBlock::new(&x, &labels, DIM).expect("finite numbers").with_moment(), weight)
        })
        .collect()
}

fn problem(blocks: &[(PairBlock, f64)], lambda: f64) -> PairProblem<'_> {
    let blocks = blocks.iter().map(|(block, weight)| (block, *weight)).collect();
    PairProblem::new(DIM, blocks, lambda).expect("a valid problem")
}

fn single(bencher: Bencher, n_docs: usize, lambda: f64, tolerance: f64) {
    let blocks = neighbourhood(n_docs);
    let problem = problem(&blocks, lambda);
    let options = SolveOptions { tolerance, ..SolveOptions::default() };
    let (_, report) = solve(&problem, &options, &|| false);
    assert_eq!(report.stop, Stop::Converged);
    bencher.bench(|| solve(black_box(&problem), &options, &|| false));
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

fn lambdas(bencher: Bencher, n_docs: usize, first: f64, count: u32) {
    let blocks = neighbourhood(n_docs);
    let problem = problem(&blocks, 1.0);
    let lambdas: Vec<f64> = (0..count).map(|i| 10f64.powf(first - 0.1 * f64::from(i))).collect();
    let options = SolveOptions { tolerance: 1e-4, ..SolveOptions::default() };
    bencher.bench(|| path(black_box(&problem), &lambdas, &options, &|| false));
}

#[divan::bench(args = [10, 20, 50, 100])]
fn path_61(bencher: Bencher, n_docs: usize) {
    lambdas(bencher, n_docs, 3.0, 61);
}

#[divan::bench(args = [10, 20, 50, 100])]
fn path_51_small(bencher: Bencher, n_docs: usize) {
    lambdas(bencher, n_docs, -3.0, 51);
}
