//! `ltr_evaluate(model, source [, options])`: metrics of a model on judged documents.
//!
//! Rules (docs/reference/rules.md, 8):
//! * 8.8: Rows `query_id, metric, value` for every query and metric, then the means with `query_id` NULL. The default metric is
//!   `ndcg@10`.
//! * 8.9: Documents that a constraint removes from the list rank below all others.

use std::sync::Arc;

use serde_json::Value;

use super::end_to_end::{EndToEnd, end_to_end};
use super::ranking_call::{PARAMETERS, RankingCall};
use crate::apply::{Evaluation, METRIC_COST, constrained_scores, evaluate, without_relevant};
use crate::base::{Control, Error, Params, Reservation, Result};
use crate::cost::metric::{DEFAULT_METRIC, Metric, MetricOptions};
use crate::data::{Dataset, Fingerprint, Id};
use crate::model::Model;
use crate::sqlite::glue::{Output, OutputRows, TableFunction, row};
use crate::sqlite::source::reader::{Judgments, ReadSpec, SourceRows};
use crate::train::options::{self, Use};

/// The definition of `ltr_evaluate`.
pub const EVALUATE: TableFunction =
    TableFunction::new("ltr_evaluate", "query_id, metric, value", PARAMETERS, |call| {
        RankingCall::run(call, Use::Evaluate, evaluate_rows)
    });

/// How a model ranks the queries of a source.
pub(super) struct Measured {
    pub(super) judged: ScoredDocuments,
    /// Values and means.
    pub(super) evaluation: Evaluation,
}

/// The judged documents of a source and their scores.
pub struct ScoredDocuments {
    /// The documents.
    pub(super) data: Dataset,
    /// One score per document; documents that a constraint removes from the list are below all others.
    pub(super) scores: Vec<f64>,
    /// Whether the fingerprint says that the rows are the training data.
    #[cfg(feature = "plots")]
    pub(super) in_training: bool,
    /// Messages about the scores.
    pub(super) warnings: Vec<String>,
    /// The bytes of the documents.
    pub(super) memory: Reservation,
}

/// Reads and scores the source of a call.
pub(super) fn judged(request: &RankingCall<'_>) -> Result<ScoredDocuments> {
    scored_judged(request, read_judged(request)?)
}

/// Reads the judged rows of the source of a call.
pub(super) fn read_judged(request: &RankingCall<'_>) -> Result<SourceRows> {
    let constraint = request.constraint()?;
    let spec = ReadSpec {
        judgments: Judgments::Relevance,
        query: true,
        ..ReadSpec::ranked(&request.handle.model, constraint)
    };
    let rows = request.read_source(spec)?;
    if rows.data.n_docs() == 0 {
        return Err(request.source.error("0 rows; there is nothing to evaluate"));
    }
    Ok(rows)
}

/// A warning if the fingerprint says that the rows are the training data (rule 14.5).
pub(super) fn training_rows(request: &RankingCall<'_>, rows: &SourceRows) -> Result<Option<String>> {
    let SourceRows { data, read_report, .. } = rows;
    let Model { fingerprint, .. } = &*request.handle.model;
    let size = (data.n_docs() as u64, data.n_queries() as u64);
    let Some(known) = fingerprint.as_ref().filter(|known| (known.rows, known.queries) == size) else {
        return Ok(None);
    };
    let work = |control: &Control| Fingerprint::of(data, &read_report.missing, control);
    let operations = data.n_docs().saturating_mul(data.names.len()).saturating_mul(METRIC_COST);
    let found = request.limits.run_sized(operations, work)?;
    let is_same = (&found.features, &found.relevance) == (&known.features, &known.relevance);
    Ok(is_same.then(|| {
        format!(
            "source {} has the rows of the training, so the model looks better than it is; use judgments of other queries",
            request.source.shown
        )
    }))
}

