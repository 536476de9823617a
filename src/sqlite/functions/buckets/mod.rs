//! Training in buckets: `ltr_bucket`, `ltr_pack`, `ltr_begin`, `ltr_partial`, `ltr_merge`, `ltr_step` and `ltr_finish`.
//!
//! Rules (docs/reference/rules.md, 15):
//! * 15.1: The bucket of a query is a hash of its id. A pack has the rows of one bucket, in canonical order.
//! * 15.2: Sums over buckets follow the binary tree of bucket numbers. Order, grouping and repetition of merges change no bit.
//! * 15.3: The first round finds the buckets with rows. Later a missing bucket is an error; so are in each round a bucket that
//!   appears twice, answers of another round or training, and damaged bytes.
//! * 15.4: These functions, `ltr_fit` with packs, and `ltr_fit` with rows and the option `buckets` return the same model.
//! * 15.8: `boosted_trees` trains on packs in one process (`ltr_train`, `ltr_fit`), with the trees of the rows; `ltr_begin`
//!   refuses it.

mod train;

use std::sync::Arc;

use rusqlite::Connection;
use rusqlite::functions::{Aggregate, Context, FunctionFlags};
use rusqlite::types::{Value as SqlValue, ValueRef};
use serde_json::Value;

use crate::base::{Control, Error, Memory, Params, Result};
use crate::buckets::rounds::{Columns, State};
use crate::buckets::{Answer, pack};
use crate::data::{DatasetBuilder, Id, NewRow, QueryValues, bucket_of, check_buckets, is_weight};
use crate::model::TrainingColumns;
use crate::sqlite::glue::signature::Parameters;
use crate::sqlite::glue::{
    Database, Output, PURE, RunLimits, ScalarCall, ScalarFunction, State as ConnectionState, describe, id_of,
    interruptible, number_of, row_id, text_argument, usage, whole_of,
};
use crate::sqlite::source::is_default_name;
use crate::train::algorithm;
use crate::train::options::Use;
use crate::train::tuning::Search;

pub(super) use train::train;

/// The definition of `ltr_bucket`.
pub const BUCKET: ScalarFunction =
    ScalarFunction::new("ltr_bucket", "query_id, buckets", bucket).with_flags(PURE);

/// The definition of `ltr_begin`.
pub const BEGIN: ScalarFunction =
    ScalarFunction::new("ltr_begin", "algorithm [, options]", begin).with_flags(PURE);

/// The definition of `ltr_partial`.
pub const PARTIAL: ScalarFunction =
    ScalarFunction::new("ltr_partial", "state, bucket, rows", partial).with_flags(PURE);

/// The definition of `ltr_step`.
pub const STEP: ScalarFunction = ScalarFunction::new("ltr_step", "state, answer", step).with_flags(PURE);

/// The definition of `ltr_finish`.
pub const FINISH: ScalarFunction = ScalarFunction::new("ltr_finish", "state", finish).with_flags(PURE);

/// The bytes of an argument.
fn blob<'a>(what: &str, value: ValueRef<'a>, maker: &str) -> Result<&'a [u8]> {
    match value {
        ValueRef::Blob(bytes) => Ok(bytes),
        other => Err(Error::value(what, describe(other), format!("a BLOB of {maker}"))),
    }
}

/// A whole number from 0 to 2^32 - 1.
fn whole(what: &str, value: ValueRef<'_>) -> Result<u32> {
    let whole = whole_of(value).and_then(|number| u32::try_from(number).ok());
    whole.ok_or_else(|| Error::value(what, describe(value), "a whole number from 0"))
}

fn bucket(call: &ScalarCall<'_>) -> Result<Output> {
    let what = "argument 'buckets'";
    let buckets = check_buckets(what, u64::from(whole(what, call.context.get_raw(1))?))?;
    let query = call.context.get_raw(0);
    let bytes = query.as_bytes_or_null().ok().flatten().map_or(0, <[u8]>::len);
    let _copied = Memory::default().reserve(bytes as u64, "copying the id of a query", "use shorter ids")?;
    Ok(Output::Integer(i64::from(bucket_of(&id_of(query), buckets))))
}

