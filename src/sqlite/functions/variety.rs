//! Diverse lists, by a column of vectors (option `diversify_by` with a weight).
//!
//! Rules (docs/reference/rules.md, 6):
//! * 6.12: Documents are ordered by maximal marginal relevance. Scores stay.

use super::ranking_call::RankingCall;
use crate::apply::{UnitVectors, constrained_scores, mmr};
use crate::base::{Error, Result};
use crate::data::{Dataset, Id, ListConstraint};
use crate::sqlite::glue::{id_value, vector_argument};
use crate::train::options;

/// Advice for vectors that take too much memory.
const FEWER_VECTORS: &str = "rank fewer documents of a query";

/// Row numbers of the first `k` retrieved documents of a query, ordered by maximal marginal relevance.
///
/// # Errors
/// A value that is not a vector, vectors with different dimensions, an interrupt.
pub(super) fn diverse_rows(
    request: &RankingCall<'_>,
    (data, scores): (&Dataset, &[f64]),
    query: usize,
    weight: f64,
    k: usize,
) -> Result<Vec<usize>> {
    let column = options::diversify_by(&request.options).unwrap_or_default();
    let rows: Vec<usize> = data.rows(query).filter(|row| scores[*row] > f64::NEG_INFINITY).collect();
    let shown = |row: usize| {
        format!("query {}, document {}, column \"{column}\"", data.query_ids[query], data.doc_ids[row])
    };
    let vector = |row: usize| match &data.groups[row] {
        Id::Null => Ok(Vec::new()),
        id => vector_argument(&shown(row), id_value(id), None),
    };
    let mut vectors: Option<(UnitVectors, usize)> = None;
    let mut held = request.limits.memory.nothing();
    for (number, &row) in rows.iter().enumerate() {
        let vector = vector(row)?;
        if vector.is_empty() && vectors.is_none() {
            continue;
        }
        if vectors.is_none() {
            let what = format_args!("vectors of {} documents", rows.len());
            held.resize(UnitVectors::bytes(rows.len(), vector.len()), what, FEWER_VECTORS)?;
            let mut earlier = UnitVectors::new(rows.len(), vector.len());
            (0..number).for_each(|_| earlier.push(&[]));
            vectors = Some((earlier, vector.len()));
        }
        let Some((vectors, width)) = &mut vectors else { continue };
        if !vector.is_empty() && vector.len() != *width {
            let allowed = format!("vectors of {width} numbers, as other documents of the query have");
            return Err(Error::value(shown(row), format!("a vector of {} numbers", vector.len()), allowed));
        }
        vectors.push(&vector);
    }
    let vectors = vectors.map_or_else(|| UnitVectors::new(rows.len(), 0), |(vectors, _)| vectors);
    let scores: Vec<f64> = rows.iter().map(|row| scores[*row]).collect();
    let order = mmr(&scores, &vectors, weight, k);
    Ok(order.into_iter().map(|at| rows[at]).collect())
}

/// Scores that represent the list in evaluation: documents that a constraint removes are below all others, and documents
/// diversified by vectors have the scores 0, -1, -2, ...
///
/// # Errors
/// As [`diverse_rows`]; slots that cannot be filled.
pub(super) fn scores_of_list(
    request: &RankingCall<'_>,
    data: &Dataset,
    scores: Vec<f64>,
    constraint: ListConstraint,
) -> Result<Vec<f64>> {
    let Some(weight) = request.vector_weight()? else {
        let max_per_value = options::count(&request.options, "max_per_value");
        return constrained_scores(data, scores, constraint, max_per_value);
    };
    let mut diverse_scores = vec![f64::NEG_INFINITY; scores.len()];
    for query in 0..data.n_queries() {
        let rows = diverse_rows(request, (data, &scores), query, weight, usize::MAX)?;
        rows.into_iter().enumerate().for_each(|(before, row)| diverse_scores[row] = -(before as f64));
    }
    Ok(diverse_scores)
}
