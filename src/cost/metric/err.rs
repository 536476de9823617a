//! Expected reciprocal rank (Chapelle, Metzler, Zhang, Grinspan 2009).
//!
//! A user reads from the top and stops at a document of grade y with probability `R = (2^y - 1) / 2^max_grade`:
//!
//! `ERR@k = sum_{i <= k} (1/i) R_i prod_{j < i} (1 - R_j)`
//!
//! Decisions: `max_grade` is the list's maximum unless given; grades outside `[0, max_grade]` count as its nearest
//! end, so R is a probability; a list in which nothing is relevant has ERR 0, not undefined.
//!
//! Ties: in a tie of m documents behind `s` positions, the probability to stop at its j-th position is the probability
//! to reach the tie times `A_(j-1) - A_j`, where `A_j` is the expected product of `1 - R` over the first j documents
//! of a random order (`elementary`). Exact.
//!
//! Cost: O(n log n) without ties; for a tie of m documents, r of them with R > 0, O(m r) at most. It is less in
//! practice, because positions that are reached with a probability below `NEVER` are left out (they change no digit).

use std::ops::Range;

use super::def::{MetricDef, ScoredList};
use super::elementary::expected_products;
use super::ranked::Ranked;

/// The declaration.
pub const ERR: MetricDef = MetricDef {
    summary: "expected reciprocal rank at which a user stops",
    formula: "sum_{i<=k} (1/i) R_i prod_{j<i} (1 - R_j), R = (2^y - 1) / 2^max_grade",
    source: "Chapelle, Metzler, Zhang, Grinspan 2009",
    ..MetricDef::new("err", "ltr_err", err)
};

/// Probability of reaching a position below which the position is left out. The positions above it stopped the user
/// with a probability of 1 - NEVER and at smaller ranks, so the loss is relative too.
const NEVER: f64 = 1e-20;

/// Positions of a tie in the first pass; doubled while the user may continue.
const FIRST_DEPTH: usize = 64;

fn err(list: &ScoredList<'_>) -> Option<f64> {
    let highest = list.labels.iter().copied().reduce(f64::max)?;
    let max_grade = list.options.max_grade.unwrap_or(highest).max(0.0);
    let pass = |document: &usize| 1.0 - stop_probability(list.labels[*document], max_grade);
    let depth = list.depth();
    let ranked = Ranked::new(list.labels, list.scores, list.options.ties);
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

/// Expected probabilities to read past the first 0, 1, 2, ... documents of a tie, as far as they matter. `passes` are
/// those of the documents at which a user may stop.
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

/// Sum of the reciprocal ranks of a tie behind `start` positions, weighted with the probabilities to stop there.
fn stop_value(products: &[f64], start: usize) -> f64 {
    let stops = products.windows(2).map(|pair| pair[0] - pair[1]);
    stops.zip(start + 1..).map(|(stop, rank)| stop / rank as f64).sum()
}

#[cfg(test)]
mod tests {
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
        // With independent grades the value is that of a geometric distribution: -p ln(p) / (1 - p).
        let independent = -stop * libm::log(stop) / (1.0 - stop);
        assert!((found - independent).abs() < 1e-3);
    }

    #[test]
    fn grades_in_the_thousands_give_finite_values() {
        let found = value(&[2000.0, 1999.0], &[1.0, 2.0], &MetricOptions::default());
        assert!((found - 0.75).abs() < 1e-15);
    }
}
