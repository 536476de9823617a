//! `ltr_evaluate(model, source [, options])`: metrics of a model on judged documents.
//!
//! Rules (docs/reference/rules.md, 8):
//! * 8.8: Rows `query_id, metric, value` for every query and metric, then the means with `query_id` NULL. The default metric is
//!   `ndcg@10`.
//! * 8.9: Documents that a constraint removes from the list rank below all others.
//! * 8.17: A NULL relevance means that the document is unjudged; the option `unjudged` sets its value.
//! * 8.18: A NULL model ranks by a column.
//! * 8.19: With `min_probability`, additional means measure the calibration of probabilities.

use std::sync::Arc;

use serde_json::Value;

use super::evaluate_search::{Measurement, check_once, end_to_end, left_out};
use super::rank::min_probability;
use super::rank_by_column;
use super::ranking_call::{FEWER_RANKED, PARAMETERS, RankingCall};
use super::variety::scores_of_list;
use crate::apply::{Depths, Evaluation, JudgedLists, METRIC_COST, Reliability, evaluate, without_relevant};
use crate::base::{Control, Error, Params, Reservation, Result};
use crate::cost::metric::{DEFAULT_METRIC, Metric, MetricOptions};
use crate::data::{Dataset, Fingerprint, Id, ListConstraint, Missing};
use crate::model::{Model, Probability};
use crate::sqlite::glue::{Output, OutputRows, TableFunction, row};
use crate::sqlite::source::reader::{Judgments, ReadSpec, SourceRows};
use crate::train::options::{self, Use};

pub const EVALUATE: TableFunction =
    TableFunction::new("ltr_evaluate", "query_id, metric, value", PARAMETERS, |call| {
        let (options, limits) = call.options(2, Use::Evaluate)?;
        let (model, source) = (call.argument(0), call.argument(1));
        let request = rank_by_column::ranking_by(call, model, source, 3, options, limits)?;
        request.limits.run_here(|| evaluate_rows(&request))
    });

/// How a model ranks the queries of a source.
pub(super) struct Measured {
    pub(super) judged: ScoredDocuments,
    /// Values and means.
    pub(super) evaluation: Evaluation,
}

/// The judged documents of a source and their scores.
pub struct ScoredDocuments {
    pub(super) data: Dataset,
    /// One score per document; documents that a constraint removes from the list are below all others.
    pub(super) scores: Vec<f64>,
    /// Whether the rows match the fingerprint of the training data.
    pub(super) in_training: bool,
    /// The map from scores to probabilities; `None` for lists with a constraint.
    pub(super) probability: Option<Probability>,
    /// Messages about the scores.
    pub(super) warnings: Vec<String>,
    /// Memory for the documents.
    pub(super) memory: Reservation,
}

/// Reads and scores the source of a call.
pub(super) fn judged(request: &RankingCall<'_>) -> Result<ScoredDocuments> {
    scored_judged(request, read_judged(request, Judgments::Relevance)?)
}

/// Reads the judged rows of a call's source.
fn read_judged(request: &RankingCall<'_>, judgments: Judgments) -> Result<SourceRows> {
    let constraint = request.constraint()?;
    let (keep_missing, not_allowed) = match request.by_column {
        // A document without a score was not retrieved.
        Some(_) if judgments == Judgments::RelevanceIfJudged => (true, Missing::Zero),
        _ => (false, Missing::Error),
    };
    let spec = ReadSpec {
        judgments,
        query: true,
        keep_missing,
        not_allowed,
        ..ReadSpec::ranked(&request.handle.model, constraint)
    };
    let rows = request.read_source(spec)?;
    if rows.data.n_docs() == 0 {
        return Err(request.source.error("0 rows; there is nothing to evaluate"));
    }
    Ok(rows)
}

