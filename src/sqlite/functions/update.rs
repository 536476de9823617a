//! `ltr_update(model, source [, options])`: continues training an online model on more rows.
//!
//! Rules (docs/reference/rules.md, 5):
//! * 5.13: One pass over the queries of the source, in row order, with the settings of the training. The result is a new
//!   version of the model's name. A BLOB has no name and needs the option `name`.
//! * 5.14: Updating equals training on all rows at once if the rows are split between two queries, the training has one
//!   epoch in row order, and neither `scale` nor `missing` depends on all rows.
//!
//! * 5.18: The version is stored only if the argument still names the version that was read; otherwise the option
//!   `on_conflict` decides.
//!
//! Features are matched by name as in `ltr_rank`; if the source only has judgments, they come from the model's view.
//! The stored scaling and means are applied. Models of algorithms without updates
//! are refused.

use std::sync::Arc;

use rusqlite::types::ValueRef;

use super::ranking_call::has_features;
use super::train::{Keep, Start, StoredReport, keep};
use super::training::{About, Trained, TrainingReport, read_candidates};
use crate::base::{Error, Params, Result};
use crate::data::{ListConstraint, RowOrder};
use crate::model::{Key, Ranker};
use crate::sqlite::glue::{ModelHandle, Output, ScalarCall, ScalarFunction, State, text_argument};
use crate::sqlite::source::Source;
use crate::sqlite::source::parameters::SourceCall;
use crate::sqlite::source::passes::read;
use crate::sqlite::source::reader::{FeatureSet, ReadSpec, SourceRows};
use crate::sqlite::store::{BaseVersion, NamedVersion, Store, check_name, model};
use crate::train::algorithm::{self, AlgorithmDef, DocWeights, ResumeFn};
use crate::train::options::{self, OnConflict, Use};
use crate::train::protocol::{self, Rows};

pub const UPDATE: ScalarFunction = ScalarFunction::new("ltr_update", "model, source [, options]", update);

/// Number of attempts with `"on_conflict": "retry"`. An attempt fails only if another connection stored a version.
const MOST_ATTEMPTS: usize = 100;

fn update(call: &ScalarCall<'_>) -> Result<Output> {
    let source = call
        .argument(1)
        .map_or_else(|| Ok(String::new()), |value| text_argument("argument 'source'", value))?;
    let (options, limits) = call.options(2, Use::Update)?;
    let attempts = match options::choice(&options, "on_conflict")? {
        OnConflict::Error => 1,
        OnConflict::Retry => MOST_ATTEMPTS,
    };
    let _mark = call.state.begin_training()?;
    call.with_connection(|connection| {
        let store = Store::new(connection, options.text("schema"), &limits)?;
        store.prepare()?;
        let mut attempt = 1;
        loop {
            match update_once(call, &store, &source, &options) {
                Err(Error::Conflict(_)) if attempt < attempts => limits.check_time()?,
                Err(Error::Conflict(_)) if attempts > 1 => return Err(too_many_conflicts()),
                outcome => return outcome,
            }
            attempt += 1;
        }
    })
}

fn too_many_conflicts() -> Error {
    Error::Conflict(format!(
        "{MOST_ATTEMPTS} attempts failed because other connections stored versions meanwhile, so nothing was stored; update \
         less often, or from one connection"
    ))
}

