//! Code shared by training on rows and on packs: reading judged rows, the report, and the model bytes.

use std::sync::Arc;

use rusqlite::Connection;
use rusqlite::limits::Limit;
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::evaluate::query_metrics;
use crate::base::{Error, Result};
use crate::data::RowOrder;
use crate::model::{CandidateView, Model};
use crate::sqlite::glue::{RunLimits, State};
use crate::sqlite::source::Source;
use crate::sqlite::source::judgments::{PARAMS, Unjudged, read_judgments, read_view};
use crate::sqlite::source::parameters::SourceCall;
use crate::sqlite::source::passes::read;
use crate::sqlite::source::reader::{Judgments, ReadSpec, SourceRows};
use crate::train::algorithm::{AlgorithmDef, Columns, Input};
use crate::train::baseline;
use crate::train::column_rules::undetermined;
use crate::train::evidence;
use crate::train::options;
use crate::train::protocol::{Encoded, check_rows};
use crate::train::report::{DataCounts, Finished, Summary};

/// The option that names the view of candidates.
pub const CANDIDATES: &str = "candidates";

/// Facts about the rows read in training.
#[derive(Serialize)]
pub struct TrainingReport {
    pub algorithm: &'static str,
    pub source: String,
    pub roles: Value,
    /// Role and facts of each column.
    pub columns: Value,
    pub settings: Value,
    /// Counts of the rows of an update.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub added: Option<DataCounts>,
    #[serde(flatten)]
    pub summary: Summary,
    #[serde(flatten)]
    pub volatile: Map<String, Value>,
    pub missing_filled: usize,
    /// Coverage by the view of candidates.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub view: Option<Value>,
    pub warnings: Vec<String>,
    pub seconds: Seconds,
    /// Omitted from the report that `ltr_train` returns, but in the stored report.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub log_seconds: Option<Vec<f64>>,
}

/// A model, and its training report.
pub type Trained = (Encoded, TrainingReport);

impl TrainingReport {
    /// The report of a finished training and its model.
    pub fn new(finished: Finished, about: About<'_>) -> (Model, Self) {
        let Finished { model, summary, missing_filled, warnings, columns, log_seconds, .. } = finished;
        let mut volatile = finished.volatile;
        let evidence = finished.evidence.map(|evidence| evidence.report(summary.validation.as_ref()));
        volatile.extend(evidence.map(|evidence| (evidence::KEY.to_owned(), evidence)));
        let report = Self {
            algorithm: about.algorithm.name,
            source: about.source.to_owned(),
            roles: about.roles,
            columns,
            settings: model.card.settings.clone(),
            added: about.added,
            summary,
            volatile,
            missing_filled,
            view: None,
            warnings,
            seconds: Seconds { reading: about.reading, all: 0.0 },
            log_seconds: Some(log_seconds),
        };
        (model, report)
    }

    /// Encodes the model. The seconds in the report include this.
    ///
    /// # Errors
    /// As [`Encoded::new`].
    pub fn encode(mut self, connection: &Connection, model: Model, limits: &RunLimits) -> Result<Trained> {
        let encoded = Encoded::new(model, most_bytes(connection), &limits.memory)?;
        self.seconds.all = limits.seconds();
        Ok((encoded, self))
    }
}

/// A call's facts about its training.
pub struct About<'a> {
    pub algorithm: &'static AlgorithmDef,
    pub source: &'a str,
    /// The columns of the roles; null for packs.
    pub roles: Value,
    /// Counts of the rows of an update.
    pub added: Option<DataCounts>,
    /// Seconds for reading.
    pub reading: f64,
}

/// Seconds since the call began.
#[derive(Serialize)]
pub struct Seconds {
    pub reading: f64,
    pub all: f64,
}

pub struct TrainingRows {
    pub rows: SourceRows,
    /// The view from which their features come.
    pub candidates: Option<Candidates>,
}