/// Runs `work` on the calling thread, within `max_memory` and `time_limit`: engines run several calls at once.
fn here(
    call: &ScalarCall<'_>,
    options: &Params,
    work: impl FnOnce(&Control) -> Result<Output>,
) -> Result<Output> {
    let limits = RunLimits::new(Database::of(call.context), options);
    let control = Control::with_memory(limits.memory.clone());
    call.with_connection(|_| limits.run_here(|| work(&control)))
}

fn begin(call: &ScalarCall<'_>) -> Result<Output> {
    let algorithm = algorithm::find(&text_argument("argument 'algorithm'", call.context.get_raw(0))?)?;
    let (options, _) = call.options(1, Use::Fit)?;
    refuse_search(algorithm, &options)?;
    if let Some(key) = ["threads", "params"].into_iter().find(|key| options.has(key)) {
        let problem =
            format!("option '{key}': ltr_begin starts no threads and reads no source; leave it out");
        return Err(Error::Unsupported(problem));
    }
    let columns = columns(&options)?;
    let Some(buckets) = options.count("buckets") else {
        let missing =
            "option 'buckets': give the number of buckets that ltr_bucket had, such as {\"buckets\": 256}";
        return Err(Error::Unsupported(missing.to_owned()));
    };
    let buckets = check_buckets("option 'buckets'", buckets as u64)?;
    let options = options.without(&["columns"]);
    here(call, &options, |control| {
        let state = State::of(algorithm, &options, buckets, columns)?.in_rounds(control)?;
        Ok(Output::Blob(state.to_bytes()?))
    })
}

/// Refuses arrays of values, among which cross-validation would choose.
fn refuse_search(algorithm: &'static algorithm::AlgorithmDef, options: &Params) -> Result<()> {
    if Search::of_training(algorithm, options)?.is_none() {
        return Ok(());
    }
    let problem = "training in buckets takes one value for each option, except for lambda; compare several with \
                   ltr_cross_validate on a sample of the rows";
    Err(Error::Unsupported(problem.to_owned()))
}

/// What the option `columns` says of the rows before they were packed.
///
/// # Errors
/// A role that packs do not have; a value that is no name.
fn columns(options: &Params) -> Result<Columns> {
    let mut columns = Columns::default();
    for (key, value) in options.get("columns").and_then(Value::as_object).into_iter().flatten() {
        let roles = &mut columns.roles;
        let role = match key.as_str() {
            "features" => {
                let names = value.as_array().into_iter().flatten();
                columns.names = names.filter_map(|name| name.as_str().map(str::to_owned)).collect();
                continue;
            }
            "query" => &mut roles.query,
            "doc" => &mut roles.doc,
            "relevance" => &mut roles.relevance,
            "weight" => &mut roles.weight,
            "doc_weight" => &mut roles.doc_weight,
            _ => {
                let problem = format!(
                    "option 'columns': packs have no '{key}'; allowed are features, query, doc, relevance, weight and doc_weight"
                );
                return Err(Error::Unsupported(problem));
            }
        };
        let Some(name) = value.as_str() else {
            let what = format!("option 'columns', key '{key}'");
            return Err(Error::value(what, value.to_string(), "the name of a column"));
        };
        *role = Some(name.to_owned());
    }
    let twice = (1..columns.names.len()).find(|last| columns.names[..*last].contains(&columns.names[*last]));
    if let Some(twice) = twice {
        let problem = format!("option 'columns' names the feature \"{}\" twice", columns.names[twice]);
        return Err(Error::Unsupported(problem));
    }
    Ok(Columns { roles: named(columns.roles), ..columns })
}

/// Without default names, which are found again anyway. So rows and packs give the same model.
fn named(roles: TrainingColumns) -> TrainingColumns {
    let keep = |role: &str, name: Option<String>| name.filter(|name| !is_default_name(role, name));
    TrainingColumns {
        query: keep("query", roles.query),
        doc: keep("doc", roles.doc),
        relevance: keep("relevance", roles.relevance),
        weight: keep("weight", roles.weight),
        doc_weight: keep("doc_weight", roles.doc_weight),
        ..TrainingColumns::default()
    }
}

