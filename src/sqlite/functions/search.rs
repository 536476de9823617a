//! `ltr_search(model, query [, options])`: ranks the candidates for a text, and `ltr_query`, which passes the text to
//! the view of candidates.
//!
//! Rules (docs/reference/rules.md, 6):
//! * 6.10: The candidates come from the view that the model was trained with (option `candidates`), in the database of the model.
//! * 6.11: `ltr_query` has a row for each query that the running call reads candidates for; outside a call it is empty.

use std::sync::Arc;

use rusqlite::types::ValueRef;

use super::rank::{RankedRow, Ranking, ranking};
use super::ranking_call::{FoundModel, RankingCall};
use crate::base::{Error, Result};
use crate::data::Id;
use crate::sqlite::glue::{Call, OutputRows, TableFunction, ready, row, row_id};
use crate::train::options::Use;

pub const SEARCH: TableFunction = TableFunction {
    plan: c"candidates of one query",
    ..TableFunction::new("ltr_search", "rank, doc_id, score", "model, query [, options]", search)
};

pub const QUERY: TableFunction =
    TableFunction { lists_queries: true, ..TableFunction::new("ltr_query", "query, params", "", queries) }
        .innocuous();

#[expect(clippy::unnecessary_wraps, reason = "the signature of a table function")]
fn queries(call: &Call<'_>) -> Result<OutputRows> {
    let Some(asked) = call.state.asked() else { return Ok(ready(Vec::new())) };
    Ok(Box::new(
        asked
            .rows()
            .map(move |query| Ok(row![&asked.queries[query], asked.params.get(query).cloned().flatten()])),
    ))
}

fn search(call: &Call<'_>) -> Result<OutputRows> {
    let (options, limits) = call.options(2, Use::Search)?;
    let query = row_id(call.argument(1));
    if call.argument(1) == ValueRef::Null {
        return Err(Error::value("argument 'query'", "NULL", "a text or an id"));
    }
    // 1. The model, and its view. A cached plan has the view.
    let found = FoundModel::find(call, call.argument(0), &options, &limits)?;
    let model = Arc::clone(&found.handle.model);
    let Some(view) = &model.card.candidates else {
        let problem = "the model has no view of candidates; train it with the option 'candidates', or rank a source with ltr_rank";
        return Err(Error::Model(problem.to_owned()));
    };
    let request = RankingCall::of_view(call, found, view, options, limits)?;
    if query == Id::Null {
        // An empty search box finds nothing.
        call.state.set_warnings(request.noted());
        return Ok(ready(Vec::new()));
    }
    // 2. The candidates, ranked.
    let request = request.for_query(Some(query));
    let Ranking { rows, memory, .. } = request.limits.run_here(|| ranking(&request))?;
    Ok(Box::new(rows.into_iter().map(move |row| {
        let _counted = &memory;
        let RankedRow { doc, score, rank, .. } = row;
        Ok(row![rank, doc, score])
    })))
}
