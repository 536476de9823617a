//! `ltr_score(model, features [, query_features])`: the score of one document; higher is better.
//! `ltr_prefer(model, features_a, features_b [, query_features])`: above 0 if document a is better than document b.
//!
//! Rules (docs/reference/rules.md, 7):
//! * 7.2: A constant model argument is decoded once per statement.
//! * 7.3: Without query features nothing is fitted. Models whose function depends on the query need them.
//! * 7.4: Models that need all documents of a query are refused with "use ltr_rank".
//! * 7.5: A preference is f(a, b) of the form `ranking`, otherwise a difference of scores.

use std::sync::Arc;

use rusqlite::functions::FunctionFlags;
use rusqlite::types::ValueRef;
use serde_json::{Value, json};
use xxhash_rust::xxh3::xxh3_128_with_seed;

use super::ranking_call::{FoundModel, RankingCall};
use crate::apply::{Fit, PairScorer, PointScorer, function_for};
use crate::base::{Error, Params, Result};
use crate::data::{Missing, QueryValue, Scaling};
use crate::learn::space::{Form, Function, Space};
use crate::model::{Card, Key, Linear, Model, Ranker, TrainingColumns};
use crate::sqlite::glue::{
    Call, ModelHandle, Output, RunLimits, ScalarCall, ScalarFunction, query_values, run_fit, vector_argument,
};
use crate::sqlite::store::model;
use crate::train::options::SCORE_KEY;

/// The parameters of both definitions of `ltr_score`.
const SCORE_PARAMETERS: &str = "model, features [, query_features]";

/// The parameters of both definitions of `ltr_prefer`.
const PREFER_PARAMETERS: &str = "model, features_a, features_b [, query_features]";

/// `ltr_score` without query features. It never fits (rule 7.3), so it may be used in views of a trusted schema (rule
/// 13.3).
pub const SCORE: ScalarFunction =
    ScalarFunction::new("ltr_score", SCORE_PARAMETERS, of_all_queries::<PointScorer>)
        .with_flags(FunctionFlags::empty())
        .taking(&[2]);

/// `ltr_score` with query features.
pub const SCORE_FOR_QUERY: ScalarFunction =
    ScalarFunction::new("ltr_score", SCORE_PARAMETERS, of_query::<PointScorer>).taking(&[3]);

/// `ltr_prefer` without query features; with the flags of `ltr_score`.
pub const PREFER: ScalarFunction =
    ScalarFunction::new("ltr_prefer", PREFER_PARAMETERS, of_all_queries::<PairScorer>)
        .with_flags(FunctionFlags::empty())
        .taking(&[3]);

/// `ltr_prefer` with query features.
pub const PREFER_FOR_QUERY: ScalarFunction =
    ScalarFunction::new("ltr_prefer", PREFER_PARAMETERS, of_query::<PairScorer>).taking(&[4]);

/// Computes a number for a call's documents, by the function of one query.
trait DocumentScorer: Send + Sync + Sized + 'static {
    /// Names of the arguments with documents, which follow the model. Query features follow them.
    const DOCUMENTS: &'static [&'static str];

    fn new(model: Arc<Model>, function: Arc<Function>) -> Result<Self>;

    fn value(&self, call: &ScalarCall<'_>) -> Result<f64>;
}

impl DocumentScorer for PointScorer {
    const DOCUMENTS: &'static [&'static str] = &["argument 'features'"];

    fn new(model: Arc<Model>, function: Arc<Function>) -> Result<Self> {
        Self::new(model, function)
    }

    fn value(&self, call: &ScalarCall<'_>) -> Result<f64> {
        match document::<Self>(call, self.model(), 0)? {
            Document::F32(features) => self.score(features),
            Document::F64(features) => self.score(&features),
        }
    }
}

impl DocumentScorer for PairScorer {
    const DOCUMENTS: &'static [&'static str] = &["argument 'features_a'", "argument 'features_b'"];

    fn new(model: Arc<Model>, function: Arc<Function>) -> Result<Self> {
        Self::new(model, function)
    }

    fn value(&self, call: &ScalarCall<'_>) -> Result<f64> {
        let document = |number: usize| document::<Self>(call, self.model(), number);
        match (document(0)?, document(1)?) {
            (Document::F32(a), Document::F32(b)) => self.preference(a, b),
            (Document::F32(a), Document::F64(b)) => self.preference(a, &b),
            (Document::F64(a), Document::F32(b)) => self.preference(&a, b),
            (Document::F64(a), Document::F64(b)) => self.preference(&a, &b),
        }
    }
}

