//! Reciprocal rank of the first relevant document; its mean over queries is MRR (Voorhees 1999).
//!
//! `RR@k = 1 / (rank of the first relevant document)`, 0 if that rank is beyond k.
//!
//! Decisions: undefined without a relevant document. Ties: the first relevant place of a tie of m documents, r of
//! them relevant, is f with probability `prod_{j<f} (m-r-j+1)/(m-j+1) * r/(m-f+1)` (negative hypergeometric
//! distribution); the expectation is exact. Cost O(n log n).

use super::binary::{BinaryRanking, Tie};
use super::def::{MetricDef, ScoredList};

/// The declaration.
pub const MRR: MetricDef = MetricDef {
    summary: "reciprocal rank of the first relevant document; its mean is MRR",
    formula: "1 / min { i <= k : y_i relevant }",
    source: "Voorhees 1999; ties: McSherry and Najork 2008",
    ..MetricDef::new("mrr", "ltr_rr", reciprocal_rank)
};

fn reciprocal_rank(list: &ScoredList<'_>) -> Option<f64> {
    let ranking = BinaryRanking::new(list)?;
    let depth = list.depth();
    let first = ranking.ties.iter().find(|tie| tie.relevant > 0)?;
    Some(expected_reciprocal(first, depth))
}

/// Expected reciprocal rank of the first relevant document of a tie that has one.
fn expected_reciprocal(tie: &Tie, depth: usize) -> f64 {
    let last = tie.start + (tie.size - tie.relevant + 1);
    let mut none_yet = 1.0;
    let mut value = 0.0;
    for position in tie.start..last.min(depth) {
        let left = tie.size - (position - tie.start);
        let found = tie.relevant as f64 / left as f64;
        value += none_yet * found / (position + 1) as f64;
        none_yet *= (left - tie.relevant) as f64 / left as f64;
    }
    value
}
