//! Recall: the share of the relevant documents that is among the first k.
//!
//! `R@k = (relevant documents among the first k) / (all relevant documents)`; 1 without a cutoff.
//!
//! Decisions: undefined without a relevant document. Ties: mean of the hypergeometric distribution, exact. Cost
//! O(n log n).

use super::binary::BinaryRanking;
use super::def::MetricDef;
use super::options::MetricOptions;

/// The table line of recall.
pub static RECALL: MetricDef = MetricDef {
    name: "recall",
    function: "ltr_recall",
    arguments: &[],
    summary: "share of the relevant documents among the first k",
    formula: "(relevant among the first k) / (all relevant)",
    source: "Kent et al. 1955; ties: McSherry and Najork 2008",
    takes_cutoff: true,
    higher_is_better: true,
    per_query: recall,
    weight: None,
};

fn recall(relevance: &[f64], scores: &[f64], cutoff: Option<usize>, options: &MetricOptions) -> Option<f64> {
    let ranking = BinaryRanking::new(relevance, scores, options)?;
    Some(ranking.expected_hits(cutoff.unwrap_or(usize::MAX)) / ranking.relevant as f64)
}