/// Scores the judged rows of the source of a call.
pub(super) fn scored_judged(request: &RankingCall<'_>, rows: SourceRows) -> Result<ScoredDocuments> {
    let training = training_rows(request, &rows)?;
    #[cfg(feature = "plots")]
    let in_training = training.is_some();
    let SourceRows { data, roles, read_report } = rows;
    let constraint = request.constraint()?;
    let scored = request.scored(&data)?;
    let max_per_value = options::count(&request.options, "max_per_value");
    let scores = constrained_scores(&data, scored.scores, constraint, max_per_value)?;
    let mut warnings: Vec<String> = training.into_iter().chain(scored.warnings).collect();
    warnings.extend(without_relevant(&data, format_args!("source {}", request.source.shown)));
    warnings.extend(roles.queries_in_two_ways(&data));
    Ok(ScoredDocuments {
        data,
        scores,
        #[cfg(feature = "plots")]
        in_training,
        warnings,
        memory: read_report.memory,
    })
}

/// Measures judged documents.
pub(super) fn measure(
    request: &RankingCall<'_>,
    judged: ScoredDocuments,
    metrics: &[Metric],
) -> Result<Measured> {
    let undefined = options::choice(&request.options, "undefined")?;
    let ScoredDocuments { data, scores, .. } = &judged;
    let operations = data.n_docs().saturating_mul(metrics.len() * METRIC_COST);
    let work = |control: &Control| evaluate(data, scores, metrics, undefined, control);
    let evaluation = request.limits.run_sized(operations, work)?;
    Ok(Measured { judged, evaluation })
}

fn evaluate_rows(request: &RankingCall<'_>) -> Result<OutputRows> {
    let metrics = metrics(&request.options)?;
    if let Some(view) = &request.features {
        let EndToEnd { queries, names, evaluation, warnings, memory } = end_to_end(request, view, &metrics)?;
        request.call.state.set_warnings(warnings);
        return Ok(rows(queries, names, evaluation, memory));
    }
    let Measured { judged: ScoredDocuments { data, warnings, memory, .. }, evaluation } =
        measure(request, judged(request)?, &metrics)?;
    request.call.state.set_warnings(warnings);
    Ok(rows(data.query_ids, metrics.iter().map(Metric::name).collect(), evaluation, memory))
}

/// The values of all queries, then the means. Rows are made one at a time.
fn rows(
    queries: Vec<Id>,
    names: Vec<String>,
    evaluation: Evaluation,
    memory: impl Send + 'static,
) -> OutputRows {
    let means = std::iter::once((Output::Null, evaluation.means));
    let queries = queries.into_iter().map(Output::Id).zip(evaluation.values);
    let names: Arc<[String]> = names.into();
    Box::new(queries.chain(means).flat_map(move |(query, values)| {
        let (_counted, names) = (&memory, Arc::clone(&names));
        let row = move |(number, value): (usize, Option<f64>)| {
            Ok(row![query.clone(), names[number].clone(), value])
        };
        values.into_iter().enumerate().map(row)
    }))
}

/// The metrics of the option `metric`, with their options.
pub(super) fn metrics(options: &Params) -> Result<Vec<Metric>> {
    let names: Vec<&str> = match options.get("metric") {
        Some(Value::String(name)) => vec![name],
        Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).collect(),
        _ => vec![DEFAULT_METRIC],
    };
    let settings = MetricOptions::default().with(options)?;
    names.into_iter().map(|name| Metric::parse(name)?.with_options(settings.clone())).collect()
}

/// As [`metrics`], without metrics that are no means over queries.
///
/// # Errors
/// A metric whose mean is pooled.
pub(super) fn query_metrics(options: &Params) -> Result<Vec<Metric>> {
    let metrics = metrics(options)?;
    match metrics.iter().find(|metric| metric.def().weight.is_some()) {
        None => Ok(metrics),
        Some(pooled) => Err(Error::Unsupported(format!(
            "metric '{}': it is no mean over queries; use 'mre'",
            pooled.name()
        ))),
    }
}
