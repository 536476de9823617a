//! Selection by held-out data: which queries or documents are held out, how candidates are measured, which one is chosen, and
//! what reports say about the choice.
//!
//! | file | contents |
//! |---|---|
//! | `split`, `split_values` | held-out queries and documents; order of `split_by` |
//! | `validation` | the metric, and the data to validate on |
//! | `choose`, `rules` | the choice; rules that pick a candidate |
//! | `report` | the report, and warnings about the choice |

mod choose;
mod report;
mod rules;
mod split;
mod split_values;
mod validation;

use crate::cost::metric::Better;
use crate::math::compare;

pub use choose::{CandidatePath, Candidates, Choice, FitQuality, HeldOut, Prepared, choose};
pub use report::{
    Baseline, Curve, FEWEST_SHOWN, FoldsBy, Gain, Searched, Selection, SelectionReport, Split, significant,
};
pub use rules::{SelectionRule, Values};
pub use split::{
    FoldScores, Folds, enough_folds, fold_numbers, numbers, parts_in_order, rating_folds, unjudged,
};
pub use split_values::in_order;
pub use validation::{TunedValue, Validation, ValidationSpec, metric};

/// The options that say how queries are held out.
pub const FOLD_OPTIONS: &[&str] = &["folds", "split_by", "group_by"];

/// Values of candidates within this factor of each other (half a decade) are averaged.
const NEAR: f64 = 3.2;

/// The best candidate (> 0) of a validation curve smoothed over adjacent candidates; `None` if no value is defined.
///
/// Single values are noisy, so a candidate counts the mean over the candidates near it. Among equals the first is chosen;
/// the most conservative candidate (largest lambda) comes first.
pub fn argmax_smoothed(curve: &[(f64, Option<f64>)], better: Better) -> Option<usize> {
    let values: Vec<Option<f64>> = (0..curve.len()).map(|index| smoothed(curve, index)).collect();
    // Means of the same values in a different order differ in the last digits.
    first_best(&values, better, 1e-12)
}

/// The mean value of the candidates near this one; `None` if its own value is undefined.
pub fn smoothed(curve: &[(f64, Option<f64>)], index: usize) -> Option<f64> {
    let (candidate, value) = curve[index];
    let near = |other: f64| other <= NEAR * candidate && candidate <= NEAR * other;
    let values: Vec<f64> =
        curve.iter().filter(|(other, _)| near(*other)).filter_map(|(_, value)| *value).collect();
    value.map(|_| values.iter().sum::<f64>() / values.len() as f64)
}

/// The index of the best value; the first among equals, `None` if none is defined.
pub fn argmax(values: &[Option<f64>], better: Better) -> Option<usize> {
    first_best(values, better, 0.0)
}

/// The index of the best value; later ones must be better by a relative `margin`.
fn first_best(values: &[Option<f64>], better: Better, margin: f64) -> Option<usize> {
    let sign = better.sign();
    let mut best: Option<(usize, f64)> = None;
    for (index, value) in values.iter().enumerate() {
        let Some(value) = value.map(|value| sign * value) else { continue };
        if best.is_none_or(|(_, best)| compare(value, best + margin * best.abs()).is_gt()) {
            best = Some((index, value));
        }
    }
    best.map(|(index, _)| index)
}

/// The first candidate that is worse than `best` by at most the standard error of the difference: the one-standard-error
/// rule (Breiman et al. 1984) with paired differences. Candidates are ordered, the most conservative first; `values` holds
/// for each query the values of all candidates.
pub fn one_standard_error(values: &[Vec<f64>], best: usize, better: Better) -> usize {
    let sign = better.sign();
    let near = |candidate: &usize| {
        let losses: Vec<f64> =
            values.iter().map(|values| sign * (values[best] - values[*candidate])).collect();
        let (mean, error) = mean_and_error(&losses);
        mean <= error
    };
    (0..best).find(near).unwrap_or(best)
}

