//! Gains and discounts: the sum `sum_i gain(document at position i) * discount(i)` of DCG and ERU.
//!
//! The expectation over the orders of a tie is the tie's mean gain times the sum of its discounts, since every
//! document is at every place of the tie equally often.

use std::ops::Range;

use super::options::Gain;
use super::ranked::Ranked;

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
    visible.map(|group| mean_gain(ranked, gains, &group) * discounts(&group, depth, &discount)).sum()
}

/// Mean gain of the documents of a group.
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
mod tests {
    use super::*;
    use crate::cost::metric::options::Ties;

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
