//! `ltr_importance(model, source [, options])`: how much a metric drops without the information in a feature.
//!
//! Rules (docs/reference/rules.md, 9):
//! * 9.13: Rows `feature, metric, n, loss, ci_low, ci_high`. `loss` is the mean over `n` queries of the metric minus the metric with
//!   the feature permuted within the query.

use super::compare::test;
use super::evaluate::{query_metrics, training_rows};
use super::ranking_call::{PARAMETERS, RankingCall};
use crate::apply::{Comparison, ImportanceSpec, PairedTest, TestKind, importance};
use crate::base::{Control, Result};
use crate::cost::metric::Metric;
use crate::sqlite::glue::{Output, OutputRows, TableFunction, ready, row};
use crate::sqlite::source::reader::{Judgments, ReadSpec};
use crate::train::options::{self, Use};

pub const IMPORTANCE: TableFunction =
    TableFunction::new("ltr_importance", "feature, metric, n, loss, ci_low, ci_high", PARAMETERS, |call| {
        RankingCall::run(call, Use::Importance, importance_rows)
    });

fn importance_rows(request: &RankingCall<'_>) -> Result<OutputRows> {
    let model = &request.handle.model;
    model.scorer()?;
    let metrics = query_metrics(&request.options)?;
    // 1. The rows, and the function of each query.
    let ranked = ReadSpec::ranked(model, request.constraint()?);
    let spec = ReadSpec { judgments: Judgments::Relevance, query: true, ..ranked };
    let rows = request.read_source(spec)?;
    let training = training_rows(request, &rows)?;
    let data = rows.data;
    if data.n_docs() == 0 {
        return Err(request.source.error("0 rows; there is nothing to measure"));
    }
    let scored = request.scored(&data)?;
    // 2. Losses.
    let test = PairedTest { kind: TestKind::T, ..test(&request.options)? };
    let undefined = options::choice(&request.options, "undefined")?;
    let spec = ImportanceSpec { metrics: &metrics, undefined, seed: test.seed, test };
    let operations = spec.operations(model, &data);
    let work = |control: &Control| importance(model, &scored.functions, &data, &spec, control);
    let losses = request.limits.run_sized(operations, work)?;
    request.call.state.set_warnings(training.into_iter().chain(scored.warnings).collect());
    let columns = model.card.input_names();
    let mut rows = Vec::with_capacity(columns.len() * metrics.len());
    for (feature, losses) in columns.iter().zip(losses) {
        rows.extend(metrics.iter().zip(losses).map(|(metric, loss)| row(feature, metric, &loss)));
    }
    Ok(ready(rows))
}

fn row(feature: &str, metric: &Metric, found: &Comparison) -> Vec<Output> {
    let (ci_low, ci_high) = found.interval.unzip();
    row![feature, metric.name(), found.n, found.difference, ci_low, ci_high]
}
