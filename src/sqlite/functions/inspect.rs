//! Inspection of models: `ltr_info`, `ltr_weights`, `ltr_neighbors`, `ltr_training_log` (rules 9.1, 9.2, 9.4, 9.5); a model's
//! function for an argument, and its name in titles.

use std::sync::Arc;

use rusqlite::types::ValueRef;
use serde_json::{Value, json};

use super::buckets;
use crate::apply::{FeatureWeight, Fit, ScoringJob, function_for, function_weights};
use crate::base::{Error, Result, Strict};
use crate::learn::fit::Neighbor;
use crate::learn::space::Function;
use crate::model::{Model, OnlineState, QueryAware, QueryDependent, Ranker, RoundRecord};
use crate::sqlite::glue::{
    Call, ModelHandle, Output, OutputRows, RunLimits, ScalarCall, ScalarFunction, TableFunction,
    query_values, ready, row, run_fit,
};
use crate::sqlite::source::roles::as_json;
use crate::sqlite::store::{NamedVersion, model, named_version};

/// `ltr_info(model)`: the model's card as JSON.
pub const INFO: ScalarFunction = ScalarFunction::new("ltr_info", "model", info);

fn info(call: &ScalarCall<'_>) -> Result<Output> {
    if let Some(state) = buckets::info(call.context.get_raw(0))? {
        return Ok(state);
    }
    call.with_connection(|connection| {
        let (argument, limits) = (call.context.get_raw(0), RunLimits::of(connection));
        let ModelHandle { model, .. } = crate::sqlite::store::model(connection, argument, None, call.state, &limits)?;
        let can = model.capabilities();
        let query_dependent = model.ranker.as_query_dependent();
        let mut card = json!({
            "algorithm": model.card.algorithm,
            "form": model.ranker.tag(),
            "capabilities": {
                "pointwise": can.pointwise,
                "linear": can.linear,
                "has_features": can.has_features,
                "query_dependent": can.query_dependent,
            },
            "roles": roles(&model),
            "feature_names": model.card.features,
            "settings": model.card.settings,
            "training": model.card.summary,
            "fingerprint": fingerprint(&model)?,
            "row_microseconds": microseconds(&model),
            "novel_queries": if query_dependent.is_none_or(QueryDependent::fits_new_queries) { "ranked" } else { "score 0" },
        });
        if let Some(view) = &model.card.candidates {
            card["candidates"] = json!(view.name);
        }
        if let Some(version) = named_version(connection, argument, None, &limits)? {
            card["name"] = json!(version.name);
            card["version"] = json!(version.version);
        }
        Ok(Output::Json(card))
    })
}

/// Time per row on one thread, estimated from operation counts, without fitting; `None` for pair functions.
fn microseconds(model: &Model) -> Option<f64> {
    let operations = ScoringJob::operations_of_document(model);
    (operations < usize::MAX).then_some(operations as f64 / 1e3)
}

/// The fingerprint of the training data; null without one.
fn fingerprint(model: &Model) -> Result<Value> {
    // Via text, so that single-precision numbers keep few digits.
    let text = serde_json::to_string(&model.fingerprint);
    let value = text.and_then(|text| serde_json::from_str(&text));
    value.map_err(|problem| Error::Internal(format!("a fingerprint as JSON: {problem}")))
}

/// The training columns, as in the report.
fn roles(model: &Model) -> Value {
    let columns = &model.card.columns;
    let list = |vector: &Option<String>, names: &[String]| vector.as_ref().map_or(json!(names), |v| json!(v));
    let query_features = match model.ranker.named_query_features() {
        [] => Value::Null,
        names => list(&columns.query_features, names),
    };
    let features = list(&columns.features, &model.card.features[..model.card.numbers()]);
    Value::Object(as_json(columns, features, query_features, &model.card.categories.names()))
}

/// The model in the first argument.
pub(super) fn open_model(call: &Call<'_>) -> Result<ModelHandle> {
    model(call.connection, call.argument(0), None, call.state, &RunLimits::of(call.connection))
}

/// The function for the query features in an argument; the global function if it is NULL.
pub fn function_of(call: &Call<'_>, handle: &ModelHandle, query: ValueRef<'_>) -> Result<Arc<Function>> {
    let given = Some(query).filter(|query| *query != ValueRef::Null);
    let query = given.map(|query| query_values("argument 'query_features'", query)).transpose()?;
    let run = |features: &[f64], fit: &Fit<'_>| {
        handle.fetch(call.connection, &[features], &RunLimits::of(call.connection))?;
        run_fit(call.connection, fit)
    };
    function_for(&handle.model, handle.key, query.as_deref(), &call.state.fits, run)
}