/// Features of a document, in the type of their source.
enum Document<'a> {
    /// Bytes of each number.
    F32(&'a [[u8; 4]]),
    F64(Vec<f64>),
}

/// The call's document with this index.
fn document<'a, S: DocumentScorer>(
    call: &'a ScalarCall<'_>,
    model: &Model,
    number: usize,
) -> Result<Document<'a>> {
    let argument = S::DOCUMENTS[number];
    match call.context.get_raw(1 + number) {
        ValueRef::Blob(bytes) if model.card.categories.is_empty() => {
            let has_nan = |values: &[[u8; 4]]| values.iter().any(|value| f32::from_le_bytes(*value).is_nan());
            if let (values, []) = bytes.as_chunks::<4>() {
                let is_filled =
                    matches!(model.card.missing, Missing::Zero | Missing::Mean) && has_nan(values);
                if is_filled {
                    return vector_argument(argument, ValueRef::Blob(bytes), Some(model)).map(Document::F64);
                }
                Ok(Document::F32(values))
            } else {
                let got = format!("a BLOB of {} bytes", bytes.len());
                Err(Error::value(argument, got, "a multiple of 4 bytes (f32 values, as made by ltr_vec)"))
            }
        }
        other => Ok(Document::F64(vector_argument(argument, other, Some(model))?)),
    }
}

/// A scorer that SQLite caches with the argument it depends on (rule 7.2).
struct CachedScorer<S> {
    key: Key,
    scorer: S,
}

/// The value by the global function.
fn of_all_queries<S: DocumentScorer>(call: &ScalarCall<'_>) -> Result<Output> {
    if let Ok(Some(cached)) = call.context.get_aux::<CachedScorer<S>>(0) {
        return cached.scorer.value(call).map(Output::Real);
    }
    let handle = load(call)?;
    let scorer: S = scorer(&handle, None, call)?;
    let value = scorer.value(call);
    drop(call.context.set_aux(0, CachedScorer { key: handle.key, scorer }));
    value.map(Output::Real)
}

/// The value by the function of the query whose features are the last argument.
fn of_query<S: DocumentScorer>(call: &ScalarCall<'_>) -> Result<Output> {
    let handle = if let Ok(Some(handle)) = call.context.get_aux::<ModelHandle>(0) {
        (*handle).clone()
    } else {
        let handle = load(call)?;
        drop(call.context.set_aux(0, handle.clone()));
        handle
    };
    // The model may change from row to row although the query features are constant.
    let last = 1 + S::DOCUMENTS.len();
    let last_argument = i32::try_from(last).unwrap_or(i32::MAX);
    if let Ok(Some(cached)) = call.context.get_aux::<CachedScorer<S>>(last_argument)
        && cached.key == handle.key
    {
        return cached.scorer.value(call).map(Output::Real);
    }
    // Passing features as several arguments instead of a vector is the more likely mistake, so name the first number.
    for (number, argument) in S::DOCUMENTS.iter().enumerate() {
        if let number @ (ValueRef::Integer(_) | ValueRef::Real(_)) = call.context.get_raw(1 + number) {
            vector_argument(argument, number, None)?;
        }
    }
    let features = query_values("argument 'query_features'", call.context.get_raw(last))?;
    let scorer: S = scorer(&handle, Some(&features), call)?;
    let value = scorer.value(call);
    drop(call.context.set_aux(last_argument, CachedScorer { key: handle.key, scorer }));
    value.map(Output::Real)
}

fn load(call: &ScalarCall<'_>) -> Result<ModelHandle> {
    call.with_connection(|connection| {
        model(connection, call.context.get_raw(0), None, call.state, &RunLimits::of(connection))
    })
}

fn scorer<S: DocumentScorer>(
    handle: &ModelHandle,
    query_features: Option<&[QueryValue]>,
    call: &ScalarCall<'_>,
) -> Result<S> {
    let ModelHandle { model, key, .. } = handle;
    let run = |features: &[f64], fit: &Fit<'_>| {
        call.with_connection(|connection| {
            handle.fetch(connection, &[features], &RunLimits::of(connection))?;
            run_fit(connection, fit)
        })
    };
    let function = function_for(model, *key, query_features, &call.state.fits, run)?;
    S::new(Arc::clone(model), function)
}

// Ranking by a source column instead of a model works like a model whose only feature is the column, with weight 1.

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
