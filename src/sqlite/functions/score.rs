//! `ltr_score(model, features [, query_features])`: the score of one document; higher is better.
//!
//! Rules (docs/reference/rules.md, 7):
//! * 7.2: A constant model argument is decoded once per statement.
//! * 7.3: With two arguments nothing is fitted. Models whose function depends on the query need the third.
//! * 7.4: Models that cannot score a document alone are refused with "use ltr_rank".

use std::sync::Arc;

use rusqlite::functions::FunctionFlags;
use rusqlite::types::ValueRef;

use crate::data::QueryValue;
use crate::error::{Error, Result};
use crate::evaluate::{Fit, PointScorer, function_for};
use crate::model::Key;
use crate::sqlite::glue::function::{ScalarCall, ScalarFunction};
use crate::sqlite::glue::run_limits::{RunLimits, run_fit};
use crate::sqlite::glue::state::ModelHandle;
use crate::sqlite::glue::value::{Output, query_values, vector_argument};
use crate::sqlite::glue::vtab::Parameter;
use crate::sqlite::store::model;

/// The parameters of both definitions.
const PARAMETERS: &[Parameter] =
    &[Parameter::required("model"), Parameter::required("features"), Parameter::optional("query_features")];

/// The definition with two arguments. It never fits (rule 7.3), so views of a trusted schema may use it (rule 13.3).
pub const SCORE: ScalarFunction = ScalarFunction {
    name: "ltr_score",
    arities: &[2],
    parameters: PARAMETERS,
    flags: FunctionFlags::empty(),
    execute: score,
};

/// The definition with three arguments.
pub const SCORE_FOR_QUERY: ScalarFunction = ScalarFunction {
    name: "ltr_score",
    arities: &[3],
    parameters: PARAMETERS,
    flags: FunctionFlags::SQLITE_DIRECTONLY,
    execute: score_for_query,
};

/// A scorer that SQLite caches with the argument it depends on (rule 7.2).
struct CachedScorer {
    key: Key,
    scorer: PointScorer,
}

fn score(call: &ScalarCall<'_>) -> Result<Output> {
    if let Ok(Some(cached)) = call.context.get_aux::<CachedScorer>(0) {
        return one(&cached.scorer, call);
    }
    let handle = load(call)?;
    let scorer = scorer(&handle, None, call)?;
    let outcome = one(&scorer, call);
    drop(call.context.set_aux(0, CachedScorer { key: handle.key, scorer }));
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
    // The model may change from row to row although the query features are constant.
    if let Ok(Some(cached)) = call.context.get_aux::<CachedScorer>(2)
        && cached.key == handle.key
    {
        return one(&cached.scorer, call);
    }
    // Features that are several arguments instead of one vector are the more likely mistake: the first number is named.
    if let number @ (ValueRef::Integer(_) | ValueRef::Real(_)) = call.context.get_raw(1) {
        vector_argument("argument 'features'", number)?;
    }
    let features = query_values("argument 'query_features'", call.context.get_raw(2))?;
    let scorer = scorer(&handle, Some(&features), call)?;
    let outcome = one(&scorer, call);
    drop(call.context.set_aux(2, CachedScorer { key: handle.key, scorer }));
    outcome
}

fn load(call: &ScalarCall<'_>) -> Result<ModelHandle> {
    call.with_connection(|connection| {
        model(connection, call.context.get_raw(0), None, call.state, &RunLimits::default())
    })
}

fn scorer(
    handle: &ModelHandle,
    query_features: Option<&[QueryValue]>,
    call: &ScalarCall<'_>,
) -> Result<PointScorer> {
    let ModelHandle { model, key, .. } = handle;
    let run = |features: &[f64], fit: &Fit<'_>| {
        call.with_connection(|connection| {
            handle.fetch(connection, &[features], &RunLimits::default())?;
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
