//! Recall: the fraction of the relevant documents that is among the first k.
//!
//! `R@k = (relevant documents among the first k) / (all relevant documents)`; 1 without a cutoff.
//!
//! Decisions: undefined without a relevant document. Ties: mean of the hypergeometric distribution, exact. Cost
//! O(n log n).

use super::binary::BinaryRanking;
use super::def::{MetricDef, ScoredList};

/// The declaration.
pub const RECALL: MetricDef = MetricDef {
    summary: "share of the relevant documents among the first k",
    formula: "(relevant among the first k) / (all relevant)",
    source: "Kent et al. 1955; ties: McSherry and Najork 2008",
    ..MetricDef::new("recall", "ltr_recall", recall)
};

fn recall(list: &ScoredList<'_>) -> Option<f64> {
    let ranking = BinaryRanking::new(list)?;
    Some(ranking.expected_hits(list.depth()) / ranking.relevant as f64)
}
