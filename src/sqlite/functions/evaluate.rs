//! `ltr_evaluate(model, source [, options])`: metrics of a model on judged documents.
//!
//! Rules (docs/reference/rules.md, 8):
//! * 8.8: Rows `query_id, metric, value` for every query and metric, then the means with `query_id` NULL. The default metric is
//!   `ndcg@10`.
//! * 8.9: Documents that a constraint removes from the list rank below all others.

use std::collections::VecDeque;
use std::sync::Arc;

use serde_json::Value;

use super::ranking_call::{PARAMETERS, RankingCall};
use super::train::{self, algorithm_and_source, stored_prior};
use super::training;
use crate::apply::{Evaluation, METRIC_COST, constrained_scores, evaluate, without_relevant};
use crate::base::{Control, Error, Params, Reservation, Result};
use crate::cost::metric::{DEFAULT_METRIC, Metric, MetricOptions};
use crate::data::{Dataset, Fingerprint};
use crate::model::Model;
use crate::sqlite::glue::{Call, Output, OutputRows, RunLimits, TableFunction, row};
use crate::sqlite::source::Source;
use crate::sqlite::source::read_spec::SourceCall;
use crate::sqlite::source::reader::{Judgments, ReadSpec, SourceRows};
use crate::train::options::Use;
use crate::train::tuning::{Score, Search, SearchRows};

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
    let max_per_value = request.options.count("max_per_value").unwrap_or(1);
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
    let undefined = request.options.choice("undefined")?.unwrap_or_default();
    let ScoredDocuments { data, scores, .. } = &judged;
    let operations = data.n_docs().saturating_mul(metrics.len() * METRIC_COST);
    let work = |control: &Control| evaluate(data, scores, metrics, undefined, control);
    let evaluation = request.limits.run_sized(operations, work)?;
    Ok(Measured { judged, evaluation })
}

fn evaluate_rows(request: &RankingCall<'_>) -> Result<OutputRows> {
    let metrics = metrics(&request.options)?;
    let Measured { judged: ScoredDocuments { data, warnings, memory, .. }, evaluation } =
        measure(request, judged(request)?, &metrics)?;
    request.call.state.set_warnings(warnings);
    let means = std::iter::once((Output::Null, evaluation.means));
    let queries = data.query_ids.into_iter().map(Output::Id).zip(evaluation.values);
    // Rows are made one at a time.
    let names: Arc<[String]> = metrics.iter().map(Metric::name).collect();
    Ok(Box::new(queries.chain(means).flat_map(move |(query, values)| {
        let (_counted, names) = (&memory, Arc::clone(&names));
        let row = move |(number, value): (usize, Option<f64>)| {
            Ok(row![query.clone(), names[number].clone(), value])
        };
        values.into_iter().enumerate().map(row)
    })))
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

// `ltr_cross_validate(algorithm, source [, options])`: metrics of trainings on queries that they have not seen.
//
// Rules (docs/reference/rules.md, 5):
// * 5.24: An option that is `searchable` takes an array of values. Each combination of values is a setting.
// * 5.28: One row per setting and fold: `setting, fold, metric, value, seconds`. The value equals the result of
//   `ltr_fit` on the training part of the fold and `ltr_evaluate` on the held-out part.
// * 5.28: Settings are computed when their rows are asked for, those that differ only in lambda together. No thread runs
//   between two rows.

/// The definition of `ltr_cross_validate`.
pub const CROSS_VALIDATE: TableFunction = TableFunction::new(
    "ltr_cross_validate",
    "setting, fold, metric, value, seconds",
    train::PARAMETERS,
    cross_validate,
);

fn cross_validate(call: &Call<'_>) -> Result<OutputRows> {
    let (algorithm, source) = algorithm_and_source(call.arguments[0], call.arguments[1])?;
    let (options, limits) = call.options(2, Use::CrossValidate)?;
    let mut search = Search::of_validation(algorithm, &options)?;
    // The source must not start a training. Nothing is read later.
    let _mark = call.state.begin_training()?;
    let (rows, memory) = limits.run_here(|| {
        let prior = stored_prior(call.connection, call.state, search.input(), &options, &limits)?;
        if let Some(prior) = &prior {
            search.set_prior(prior.function.clone());
        }
        let source = &Source::resolve(call.connection, &source, &limits)?;
        let (connection, options, values, limits) = (call.connection, &options, &call.values(3), &limits);
        let call = SourceCall { connection, source, options, values, limits };
        let (input, spec) = (search.input(), train::training_spec(search.input(), prior.as_ref()));
        let SourceRows { data, read_report, .. } = training::read_judged(call, input, spec)?;
        let folds = search.folds(&data, read_report.split.as_deref(), options)?;
        Ok((SearchRows { data, folds, summaries: read_report.summaries }, read_report.memory))
    })?;
    Ok(Box::new(Batches { limits, search, rows, next: 0, ready: VecDeque::new(), _memory: memory }))
}

/// The rows of a call. A group of settings is computed when its first row is asked for.
struct Batches {
    limits: RunLimits,
    search: Search,
    rows: SearchRows,
    /// The next group.
    next: usize,
    ready: VecDeque<Vec<Output>>,
    _memory: Reservation,
}

impl Batches {
    /// Computes the next group.
    fn advance(&mut self) -> Result<()> {
        let Self { search, rows, next, .. } = self;
        let scores = self.limits.run(|control| search.scores(rows, *next, control));
        let scores = scores.map_err(|problem| search.error(problem))?;
        let settings = &search.groups[*next].settings;
        let metric = search.metric.name();
        let row = |score: Score| {
            let setting = Value::Object(settings[score.setting].values.clone());
            row![setting, score.fold + 1, metric.clone(), score.value, score.seconds]
        };
        self.ready = scores.into_iter().map(row).collect();
        self.next += 1;
        Ok(())
    }
}

impl Iterator for Batches {
    type Item = Result<Vec<Output>>;

    fn next(&mut self) -> Option<Self::Item> {
        while self.ready.is_empty() && self.next < self.search.groups.len() {
            if let Err(problem) = self.advance() {
                self.next = self.search.groups.len();
                return Some(Err(problem));
            }
        }
        self.ready.pop_front().map(Ok)
    }
}
