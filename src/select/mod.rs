//! Choosing by held-out data: which queries or documents are held out, and which candidate wins. Knows no algorithm.

mod split;

pub use split::{Folds, fold_numbers, held_out_documents, rating_folds};

use crate::math::order::compare;

/// Values of candidates within this factor of each other (half a decade) are averaged.
const NEAR: f64 = 3.2;

/// The winner of a curve of candidates (> 0) with their validated values; `None` where no value is defined.
///
/// Single values are noisy, so each candidate is judged by the mean over the candidates near it; among equals the
/// earliest wins. Candidates stand in order, the most one_standard_error (largest lambda) first.
pub fn argmax_smoothed(curve: &[(f64, Option<f64>)], higher_is_better: bool) -> Option<usize> {
    let sign = if higher_is_better { 1.0 } else { -1.0 };
    let mut best: Option<(usize, f64)> = None;
    for place in 0..curve.len() {
        let Some(value) = smoothed(curve, place).map(|value| sign * value) else { continue };
        // Means of the same values in another order differ in the last digits; that is no advantage.
        if best.is_none_or(|(_, best)| compare(value, best + 1e-12 * best.abs()).is_gt()) {
            best = Some((place, value));
        }
    }
    best.map(|(place, _)| place)
}

/// The mean value of the candidates near one; `None` where its own is not defined.
pub fn smoothed(curve: &[(f64, Option<f64>)], place: usize) -> Option<f64> {
    let (candidate, value) = curve[place];
    let near = |other: f64| other <= NEAR * candidate && candidate <= NEAR * other;
    let values: Vec<f64> =
        curve.iter().filter(|(other, _)| near(*other)).filter_map(|(_, value)| *value).collect();
    value.map(|_| values.iter().sum::<f64>() / values.len() as f64)
}

/// The place of the best of these values; the first among equals, `None` where none is defined.
pub fn argmax(values: &[Option<f64>], higher_is_better: bool) -> Option<usize> {
    let sign = if higher_is_better { 1.0 } else { -1.0 };
    let mut best: Option<(usize, f64)> = None;
    for (place, value) in
        values.iter().enumerate().filter_map(|(place, value)| Some((place, sign * (*value)?)))
    {
        if best.is_none_or(|(_, best)| compare(value, best).is_gt()) {
            best = Some((place, value));
        }
    }
    best.map(|(place, _)| place)
}

/// The most one_standard_error of the candidates that are no worse than `winner` by more than the standard error of the
/// difference (the one-standard-error rule of Breiman et al. 1984, with paired differences). Candidates stand in order,
/// the most one_standard_error first; `values` are those of each query for every candidate.
pub fn one_standard_error(values: &[Vec<f64>], winner: usize, higher_is_better: bool) -> usize {
    let sign = if higher_is_better { 1.0 } else { -1.0 };
    let near = |candidate: &usize| {
        let losses: Vec<f64> =
            values.iter().map(|values| sign * (values[winner] - values[*candidate])).collect();
        let n = losses.len() as f64;
        let mean = losses.iter().sum::<f64>() / n;
        let variance =
            losses.iter().map(|loss| (loss - mean) * (loss - mean)).sum::<f64>() / (n - 1.0).max(1.0);
        mean <= (variance / n).sqrt()
    };
    (0..winner).find(near).unwrap_or(winner)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decades(values: &[f64]) -> Vec<(f64, Option<f64>)> {
        values.iter().enumerate().map(|(place, value)| (10f64.powi(-(place as i32)), Some(*value))).collect()
    }

    #[test]
    fn the_earliest_of_equals_wins() {
        assert_eq!(argmax_smoothed(&decades(&[0.5, 0.5, 0.5]), true), Some(0));
        assert_eq!(argmax_smoothed(&[(1.0, None), (0.1, None)], true), None);
    }

    #[test]
    fn the_best_single_value_is_found() {
        assert_eq!(argmax(&[Some(0.2), None, Some(0.7), Some(0.7)], true), Some(2));
        assert_eq!(argmax(&[Some(0.2), None, Some(0.1)], false), Some(2));
        assert_eq!(argmax(&[None], true), None);
    }

    #[test]
    fn caution_yields_to_a_clear_advantage_only() {
        let clear: Vec<Vec<f64>> = (0..9).map(|q| vec![0.5, 0.8 + 0.01 * f64::from(q % 3)]).collect();
        assert_eq!(one_standard_error(&clear, 1, true), 1);
        let noise: Vec<Vec<f64>> = (0..9).map(|q| vec![0.5, if q % 2 == 0 { 0.9 } else { 0.15 }]).collect();
        assert_eq!(one_standard_error(&noise, 1, true), 0);
        assert_eq!(one_standard_error(&clear, 1, false), 0, "errors that grow are no advantage");
        assert_eq!(one_standard_error(&[], 1, true), 1);
    }

    #[test]
    fn candidates_far_apart_are_judged_alone() {
        assert_eq!(argmax_smoothed(&decades(&[0.1, 0.5, 0.1, 0.4, 0.4]), true), Some(1));
        assert_eq!(argmax_smoothed(&decades(&[0.1, 0.5, 0.1, 0.4, 0.4]), false), Some(0));
    }

    #[test]
    fn a_lone_peak_loses_against_a_plateau() {
        let values = [0.1, 0.5, 0.1, 0.1, 0.4, 0.4, 0.4, 0.4, 0.1];
        let curve: Vec<_> = values
            .iter()
            .enumerate()
            .map(|(place, value)| (2f64.powi(-(place as i32)), Some(*value)))
            .collect();
        assert!((4..=6).contains(&argmax_smoothed(&curve, true).unwrap()));
    }
}
