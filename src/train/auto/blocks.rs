//! Queries prepared for least squares, their weights and their memory.

use std::sync::Arc;

use crate::base::control::Control;
use crate::base::error::Result;
use crate::base::memory::{Reservation, matrix_bytes};
use crate::base::parallel;
use crate::cost::loss::{least_squares, pair_count};
use crate::data::Dataset;
use crate::learn::solve::{ListBlock, Rows, least_squares_bytes};
use crate::learn::space::{Scorer, Space};
use crate::math::lanes::LANES;

/// What to do if a candidate takes too much memory.
pub(super) const FEWER: &str = "use fewer landmarks, threads or rows, or one algorithm, such as rank_svm";

/// One query for least squares, with its weight.
pub(super) fn block(
    space: &Space,
    data: &Arc<Dataset>,
    query: usize,
    control: &Control,
) -> Result<(ListBlock, f64)> {
    control.check()?;
    let range = data.rows(query);
    let rows = if space.is_linear() {
        Rows::Of(Arc::clone(data), range)
    } else {
        Rows::Own(space.rows(&data.features, range, control)?)
    };
    let (loss, labels) = (least_squares(), data.labels(query));
    let block =
        ListBlock::new(rows, labels, &[], &loss)?.weighted(labels, doc_weights(data, query), &loss)?;
    Ok((block, weight(data, query)))
}

/// Whether a query has documents of different relevance among those that have a weight.
pub fn is_judged(data: &Dataset, query: usize) -> bool {
    are_judged(data.labels(query), data.doc_weights(query))
}

/// The same by the grades and weights of the documents of a query.
pub fn are_judged(grades: &[f64], weights: &[f64]) -> bool {
    let counts = |row: usize| weights.get(row).is_none_or(|weight| *weight > 0.0);
    let counted = grades.iter().enumerate().filter(|(row, _)| counts(*row));
    pair_count(&counted.map(|(_, grade)| *grade).collect::<Vec<f64>>()) > 0
}

/// The weight of a query: the sum of those of its documents.
pub(super) fn weight(data: &Dataset, query: usize) -> f64 {
    match data.doc_weights(query) {
        [] => data.rows(query).len() as f64,
        weights => weights.iter().sum(),
    }
}

/// The weight of all documents.
pub fn total_weight(data: &Dataset) -> f64 {
    (0..data.n_queries()).map(|query| weight(data, query)).sum()
}

/// The weights of the documents of a query; none if all are 1, or all 0: then the query has weight 0.
pub(super) fn doc_weights(data: &Dataset, query: usize) -> &[f64] {
    let weights = data.doc_weights(query);
    if weights.iter().any(|weight| *weight > 0.0) { weights } else { &[] }
}

/// Reserves the bytes of prepared documents, of this many sums over them, and of a solution on each thread.
pub(super) fn reserve_blocks(
    space: &Space,
    documents: usize,
    sums: usize,
    control: &Control,
) -> Result<Reservation> {
    let dim = space.dim();
    // Queries that are being prepared have a copy. Linear functions use the documents of the data set.
    let copied = if space.is_linear() { 0 } else { matrix_bytes(documents, dim) };
    let square = matrix_bytes(dim + 2 * LANES, dim + 2 * LANES);
    let solutions = square.saturating_mul(1 + parallel::threads() as u64);
    let sums = (square / 2).saturating_mul(sums as u64);
    let parts = [copied, solutions, sums, least_squares_bytes(dim, documents)];
    let bytes = parts.into_iter().fold(0, u64::saturating_add);
    let what = format_args!("fitting {documents} documents in a space of {dim} landmarks");
    control.reserve(bytes, what, FEWER)
}
