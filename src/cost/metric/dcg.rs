//! Discounted cumulative gain (Jarvelin and Kekalainen 2002; gains of Burges et al. 2005).
//!
//! `DCG@k = sum_{i <= k} gain(y_i) / log2(1 + i)`, `gain(y) = 2^y - 1` or `y`.
//!
//! Decisions: a list in which nothing is relevant has DCG 0, not undefined; grades below 0 gain 0; grades above
//! 1023 have an infinite exponential gain (NDCG stays finite). Ties: mean gain times the sum of the discounts of
//! the tie, exact (McSherry and Najork 2008). Cost O(n log n).

use super::def::{MetricDef, ScoredList};
use super::discount::{discounted_sum, gains, logarithmic};
use super::ranked::Ranked;

/// The declaration.
pub const DCG: MetricDef = MetricDef {
    summary: "discounted cumulative gain",
    formula: "sum_{i<=k} (2^y_i - 1) / log2(1 + i)",
    source: "Jarvelin and Kekalainen 2002; Burges et al. 2005",
    ..MetricDef::new("dcg", "ltr_dcg", dcg)
};

fn dcg(list: &ScoredList<'_>) -> Option<f64> {
    if list.labels.is_empty() {
        return None;
    }
    let ranked = Ranked::new(list.labels, list.scores, list.options.ties);
    Some(discounted_sum(&ranked, &gains(list.labels, list.options.gain), list.cutoff, logarithmic))
}
