//! `ltr_search(model, query [, options])`: ranks the candidates of a text, and `ltr_query`, from which a view of candidates
//! reads the text.
//!
//! Rules (docs/reference/rules.md, 6):
//! * 6.10: The candidates come from the view that the model was trained with (option `candidates`), in the database of the model.
//! * 6.11: `ltr_query` has a row for each query that the running call reads candidates for; outside of a call it is empty.

use std::sync::Arc;

use rusqlite::types::ValueRef;

use super::rank::{RankedRow, Ranking, ranking};
use super::ranking_call::{FoundModel, RankingCall};
use crate::base::{Error, Result};
use crate::data::Id;
use crate::sqlite::glue::{Asked, Call, OutputRows, TableFunction, ready, row, row_id};
use crate::train::options::Use;

/// The definition of `ltr_search`.
pub const SEARCH: TableFunction = TableFunction {
    plan: c"candidates of one query",
    ..TableFunction::new("ltr_search", "rank, doc_id, score", "model, query [, options]", search)
};

/// The definition of `ltr_query`.
pub const QUERY: TableFunction =
    TableFunction { lists_queries: true, ..TableFunction::new("ltr_query", "query, params", "", queries) }
        .innocuous();

#[expect(clippy::unnecessary_wraps, reason = "the signature of a table function")]
fn queries(call: &Call<'_>) -> Result<OutputRows> {
    let Some(asked) = call.state.asked() else { return Ok(ready(Vec::new())) };
    Ok(Box::new(asked.rows().map(move |query| {
        let params = asked.params.clone();
        Ok(row![&asked.queries[query], params])
    })))
}

/// An error of a search, with what changed in the view since the training.
fn after_change(error: Error, change: Option<&str>) -> Error {
    match (error, change) {
        (Error::Row { source_text, row, column, problem }, Some(change)) => {
            Error::Row { source_text, row, column, problem: format!("{problem} ({change})") }
        }
        (Error::Source { source_text, problem }, Some(change)) => {
            Error::Source { source_text, problem: format!("{problem} ({change})") }
        }
        (error, _) => error,
    }
}

fn search(call: &Call<'_>) -> Result<OutputRows> {
    let (options, limits) = call.options(2, Use::Search)?;
    let query = row_id(call.argument(1));
    if call.argument(1) == ValueRef::Null {
        return Err(Error::value("argument 'query'", "NULL", "a text or an id"));
    }
    // 1. The model, and its view. A kept plan knows the view.
    let found = FoundModel::find(call, call.argument(0), &options, &limits)?;
    let model = Arc::clone(&found.handle.model);
    let Some(view) = &model.card.candidates else {
        let problem = "the model has no view of candidates; train it with the option 'candidates', or rank a source with ltr_rank";
        return Err(Error::Model(problem.to_owned()));
    };
    let schema = found.handle.schema().to_owned();
    let params = options.get("params").map(ToString::to_string);
    let options = options.without(&["params"]);
    let request = RankingCall::of_view(call, found, &schema, view, options, limits)?;
    if query == Id::Null {
        // An empty search box finds nothing.
        return Ok(ready(Vec::new()));
    }
    // 2. Its candidates, ranked.
    let asked = Asked::new(vec![query.clone()], params);
    let Ranking { queries, rows, memory } = request.limits.run_here(|| {
        let _asked = call.state.ask(asked)?;
        ranking(&request).map_err(|error| after_change(error, request.source.warning.as_deref()))
    })?;
    if let Some(other) = queries.iter().find(|other| **other != query && **other != Id::Null) {
        return Err(request.source.error(format!(
            "a candidate of the query {other}, but the query is {query}; select q.query AS query_id from ltr_query AS q"
        )));
    }
    Ok(Box::new(rows.into_iter().map(move |row| {
        let _counted = &memory;
        let RankedRow { doc, score, rank, .. } = row;
        Ok(row![rank, doc, score])
    })))
}