fn state_bytes(value: ValueRef<'_>) -> Result<&[u8]> {
    blob("argument 'state'", value, "ltr_begin or ltr_step")
}

fn state(call: &ScalarCall<'_>, value: ValueRef<'_>) -> Result<State> {
    call.with_connection(|_| State::from_bytes(state_bytes(value)?))
}

fn partial(call: &ScalarCall<'_>) -> Result<Output> {
    let [state_value, bucket, rows] = [0, 1, 2].map(|index| call.context.get_raw(index));
    if rows == ValueRef::Null {
        return Ok(Output::Null);
    }
    let (bucket, rows) = (whole("argument 'bucket'", bucket)?, blob("argument 'rows'", rows, "ltr_pack")?);
    let state = call.with_connection(|_| call.state.round(state_bytes(state_value)?))?;
    here(call, &state.options, |control| {
        let _decoded = control.reserve(rows.len() as u64, "decoding a pack", "use more buckets")?;
        Ok(Output::Blob(state.answer(bucket, rows, control)?.to_bytes()))
    })
}

fn step(call: &ScalarCall<'_>) -> Result<Output> {
    let [state_value, answer] = [0, 1].map(|index| call.context.get_raw(index));
    let mut state = state(call, state_value)?;
    if answer == ValueRef::Null {
        let problem = format!("round {} has no answer: there are no packs, or all are NULL", state.round());
        return Err(Error::Data(problem));
    }
    let answer = blob("argument 'answer'", answer, "ltr_merge")?;
    let answer = call.with_connection(|_| Answer::from_bytes(answer))?;
    here(call, &state.options.clone(), |control| {
        state.step(answer, control)?;
        Ok(Output::Blob(state.to_bytes()?))
    })
}

fn finish(call: &ScalarCall<'_>) -> Result<Output> {
    let value = call.context.get_raw(0);
    let state = state(call, value)?;
    here(call, &state.options.clone(), |control| {
        let finished = state.finish(control)?;
        call.state.set_warnings(finished.warnings);
        Ok(Output::Blob(finished.model.to_bytes()?))
    })
}

/// What is known about a state, for `ltr_info`; `None` if the BLOB is none.
pub(super) fn info(value: ValueRef<'_>) -> Result<Option<Output>> {
    match value {
        ValueRef::Blob(bytes) if crate::buckets::Kind::State.begins(bytes) => {
            Ok(Some(Output::Json(State::from_bytes(bytes)?.to_json())))
        }
        _ => Ok(None),
    }
}

// `ltr_pack(query_id, doc_id, relevance, features [, query_features, weight, doc_weight])` and `ltr_merge(answer)`:
// aggregates.

const PACK: &str = "ltr_pack";
const MERGE: &str = "ltr_merge";

const PACK_PARAMETERS: &str =
    "query_id, doc_id, relevance, features [, query_features] [, weight] [, doc_weight]";

/// Registers both aggregates.
///
/// # Errors
/// Errors of SQLite.
pub fn register(connection: &Connection, state: &Arc<ConnectionState>) -> rusqlite::Result<()> {
    let flags = FunctionFlags::SQLITE_UTF8 | PURE;
    let Parameters { names, required } = Parameters::of(PACK_PARAMETERS);
    for arguments in required..=names.len() {
        connection.create_aggregate_function(PACK, arguments as i32, flags, Pack(Arc::clone(state)))?;
    }
    usage::answer_aggregate(connection, PACK, PACK_PARAMETERS)?;
    connection.create_aggregate_function(MERGE, 1, flags, Merge(Arc::clone(state)))?;
    usage::answer_aggregate(connection, MERGE, "answer")
}

struct Pack(Arc<ConnectionState>);

/// The rows of a group.
struct Rows {
    builder: DatasetBuilder,
    database: Database,
}

