//! The risk of a smooth loss of pairs: the weighted sum over queries and pairs of L(margin), without the penalty.
//!
//! For methods that need values and gradients alone. A value takes as long as a pass over all pairs.

use super::problem::PairProblem;
use crate::base::{Ticks, bytes_of, parallel};
use crate::math::{Lanes, Objective, axpy, lanes};

/// The risk of a problem.
pub struct PairRisk<'a>(&'a PairProblem<'a>);

impl<'a> PairRisk<'a> {
    /// A problem's risk, with a smooth loss.
    pub fn new(problem: &'a PairProblem<'a>) -> Self {
        Self(problem)
    }

    /// Bytes that a value takes.
    pub fn bytes(&self) -> u64 {
        let longest = self.0.useful_blocks().map(|(block, _)| block.n_docs()).max().unwrap_or(0);
        let rows = 2 * longest + 2 * self.0.dim.next_multiple_of(lanes::LANES);
        bytes_of::<f64>(rows).saturating_mul((parallel::threads() + self.0.blocks.len()) as u64)
    }
}

impl Objective for PairRisk<'_> {
    fn dim(&self) -> usize {
        self.0.dim
    }

    fn value_at(&self, w: &[f64], gradient: &mut [f64]) -> f64 {
        let blocks: Vec<_> = self.0.useful_blocks().collect();
        let (loss, weights) = (self.0.loss.def(), lanes::from_slice(w));
        let of_block = |number: usize| {
            let (block, weight) = blocks[number];
            let n = block.n_docs();
            let scores: Vec<f64> = (0..n).map(|document| lanes::dot(block.row(document), &weights)).collect();
            let (mut value, mut slopes, mut ticks) = (0.0, vec![0.0; n], Ticks::default());
            for a in 0..n {
                ticks.add(n);
                // Documents are sorted by label.
                for b in block.start[a] as usize..n {
                    let (margin, factor) = (scores[a] - scores[b], weight * block.pair_weight(a, b));
                    value += factor * (loss.value)(margin);
                    let slope = factor * (loss.slope)(margin);
                    slopes[a] += slope;
                    slopes[b] -= slope;
                }
            }
            let mut sum = vec![Lanes::ZERO; weights.len()];
            for (document, slope) in slopes.iter().enumerate() {
                lanes::axpy(*slope, block.row(document), &mut sum);
            }
            (value, lanes::to_vec(&sum, w.len()))
        };
        gradient.fill(0.0);
        let mut value = 0.0;
        for (of_query, slopes) in parallel::map(blocks.len(), of_block) {
            value += of_query;
            axpy(1.0, &slopes, gradient);
        }
        value
    }
}
