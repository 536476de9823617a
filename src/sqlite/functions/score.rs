//! `ltr_score(model, features [, query_features])`: the score of one document; higher is better.
//!
//! Contract (scoring):
//! 1. The model is decoded once per statement where its argument is constant.
//! 2. With two arguments nothing is fitted; models whose function depends on the query ask for the third.
//! 3. Models that do not score documents one by one are refused with "use ltr_rank".

use std::sync::Arc;

use rusqlite::functions::FunctionFlags;
use rusqlite::types::ValueRef;

use crate::error::{Error, Result};
use crate::evaluate::{Fit, PointScorer, function_for};
use crate::model::Key;
use crate::sqlite::glue::function::{ScalarCall, ScalarFunction};
use crate::sqlite::glue::state::ModelHandle;
use crate::sqlite::glue::value::{Output, vector_argument};
use crate::sqlite::glue::work::run_fit;
use crate::sqlite::store::model;

/// The definition with two arguments: it never fits, so a view of a trusted schema may use it.
pub const SCORE: ScalarFunction =
    ScalarFunction { name: "ltr_score", arities: &[2], flags: FunctionFlags::empty(), execute: score };

/// The definition with three arguments.
pub const SCORE_FOR_QUERY: ScalarFunction = ScalarFunction {
    name: "ltr_score",
    arities: &[3],
    flags: FunctionFlags::SQLITE_DIRECTONLY,
    execute: score_for_query,
};

/// A scorer of a model, kept for the statement beside the argument it depends on.
struct Kept {
    key: Key,
    scorer: PointScorer,
}

fn score(call: &ScalarCall<'_>) -> Result<Output> {
    if let Ok(Some(kept)) = call.context.get_aux::<Kept>(0) {
        return one(&kept.scorer, call);
    }
    let handle = load(call)?;
    let scorer = scorer(&handle, None, call)?;
    let outcome = one(&scorer, call);
    drop(call.context.set_aux(0, Kept { key: handle.key, scorer }));
    outcome
}

fn score_for_query(call: &ScalarCall<'_>) -> Result<Output> {
    let handle = if let Ok(Some(handle)) = call.context.get_aux::<ModelHandle>(0) {
        (*handle).clone()
    } else {
        let handle = load(call)?;
        drop(call.context.set_aux(0, handle.clone()));
        handle
    };
    // Constant query features may meet a model that changes from row to row.
    if let Ok(Some(kept)) = call.context.get_aux::<Kept>(2)
        && kept.key == handle.key
    {
        return one(&kept.scorer, call);
    }
    let features = vector_argument("argument 'query_features'", call.context.get_raw(2))?;
    let scorer = scorer(&handle, Some(&features), call)?;
    let outcome = one(&scorer, call);
    drop(call.context.set_aux(2, Kept { key: handle.key, scorer }));
    outcome
}

fn load(call: &ScalarCall<'_>) -> Result<ModelHandle> {
    call.with_connection(|connection| model(connection, call.context.get_raw(0), None, call.state))
}

fn scorer(
    handle: &ModelHandle,
    query_features: Option<&[f64]>,
    call: &ScalarCall<'_>,
) -> Result<PointScorer> {
    let ModelHandle { model, key, .. } = handle;
    let run = |features: &[f64], fit: &Fit<'_>| {
        call.with_connection(|connection| {
            handle.fetch(connection, &[features])?;
            run_fit(connection, fit)
        })
    };
    let function = function_for(model, *key, query_features, &call.state.fits, run)?;
    PointScorer::new(Arc::clone(model), function)
}

fn one(scorer: &PointScorer, call: &ScalarCall<'_>) -> Result<Output> {
    let score = match call.context.get_raw(1) {
        ValueRef::Blob(bytes) => {
            if let (values, []) = bytes.as_chunks::<4>() {
                scorer.score(values)
            } else {
                let got = format!("a BLOB of {} bytes", bytes.len());
                let allowed = "a multiple of 4 bytes (f32 values, as ltr_vec makes)";
                Err(Error::value("argument 'features'", got, allowed))
            }
        }
        other => scorer.score(&vector_argument("argument 'features'", other)?),
    };
    score.map(Output::Real)
}
