//! The objective by its definition: loops over documents, pairs and features with nothing clever in them.

use super::PairProblem;
use crate::math::lanes;

/// P(w), pair by pair: the sum of c max(0, 1 - margin) plus lambda |w|^2. Cost T + m b.
pub fn certificate(problem: &PairProblem<'_>, w: &[f64]) -> f64 {
    let mut loss = 0.0;
    for (block, weight) in problem.blocks() {
        let labels = block.labels();
        let scores: Vec<f64> = (0..labels.len())
            .map(|document| w.iter().enumerate().map(|(j, w)| w * lanes::get(block.row(document), j)).sum())
            .collect();
        let mut query_loss = 0.0;
        for a in 0..labels.len() {
            for b in 0..labels.len() {
                if labels[a] > labels[b] {
                    query_loss += (1.0 - (scores[a] - scores[b])).max(0.0);
                }
            }
        }
        loss += weight * query_loss;
    }
    loss + problem.lambda() * w.iter().map(|w| w * w).sum::<f64>()
}
