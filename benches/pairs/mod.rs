//! Data for the benchmarks of the pair solver, and the arithmetic that a fit cannot do without.

use sqlite_ltr::internals::learn::solve::PairProblem;
use sqlite_ltr::internals::math::random::Random;

/// Features of the examples of Dai and Wang (2019), and neighbors of a target.
pub const DIM: usize = 40;
pub const NEIGHBORS: usize = 15;

/// Numbers of a normal distribution (Box-Muller).
pub struct Normal(Random);

impl Normal {
    pub fn new(seed: u64) -> Self {
        Self(Random::new(seed))
    }

    fn uniform(&mut self) -> f64 {
        0.5 * (self.0.symmetric() + 1.0)
    }

    pub fn next(&mut self) -> f64 {
        let radius = (-2.0 * (1.0 - self.uniform()).ln()).sqrt();
        radius * (std::f64::consts::TAU * self.uniform()).cos()
    }
}

/// Dot product.
pub fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(x, y)| x * y).sum()
}

/// The documents of one query: features (n, 40) of variance 0.1, and as labels the true score of a direction near
/// the middle of the query's group.
pub fn query(normal: &mut Normal, middle: &[f64], n_docs: usize) -> (Vec<f64>, Vec<f64>) {
    let shift = 0.1f64.sqrt();
    let truth: Vec<f64> = middle.iter().map(|beta| beta + shift * normal.next()).collect();
    let x: Vec<f64> = (0..n_docs * DIM).map(|_| shift * normal.next()).collect();
    let labels = x.chunks(DIM).map(|row| dot(row, &truth)).collect();
    (x, labels)
}

/// The direction around which the queries of one of four groups lie: ones in a quarter of the features.
pub fn middle(normal: &mut Normal, group: usize) -> Vec<f64> {
    let inside = |j: usize| f64::from(u8::from(j / 10 == group));
    (0..DIM).map(|j| inside(j) + 0.1f64.sqrt() * normal.next()).collect()
}

/// c of a pair in a problem of `n_queries` queries: 2 pi / (n N (N - 1)).
pub fn pair_weight(pi: f64, n_queries: usize, n_docs: usize) -> f64 {
    2.0 * pi / (n_queries * n_docs * (n_docs - 1)) as f64
}

/// Weight pi of the neighbor with this index in the order of distances.
pub fn neighbor_weight(index: usize) -> f64 {
    (-0.5 * (index as f64 / NEIGHBORS as f64).powi(2)).exp()
}

/// Arithmetic that no fit can do without: one pass (scores 2 m b, pairs 4 T, gradient 2 m b), one matrix of second
/// order (m b^2) and its Cholesky factor (b^3 / 3).
pub fn least_flops(problem: &PairProblem<'_>) -> u64 {
    let b = problem.dim as u64;
    let m: u64 = problem.blocks.iter().map(|(block, _)| block.n_docs() as u64).sum();
    let pairs: u64 = problem.blocks.iter().map(|(block, _)| block.pairs).sum();
    4 * m * b + 4 * pairs + m * b * b + b * b * b / 3
}
