//! A problem for the tests of this folder.

use crate::math::random::Random;
use crate::solve::{PairBlock, PairProblem};

pub(super) const DIM: usize = 9;

/// Three queries, the first with more documents than one group of rows.
pub(super) fn blocks() -> Vec<PairBlock> {
    let mut random = Random::new(9);
    [70usize, 5, 13]
        .iter()
        .map(|&n| {
            let x: Vec<f64> = (0..n * DIM).map(|_| random.symmetric()).collect();
            let labels: Vec<f64> = (0..n).map(|_| (4.0 * random.symmetric()).floor()).collect();
            PairBlock::new(&x, &labels, DIM).unwrap()
        })
        .collect()
}

pub(super) fn problem(blocks: &[PairBlock], lambda: f64) -> PairProblem<'_> {
    let weighted = blocks.iter().map(|block| (block, 0.5 / block.pairs() as f64)).collect();
    PairProblem::new(DIM, weighted, lambda).unwrap()
}
