//! Expected rank utility (Breese, Heckerman, Kadie 1998; Le, Smola, Chapelle, Teo, equation 11).
//!
//! `ERU = sum_i max(y_i - neutral, 0) 2^((1-i) / (half_life-1))`: the position `half_life` is seen by half of the
//! users, and a grade up to `neutral_grade` has no utility. The normalized value is ERU divided by the ERU of the same
//! documents by decreasing grade.
//!
//! Decisions: if nothing exceeds `neutral_grade`, ERU is 0, and normalized ERU is undefined. Ties: mean utility times the
//! sum of the discounts of the tie, exact. Cost O(n log n).

use super::def::{MetricDef, ScoredList};
use super::discount::discounted_sum;
use super::ranked::Ranked;

/// The declaration.
pub const ERU: MetricDef = MetricDef {
    arguments: &["neutral_grade", "half_life"],
    summary: "expected rank utility with exponential decay",
    formula: "sum_i max(y_i - neutral, 0) * 2^((1 - i) / (half_life - 1))",
    source: "Breese, Heckerman, Kadie 1998; Le, Smola, Chapelle, Teo",
    takes_cutoff: false,
    ..MetricDef::new("eru", "ltr_eru", expected_rank_utility)
};

/// The declaration of the normalized value.
pub const NERU: MetricDef = MetricDef {
    arguments: ERU.arguments,
    summary: "normalized expected rank utility",
    formula: "ERU / max over orders of ERU",
    source: ERU.source,
    takes_cutoff: false,
    ..MetricDef::new("neru", "ltr_neru", normalized)
};

fn expected_rank_utility(list: &ScoredList<'_>) -> Option<f64> {
    let ranked = Ranked::new(list.labels, list.scores, list.options.ties);
    (!list.labels.is_empty()).then(|| sum(&ranked, &utilities(list), list))
}

fn normalized(list: &ScoredList<'_>) -> Option<f64> {
    let mut utilities = utilities(list);
    // Sums of large utilities would overflow.
    let largest = utilities.iter().copied().fold(0.0, f64::max);
    if largest <= 0.0 {
        return None;
    }
    utilities.iter_mut().for_each(|utility| *utility /= largest);
    let ideal = sum(&Ranked::ideal(list.labels), &utilities, list);
    let ranked = Ranked::new(list.labels, list.scores, list.options.ties);
    // Sums of equal utilities in another order may differ in the last digit.
    Some((sum(&ranked, &utilities, list) / ideal).min(1.0))
}

fn utilities(list: &ScoredList<'_>) -> Vec<f64> {
    list.labels.iter().map(|&y| (y - list.options.neutral).max(0.0)).collect()
}

fn sum(ranked: &Ranked, utilities: &[f64], list: &ScoredList<'_>) -> f64 {
    let discount = |position: usize| libm::exp2(-(position as f64) / (list.options.half_life - 1.0));
    discounted_sum(ranked, utilities, None, discount)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cost::metric::MetricOptions;

    #[test]
    fn the_place_of_the_half_life_counts_half() {
        let options = MetricOptions { neutral: 3.0, half_life: 2.0, ..MetricOptions::default() };
        let value = |y: &[f64]| {
            let list = ScoredList { labels: y, scores: &[3.0, 2.0, 1.0], cutoff: None, options: &options };
            expected_rank_utility(&list).unwrap()
        };
        assert!((value(&[3.0, 5.0, 0.0]) - 1.0).abs() < 1e-15);
        assert!((value(&[4.0, 5.0, 5.0]) - 2.5).abs() < 1e-15);
        assert!(value(&[1.0, 2.0, 3.0]).abs() < 1e-15);
    }

    #[test]
    fn the_normalized_value_is_that_over_the_best_order() {
        let options = MetricOptions { neutral: 1.0, half_life: 3.0, ..MetricOptions::default() };
        let list = |y: &'static [f64], scores: &'static [f64]| ScoredList {
            labels: y,
            scores,
            cutoff: None,
            options: &options,
        };
        // Utilities 0, 2, 1; discounts 1, 2^-0.5, 1/2.
        let half = 0.5_f64.sqrt();
        let found = normalized(&list(&[1.0, 3.0, 2.0], &[3.0, 2.0, 1.0])).unwrap();
        assert!((found - (2.0 * half + 0.5) / (2.0 + half)).abs() < 1e-15, "{found}");
        assert_eq!(normalized(&list(&[1.0, 3.0, 2.0], &[0.0, 2.0, 1.0])), Some(1.0));
        assert_eq!(normalized(&list(&[1.0, 0.0], &[2.0, 1.0])), None);
        assert_eq!(normalized(&list(&[1e308, 1.7e308], &[2.0, 1.0])).map(|value| value < 1.0), Some(true));
        assert_eq!(normalized(&list(&[], &[])), None);
    }
}
