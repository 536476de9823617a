//! The ranking by a column of the source, in place of a model: that of a model whose only feature is the column, with weight 1.

use std::sync::Arc;

use serde_json::{Value, json};
use xxhash_rust::xxh3::xxh3_128_with_seed;

use super::ranking_call::RankingCall;
use crate::base::error::{Error, Result};
use crate::base::param::Params;
use crate::data::{Missing, Scaling};
use crate::learn::space::{Form, Function, Space};
use crate::model::{Card, Linear, Model, Ranker, TrainingColumns};
use crate::sqlite::glue::state::ModelHandle;
use crate::sqlite::glue::vtab::Call;
use crate::train::options::SCORE_KEY;

/// Takes the key `score` out of the option `columns`: the column that a NULL model ranks by, if it is given, and the other options.
///
/// # Errors
/// A value that is no name.
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

/// The error about the key `score` where no model is NULL.
pub fn unused(name: &str) -> Error {
    let what = format!("option 'columns', key '{SCORE_KEY}'");
    Error::value(what, format!("\"{name}\""), "no such key here: only a NULL model ranks by a column")
}

/// The model that ranks by this column. `columns`: those of query and document, as a training stored them.
///
/// # Errors
/// [`Error::Internal`] if the columns cannot be written as JSON.
pub fn model(score: &str, columns: TrainingColumns) -> Result<ModelHandle> {
    let columns = TrainingColumns { features: None, query_features: None, ignored: Vec::new(), ..columns };
    let key = serde_json::to_vec(&(score, &columns)).map_err(|e| Error::Internal(e.to_string()))?;
    let card = Card {
        algorithm: "regression".to_owned(),
        features: vec![score.to_owned()],
        columns,
        missing: Missing::Error,
        means: vec![0.0],
        slots: false,
        settings: json!({}),
        summary: json!({}),
        log: Vec::new(),
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

/// An error of this ranking, or one that says that the column does not exist or is NULL.
pub fn explained(call: &Call<'_>, ranking: &RankingCall, score: &str, error: Error) -> Error {
    let error = match error {
        Error::Row { source_text, row, column, problem }
            if problem.starts_with("NULL") && column.eq_ignore_ascii_case(score) =>
        {
            let problem = "NULL; a document needs a score to have a place, as in coalesce(..., 0)";
            return Error::Row { source_text, row, column, problem: problem.to_owned() };
        }
        other => other,
    };
    let names = ranking.source.columns(call.connection, &ranking.limits).unwrap_or_default();
    if names.is_empty() || names.iter().any(|name| name.eq_ignore_ascii_case(score)) {
        return error;
    }
    ranking.source.error(format!(
        "a NULL model ranks by the column \"{score}\", which does not exist; name the column of the score with the options \
         {{\"columns\": {{\"{SCORE_KEY}\": \"...\"}}}} (the highest is the best); the columns are {}",
        names.join(", ")
    ))
}
