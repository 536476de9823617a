//! `ltr_rank(model, source [, options])`: ranks the documents of a source, query by query.
//!
//! Contract (ranking):
//! 1. Columns `query_id, doc_id, score, rank, slot`; rank 1 is best, ties go by document; slot is NULL here.
//! 2. Queries that the model has not seen are fitted, on all threads, once per connection.
//! 3. A comparison of `query_id` with a value (IN too) is bound into the reading of the source, whose own affinity
//!    decides; one under another collation than BINARY is left to SQLite. ORDER BY rank, or query_id and rank, needs
//!    no sorter.
//! 4. A query's scores are the same bits alone or in company.

use std::ffi::{CStr, c_int};
use std::hash::{DefaultHasher, Hash, Hasher};

use super::request::{PARAMETERS, Request};
use super::rows::Rows;
use super::value::Output;
use super::vtab::{Call, OutputRows, Parameter, TableFunction};
use crate::data::Dataset;
use crate::error::Result;
use crate::math::order::compare;
use crate::option::Use;

/// The function.
pub struct Rank;

/// Orders that the rows can come in: by query and rank, or by rank and query.
const ORDERS: &[&[c_int]] = &[&[0, 3], &[3, 0]];
const BY_RANK: usize = 1;

impl TableFunction for Rank {
    fn name(&self) -> &'static str {
        "ltr_rank"
    }

    fn columns(&self) -> &'static [&'static str] {
        &["query_id", "doc_id", "score", "rank", "slot"]
    }

    fn parameters(&self) -> &'static [Parameter] {
        PARAMETERS
    }

    fn takes_only(&self) -> bool {
        true
    }

    fn orders(&self) -> &'static [&'static [c_int]] {
        ORDERS
    }

    fn row_id(&self, row: &[Output]) -> Option<i64> {
        let [Output::Id(query), _, _, Output::Integer(rank), _] = row else { return None };
        let mut hasher = DefaultHasher::new();
        (query, rank).hash(&mut hasher);
        Some(hasher.finish() as i64)
    }

    fn plan(&self) -> &'static CStr {
        c"fits novel queries; indv_svm scores them 0"
    }

    fn rows(&self, call: &Call<'_>) -> Result<OutputRows> {
        let request = Request::new(call, Use::Rank)?;
        let Rows { data, roles, .. } = request.rows(call, false)?;
        if call.only.is_some() && roles.query.is_none() {
            // Without a query column every query_id is NULL, which equals nothing.
            return Ok(Box::new(std::iter::empty()));
        }
        let (scores, warnings) = if data.n_docs() == 0 {
            Default::default()
        } else {
            let scored = request.scored(call, &data)?;
            (scored.scores, scored.warnings)
        };
        call.state.set_warnings(warnings);
        Ok(ranked(&data, &scores, request.options.count("k"), call.order == Some(BY_RANK)))
    }
}

/// One row of the ranking: number of the document and its rank.
type Place = (usize, usize);

fn ranked(data: &Dataset, scores: &[f64], k: Option<usize>, by_rank: bool) -> OutputRows {
    let mut places: Vec<(usize, Place)> = Vec::with_capacity(scores.len());
    for query in 0..data.n_queries() {
        let rows = data.rows(query);
        let mut order: Vec<usize> = rows.collect();
        order.sort_by(|&a, &b| {
            compare(scores[b], scores[a]).then_with(|| data.doc_ids[a].cmp(&data.doc_ids[b]))
        });
        let best = order.into_iter().take(k.unwrap_or(usize::MAX)).enumerate();
        places.extend(best.map(|(index, document)| (query, (document, index + 1))));
    }
    if by_rank {
        places.sort_by_key(|(query, (_, rank))| (*rank, *query));
    }
    let rows: Vec<Result<Vec<Output>>> = places
        .into_iter()
        .map(|(query, (document, rank))| {
            Ok(vec![
                Output::Id(data.query_ids[query].clone()),
                Output::Id(data.doc_ids[document].clone()),
                Output::Real(scores[document]),
                Output::Integer(rank as i64),
                Output::Null,
            ])
        })
        .collect();
    Box::new(rows.into_iter())
}
