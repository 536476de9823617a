//! The objective by its definition: plain loops over documents, pairs and features.

use super::PairProblem;
use crate::base::control::Ticks;
use crate::math::lanes;

/// P(w), pair by pair: the sum of c times the weight of the pair times L(margin), plus v.w + lambda |w - w0|^2. Cost T + m b.
pub fn certificate(problem: &PairProblem<'_>, w: &[f64]) -> f64 {
    let value = problem.loss().def().value;
    let mut loss = 0.0;
    for (block, weight) in problem.blocks() {
        let labels = block.labels();
        let scores: Vec<f64> = (0..labels.len())
            .map(|document| w.iter().enumerate().map(|(j, w)| w * lanes::get(block.row(document), j)).sum())
            .collect();
        let (mut query_loss, mut ticks) = (0.0, Ticks::default());
        for a in 0..labels.len() {
            ticks.add(labels.len());
            for b in 0..labels.len() {
                if labels[a] > labels[b] {
                    query_loss += block.pair_weight(a, b) * value(scores[a] - scores[b]);
                }
            }
        }
        loss += weight * query_loss;
    }
    let number = |vector: Option<&[f64]>, j: usize| vector.map_or(0.0, |vector| vector[j]);
    let parts = w.iter().enumerate().map(|(j, w)| {
        let distance = w - number(problem.center(), j);
        number(problem.linear_term.as_deref(), j) * w + problem.lambda() * distance * distance
    });
    loss + parts.sum::<f64>()
}
