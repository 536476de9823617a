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

use crate::apply::{Fit, PairScorer, PointScorer, function_for};
use crate::base::{Error, Result};
use crate::data::{Missing, QueryValue};
use crate::learn::space::Function;
use crate::model::{Key, Model};
use crate::sqlite::glue::{
    ModelHandle, Output, RunLimits, ScalarCall, ScalarFunction, query_values, run_fit, vector_argument,
};
use crate::sqlite::store::model;

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
