//! The metrics `err`, expected reciprocal rank (Chapelle, Metzler, Zhang, Grinspan 2009), and `eru` and `neru`, expected
//! rank utility.
//!
//! A user reads from the top and stops at a document of grade y with probability `R = (2^y - 1) / 2^max_grade`:
//!
//! `ERR@k = sum_{i <= k} (1/i) R_i prod_{j < i} (1 - R_j)`
//!
//! Decisions: `max_grade` is the list's maximum unless given; grades outside `[0, max_grade]` count as its nearest
//! end, so R is a probability; a list in which nothing is relevant has ERR 0, not undefined.
//!
//! Ties: in a tie of m documents after `s` positions, the probability to stop at its j-th position is the probability
//! to reach the tie times `A_(j-1) - A_j`, where `A_j` is the expected product of `1 - R` over the first j documents of
//! a random order (`expected_products`). Exact.
//!
//! Cost: O(n log n) without ties; for a tie of m documents, r of them with R > 0, O(m r) at most. It is less in
//! practice, because positions that are reached with a probability below `NEVER` are skipped (they change no digit).

use std::ops::Range;

use super::binary::expected_products;
use super::ndcg::discounted_sum;
use super::ranked::Ranked;
use super::{MetricDef, ScoredList};

pub const ERR: MetricDef = MetricDef {
    parameters: &["max_grade", "ties"],
    summary: "expected reciprocal rank at which a user stops",
    formula: "sum_{i<=k} (1/i) R_i prod_{j<i} (1 - R_j), R = (2^y - 1) / 2^max_grade",
    source: "Chapelle, Metzler, Zhang, Grinspan 2009",
    ..MetricDef::new("err", err)
};

/// Probability of reaching a position below which the position is skipped. The positions above it stopped the user
/// with a probability of 1 - NEVER and at smaller ranks, so the loss is relative too.
const NEVER: f64 = 1e-20;

/// Positions of a tie in the first pass; doubled while the user may continue.
const FIRST_DEPTH: usize = 64;

fn err(list: &ScoredList<'_>) -> Option<f64> {
    let highest = list.labels.iter().copied().reduce(f64::max)?;
    let max_grade = list.options.max_grade.unwrap_or(highest).max(0.0);
    let pass = |document: &usize| 1.0 - stop_probability(list.labels[*document], max_grade);
    let depth = list.depth();
    let ranked = list.ranked();
    let mut reach = 1.0;
    let mut value = 0.0;
    for group in ranked.groups().take_while(|group| group.start < depth) {
        let passes = ranked.order()[group.clone()].iter().map(pass);
        let passes: Vec<f64> = passes.filter(|&pass| pass < 1.0).collect();
        let products = passed(&passes, &group, depth, reach);
        value += reach * stop_value(&products, group.start);
        reach *= products[products.len() - 1];
        if reach < NEVER {
            break;
        }
    }
    Some(value)
}

/// Probability that a user stops at a document of grade y.
fn stop_probability(y: f64, max_grade: f64) -> f64 {
    libm::exp2(y.clamp(0.0, max_grade) - max_grade) - libm::exp2(-max_grade)
}

/// Expected probabilities to read past the first 0, 1, 2, ... documents of a tie, as far as they matter. `passes` has
/// one for each document at which a user may stop.
fn passed(passes: &[f64], group: &Range<usize>, depth: usize, reach: f64) -> Vec<f64> {
    let limit = group.end.min(depth) - group.start;
    let ones = group.len() - passes.len();
    let mut known = FIRST_DEPTH.min(limit);
    loop {
        let products = expected_products(ones, passes.iter().copied(), known);
        if known == limit || reach * products[known] < NEVER {
            return products;
        }
        known = limit.min(2 * known);
    }
}

/// Sum of the reciprocal ranks of a tie after `start` positions, weighted with the probabilities to stop there.
fn stop_value(products: &[f64], start: usize) -> f64 {
    let stops = products.windows(2).map(|pair| pair[0] - pair[1]);
    stops.zip(start + 1..).map(|(stop, rank)| stop / rank as f64).sum()
}

// Expected rank utility (Breese, Heckerman, Kadie 1998; Le, Smola, Chapelle, Teo, equation 11).
//
// `ERU = sum_i max(y_i - neutral, 0) 2^((1-i) / (half_life-1))`: the position `half_life` is seen by half of the
// users, and a grade up to `neutral_grade` has no utility. The normalized value is ERU divided by the ERU of the same
// documents by decreasing grade.
//
// Decisions: if nothing exceeds `neutral_grade`, ERU is 0, and normalized ERU is undefined. Ties: mean utility times the
// sum of the discounts of the tie, exact. Cost O(n log n).

pub const ERU: MetricDef = MetricDef {
    parameters: &["neutral_grade", "half_life", "ties"],
    summary: "expected rank utility with exponential decay",
    formula: "sum_i max(y_i - neutral, 0) * 2^((1 - i) / (half_life - 1))",
    source: "Breese, Heckerman, Kadie 1998; Le, Smola, Chapelle, Teo",
    takes_cutoff: false,
    ..MetricDef::new("eru", expected_rank_utility)
};

/// The declaration of the normalized value.
pub const NERU: MetricDef = MetricDef {
    parameters: ERU.parameters,
    summary: "normalized expected rank utility",
    formula: "ERU / max over orders of ERU",
    source: ERU.source,
    takes_cutoff: false,
    ..MetricDef::new("neru", normalized)
};

fn expected_rank_utility(list: &ScoredList<'_>) -> Option<f64> {
    let ranked = list.ranked();
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
    let ranked = list.ranked();
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
mod err_tests {
    use super::*;
    use crate::cost::metric::MetricOptions;

    fn value(relevance: &[f64], scores: &[f64], options: &MetricOptions) -> f64 {
        err(&ScoredList { labels: relevance, scores, cutoff: None, options }).unwrap()
    }

    #[test]
    fn the_grade_scale_decides_the_probabilities() {
        let options = MetricOptions { max_grade: Some(4.0), ..MetricOptions::default() };
        assert!((value(&[3.0], &[1.0], &options) - 7.0 / 16.0).abs() < 1e-15);
        assert!((value(&[9.0], &[1.0], &options) - 15.0 / 16.0).abs() < 1e-15);
        assert!(value(&[0.0, -3.0], &[1.0, 2.0], &options).abs() < 1e-15);
        assert!((value(&[3.0], &[1.0], &MetricOptions::default()) - 7.0 / 8.0).abs() < 1e-15);
    }

    #[test]
    fn a_long_tie_is_cut_where_nobody_reads_on() {
        let relevance: Vec<f64> = (0..20_000).map(|i| f64::from(i % 5)).collect();
        let found = value(&relevance, &vec![0.0; 20_000], &MetricOptions::default());
        let stop = (1.0 + 3.0 + 7.0 + 15.0) / 16.0 / 5.0;
        // With independent grades users stop at a geometrically distributed position: the value is -p ln(p) / (1 - p).
        let independent = -stop * libm::log(stop) / (1.0 - stop);
        assert!((found - independent).abs() < 1e-3);
    }

    #[test]
    fn grades_in_the_thousands_give_finite_values() {
        let found = value(&[2000.0, 1999.0], &[1.0, 2.0], &MetricOptions::default());
        assert!((found - 0.75).abs() < 1e-15);
    }
}

#[cfg(test)]
mod eru_tests {
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
    fn the_normalized_value_divides_by_the_best_order() {
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
