//! Average precision; its mean over queries is MAP (Buckley and Voorhees 2000; Manning et al. 2008).
//!
//! `AP@k = (1/R) sum_{i <= k, document i relevant} (relevant documents among the first i) / i`, R the number of all
//! relevant documents.
//!
//! Decisions: undefined without a relevant document; with a cutoff the divisor stays R, as in `map_cut` of
//! `trec_eval`. Ties: the closed form of McSherry and Najork (2008): in a tie of m documents, r of them relevant,
//! behind s positions with b relevant documents, the i-th position adds
//! `(r/m) (b + 1 + (i-1)(r-1)/(m-1)) / (s+i)`. Exact. Cost O(n log n).

use super::binary::{BinaryRanking, Tie};
use super::def::{MetricDef, ScoredList};

/// The declaration.
pub const MAP: MetricDef = MetricDef {
    summary: "average precision; its mean is MAP",
    formula: "(1/R) sum_{i<=k, y_i relevant} (relevant among the first i) / i",
    source: "Buckley and Voorhees 2000; ties: McSherry and Najork 2008",
    ..MetricDef::new("map", "ltr_ap", average_precision)
};

fn average_precision(list: &ScoredList<'_>) -> Option<f64> {
    let ranking = BinaryRanking::new(list)?;
    let depth = list.depth();
    let mut before = 0;
    let mut sum = 0.0;
    for tie in ranking.ties.iter().take_while(|tie| tie.start < depth) {
        sum += precision_sum(tie, before, depth);
        before += tie.relevant;
    }
    Some(sum / ranking.relevant as f64)
}

/// Expected sum of the precisions at the relevant documents of a tie, with `before` relevant documents above it.
fn precision_sum(tie: &Tie, before: usize, depth: usize) -> f64 {
    if tie.relevant == 0 {
        return 0.0;
    }
    let fraction = tie.relevant as f64 / tie.size as f64;
    let others = if tie.size > 1 { (tie.relevant - 1) as f64 / (tie.size - 1) as f64 } else { 0.0 };
    let positions = tie.size.min(depth - tie.start);
    let precision = |i: usize| ((before + 1) as f64 + i as f64 * others) / (tie.start + i + 1) as f64;
    fraction * (0..positions).map(precision).sum::<f64>()
}
