//! `ltr_importance(model, source [, options])`: how much a metric loses without the information of a feature.
//!
//! Rules (docs/reference/rules.md, 9):
//! * 9.13: Rows `feature, metric, n, loss, ci_low, ci_high`. `loss` is the mean over `n` queries of the metric minus the metric with
//!   the feature permuted within the query.

use super::evaluate::{query_metrics, training_rows};
use super::ranking_call::{PARAMETERS, RankingCall};
use crate::apply::{Comparison, ImportanceSpec, PairedTest, TestKind, importance};
use crate::base::control::Control;
use crate::base::error::Result;
use crate::cost::metric::Metric;
use crate::sqlite::glue::value::Output;
use crate::sqlite::glue::vtab::{Call, OutputRows, TableFunction, ready};
use crate::sqlite::source::reader::{Judgments, ReadSpec, SourceRows};
use crate::train::options::Use;

/// The definition of `ltr_importance`.
pub const IMPORTANCE: TableFunction = TableFunction::new(
    "ltr_importance",
    &["feature", "metric", "n", "loss", "ci_low", "ci_high"],
    PARAMETERS,
    importance_of_features,
);

fn importance_of_features(call: &Call<'_>) -> Result<OutputRows> {
    let request = RankingCall::new(call, Use::Importance)?;
    request.limits.run_here(call.connection, || importance_rows(call, &request))
}

fn importance_rows(call: &Call<'_>, request: &RankingCall) -> Result<OutputRows> {
    let model = &request.handle.model;
    model.scorer()?;
    let metrics = query_metrics(&request.options)?;
    // 1. The rows, and the function of each query.
    let all = ReadSpec::ranked(model, request.constraint()?);
    let spec = ReadSpec { judgments: Judgments::Relevance, query: true, ..all };
    let rows = request.read_source(call, spec)?;
    let training = training_rows(call, request, &rows)?;
    let SourceRows { data, read_report: _memory, .. } = rows;
    if data.n_docs() == 0 {
        return Err(request.source.error("0 rows; there is nothing to measure"));
    }
    let scored = request.scored(call, &data)?;
    // 2. Losses.
    let default = PairedTest::default();
    let spec = ImportanceSpec {
        metrics: &metrics,
        undefined: request.options.choice("undefined")?.unwrap_or_default(),
        seed: request.options.get("seed").and_then(serde_json::Value::as_u64).unwrap_or(default.seed),
        test: PairedTest {
            kind: TestKind::T,
            confidence: request.options.number("confidence").unwrap_or(default.confidence),
            ..default
        },
    };
    let operations = spec.operations(model, &data);
    let work = |control: &Control| importance(model, &scored.functions, &data, &spec, control);
    let found = request.limits.run_sized(call.connection, operations, work)?;
    call.state.set_warnings(training.into_iter().chain(scored.warnings).collect());
    let rows = model.card.features.iter().zip(found);
    let rows = rows.flat_map(|(feature, found)| {
        metrics
            .iter()
            .zip(found)
            .map(|(metric, comparison)| row(feature, metric, &comparison))
            .collect::<Vec<_>>()
    });
    Ok(ready(rows.collect()))
}

fn row(feature: &str, metric: &Metric, found: &Comparison) -> Vec<Output> {
    let (ci_low, ci_high) = found.interval.unzip();
    let head =
        [Output::Text(feature.to_owned()), Output::Text(metric.name()), Output::Integer(found.n as i64)];
    head.into_iter().chain([found.difference, ci_low, ci_high].map(Output::from)).collect()
}
