//! Ranking by a source column instead of a model works like a model whose only feature is the column, with weight 1.

use std::sync::Arc;

use rusqlite::types::ValueRef;
use serde_json::{Value, json};
use xxhash_rust::xxh3::xxh3_128_with_seed;

use super::ranking_call::{FoundModel, RankingCall};
use crate::base::{Error, Params, Result};
use crate::data::Scaling;
use crate::learn::space::{Form, Function, Space};
use crate::model::{Card, Linear, Model, Ranker, TrainingColumns};
use crate::sqlite::glue::{Call, ModelHandle, RunLimits};
use crate::train::options::SCORE_KEY;

/// Splits the key `score` from the option `columns`. Returns the column by which a NULL model ranks, if given, and the
/// other options.
///
/// # Errors
/// A value that is not a name.
pub fn take_score(options: Params) -> Result<(Option<String>, Params)> {
    let Some(mut columns) = options.get("columns").and_then(Value::as_object).cloned() else {
        return Ok((None, options));
    };
    match columns.remove(SCORE_KEY) {
        None => Ok((None, options)),
        Some(Value::String(name)) => Ok((Some(name), options.with("columns", Value::Object(columns)))),
        Some(other) => {
            let what = format!("option 'columns', key '{SCORE_KEY}'");
            Err(Error::value(what, other.to_string(), "the name of a column"))
        }
    }
}

/// The options with the column that a NULL model ranks by.
pub fn with_score(options: Params, name: &str) -> Params {
    let mut columns = options.get("columns").and_then(Value::as_object).cloned().unwrap_or_default();
    columns.insert(SCORE_KEY.to_owned(), json!(name));
    options.with("columns", Value::Object(columns))
}

/// A call with this model or, if the model is NULL, with ranking by a column.
///
/// # Errors
/// As [`RankingCall::of`]; the key `score` of the option `columns` for a model.
pub fn ranking_by<'a>(
    call: &'a Call<'a>,
    model: ValueRef<'_>,
    source: ValueRef<'_>,
    first_value: usize,
    options: Params,
    limits: RunLimits,
) -> Result<RankingCall<'a>> {
    let (score, options) = take_score(options)?;
    match (model, score) {
        (ValueRef::Null, score) => {
            let score = score.unwrap_or_else(|| SCORE_KEY.to_owned());
            let handle = column_model(&score, TrainingColumns::default())?;
            let model = FoundModel { ticket: call.statements.begin(), handle };
            let options = options.without(&["missing"]);
            let mut ranking = RankingCall::with_model(call, model, source, first_value, options, limits)?;
            ranking.by_column = Some(score);
            Ok(ranking)
        }
        (_, Some(name)) => Err(unused(&name)),
        (_, None) => RankingCall::of(call, model, source, first_value, options, limits),
    }
}

/// The error for the key `score` when no model is NULL.
pub fn unused(name: &str) -> Error {
    let what = format!("option 'columns', key '{SCORE_KEY}'");
    Error::value(what, format!("\"{name}\""), "no such key, because only a NULL model ranks by a column")
}

/// The model that ranks by this column. `columns`: the query and document columns, as stored in training.
///
/// # Errors
/// [`Error::Internal`] if the columns cannot be written as JSON.
pub fn column_model(score: &str, columns: TrainingColumns) -> Result<ModelHandle> {
    let columns = TrainingColumns { features: None, query_features: None, ignored: Vec::new(), ..columns };
    let key = serde_json::to_vec(&(score, &columns)).map_err(|e| Error::Internal(e.to_string()))?;
    let card = Card {
        algorithm: "regression".to_owned(),
        features: vec![score.to_owned()],
        columns,
        means: vec![0.0],
        settings: json!({}),
        summary: json!({}),
        ..Card::default()
    };
    let function = Function { weights: vec![1.0], objective: 0.0, gap: 0.0 };
    let ranker = Ranker::Linear(Linear::new(Space::linear(1, Form::Scoring), function));
    Ok(ModelHandle {
        model: Arc::new(Model::new(card, Scaling::None, ranker)),
        key: xxh3_128_with_seed(&key, 1),
        location: None,
        memory: Arc::default(),
    })
}

/// An error of this ranking. For ranking by a column, tells that the column does not exist or is NULL.
pub fn explained(ranking: &RankingCall<'_>, error: Error) -> Error {
    let Some(score) = &ranking.by_column else { return error };
    let error = match error {
        Error::Row { source_text, row, column, problem }
            if problem.starts_with("NULL") && column.eq_ignore_ascii_case(score) =>
        {
            let problem = "NULL; every document needs a score, as in coalesce(..., 0)";
            return Error::Row { source_text, row, column, problem: problem.to_owned() };
        }
        other => other,
    };
    let names = ranking.source.columns(ranking.call.connection, &ranking.limits).unwrap_or_default();
    if names.is_empty() || names.iter().any(|name| name.eq_ignore_ascii_case(score)) {
        return error;
    }
    ranking.source.error(format!(
        "a NULL model ranks by the column \"{score}\", which does not exist; name the column of the score with the options \
         {{\"columns\": {{\"{SCORE_KEY}\": \"...\"}}}} (the highest is the best); the columns are {}",
        names.join(", ")
    ))
}
