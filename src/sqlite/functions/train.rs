//! `ltr_train(algorithm, source [, options])` and `ltr_fit(algorithm, source [, options])`.
//!
//! Rules (docs/reference/rules.md, 5):
//! * 5.1: `ltr_train` stores a new version in `ltr_models`, makes it the active one and returns a JSON report.
//! * 5.5: `ltr_fit` returns the same model as a BLOB and writes nothing.
//! * 5.7, 5.8: Inside a transaction the write lock is taken before the training, otherwise no lock is held during it. What
//!   could not be stored is refused before it.
//! * 5.9: A failed or interrupted training leaves the stored models unchanged.

use std::sync::Arc;

use rusqlite::Connection;
use rusqlite::types::ValueRef;
use serde::Serialize;
use serde_json::json;

use super::buckets;
use super::training::{About, Trained, TrainingReport, TrainingRows, most_bytes, read_spec, read_training};
use crate::base::{Error, Params, Reservation, Result, shorten};
use crate::data::{Dataset, RowOrder};
use crate::model::LinearPrior;
use crate::sqlite::glue::{Output, RunLimits, ScalarCall, ScalarFunction, State, text_argument};
use crate::sqlite::source::Source;
use crate::sqlite::source::parameters::SourceCall;
use crate::sqlite::source::reader::{CategoryColumns, FeatureSet, ReadSpec, SourceRows};
use crate::sqlite::store::{BaseVersion, NamedVersion, NewVersion, Store, check_name, model};
use crate::train::algorithm::{self, AlgorithmDef, Input};
use crate::train::options::{self, Use};
use crate::train::protocol::{Encoded, Rows, Training};
use crate::train::short_report::{ReportLength, short_report};

/// The parameters of both functions, and of `ltr_cross_validate`.
pub(super) const PARAMETERS: &str = "algorithm, source [, options] [, value1, ...]";

pub const TRAIN: ScalarFunction = ScalarFunction::new("ltr_train", PARAMETERS, train);

pub const FIT: ScalarFunction = ScalarFunction::new("ltr_fit", PARAMETERS, fit);

/// The checked arguments of a training.
struct TrainRequest<'a> {
    training: Training,
    source: String,
    /// Values for the statement of the source.
    values: Vec<ValueRef<'a>>,
    limits: RunLimits,
}

/// The stored model that a penalty shrinks to.
pub(super) struct StoredPrior {
    name: String,
    version: i64,
    pub(super) function: LinearPrior,
}

/// A report in its stored form.
#[derive(Serialize)]
pub(super) struct StoredReport {
    pub name: String,
    /// The new version; `None` until it is stored.
    pub version: Option<i64>,
    /// Whether the new version is active; not in the stored report, because it can change later.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub active: Option<bool>,
    #[serde(skip_serializing_if = "Start::is_new")]
    pub from: Start,
    #[serde(flatten)]
    pub training: TrainingReport,
}

/// When training started.
#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum Start {
    New,
    Blob,
    Model { name: String, version: i64 },
}

impl Start {
    fn is_new(&self) -> bool {
        matches!(self, Self::New)
    }
}

fn train(call: &ScalarCall<'_>) -> Result<Output> {
    let mut request = TrainRequest::new(call, Use::Train)?;
    let (options, limits) = (request.training.options.clone(), request.limits.clone());
    let name = options.text("name").unwrap_or(request.training.algorithm.name).to_owned();
    check_name(&name)?;
    let _mark = call.state.begin_training()?;
    call.with_connection(|connection| {
        let store = Store::new(connection, options.text("schema"), &limits)?;
        store.prepare()?;
        let (model, training) = limits.run_here(|| request.execute(connection, call.state))?;
        let report = StoredReport { name, version: None, active: None, from: Start::New, training };
        keep(&store, report, &model, &Keep { state: call.state, options: &options, base: None })
    })
}

/// How a new version is stored.
pub(super) struct Keep<'a> {
    pub state: &'a State,
    pub options: &'a Params,
    /// The version that an update continues.
    pub base: Option<&'a BaseVersion>,
}

/// Stores a new version and returns its report.
pub(super) fn keep(
    store: &Store<'_>,
    mut report: StoredReport,
    model: &Encoded,
    how: &Keep<'_>,
) -> Result<Output> {
    let length = options::choice(how.options, "report")?;
    let activate = options::switch(how.options, "activate");
    let new = NewVersion {
        name: &report.name,
        algorithm: report.training.algorithm,
        report: &json!(report),
        model: &model.bytes,
        activate,
        keep_versions: how.options.count("keep_versions"),
        base: how.base,
    };
    let stored = store.put(&new)?;
    (report.version, report.active) = (Some(stored.version), Some(activate));
    report.training.warnings.extend(stored.warnings);
    how.state.set_warnings(report.training.warnings.clone());
    // Long lists stay in the stored report.
    report.training.log_seconds = None;
    if let Some(validation) = &mut report.training.summary.validation {
        (validation.curve, validation.measured) = (None, None);
    }
    let report = json!(report);
    Ok(match length {
        ReportLength::Full => Output::Json(report),
        ReportLength::Short => Output::Text(short_report(&report)),
    })
}

