//! `ltr_update(model, source [, options])`: an online model goes on with the rows of a source.
//!
//! Contract (going on):
//! 1. One pass over the queries of the source, in the order of its rows, by the choices of the first training; options
//!    that would change what is learned are refused.
//! 2. The result is a new version under the model's name (a BLOB needs the option `name`), active, with a JSON report.
//! 3. Training on some rows and going on with others gives the bytes of one training on all of them, where the cut is
//!    between two queries, the training has one epoch in the order of the rows and neither `scale` nor `"missing": "mean"`
//!    asks for anything learned on all rows.
//! 4. Features are found by name as in `ltr_rank`; the stored scaling and means are applied.
//! 5. A model of an algorithm that cannot go on is refused by name.

use rusqlite::Connection;
use rusqlite::functions::FunctionFlags;
use rusqlite::types::ValueRef;
use serde_json::{Value, json};

use super::train::{check_length, keep};
use crate::algorithm::report::{facts, found, merge, signs_of_leakage, training_warnings};
use crate::algorithm::{self, AlgorithmDef, Earlier, GoOn, TrainingSet};
use crate::arrange::ListConstraint;
use crate::error::{Error, Result};
use crate::model::{Card, Model, Ranker};
use crate::options::{self, Use};
use crate::param::Params;
use crate::sqlite::glue::function::{ScalarCall, ScalarFunction};
use crate::sqlite::glue::value::{Output, optional_text, text_argument};
use crate::sqlite::glue::work::RunLimits;
use crate::sqlite::source::Source;
use crate::sqlite::source::reader::{ReadSpec, SourceRows, read};
use crate::sqlite::store::{Store, check_name, model};

/// The definition of `ltr_update`.
pub const UPDATE: ScalarFunction = ScalarFunction {
    name: "ltr_update",
    arities: &[2, 3],
    flags: FunctionFlags::SQLITE_DIRECTONLY,
    execute: update,
};

/// The checked arguments of an update.
struct Request<'a> {
    model: &'a Model,
    algorithm: &'static AlgorithmDef,
    go_on: GoOn,
    source: String,
    options: Params,
    limits: RunLimits,
}

fn update(call: &ScalarCall<'_>) -> Result<Output> {
    let argument = call.argument(0).unwrap_or(ValueRef::Null);
    let source = call
        .argument(1)
        .map_or_else(|| Ok(String::new()), |value| text_argument("argument 'source'", value))?;
    let options = optional_text("argument 'options'", call.argument(2))?;
    let options = options::parse(options.as_deref(), Use::Update)?;
    let limits = RunLimits::new(&options);
    let _mark = call.state.begin_training()?;
    call.with_connection(|connection| {
        let store = Store::new(connection, options.text("schema"))?;
        let model = model(connection, argument, options.text("schema"), call.state)?.model;
        let origin = origin(&store, argument)?;
        let algorithm = algorithm::find(&model.card.algorithm)?;
        let go_on = go_on(algorithm, origin.as_ref())?;
        let name = options.text("name").map(str::to_owned).or_else(|| origin.clone().map(|(name, _)| name));
        let name = name.ok_or_else(|| {
            let problem = "a model that is given as a BLOB has no name; give one with the option 'name'";
            Error::Unsupported(problem.to_owned())
        })?;
        check_name(&name)?;
        store.check_writable()?;
        let from = origin.map(|(name, version)| json!({ "name": name, "version": version }));
        let mut report = json!({ "name": name, "version": null, "from": from });
        let request = Request { model: &model, algorithm, go_on, source, options, limits };
        let (bytes, rest) = request.outcome(connection)?;
        merge(&mut report, rest);
        keep(&store, &name, algorithm.name, report, &bytes, &request.options)
    })
}

/// Name and version of a stored model.
fn origin(store: &Store<'_>, argument: ValueRef<'_>) -> Result<Option<(String, i64)>> {
    let ValueRef::Text(name) = argument else { return Ok(None) };
    store.report(&String::from_utf8_lossy(name)).map(|(name, version, _)| Some((name, version)))
}

/// What goes on from models of this algorithm.
fn go_on(algorithm: &AlgorithmDef, origin: Option<&(String, i64)>) -> Result<GoOn> {
    algorithm.go_on.ok_or_else(|| {
        let model = origin.map_or_else(|| "the model".to_owned(), |(name, _)| format!("model '{name}'"));
        Error::Unsupported(format!(
            "{model} was trained by '{}', which cannot go on from a stored model; train it again",
            algorithm.name
        ))
    })
}

impl Request<'_> {
    /// Reads, goes on and encodes: the model's bytes and the report without name and version.
    fn outcome(&self, connection: &Connection) -> Result<(Vec<u8>, Value)> {
        let model = self.model;
        let source = Source::resolve(connection, &self.source)?;
        let previous = match &model.ranker {
            Ranker::Online(online) => &online.state().summaries[..],
            _ => &[],
        };
        let spec = ReadSpec {
            model: Some(model),
            previous,
            ..ReadSpec::judged(ListConstraint::None, self.algorithm.order, true)
        };
        let SourceRows { data, roles, read_report } =
            read(connection, &source, spec, &self.options, &self.limits)?;
        let read_seconds = self.limits.seconds();
        if data.n_docs() == 0 {
            return Err(source.error("0 rows; going on needs judged documents"));
        }
        let added = facts(&data);
        let leakage = signs_of_leakage(&data);
        let go_on = self.go_on;
        let set = TrainingSet { data, validation: None, summaries: read_report.summaries };
        let earlier = Earlier { ranker: &model.ranker, scaling: &model.scaling };
        let trained = self.limits.run(connection, |control| go_on(earlier, set, control))?;
        let warnings = [training_warnings(&trained), leakage].concat();
        let mut summary = together(&model.card.summary, added.clone());
        merge(&mut summary, found(&trained));
        let mut report = json!({
            "algorithm": self.algorithm.name,
            "source": self.source,
            "roles": roles.report(&read_report.ignored),
            "settings": model.card.settings,
            "added": added,
        });
        merge(&mut report, summary.clone());
        merge(
            &mut report,
            json!({
                "missing_filled": read_report.imputed,
                "warnings": warnings,
                "seconds": { "reading": read_seconds, "all": self.limits.seconds() },
            }),
        );
        let card = Card { means: read_report.means, summary, ..model.card.clone() };
        let bytes = Model::new(card, trained.scaling, trained.ranker).to_bytes()?;
        check_length(connection, bytes.len() as u64)?;
        Ok((bytes, report))
    }
}

/// What is known of all rows that a model has learned from: those of its summary, and those added.
fn together(earlier: &Value, mut added: Value) -> Value {
    for key in ["queries", "documents", "pairs"] {
        let sum = |a: &Value, b: &Value| a.as_u64().unwrap_or(0).saturating_add(b.as_u64().unwrap_or(0));
        added[key] = json!(sum(&earlier[key], &added[key]));
    }
    if earlier["feature_type"] == json!("f64") {
        added["feature_type"] = json!("f64");
    }
    added
}
