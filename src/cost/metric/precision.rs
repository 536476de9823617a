//! Precision: the fraction of the first k documents that is relevant.
//!
//! `P@k = (relevant documents among the first k) / k`; without a cutoff k is the length of the list.
//!
//! Decisions: the divisor is k even where the list is shorter, as in `trec_eval`; undefined without a relevant
//! document, like the other binary metrics. Ties: mean of the hypergeometric distribution, exact. Cost O(n log n).

use super::binary::BinaryRanking;
use super::def::{MetricDef, ScoredList};

/// The declaration.
pub const PRECISION: MetricDef = MetricDef {
    summary: "share of the first k documents that is relevant",
    formula: "(relevant among the first k) / k",
    source: "Kent et al. 1955; ties: McSherry and Najork 2008",
    ..MetricDef::new("precision", "ltr_precision", precision)
};

fn precision(list: &ScoredList<'_>) -> Option<f64> {
    let depth = list.cutoff.unwrap_or(list.scores.len());
    let ranking = BinaryRanking::new(list)?;
    Some(ranking.expected_hits(depth) / depth as f64)
}