/// Whether the mean of `values` is more than `standard_errors` standard errors of the paired difference below the mean of `others`.
/// Higher values are better; pairs without a value are skipped.
pub fn is_below(values: &[Option<f64>], others: &[Option<f64>], standard_errors: f64) -> bool {
    let pairs = values.iter().zip(others);
    let differences: Vec<f64> =
        pairs.filter_map(|(own, other)| Some(other.as_ref()? - own.as_ref()?)).collect();
    let (mean, error) = mean_and_error(&differences);
    differences.len() > 1 && mean > standard_errors * error
}

/// The mean of differences and its standard error, which is 0 for a single one.
fn mean_and_error(differences: &[f64]) -> (f64, f64) {
    let n = differences.len() as f64;
    let mean = differences.iter().sum::<f64>() / n;
    let variance = differences.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / (n - 1.0).max(1.0);
    (mean, (variance / n).sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decades(values: &[f64]) -> Vec<(f64, Option<f64>)> {
        values.iter().enumerate().map(|(index, value)| (10f64.powi(-(index as i32)), Some(*value))).collect()
    }

    #[test]
    fn the_first_of_equals_is_chosen() {
        assert_eq!(argmax_smoothed(&decades(&[0.5, 0.5, 0.5]), Better::Higher), Some(0));
        assert_eq!(argmax_smoothed(&[(1.0, None), (0.1, None)], Better::Higher), None);
    }

    #[test]
    fn the_best_single_value_is_found() {
        assert_eq!(argmax(&[Some(0.2), None, Some(0.7), Some(0.7)], Better::Higher), Some(2));
        assert_eq!(argmax(&[Some(0.2), None, Some(0.1)], Better::Lower), Some(2));
        assert_eq!(argmax(&[None], Better::Higher), None);
    }

    #[test]
    fn a_mean_is_below_another_by_paired_differences() {
        let values = |shift: f64, noise: f64| -> Vec<Option<f64>> {
            (0..20).map(|i| (i != 7).then_some(f64::from(i) + shift + noise * f64::from(i % 2))).collect()
        };
        let others = values(0.0, 0.0);
        assert!(is_below(&values(-0.2, 0.1), &others, 4.0));
        assert!(!is_below(&values(-0.2, 0.5), &others, 4.0) && !is_below(&values(0.2, 0.1), &others, 4.0));
        assert!(!is_below(&others, &others, 4.0) && !is_below(&others[..1], &others[..1], 4.0));
        assert!(!is_below(&[], &[], 4.0));
    }

    #[test]
    fn the_conservative_candidate_is_kept_unless_another_is_clearly_better() {
        let clear: Vec<Vec<f64>> = (0..9).map(|q| vec![0.5, 0.8 + 0.01 * f64::from(q % 3)]).collect();
        assert_eq!(one_standard_error(&clear, 1, Better::Higher), 1);
        let noise: Vec<Vec<f64>> = (0..9).map(|q| vec![0.5, if q % 2 == 0 { 0.9 } else { 0.15 }]).collect();
        assert_eq!(one_standard_error(&noise, 1, Better::Higher), 0);
        assert_eq!(one_standard_error(&clear, 1, Better::Lower), 0, "errors that grow are no advantage");
        assert_eq!(one_standard_error(&[], 1, Better::Higher), 1);
    }

    #[test]
    fn distant_candidates_are_not_averaged() {
        assert_eq!(argmax_smoothed(&decades(&[0.1, 0.5, 0.1, 0.4, 0.4]), Better::Higher), Some(1));
        assert_eq!(argmax_smoothed(&decades(&[0.1, 0.5, 0.1, 0.4, 0.4]), Better::Lower), Some(0));
    }

    #[test]
    fn a_lone_peak_loses_against_a_plateau() {
        let values = [0.1, 0.5, 0.1, 0.1, 0.4, 0.4, 0.4, 0.4, 0.1];
        let curve: Vec<_> = values
            .iter()
            .enumerate()
            .map(|(index, value)| (2f64.powi(-(index as i32)), Some(*value)))
            .collect();
        assert!((4..=6).contains(&argmax_smoothed(&curve, Better::Higher).unwrap()));
    }
}
