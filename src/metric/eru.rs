//! Expected rank utility (Breese, Heckerman, Kadie 1998; Le, Smola, Chapelle, Teo, equation 11).
//!
//! `ERU = sum_i max(y_i - neutral, 0) 2^((1-i) / (half_life-1))`: the position `half_life` is seen by half of the
//! users, and a grade up to `neutral_grade` has no utility.
//!
//! Decisions: not normalized, as in equation 11; dividing by the value of the same list with its grades as scores
//! gives the normalized one. A list in which nothing exceeds `neutral_grade` has ERU 0, not undefined. Ties: mean
//! utility times the sum of the discounts of the tie, exact. Cost O(n log n).

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

fn expected_rank_utility(list: &ScoredList<'_>) -> Option<f64> {
    if list.labels.is_empty() {
        return None;
    }
    let utilities: Vec<f64> = list.labels.iter().map(|&y| (y - list.options.neutral).max(0.0)).collect();
    let discount = |position: usize| libm::exp2(-(position as f64) / (list.options.half_life - 1.0));
    let ranked = Ranked::new(list.labels, list.scores, list.options.ties);
    Some(discounted_sum(&ranked, &utilities, None, discount))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metric::MetricOptions;

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
}
