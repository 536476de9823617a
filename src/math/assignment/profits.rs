//! Position weights, and the profits of documents at positions.

use crate::base::checkpoint;

/// Number of positions up to the last one with a nonzero weight, at most `most`.
pub(super) fn support(weights: &[f64], most: usize) -> usize {
    weights.iter().take(most).rposition(|&weight| weight != 0.0).map_or(0, |last| last + 1)
}

/// The weights of the first `positions` positions; missing weights are 0.
pub(super) fn padded(weights: &[f64], positions: usize) -> Vec<f64> {
    weights.iter().copied().chain(std::iter::repeat(0.0)).take(positions).collect()
}

/// Writes E_pj = c_p s_j - a_p b_j to `matrix`.
pub(super) fn write_profits([a, b, c]: [&[f64]; 3], scores: &[f64], matrix: &mut Vec<f64>) {
    matrix.clear();
    for (a, c) in a.iter().zip(c) {
        checkpoint();
        matrix.extend(scores.iter().zip(b).map(|(s, b)| c * s - a * b));
    }
}
