//! Training in buckets: `ltr_bucket`, `ltr_pack`, `ltr_begin`, `ltr_partial`, `ltr_merge`, `ltr_step` and `ltr_finish`.
//!
//! Rules (docs/reference/rules.md, 15):
//! * 15.1: The bucket of a query is a hash of its id. A pack has the rows of one bucket, in canonical order.
//! * 15.2: Sums over buckets follow the binary tree of bucket numbers. Order, grouping and repetition of merges change no bit.
//! * 15.3: The first round finds the buckets with rows. Later a missing bucket is an error; so are in each round a bucket that
//!   appears twice, answers of another round or training, and damaged bytes.
//! * 15.4: These functions, `ltr_fit` with packs, and `ltr_fit` with rows and the option `buckets` return the same model.

mod aggregates;
mod train;

use rusqlite::functions::FunctionFlags;
use rusqlite::types::ValueRef;

use crate::algorithm;
use crate::buckets::{Answer, bucket_of, check_buckets};
use crate::control::Control;
use crate::error::{Error, Result};
use crate::model::Model;
use crate::options::{self, Use};
use crate::param::Params;
use crate::rounds::State;
use crate::sqlite::glue::function::{ScalarCall, ScalarFunction};
use crate::sqlite::glue::run_limits::RunLimits;
use crate::sqlite::glue::value::{Output, describe, id_of, optional_text, text_argument};
use crate::sqlite::glue::vtab::Parameter;
use crate::tuning::Search;

pub use aggregates::register;
pub(super) use train::train;

const PURE: FunctionFlags = FunctionFlags::SQLITE_INNOCUOUS.union(FunctionFlags::SQLITE_DETERMINISTIC);
const STATE: Parameter = Parameter::required("state");

/// The definition of `ltr_bucket`.
pub const BUCKET: ScalarFunction = ScalarFunction {
    name: "ltr_bucket",
    arities: &[2],
    parameters: &[Parameter::required("query_id"), Parameter::required("buckets")],
    flags: PURE,
    execute: bucket,
};

/// The definition of `ltr_begin`.
pub const BEGIN: ScalarFunction = ScalarFunction {
    name: "ltr_begin",
    arities: &[1, 2],
    parameters: &[Parameter::required("algorithm"), Parameter::optional("options")],
    flags: PURE,
    execute: begin,
};

/// The definition of `ltr_partial`.
pub const PARTIAL: ScalarFunction = ScalarFunction {
    name: "ltr_partial",
    arities: &[3],
    parameters: &[STATE, Parameter::required("bucket"), Parameter::required("rows")],
    flags: PURE,
    execute: partial,
};

/// The definition of `ltr_step`.
pub const STEP: ScalarFunction = ScalarFunction {
    name: "ltr_step",
    arities: &[2],
    parameters: &[STATE, Parameter::required("answer")],
    flags: PURE,
    execute: step,
};

/// The definition of `ltr_finish`.
pub const FINISH: ScalarFunction =
    ScalarFunction { name: "ltr_finish", arities: &[1], parameters: &[STATE], flags: PURE, execute: finish };

/// The bytes of an argument.
fn blob<'a>(what: &str, value: ValueRef<'a>, maker: &str) -> Result<&'a [u8]> {
    match value {
        ValueRef::Blob(bytes) => Ok(bytes),
        other => Err(Error::value(what, describe(other), format!("a BLOB of {maker}"))),
    }
}

/// A whole number from 0 to 2^32 - 1.
fn whole(what: &str, value: ValueRef<'_>) -> Result<u32> {
    match value {
        ValueRef::Integer(number) if u32::try_from(number).is_ok() => Ok(number as u32),
        other => Err(Error::value(what, describe(other), "a whole number from 0")),
    }
}