/// Reads the model and the source, and stores a new version that continues the one read.
fn update_once(call: &ScalarCall<'_>, store: &Store<'_>, text: &str, options: &Params) -> Result<Output> {
    let Store { connection, limits, .. } = *store;
    // 1. The model.
    let argument = call.argument(0).unwrap_or(ValueRef::Null);
    let handle = model(connection, argument, options.text("schema"), call.state, limits)?;
    let (model, base) = (&handle.model, base(store, argument, handle.key)?);
    let algorithm = algorithm::find(&model.card.algorithm)?;
    let resume = resume(algorithm, base.as_ref())?;
    // 2. The name of the new version.
    let name = options.text("name").or_else(|| base.as_ref().map(|base| base.name.as_str()));
    let name = name.map(str::to_owned).ok_or_else(|| {
        let problem = "a model given as a BLOB has no name; set one with the option 'name'";
        Error::Unsupported(problem.to_owned())
    })?;
    check_name(&name)?;
    // 3. The work.
    let (updated, training) = limits.run_here(|| {
        let source = &Source::resolve(connection, text, limits)?;
        let source_call = SourceCall { connection, source, options, values: &[], limits };
        train_further(&handle, (algorithm, resume), source_call, call.state, text)
    })?;
    let from = base
        .as_ref()
        .map_or(Start::Blob, |base| Start::Model { name: base.name.clone(), version: base.version });
    let report = StoredReport { name, version: None, active: None, from, training };
    keep(store, report, &updated, &Keep { state: call.state, options, base: base.as_ref() })
}

/// The stored version that the argument names; `None` for a BLOB.
fn base(store: &Store<'_>, argument: ValueRef<'_>, key: Key) -> Result<Option<BaseVersion>> {
    let ValueRef::Text(text) = argument else { return Ok(None) };
    let argument = String::from_utf8_lossy(text).into_owned();
    let NamedVersion { name, version, .. } = store.version(&argument)?;
    Ok(Some(BaseVersion { argument, name, version, key }))
}

/// The function that trains a model of this algorithm further.
fn resume(algorithm: &AlgorithmDef, base: Option<&BaseVersion>) -> Result<ResumeFn> {
    algorithm.resume.ok_or_else(|| {
        let model = base.map_or_else(|| "the model".to_owned(), |base| format!("model '{}'", base.name));
        Error::Unsupported(format!(
            "{model} was trained by '{}', which supports no updates; train it again",
            algorithm.name
        ))
    })
}

/// Reads, fits and encodes; returns the model bytes and the report. `resume`: the algorithm's function for further training.
fn train_further(
    handle: &ModelHandle,
    (algorithm, resume): (&'static AlgorithmDef, ResumeFn),
    call: SourceCall<'_>,
    state: &Arc<State>,
    text: &str,
) -> Result<Trained> {
    // 1. Rows, in source order. If the source has no features, they come from the model's view.
    let SourceCall { connection, source, options, limits, .. } = call;
    let model = &*handle.model;
    let previous = if let Ranker::Online(online) = &model.ranker { &online.state.summaries[..] } else { &[] };
    let spec = ReadSpec {
        model: Some(model),
        feature_set: FeatureSet::Known,
        previous,
        doc_weights: DocWeights::RefusedByAlgorithm("perceptron"),
        ..ReadSpec::judged(ListConstraint::None, RowOrder::Stream, true)
    };
    let has_features = || Ok(has_features(model, &source.columns(connection, limits)?).is_ok());
    let (rows, candidates) = match &model.card.candidates {
        Some(view) if !has_features()? => {
            let read = Source::of_model(connection, handle.schema(), view, limits)?;
            let (rows, candidates) = read_candidates(call, state, (read, view.clone()), spec)?;
            (rows, Some(candidates))
        }
        _ => (read(call, spec)?, None),
    };
    let SourceRows { data, roles, read_report } = rows;
    let reading = limits.seconds();
    if data.n_docs() == 0 {
        return Err(source.error("0 rows; an update needs judged documents"));
    }
    // 2. The fit.
    let advice = roles.advice(options);
    let column_report = roles.column_report(&data, &read_report, advice);
    let columns = roles.training_columns(&read_report.ignored);
    let named = roles.report(&read_report.ignored, &model.card.categories);
    let rows = Rows { data, read_report, validation: None, roles: columns, advice, column_report };
    let (added, finished) =
        limits.run(|control| protocol::update(model, algorithm, resume, rows, options, control))?;
    // 3. The report and the model. Counts include earlier rows.
    let about = About { algorithm, source: text, roles: named, added: Some(added), reading };
    let (model, mut report) = TrainingReport::new(finished, about);
    if let Some(read) = candidates {
        report.view = Some(read.report);
        report.warnings.extend(read.warnings);
    }
    report.encode(connection, model, limits)
}
