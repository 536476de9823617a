//! Mis-ranking error (Dai and Wang 2019).
//!
//! `MRE = 2 / (n (n-1)) * #{i < j : y_(i) < y_(j)}`, where (i) is the document at position i: the fraction of all pairs
//! in the wrong order. Pairs of equal grades count in the divisor and are never wrong.
//!
//! `mre_pooled` is the same per query; its mean weighs a query with its number of pairs, which is the error over
//! the pairs of all queries that the tables of the paper show.
//!
//! Decisions: undefined with fewer than two documents. Ties: a pair of equal scores and different grades counts one
//! half, which is the exact expectation; under `worst` it counts 1, under `best` 0. Cost O(n log n).

use super::def::{Better, MetricDef, ScoredList};
use super::pairs::{PairCounts, pairs};

/// The declaration.
pub const MRE: MetricDef = MetricDef {
    summary: "mis-ranking error: share of all pairs in the wrong order",
    formula: "2 / (n (n - 1)) * #{i < j : y_i < y_j}",
    source: "Dai and Wang 2019",
    takes_cutoff: false,
    better: Better::Lower,
    ..MetricDef::new("mre", "ltr_mre", mis_ranking_error)
};

/// The declaration.
pub const MRE_POOLED: MetricDef = MetricDef {
    summary: "mis-ranking error over the pairs of all queries",
    formula: "mean of mre, query weights n (n - 1) / 2",
    source: "Dai and Wang 2019",
    takes_cutoff: false,
    better: Better::Lower,
    weight: Some(pair_weight),
    ..MetricDef::new("mre_pooled", "ltr_mre", mis_ranking_error)
};

fn mis_ranking_error(list: &ScoredList<'_>) -> Option<f64> {
    let counts = PairCounts::new(list.labels, list.scores, list.options.ties);
    let wrong = counts.wrong as f64 + 0.5 * counts.undecided as f64;
    (counts.all > 0).then(|| wrong / counts.all as f64)
}

/// Number of pairs of a query.
fn pair_weight(relevance: &[f64]) -> f64 {
    pairs(relevance.len()) as f64
}