/// A warning if the rows match the fingerprint of the training data (rule 14.5).
pub(super) fn training_rows(request: &RankingCall<'_>, rows: &SourceRows) -> Result<Option<String>> {
    let SourceRows { data, read_report, .. } = rows;
    let Model { fingerprint, .. } = &*request.handle.model;
    let size = (data.n_docs() as u64, data.n_queries() as u64);
    let Some(known) = fingerprint.as_ref().filter(|known| (known.rows, known.queries) == size) else {
        return Ok(None);
    };
    if has_unjudged(data) {
        return Ok(None);
    }
    let work = |control: &Control| Fingerprint::of(data, &read_report.missing, control);
    let operations = data.n_docs().saturating_mul(data.names.len()).saturating_mul(METRIC_COST);
    let current = request.limits.run_sized(operations, work)?;
    let is_same = (&current.features, &current.relevance) == (&known.features, &known.relevance);
    Ok(is_same.then(|| {
        format!(
            "source {} contains the training rows, so the model looks better than it is; use judgments of other queries",
            request.source.shown
        )
    }))
}

/// Scores the judged rows of a call's source.
pub(super) fn scored_judged(request: &RankingCall<'_>, rows: SourceRows) -> Result<ScoredDocuments> {
    let training = training_rows(request, &rows)?;
    let in_training = training.is_some();
    let SourceRows { data, roles, read_report } = rows;
    let constraint = request.constraint()?;
    let (scores, found) = if request.by_column.is_some() {
        (column_scores(&data), data.repeated_rows().into_iter().collect())
    } else {
        let scored = request.scored(&data)?;
        (scored.scores, scored.warnings)
    };
    let scores = scores_of_list(request, &data, scores, constraint)?;
    let mut warnings: Vec<String> = training.into_iter().chain(found).collect();
    warnings.extend(without_relevant(&data, format_args!("source {}", request.source.shown)));
    warnings.extend(roles.queries_in_two_ways(&data));
    Ok(ScoredDocuments {
        data,
        scores,
        in_training,
        probability: request
            .handle
            .model
            .card
            .probability
            .clone()
            .filter(|_| constraint == ListConstraint::None),
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
    let Measurement { queries, names, evaluation, warnings, memory, of_probability, .. } =
        measured(request, &metrics(&request.options)?)?;
    request.call.state.set_warnings(warnings);
    let more = of_probability.into_iter().map(|(name, value)| Ok(row![Output::Null, name, value]));
    Ok(Box::new(rows(queries, names, evaluation, memory).chain(more)))
}

/// Calibration of the probabilities on judged documents, with the option `min_probability`.
fn reliability(request: &RankingCall<'_>, judged: &ScoredDocuments) -> Result<Vec<(String, Option<f64>)>> {
    let Some(least) = min_probability(request)? else { return Ok(Vec::new()) };
    let Some(map) = &judged.probability else {
        let problem =
            "option 'min_probability': it measures all documents; leave out the option 'diversify_by'";
        return Err(Error::Unsupported(problem.to_owned()));
    };
    let ScoredDocuments { data, scores, .. } = judged;
    let (mut offsets, mut probabilities, mut relevant) = (vec![0], Vec::new(), Vec::new());
    for query in 0..data.n_queries() {
        for row in data.rows(query) {
            let grade = data.relevance[row];
            if !grade.is_nan() || request.counts_unjudged() {
                probabilities.push(map.at(scores[row]));
                relevant.push(f64::from(u8::from(grade >= map.threshold)));
            }
        }
        offsets.push(probabilities.len());
    }
    if probabilities.is_empty() {
        return Ok(Vec::new());
    }
    let reliability = Reliability::of(&offsets, &probabilities, &relevant, least);
    let named = [
        ("brier", Some(reliability.brier)),
        ("calibration_error", Some(reliability.calibration_error)),
        ("kept", Some(reliability.kept)),
        ("promised_precision", reliability.precision.map(|[promised, _]| promised)),
        ("precision", reliability.precision.map(|[_, share]| share)),
        ("precision_low", reliability.interval.map(|[low, _]| low)),
        ("precision_high", reliability.interval.map(|[_, high]| high)),
    ];
    Ok(named.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())
}

/// Ranks and measures a source's documents, some of which may be unjudged.
pub(super) fn measured(request: &RankingCall<'_>, metrics: &[Metric]) -> Result<Measurement> {
    if let Some(view) = &request.features {
        if request.options.has("min_probability") {
            let problem = "option 'min_probability': it measures judged rows that have the features of the model; give a source with these columns";
            return Err(Error::Unsupported(problem.to_owned()));
        }
        return end_to_end(request, view, metrics);
    }
    let rows = read_judged(request, Judgments::RelevanceIfJudged);
    let judged = scored_judged(request, rows.map_err(|error| rank_by_column::explained(request, error))?)?;
    let of_probability = reliability(request, &judged)?;
    if has_unjudged(&judged.data) || request.options.has("unjudged") {
        return Ok(Measurement { of_probability, ..measure_some(request, judged, metrics)? });
    }
    let Measured { judged: ScoredDocuments { data, warnings, memory, .. }, evaluation } =
        measure(request, judged, metrics)?;
    let names = metrics.iter().map(Metric::name).collect();
    let (queries, shares, memory) = (data.query_ids, metrics.len(), vec![memory]);
    Ok(Measurement { queries, names, shares, evaluation, warnings, memory, of_probability })
}

/// Measures documents, some of which are unjudged (rule 8.17).
fn measure_some(
    request: &RankingCall<'_>,
    judged: ScoredDocuments,
    metrics: &[Metric],
) -> Result<Measurement> {
    let ScoredDocuments { mut data, scores, mut warnings, memory, .. } = judged;
    drop(data.take_features());
    if has_unjudged(&data) {
        check_once(&request.source, &data)?;
    }
    let undefined = options::choice(&request.options, "undefined")?;
    let (n, depths) = (data.n_docs(), Depths::of(metrics));
    let what = format_args!("a list of {n} documents");
    let kept = request.limits.memory.reserve(JudgedLists::bytes(n), what, FEWER_RANKED)?;
    let lists = JudgedLists::of(&data, &scores, request.counts_unjudged());
    match data.n_queries() - lists.queries().len() {
        0 => {}
        all if all == data.n_queries() && !request.options.has("unjudged") => {
            return Err(request
                .source
                .error("the relevance is NULL in every row; there is nothing to evaluate"));
        }
        count => warnings.extend(left_out(&request.source, count, lists.queries().len())),
    }
    let operations = n.saturating_mul(metrics.len() * METRIC_COST + depths.operations());
    let evaluation = request.limits.run_sized(operations, |control| {
        let mut evaluation = lists.evaluate(metrics, undefined, control)?;
        let is_judged = |_: &Id, row: usize| !data.relevance[row].is_nan();
        evaluation.append(depths.shares(lists.queries(), (&data, &scores), is_judged, control)?);
        Ok(evaluation)
    })?;
    let names = metrics.iter().map(Metric::name).chain(depths.names()).collect();
    let (queries, shares, memory) = (lists.into_queries(), metrics.len(), vec![memory, kept]);
    Ok(Measurement { queries, names, shares, evaluation, warnings, memory, of_probability: Vec::new() })
}

/// Whether a document has no judgment.
fn has_unjudged(data: &Dataset) -> bool {
    data.relevance.iter().any(|grade| grade.is_nan())
}

/// The scores in the only feature; negative infinity for a document without one.
fn column_scores(data: &Dataset) -> Vec<f64> {
    let place = |score: f64| if score.is_nan() { f64::NEG_INFINITY } else { score };
    data.features.rows_f64(0..data.n_docs()).into_iter().map(place).collect()
}

/// The values of all queries, then the means. Rows are made on demand.
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

/// Like [`metrics`], but only accepts metrics that are means over queries.
///
/// # Errors
/// A metric whose mean is pooled.
pub(super) fn query_metrics(options: &Params) -> Result<Vec<Metric>> {
    let metrics = metrics(options)?;
    match metrics.iter().find(|metric| metric.def().weight.is_some()) {
        None => Ok(metrics),
        Some(pooled) => Err(Error::Unsupported(format!(
            "metric '{}': it is not a mean over queries; use 'mre'",
            pooled.name()
        ))),
    }
}
