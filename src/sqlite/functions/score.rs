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
use crate::sqlite::glue::state::Loaded;
use crate::sqlite::glue::value::{Output, vector_argument};
use crate::sqlite::glue::work::run_fit;
use crate::sqlite::store::model;

/// The definition with two arguments: it never fits, so a view of a trusted schema may use it.
pub const SCORE: ScalarFunction =
    ScalarFunction { name: "ltr_score", arities: &[2], flags: FunctionFlags::empty(), run: score };

/// The definition with three arguments.
pub const SCORE_FOR_QUERY: ScalarFunction = ScalarFunction {
    name: "ltr_score",
    arities: &[3],
    flags: FunctionFlags::SQLITE_DIRECTONLY,
    run: score_for_query,
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
    let loaded = load(call)?;
    let scorer = scorer(&loaded, None, call)?;
    let outcome = one(&scorer, call);
    drop(call.context.set_aux(0, Kept { key: loaded.key, scorer }));
    outcome
}

fn score_for_query(call: &ScalarCall<'_>) -> Result<Output> {
    let loaded = if let Ok(Some(loaded)) = call.context.get_aux::<Loaded>(0) {
        (*loaded).clone()
    } else {
        let loaded = load(call)?;
        drop(call.context.set_aux(0, loaded.clone()));
        loaded
    };
    // Constant query features may meet a model that changes from row to row.
    if let Ok(Some(kept)) = call.context.get_aux::<Kept>(2)
        && kept.key == loaded.key
    {
        return one(&kept.scorer, call);
    }
    let features = vector_argument("argument 'query_features'", call.context.get_raw(2))?;
    let scorer = scorer(&loaded, Some(&features), call)?;
    let outcome = one(&scorer, call);
    drop(call.context.set_aux(2, Kept { key: loaded.key, scorer }));
    outcome
}

fn load(call: &ScalarCall<'_>) -> Result<Loaded> {
    call.with_connection(|connection| model(connection, call.context.get_raw(0), None, call.state))
}

fn scorer(loaded: &Loaded, query_features: Option<&[f64]>, call: &ScalarCall<'_>) -> Result<PointScorer> {
    let Loaded { model, key, .. } = loaded;
    let run = |features: &[f64], fit: &Fit<'_>| {
        call.with_connection(|connection| {
            loaded.fetch(connection, &[features])?;
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
