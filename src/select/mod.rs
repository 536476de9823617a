//! Choosing by held-out data: which queries or documents are held out, and which candidate wins. Knows no algorithm.

mod split;

pub use split::{Folds, held_out_documents};

use crate::math::order::compare;

/// The winner of a curve of validated values, one per candidate; `None` where no value is defined.
///
/// The curve is smoothed over three neighbouring candidates first, because single values are noisy; among equals the
/// earliest candidate wins. Candidates stand in order, the most cautious (largest lambda) first.
pub fn winner(curve: &[Option<f64>], higher_is_better: bool) -> Option<usize> {
    let sign = if higher_is_better { 1.0 } else { -1.0 };
    let smoothed = |index: usize| {
        let from = index.saturating_sub(1);
        let near: Vec<f64> = curve[from..(index + 2).min(curve.len())].iter().flatten().copied().collect();
        curve[index].map(|_| sign * near.iter().sum::<f64>() / near.len() as f64)
    };
    let mut best: Option<(usize, f64)> = None;
    for index in 0..curve.len() {
        let Some(value) = smoothed(index) else { continue };
        // Means of the same values in another order differ in the last digits; that is no advantage.
        if best.is_none_or(|(_, best)| compare(value, best + 1e-12 * best.abs()).is_gt()) {
            best = Some((index, value));
        }
    }
    best.map(|(index, _)| index)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_earliest_of_equals_wins() {
        assert_eq!(winner(&[Some(0.5), Some(0.5), Some(0.5)], true), Some(0));
        assert_eq!(winner(&[None, None], true), None);
    }

    #[test]
    fn a_lone_peak_loses_against_a_plateau() {
        let curve = [0.1, 0.5, 0.1, 0.4, 0.4, 0.4, 0.1].map(Some);
        assert_eq!(winner(&curve, true), Some(4));
        assert_eq!(winner(&curve.map(|value| value.map(|value: f64| -value)), false), Some(4));
    }
}