/// `ltr_weights(model [, query_features])`: rows `feature, weight, raw_weight, center, scale` of a query's function.
pub const WEIGHTS: TableFunction = TableFunction::new(
    "ltr_weights",
    "feature, weight, raw_weight, center, scale",
    "model [, query_features]",
    weights,
);

fn weights(call: &Call<'_>) -> Result<OutputRows> {
    let handle = open_model(call)?;
    let function = function_of(call, &handle, call.argument(1))?;
    let row = |weight: FeatureWeight| {
        let FeatureWeight { feature, weight, raw_weight, center, scale } = weight;
        row![feature, weight, raw_weight, center, scale]
    };
    Ok(ready(function_weights(&handle.model, &function)?.into_iter().map(row).collect()))
}

/// `ltr_neighbors(model, query_features)`: rows `query_id, distance, weight` of the training queries used for a new query.
pub const NEIGHBORS: TableFunction =
    TableFunction::new("ltr_neighbors", "query_id, distance, weight", "model, query_features", neighbors);

fn neighbors(call: &Call<'_>) -> Result<OutputRows> {
    let ModelHandle { model, .. } = open_model(call)?;
    model.scorer()?;
    let ranker = model.ranker.as_query_dependent().filter(|ranker| ranker.fits_new_queries());
    let Some(ranker) = ranker else {
        let name = &model.card.algorithm;
        return Err(Error::Unsupported(format!("a model of '{name}' uses no neighbors")));
    };
    let given = query_values("argument 'query_features'", call.argument(1))?;
    let features = ranker.query_rule().encoded(&given, model.card.missing, &model.card.quantities)?;
    let row = |neighbor: Neighbor| {
        let id = ranker.training_id(neighbor.query).cloned().unwrap_or_default();
        row![id, neighbor.distance, neighbor.weight]
    };
    let target = ranker.target_of(&features);
    Ok(ready(ranker.neighbors(&features, target).into_iter().map(row).collect()))
}

/// `ltr_training_log(model)`: rows `step, objective, gap, seconds, surrogate, active_documents`; seconds are in the stored
/// report. The last two columns are for the rounds of an online model.
pub const TRAINING_LOG: TableFunction = TableFunction::new(
    "ltr_training_log",
    "step, objective, gap, seconds, surrogate, active_documents",
    "model",
    training_log,
);

fn training_log(call: &Call<'_>) -> Result<OutputRows> {
    let ModelHandle { model, .. } = open_model(call)?;
    if let Ranker::Online(online) = &model.ranker {
        let row = |(step, round): (i64, &RoundRecord)| {
            row![step, round.loss, Output::Null, Output::Null, round.surrogate, round.active_documents]
        };
        return Ok(ready(online_log(&online.state).map(row).collect()));
    }
    let limits = RunLimits::of(call.connection);
    let version = named_version(call.connection, call.argument(0), None, &limits)?;
    let report = version.and_then(|version| serde_json::from_str(&version.report).ok());
    let Strict(report) = report.unwrap_or(Strict(Value::Null));
    let seconds = report["log_seconds"].as_array();
    let steps = model.card.log.iter().enumerate().map(|(index, (objective, gap))| {
        let seconds = seconds.and_then(|seconds| seconds.get(index)?.as_f64());
        row![index + 1, *objective, *gap, seconds, Output::Null, Output::Null]
    });
    Ok(ready(steps.collect()))
}

/// The last rounds of online training, numbered from the very first round.
pub(super) fn online_log(state: &OnlineState) -> impl Iterator<Item = (i64, &RoundRecord)> {
    let forgotten = state.rounds.saturating_sub(state.record.len() as u64) as i64;
    (forgotten + 1..).zip(&state.record)
}

/// The name of a model in titles: name and version if stored, otherwise the algorithm.
pub(super) fn model_name(
    call: &Call<'_>,
    given: ValueRef<'_>,
    model: &Model,
    schema: Option<&str>,
) -> Result<String> {
    let stored = named_version(call.connection, given, schema, &RunLimits::of(call.connection))?;
    Ok(stored.map_or_else(
        || format!("a model of {}", model.card.algorithm),
        |NamedVersion { name, version, .. }| format!("{name} (version {version})"),
    ))
}
