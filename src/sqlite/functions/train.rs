//! `ltr_train(algorithm, source [, options])` and `ltr_fit(algorithm, source [, options])`.
//!
//! Contract (training):
//! 1. `ltr_train` stores a new version in `ltr_models`, makes it the active one and returns a JSON report.
//! 2. `ltr_fit` returns the same model as a BLOB and writes nothing.
//! 3. No lock is held while training computes; what could not be stored is refused before.
//! 4. A training that fails or is interrupted leaves everything as it was.

use rusqlite::Connection;
use rusqlite::functions::FunctionFlags;
use rusqlite::limits::Limit;
use serde_json::{Value, json};

use crate::algorithm::report::{facts, found, merge, signs_of_leakage, training_warnings};
use crate::algorithm::{self, AlgorithmDef, Recipe, TrainingSet, Validation};
use crate::arrange::ListConstraint;
use crate::data::{Dataset, RowOrder};
use crate::error::{Error, Result};
use crate::model::{Card, Model};
use crate::options::{self, Use};
use crate::param::Params;
use crate::sqlite::glue::function::{ScalarCall, ScalarFunction};
use crate::sqlite::glue::value::{Output, optional_text, text_argument};
use crate::sqlite::glue::work::RunLimits;
use crate::sqlite::source::Source;
use crate::sqlite::source::reader::{ReadSpec, SourceRows, read};
use crate::sqlite::store::{Store, check_name};

/// The definition of `ltr_train`.
pub const TRAIN: ScalarFunction = ScalarFunction {
    name: "ltr_train",
    arities: &[2, 3],
    flags: FunctionFlags::SQLITE_DIRECTONLY,
    execute: train,
};

/// The definition of `ltr_fit`.
pub const FIT: ScalarFunction = ScalarFunction {
    name: "ltr_fit",
    arities: &[2, 3],
    flags: FunctionFlags::SQLITE_DIRECTONLY,
    execute: fit,
};

/// The checked arguments of a training.
struct Request {
    algorithm: &'static AlgorithmDef,
    recipe: Recipe,
    source: String,
    options: Params,
    limits: RunLimits,
}

/// A fitted model and its report.
struct Outcome {
    bytes: Vec<u8>,
    report: Value,
}

fn train(call: &ScalarCall<'_>) -> Result<Output> {
    let request = Request::new(call)?;
    let name = request.options.text("name").unwrap_or(request.algorithm.name).to_owned();
    check_name(&name)?;
    let _mark = call.state.begin_training()?;
    call.with_connection(|connection| {
        let store = Store::new(connection, request.options.text("schema"))?;
        store.check_writable()?;
        let Outcome { bytes, report: rest } = request.outcome(connection)?;
        let mut report = json!({ "name": name, "version": null });
        merge(&mut report, rest);
        keep(&store, &name, request.algorithm.name, report, &bytes, &request.options)
    })
}

/// Stores a new version and answers with its report.
pub(super) fn keep(
    store: &Store<'_>,
    name: &str,
    algorithm: &str,
    mut report: Value,
    bytes: &[u8],
    options: &Params,
) -> Result<Output> {
    let version = store.put(name, algorithm, &report.to_string(), bytes)?;
    report["version"] = json!(version);
    // The new version is stored and active; that older ones stay is no reason to say otherwise.
    if let Some(keep) = options.count("keep_versions")
        && let Err(error) = store.drop_older(name, keep)
        && let Some(warnings) = report["warnings"].as_array_mut()
    {
        warnings.push(json!(format!("older versions could not be dropped: {error}")));
    }
    Ok(Output::Json(shortened(report)))
}

/// The report without its long lists, which stay in the stored one.
fn shortened(mut report: Value) -> Value {
    if let Some(validation) = report["validation"].as_object_mut() {
        validation.remove("curve");
    }
    if let Some(report) = report.as_object_mut() {
        report.remove("log_seconds");
    }
    report
}

fn fit(call: &ScalarCall<'_>) -> Result<Output> {
    let request = Request::new(call)?;
    for key in ["name", "schema", "keep_versions"] {
        if request.options.has(key) {
            return Err(Error::Unsupported(format!("option '{key}': ltr_fit stores nothing; use ltr_train")));
        }
    }
    let _mark = call.state.begin_training()?;
    call.with_connection(|connection| Ok(Output::Blob(request.outcome(connection)?.bytes)))
}