fn fit(call: &ScalarCall<'_>) -> Result<Output> {
    let mut request = TrainRequest::new(call, Use::Fit)?;
    let _mark = call.state.begin_training()?;
    call.with_connection(|connection| {
        let limits = request.limits.clone();
        let (model, training) = limits.run_here(|| request.execute(connection, call.state))?;
        call.state.set_warnings(training.warnings);
        Ok(Output::Blob(model.bytes))
    })
}

impl<'a> TrainRequest<'a> {
    fn new(call: &'a ScalarCall<'_>, used: Use) -> Result<Self> {
        let (algorithm, source) = algorithm_and_source(call.argument(0), call.argument(1))?;
        let (options, limits) = call.options(2, used)?;
        let training = Training::new(algorithm, options)?;
        let values = (3..).map_while(|index| call.argument(index)).collect();
        Ok(Self { training, source, values, limits })
    }

    /// Reads, trains and encodes: the model, and the report.
    fn execute(&mut self, connection: &Connection, state: &Arc<State>) -> Result<Trained> {
        // 1. The prior and the rows.
        let Self { training, source: text, values, limits } = self;
        let prior = stored_prior(connection, state, training.input(), &training.options, limits)?;
        if let Some(prior) = &prior {
            training.set_prior(prior.function.clone());
        }
        let (options, input) = (&training.options, training.input());
        let source = &Source::resolve(connection, text, limits)?;
        let call = SourceCall { connection, source, options, values, limits };
        if let Some(trained) = buckets::train(call, training, text)? {
            return Ok(trained);
        }
        let TrainingRows { rows, candidates } =
            read_training(call, state, input, training_spec(input, prior.as_ref()))?;
        let SourceRows { data, roles, read_report } = rows;
        let reading = limits.seconds();
        let (validation, _validation_memory) = validation(call, state, input, &data)?.unzip();
        let advice = roles.advice(options);
        let column_report = roles.column_report(&data, &read_report, advice);
        let ignored = read_report.ignored.clone();
        let columns = roles.training_columns(&ignored);
        let rows = Rows { data, read_report, validation, roles: columns, advice, column_report };
        // 2. The training.
        let most = most_bytes(connection);
        let finished = limits.run(|control| training.run(rows, most, control));
        let mut finished = finished.map_err(|problem| training.error(problem))?;
        let (candidates, view) = candidates
            .map(|read| {
                finished.warnings.extend(read.warnings);
                (read.report, read.view)
            })
            .unzip();
        finished.model.card.candidates = view;
        // 3. The report and the model.
        let algorithm = training.algorithm;
        let roles = roles.report(&ignored, &finished.model.card.categories);
        let about = About { algorithm, source: text, roles, added: None, reading };
        let (model, mut report) = TrainingReport::new(finished, about);
        report.view = candidates;
        if let (Some(text), Some(prior)) = (input.prior, &prior) {
            report.settings["prior"] = json!(format!("@{text}"));
            let model = json!({ "name": prior.name, "version": prior.version });
            report.volatile.insert("prior_model".to_owned(), model);
        }
        report.encode(connection, model, limits)
    }
}

/// The judged documents of the validation source, if there is one.
fn validation(
    call: SourceCall<'_>,
    state: &Arc<State>,
    input: Input<'_>,
    data: &Dataset,
) -> Result<Option<(Dataset, Reservation)>> {
    let Some(text) = input.validation else { return Ok(None) };
    let source = &Source::resolve(call.connection, text, call.limits)?;
    let spec = ReadSpec {
        feature_set: FeatureSet::Known,
        categories: CategoryColumns::Known(&data.categories),
        quantities: Some(&data.quantities),
        ..read_spec(input, RowOrder::Canonical)
    };
    let rows = read_training(SourceCall { source, values: &[], ..call }, state, input, spec)?.rows;
    // The features are copied in training order.
    let what = "a copy of the validation data";
    let copy = call.limits.memory.reserve(rows.data.features.bytes(), what, "use fewer rows")?;
    let matched = rows.data.matching(data).map_err(|problem| source.error(problem))?;
    drop(copy);
    Ok(Some((matched, rows.read_report.memory)))
}