fn bucket(call: &ScalarCall<'_>) -> Result<Output> {
    let what = "argument 'buckets'";
    let buckets = check_buckets(what, u64::from(whole(what, call.context.get_raw(1))?))?;
    Ok(Output::Integer(i64::from(bucket_of(&id_of(call.context.get_raw(0)), buckets))))
}

/// Runs `work` on the calling thread: engines run several calls at once.
fn here(call: &ScalarCall<'_>, work: impl FnOnce(&Control) -> Result<Output>) -> Result<Output> {
    let limits = RunLimits::default();
    call.with_connection(|connection| limits.run_here(connection, || work(&Control::default())))
}

fn begin(call: &ScalarCall<'_>) -> Result<Output> {
    let algorithm = algorithm::find(&text_argument("argument 'algorithm'", call.context.get_raw(0))?)?;
    let options = optional_text("argument 'options'", call.argument(1))?;
    let options = options::parse(options.as_deref(), Use::Fit)?;
    refuse_search(algorithm, &options)?;
    let names = names(&options)?;
    let Some(buckets) = options.count("buckets") else {
        let missing =
            "option 'buckets': give the number of buckets that ltr_bucket had, such as {\"buckets\": 256}";
        return Err(Error::Unsupported(missing.to_owned()));
    };
    let buckets = check_buckets("option 'buckets'", buckets as u64)?;
    here(call, |control| {
        let state = State::new(algorithm, &options, buckets, names, control)?;
        Ok(Output::Blob(state.to_bytes()))
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

/// The names of the features in the option `columns`; empty if there are none.
///
/// # Errors
/// Names of other columns, which packs do not have.
fn names(options: &Params) -> Result<Vec<String>> {
    let columns = options.get("columns").and_then(|columns| columns.as_object());
    if let Some(key) = columns.and_then(|columns| columns.keys().find(|key| *key != "features")) {
        let problem = format!("option 'columns': packs take the names of \"features\" only, not '{key}'");
        return Err(Error::Unsupported(problem));
    }
    let names = columns.and_then(|columns| columns.get("features")?.as_array());
    Ok(names.into_iter().flatten().filter_map(|name| name.as_str().map(str::to_owned)).collect())
}

fn state_bytes(value: ValueRef<'_>) -> Result<&[u8]> {
    blob("argument 'state'", value, "ltr_begin or ltr_step")
}

fn state(value: ValueRef<'_>) -> Result<State> {
    State::from_bytes(state_bytes(value)?)
}

fn partial(call: &ScalarCall<'_>) -> Result<Output> {
    let [state_value, bucket, rows] = [0, 1, 2].map(|index| call.context.get_raw(index));
    if rows == ValueRef::Null {
        return Ok(Output::Null);
    }
    here(call, |control| {
        let (bucket, rows) =
            (whole("argument 'bucket'", bucket)?, blob("argument 'rows'", rows, "ltr_pack")?);
        let state = call.state.round(state_bytes(state_value)?)?;
        Ok(Output::Blob(state.answer(bucket, rows, control)?.to_bytes()))
    })
}

fn step(call: &ScalarCall<'_>) -> Result<Output> {
    let [state_value, answer] = [0, 1].map(|index| call.context.get_raw(index));
    here(call, |control| {
        let mut state = state(state_value)?;
        if answer == ValueRef::Null {
            let problem =
                format!("round {} has no answer: there are no packs, or all are NULL", state.round());
            return Err(Error::Data(problem));
        }
        state.step(Answer::from_bytes(blob("argument 'answer'", answer, "ltr_merge")?)?, control)?;
        Ok(Output::Blob(state.to_bytes()))
    })
}

fn finish(call: &ScalarCall<'_>) -> Result<Output> {
    let value = call.context.get_raw(0);
    here(call, |control| {
        let finished = state(value)?.finish(control)?;
        call.state.set_warnings(finished.warnings);
        encoded(&finished.model)
    })
}

fn encoded(model: &Model) -> Result<Output> {
    Ok(Output::Blob(model.to_bytes()?))
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
