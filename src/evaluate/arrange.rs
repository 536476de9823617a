//! Arrangements of scored data sets: what is shown of every query, and scores that say so.

use crate::arrange::{self, ListConstraint, push_down};
use crate::data::Dataset;
use crate::error::{Error, Result};
use crate::math::order::compare;

/// The rows that are shown of one query (numbers in the data set), best first; equal scores in the order of document ids.
///
/// # Errors
/// Slots that cannot be filled.
pub fn shown(
    data: &Dataset,
    query: usize,
    scores: &[f64],
    constraint: ListConstraint,
    per_block: usize,
) -> Result<Vec<usize>> {
    let start = data.offsets[query];
    let rows = arrange::selected(constraint, data.row_groups(query), &scores[data.rows(query)], per_block)
        .map_err(|problem| Error::Data(format!("query {}: {problem}", data.query_ids[query])))?;
    let mut rows: Vec<usize> = rows.into_iter().map(|row| start + row as usize).collect();
    rows.sort_by(|&a, &b| compare(scores[b], scores[a]).then_with(|| data.doc_ids[a].cmp(&data.doc_ids[b])));
    Ok(rows)
}

/// Scores in which all rows that are not shown stand below those of their query that are.
///
/// # Errors
/// Those of [`shown`].
pub fn arranged(
    data: &Dataset,
    scores: Vec<f64>,
    constraint: ListConstraint,
    per_block: usize,
) -> Result<Vec<f64>> {
    if constraint == ListConstraint::None {
        return Ok(scores);
    }
    let of_query = |query: usize| {
        let rows = data.rows(query);
        let shown = shown(data, query, &scores, constraint, per_block)?;
        let shown: Vec<u32> = shown.into_iter().map(|row| (row - rows.start) as u32).collect();
        Ok(push_down(scores[rows].to_vec(), &shown))
    };
    let queries: Vec<Vec<f64>> = (0..data.n_queries()).map(of_query).collect::<Result<_>>()?;
    Ok(queries.concat())
}
