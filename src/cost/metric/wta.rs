//! Winner takes all: success at the first position (Le, Smola, Chapelle, Teo, section 2.3).
//!
//! `WTA = 1` if the first document is relevant, else 0.
//!
//! Decisions: undefined without a relevant document. Ties: the fraction of relevant documents in the tie at the top,
//! exact. Cost O(n log n).

use super::binary::BinaryRanking;
use super::def::{MetricDef, ScoredList};

/// The declaration.
pub const WTA: MetricDef = MetricDef {
    summary: "whether the first document is relevant (success at 1)",
    formula: "[y_1 relevant]",
    source: "Le, Smola, Chapelle, Teo",
    takes_cutoff: false,
    ..MetricDef::new("wta", "ltr_wta", winner_takes_all)
};

fn winner_takes_all(list: &ScoredList<'_>) -> Option<f64> {
    Some(BinaryRanking::new(list)?.expected_hits(1))
}
