//! The rows of each query that a ranking shows, best first: list constraints, and the order of ties.
//!
//! Documents with equal scores are ordered by id. Without ids they keep the canonical order of `data/finish.rs`.

use crate::base::{Error, Result};
use crate::data::{Dataset, ListConstraint, arrange, push_down};
use crate::math::{compare, sort_indices};

/// The rows selected for one query (indices in the data set), best first. Rows with equal scores are ordered by document id.
///
/// # Errors
/// Slots that cannot be filled.
pub fn selected_rows(
    data: &Dataset,
    query: usize,
    scores: &[f64],
    constraint: ListConstraint,
    max_per_value: usize,
) -> Result<Vec<usize>> {
    let start = data.offsets[query];
    let rows =
        arrange::selected(constraint, data.row_groups(query), &scores[data.rows(query)], max_per_value)
            .map_err(|problem| Error::Data(format!("query {}: {problem}", data.query_ids[query])))?;
    let mut rows: Vec<usize> = rows.into_iter().map(|row| start + row as usize).collect();
    sort_indices(&mut rows, &|a, b| {
        compare(scores[b], scores[a]).then_with(|| data.doc_ids[a].cmp(&data.doc_ids[b]))
    });
    Ok(rows)
}

/// Scores in which each query's unselected rows are below the selected ones.
///
/// # Errors
/// As [`selected_rows`].
pub fn constrained_scores(
    data: &Dataset,
    scores: Vec<f64>,
    constraint: ListConstraint,
    max_per_value: usize,
) -> Result<Vec<f64>> {
    if constraint == ListConstraint::None {
        return Ok(scores);
    }
    let of_query = |query: usize| {
        let rows = data.rows(query);
        let selected = selected_rows(data, query, &scores, constraint, max_per_value)?;
        let selected: Vec<u32> = selected.into_iter().map(|row| (row - rows.start) as u32).collect();
        Ok(push_down(scores[rows].to_vec(), &selected))
    };
    let queries: Vec<Vec<f64>> = (0..data.n_queries()).map(of_query).collect::<Result<_>>()?;
    Ok(queries.concat())
}
