//! The metrics `ndcg`, normalized discounted cumulative gain (Jarvelin and Kekalainen 2002), and `dcg`.
//!
//! `NDCG@k = DCG@k / (DCG@k of the same documents by decreasing grade)`.
//!
//! Ties: each position of a tie counts the tie's mean gain. This is the exact mean over all orders of the tie (McSherry
//! and Najork 2008), for `ndcg` too, since the ideal does not depend on ties.
//!
//! Decisions: undefined if no document has a gain above 0, that is, if the ideal is 0; gains are scaled by the
//! list's maximum, so grades in the thousands give finite values. Cost O(n log n).

use std::ops::Range;

use super::options::Gain;
use super::ranked::Ranked;
use super::{MetricDef, ScoredList};

pub const NDCG: MetricDef = MetricDef {
    parameters: &["gain", "ties"],
    summary: "normalized discounted cumulative gain",
    formula: "DCG@k / max over orders of DCG@k",
    source: "Jarvelin and Kekalainen 2002; Burges et al. 2005",
    function: "ltr_ndcg",
    ..MetricDef::new("ndcg", ndcg)
};

fn ndcg(list: &ScoredList<'_>) -> Option<f64> {
    let gains = gains_for_ratios(list.labels, list.options.gain);
    let ideal = discounted_sum(&Ranked::ideal(list.labels), &gains, list.cutoff, logarithmic);
    if ideal <= 0.0 {
        return None;
    }
    let ranked = list.ranked();
    // Sums of equal gains in another order may differ in the last digit.
    Some((discounted_sum(&ranked, &gains, list.cutoff, logarithmic) / ideal).min(1.0))
}

// Discounted cumulative gain (Jarvelin and Kekalainen 2002; gains of Burges et al. 2005).
//
// `DCG@k = sum_{i <= k} gain(y_i) / log2(1 + i)`, `gain(y) = 2^y - 1` or `y`.
//
// Decisions: a list in which nothing is relevant has DCG 0, not undefined; grades below 0 gain 0; grades above
// 1023 have an infinite exponential gain (NDCG stays finite). Cost O(n log n).

pub const DCG: MetricDef = MetricDef {
    parameters: &["gain", "ties"],
    summary: "discounted cumulative gain",
    formula: "sum_{i<=k} (2^y_i - 1) / log2(1 + i)",
    source: "Jarvelin and Kekalainen 2002; Burges et al. 2005",
    ..MetricDef::new("dcg", dcg)
};

fn dcg(list: &ScoredList<'_>) -> Option<f64> {
    if list.labels.is_empty() {
        return None;
    }
    let ranked = list.ranked();
    Some(discounted_sum(&ranked, &gains(list.labels, list.options.gain), list.cutoff, logarithmic))
}

// Gains and discounts: the sum `sum_i gain(document at position i) * discount(i)` of DCG and ERU.
//
// The expectation over the orders of a tie is the tie's mean gain times the sum of its discounts, since every
// document is at every position of the tie equally often.

/// The discount of DCG: `1 / log2(1 + rank)`; positions count from 0, ranks from 1.
pub(crate) fn logarithmic(position: usize) -> f64 {
    1.0 / libm::log2(position as f64 + 2.0)
}

/// Expected discounted sum over the first `cutoff` positions.
pub(super) fn discounted_sum(
    ranked: &Ranked,
    gains: &[f64],
    cutoff: Option<usize>,
    discount: impl Fn(usize) -> f64,
) -> f64 {
    let depth = cutoff.unwrap_or(usize::MAX);
    let visible = ranked.groups().take_while(|group| group.start < depth);
    // An empty sum is -0.
    visible.map(|group| mean_gain(ranked, gains, &group) * discounts(&group, depth, &discount)).sum::<f64>()
        + 0.0
}

/// Mean gain of a group's documents.
fn mean_gain(ranked: &Ranked, gains: &[f64], group: &Range<usize>) -> f64 {
    let documents = &ranked.order()[group.clone()];
    documents.iter().map(|&document| gains[document]).sum::<f64>() / documents.len() as f64
}

/// Sum of the discounts of a group's positions above the cutoff.
fn discounts(group: &Range<usize>, depth: usize, discount: impl Fn(usize) -> f64) -> f64 {
    (group.start..group.end.min(depth)).map(discount).sum()
}