impl Request {
    fn new(call: &ScalarCall<'_>) -> Result<Self> {
        let text = |place: usize, what: &str| {
            call.argument(place).map_or_else(|| Ok(String::new()), |value| text_argument(what, value))
        };
        let algorithm = algorithm::find(&text(0, "argument 'algorithm'")?)?;
        let source = text(1, "argument 'source'")?;
        let options = optional_text("argument 'options'", call.argument(2))?;
        let options = options::parse(options.as_deref(), Use::Train)?;
        let recipe = Recipe::new(algorithm, &options)?;
        let limits = RunLimits::new(&options);
        Ok(Self { algorithm, recipe, source, options, limits })
    }

    /// Reads, fits and encodes.
    fn outcome(&self, connection: &Connection) -> Result<Outcome> {
        let spec =
            ReadSpec::judged(self.recipe.loss.constraint(), self.algorithm.order, self.algorithm.features);
        let source = Source::resolve(connection, &self.source)?;
        let SourceRows { data, roles, read_report } =
            read(connection, &source, spec, &self.options, &self.limits)?;
        let read_seconds = self.limits.seconds();
        if data.n_docs() == 0 {
            return Err(source.error("0 rows; training needs judged documents"));
        }
        let validation = self.validation(connection, &data)?;
        let recipe = &self.recipe;
        check_length(connection, recipe.bytes_kept(&data))?;
        let facts = facts(&data);
        let mut warnings = signs_of_leakage(&data);
        let features = data.names.clone();
        let train = self.algorithm.train;
        let set = TrainingSet { data, validation, summaries: read_report.summaries };
        let trained = self.limits.run(connection, |control| train(recipe, set, control))?;
        let mut all_warnings = training_warnings(&trained);
        all_warnings.append(&mut warnings);
        let mut summary = facts;
        merge(&mut summary, found(&trained));
        let mut report = json!({
            "algorithm": self.algorithm.name,
            "source": self.source,
            "roles": roles.report(&read_report.ignored),
            "settings": recipe.settings(),
        });
        merge(&mut report, summary.clone());
        merge(&mut report, trained.aside.clone());
        let log_seconds: Vec<f64> = trained.log.iter().map(|step| step.seconds).collect();
        merge(
            &mut report,
            json!({
                "missing_filled": read_report.imputed,
                "warnings": all_warnings,
                "seconds": { "reading": read_seconds, "all": self.limits.seconds() },
                "log_seconds": log_seconds,
            }),
        );
        let card = Card {
            algorithm: self.algorithm.name.to_owned(),
            settings: recipe.settings(),
            missing: recipe.missing,
            slots: recipe.loss.constraint() == ListConstraint::Slots,
            features,
            means: read_report.means,
            summary,
            log: trained.log.iter().map(|step| (step.objective, step.gap)).collect(),
        };
        let bytes = Model::new(card, trained.scaling, trained.ranker).to_bytes()?;
        check_length(connection, bytes.len() as u64)?;
        Ok(Outcome { bytes, report })
    }

    /// The judged documents to validate on, where the option `validation` names a source.
    fn validation(&self, connection: &Connection, data: &Dataset) -> Result<Option<Dataset>> {
        let Validation::Source(text) = &self.recipe.validation else { return Ok(None) };
        let source = Source::resolve(connection, text)?;
        let spec =
            ReadSpec::judged(self.recipe.loss.constraint(), RowOrder::Canonical, self.algorithm.features);
        let SourceRows { data: other, .. } = read(connection, &source, spec, &self.options, &self.limits)?;
        other.matching(data).map(Some).map_err(|problem| source.error(problem))
    }
}

/// Refuses a model that would not fit into one value of the database. Asked before the training about what is known
/// to be kept, and after it about all bytes.
pub(super) fn check_length(connection: &Connection, bytes: u64) -> Result<()> {
    let limit = connection.limit(Limit::SQLITE_LIMIT_LENGTH).map_or(u64::MAX, |limit| limit as u64);
    if bytes <= limit {
        return Ok(());
    }
    Err(Error::Unsupported(format!(
        "the model would take {bytes} bytes, but a value in this database has at most {limit} \
         (SQLITE_LIMIT_LENGTH). A query-dependent model keeps the documents of all training queries and, unless \
         \"fit_at\" is \"query_time\", a function for each: give features as BLOBs of ltr_vec, which take half of REAL \
         columns; leave out features or less relevant documents; or use rank_svm, which keeps neither"
    )))
}