impl Rows {
    fn push(&mut self, context: &Context<'_>) -> Result<()> {
        // 1. Every value is checked before the row is added.
        let row = self.builder.n_rows() + 1;
        let value =
            |index: usize| if index < context.len() { context.get_raw(index) } else { ValueRef::Null };
        let refuse = |index: usize, allowed: &str| {
            let name = &Parameters::of(PACK_PARAMETERS).names[index];
            let what = format!("argument '{name}' in row {row} of the group");
            Error::value(what, describe(value(index)), allowed)
        };
        let query = row_id(value(0));
        if query == Id::Null {
            return Err(refuse(0, "an id of the query"));
        }
        let relevance = number_of(value(2)).filter(|grade| grade.is_finite());
        let relevance = relevance.ok_or_else(|| refuse(2, "a finite number"))?;
        match value(4) {
            ValueRef::Null => {}
            ValueRef::Integer(_) | ValueRef::Real(_) => {
                return Err(refuse(4, "NULL; the weight of the query is the 6th argument"));
            }
            _ => {
                return Err(refuse(
                    4,
                    "NULL; query features are for query-dependent models, which ltr_fit trains on rows with \
                     \"fit_at\": \"query_time\"",
                ));
            }
        }
        let weight = |index: usize, least: f64, allowed: &str| match value(index) {
            ValueRef::Null => Ok(1.0),
            found => {
                let accepted = |weight: &f64| *weight >= least && is_weight(*weight);
                number_of(found).filter(accepted).ok_or_else(|| refuse(index, allowed))
            }
        };
        let query_weight =
            weight(5, f64::MIN_POSITIVE, "a number from 2.2250738585072014e-308 to 1e100, or NULL")?;
        let doc_weight = weight(6, 0.0, "a number from 0 to 1e100, or NULL")?;
        // 2. The features, which the builder checks.
        self.builder.begin(NewRow {
            query,
            doc: Some(row_id(value(1))),
            relevance: Some(relevance),
            doc_weight: Some(doc_weight),
            group: None,
            query_values: QueryValues { weight: query_weight, features: Vec::new() },
        })?;
        match value(3) {
            ValueRef::Blob(bytes) => self.builder.blob(bytes),
            ValueRef::Text(bytes) => self.builder.json(bytes),
            _ => Err(refuse(3, "a BLOB of ltr_vec or a JSON array")),
        }
    }

    fn finish(self) -> Result<Vec<u8>> {
        interruptible(self.database, || Ok(pack::write(&pack::rows(self.builder)?)))
    }
}

impl Aggregate<Rows, Option<Vec<u8>>> for Pack {
    fn init(&self, context: &mut Context<'_>) -> rusqlite::Result<Rows> {
        let builder = DatasetBuilder::new(PACK, None, Vec::new());
        Ok(Rows { builder, database: Database::of(context) })
    }

    fn step(&self, context: &mut Context<'_>, rows: &mut Rows) -> rusqlite::Result<()> {
        self.0.guard(PACK, || rows.push(context))
    }

    fn finalize(&self, _: &mut Context<'_>, rows: Option<Rows>) -> rusqlite::Result<Option<Vec<u8>>> {
        self.0.guard(PACK, || rows.map(Rows::finish).transpose())
    }
}

struct Merge(Arc<ConnectionState>);

impl Aggregate<Option<Answer>, SqlValue> for Merge {
    fn init(&self, _: &mut Context<'_>) -> rusqlite::Result<Option<Answer>> {
        Ok(None)
    }

    fn step(&self, context: &mut Context<'_>, merged: &mut Option<Answer>) -> rusqlite::Result<()> {
        self.0.guard(MERGE, || {
            let value = context.get_raw(0);
            if value == ValueRef::Null {
                return Ok(());
            }
            let next = Answer::from_bytes(blob("argument 'answer'", value, "ltr_partial or ltr_merge")?)?;
            if let Some(merged) = merged {
                merged.merge(next)
            } else {
                *merged = Some(next);
                Ok(())
            }
        })
    }

    fn finalize(&self, _: &mut Context<'_>, merged: Option<Option<Answer>>) -> rusqlite::Result<SqlValue> {
        self.0.guard(MERGE, || {
            Ok(merged.flatten().map_or(SqlValue::Null, |merged| SqlValue::Blob(merged.to_bytes())))
        })
    }
}