/// The training view, and what it returned.
pub struct Candidates {
    pub view: CandidateView,
    /// For the report: counts, and judged documents that the view did not return.
    pub report: Value,
    pub warnings: Vec<String>,
}

/// Reads judged documents, at least one. With the option `candidates` their features come from this view.
///
/// # Errors
/// As [`read_judged`]; a view that returns no judged document.
pub fn read_training(
    call: SourceCall<'_>,
    state: &Arc<State>,
    input: Input<'_>,
    spec: ReadSpec<'_>,
) -> Result<TrainingRows> {
    let Some(name) = call.options.text(CANDIDATES) else {
        return Ok(TrainingRows { rows: read_judged(call, input, spec)?, candidates: None });
    };
    if input.columns != Columns::Features {
        let problem = "option 'candidates': the algorithm learns from ids and relevance, without features";
        return Err(Error::Unsupported(problem.to_owned()));
    }
    let schema = options::text(call.options, "schema");
    let view = Source::candidates(call.connection, schema, name, call.limits)?;
    let (mut rows, candidates) = read_candidates(call, state, view, spec)?;
    check_rows(&mut rows.data, input).map_err(|problem| call.source.error(problem))?;
    Ok(TrainingRows { rows, candidates: Some(candidates) })
}

/// Reads judged documents, at least one.
///
/// # Errors
/// As [`read`]; no rows.
pub fn read_judged(call: SourceCall<'_>, input: Input<'_>, spec: ReadSpec<'_>) -> Result<SourceRows> {
    let mut rows = read(call, spec)?;
    check_rows(&mut rows.data, input).map_err(|problem| call.source.error(problem))?;
    Ok(rows)
}

/// Reads judgments, and a view for their queries.
///
/// # Errors
/// As [`read_judgments`] and [`read_view`]; a view that returns no judged document.
pub fn read_candidates(
    call: SourceCall<'_>,
    state: &Arc<State>,
    (source, mut view): (Source, CandidateView),
    spec: ReadSpec<'_>,
) -> Result<(SourceRows, Candidates)> {
    // 1. The judgments, and the view for their queries.
    let judged = read_judgments(call, spec, Some(&view))?;
    let mut rows =
        read_view(&judged, SourceCall { source: &source, ..call }, state, spec, Unjudged::Skipped)?;
    rows.read_report.determined = judged.determined.as_ref().map(|(_, mean)| *mean);
    judged.check_found(|problem| source.error(problem))?;
    let params = if judged.params.is_empty() { String::new() } else { PARAMS.to_owned() };
    let [query, doc, relevance] = judged.ids.clone();
    view.judged = [query, doc, relevance, params];
    // 2. What the view does not return.
    let metric = query_metrics(call.options)?.remove(0);
    let mut report = judged.coverage(&metric);
    report.insert("name".to_owned(), json!(view.name));
    let has_baseline = call.options.has(baseline::KEY);
    let undetermined =
        judged.determined.as_ref().and_then(|(name, mean)| undetermined(name, *mean, has_baseline));
    let warnings = source.warning.iter().cloned().chain(undetermined);
    let warnings = warnings
        .chain(judged.warning(&source, &metric))
        .chain(judged.null_warnings(&source, &rows.data.names))
        .collect();
    Ok((rows, Candidates { view, report: Value::Object(report), warnings }))
}

/// How training rows are read.
pub fn read_spec(input: Input<'_>, order: RowOrder) -> ReadSpec<'static> {
    let judged = ReadSpec::judged(input.constraint, order, input.columns == Columns::Features);
    let judgments = if input.columns == Columns::Pairs { Judgments::Count } else { judged.judgments };
    ReadSpec { doc_weights: input.doc_weights, judgments, not_allowed: input.missing, ..judged }
}

/// Largest value, in bytes, that the database can store.
pub fn most_bytes(connection: &Connection) -> u64 {
    connection.limit(Limit::SQLITE_LIMIT_LENGTH).map_or(u64::MAX, |limit| limit as u64)
}