/// The gains of grades; a grade below 0 gains 0.
pub(crate) fn gains(relevance: &[f64], gain: Gain) -> Vec<f64> {
    scaled(relevance, gain, 0.0)
}

/// The gains of grades times a power of two that keeps every one of them, and their sums, finite.
///
/// Ratios of sums of gains are not changed by it, not even in their last bit.
pub(crate) fn gains_for_ratios(relevance: &[f64], gain: Gain) -> Vec<f64> {
    let highest = relevance.iter().copied().fold(0.0, f64::max);
    let shift = match gain {
        Gain::Exp2 => highest.floor(),
        Gain::Linear => libm::log2(highest.max(1.0)).floor(),
    };
    scaled(relevance, gain, shift)
}

/// Gains times `2^-shift`.
fn scaled(relevance: &[f64], gain: Gain, shift: f64) -> Vec<f64> {
    let unit = libm::exp2(-shift);
    let worth = |y: f64| match gain {
        Gain::Exp2 => libm::exp2(y - shift) - unit,
        Gain::Linear => y * unit,
    };
    relevance.iter().map(|&y| worth(y).max(0.0)).collect()
}

#[cfg(test)]
mod ndcg_tests {
    use super::*;
    use crate::cost::metric::{Gain, MetricOptions};

    fn value(relevance: &[f64], scores: &[f64], options: &MetricOptions) -> Option<f64> {
        ndcg(&ScoredList { labels: relevance, scores, cutoff: None, options })
    }

    #[test]
    fn grades_in_the_thousands_give_finite_values() {
        let options = MetricOptions::default();
        let best = value(&[2000.0, 1999.0, 0.0], &[3.0, 2.0, 1.0], &options).unwrap();
        assert!((best - 1.0).abs() < 1e-15);
        let last = value(&[5000.0, 0.0, 0.0], &[1.0, 2.0, 3.0], &options).unwrap();
        assert!((last - 0.5).abs() < 1e-15);
    }

    #[test]
    fn the_scale_of_linear_gains_cancels() {
        let options = MetricOptions { gain: Gain::Linear, ..MetricOptions::default() };
        let small = value(&[1.0, 3.0, 2.0], &[3.0, 2.0, 1.0], &options).unwrap();
        let large = value(&[1e300, 3e300, 2e300], &[3.0, 2.0, 1.0], &options).unwrap();
        assert!((small - large).abs() < 1e-15);
    }

    #[test]
    fn a_tiny_gain_defines_it_and_none_does_not() {
        let options = MetricOptions::default();
        assert!((value(&[0.25, 0.0], &[1.0, 0.0], &options).unwrap() - 1.0).abs() < 1e-15);
        assert_eq!(value(&[0.0, -2.0], &[1.0, 0.0], &options), None);
        assert_eq!(value(&[], &[], &options), None);
    }
}

#[cfg(test)]
mod discount_tests {
    use super::*;
    use crate::cost::metric::named::Ties;

    #[test]
    fn gains_below_zero_count_nothing() {
        assert_eq!(gains(&[-2.0, 0.0, 1.0, 3.0], Gain::Exp2), [0.0, 0.0, 1.0, 7.0]);
        assert_eq!(gains(&[-2.0, 0.5], Gain::Linear), [0.0, 0.5]);
    }

    #[test]
    fn huge_grades_have_finite_ratios() {
        for grade in [50.0, 2000.0, 1e300] {
            for gain in [Gain::Exp2, Gain::Linear] {
                let gains = gains_for_ratios(&[grade, 0.0, grade], gain);
                assert!(gains[0] > 0.0 && (gains[0] + gains[2]).is_finite());
                assert!(gains[1].abs() < 1e-300);
            }
        }
    }

    #[test]
    fn a_tie_across_the_cutoff_counts_in_part() {
        let ranked = Ranked::new(&[1.0, 0.0], &[0.5, 0.5], Ties::Expected);
        let sum = discounted_sum(&ranked, &[1.0, 0.0], Some(1), logarithmic);
        assert!((sum - 0.5).abs() < 1e-15);
    }
}