/// The stored model that the options name as the prior, if any.
///
/// # Errors
/// An unknown model, or one that is not a linear function.
pub(super) fn stored_prior(
    connection: &Connection,
    state: &State,
    input: Input<'_>,
    options: &Params,
    limits: &RunLimits,
) -> Result<Option<StoredPrior>> {
    let Some(text) = input.prior else { return Ok(None) };
    let schema = options.text("schema");
    let NamedVersion { name, version, .. } = Store::new(connection, schema, limits)?.version(text)?;
    // Read the version named in the report, even if another one becomes active.
    let exact = format!("{name}@{version}");
    let handle = model(connection, ValueRef::Text(exact.as_bytes()), schema, state, limits)?;
    let function = handle.model.linear_prior();
    let function =
        function.map_err(|error| Error::Unsupported(format!("option 'prior' \"@{text}\": {error}")))?;
    Ok(Some(StoredPrior { name, version, function }))
}

/// The algorithm from the first argument, and the source text from the second.
///
/// # Errors
/// An unknown algorithm; arguments that are not text.
pub(super) fn algorithm_and_source(
    name: Option<ValueRef<'_>>,
    source: Option<ValueRef<'_>>,
) -> Result<(&'static AlgorithmDef, String)> {
    let text = |value: Option<ValueRef<'_>>, what: &str| {
        value.map_or_else(|| Ok(String::new()), |value| text_argument(what, value))
    };
    let name = text(name, "argument 'algorithm'")?;
    let algorithm = algorithm::find(&name).map_err(|error| swapped(error, &name, source))?;
    Ok((algorithm, text(source, "argument 'source'")?))
}

/// The error for an unknown algorithm, or for swapped arguments if the source names an algorithm.
fn swapped(error: Error, name: &str, source: Option<ValueRef<'_>>) -> Error {
    let source = source.and_then(|source| text_argument("argument 'source'", source).ok());
    match source.filter(|source| algorithm::find(source).is_ok()) {
        None => error,
        Some(source) => Error::Unsupported(format!(
            "unknown algorithm '{}'; the arguments are (algorithm, source), in this order, and '{source}' is an algorithm",
            shorten(name)
        )),
    }
}

/// The input of training. With a prior, it has the prior's categories and quantities.
pub(super) fn training_spec<'a>(input: Input<'_>, prior: Option<&'a StoredPrior>) -> ReadSpec<'a> {
    let known = prior.map(|prior| CategoryColumns::Known(&prior.function.categories));
    ReadSpec {
        categories: known.unwrap_or(CategoryColumns::Learned),
        quantities: prior.map(|prior| &prior.function.quantities),
        ..read_spec(input, input.order)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    /// Forty rows with days from 2024-01-01 on, in three formats.
    const DATES: &str = "CREATE TABLE dated AS
        WITH RECURSIVE n(i) AS (VALUES (0) UNION ALL SELECT i + 1 FROM n WHERE i < 39),
        days(i, day) AS (SELECT i, date('2024-01-01', (i * 37 % 400) || ' days') FROM n)
        SELECT i / 8 AS query_id, i AS doc_id, i % 3 AS relevance, i * 7 % 11 AS x,
               CAST(strftime('%Y%m%d', day) AS INTEGER) AS \"the day\", unixepoch(day) AS since,
               1000 * unixepoch(day) AS sent FROM days";

    /// The SQL suggested in warnings runs unchanged, and returns the days.
    #[test]
    fn proposed_days_are_numbers() {
        let connection = Connection::open_in_memory().unwrap();
        crate::register(&connection).unwrap();
        connection.execute_batch(DATES).unwrap();
        let text = |sql: &str| connection.query_row(sql, [], |row| row.get::<_, String>(0)).unwrap();
        let report = text("SELECT ltr_train('rank_svm', 'dated', '{\"lambda\": 1}')");
        let report: Value = serde_json::from_str(&report).unwrap();
        let proposed = |warning: &Value| -> Option<String> {
            let rest = warning.as_str()?.split_once("such as ")?.1;
            rest.split_once(", or ignore").map(|(days, _)| days.to_owned())
        };
        let proposals: Vec<String> =
            report["warnings"].as_array().unwrap().iter().filter_map(proposed).collect();
        assert_eq!(proposals.len(), 3, "{report}");
        for days in proposals {
            let sql = format!(
                "SELECT count(*) || ' ' || count(days) || ' ' || min(days) || ' ' || (max(days) BETWEEN 300 AND 400)
                   FROM (SELECT {days} AS days FROM dated)"
            );
            assert_eq!(text(&sql), "40 40 0.0 1", "{days}");
        }
    }
}
