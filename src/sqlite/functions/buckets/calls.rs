//! The scalar functions of training in buckets: `ltr_bucket`, `ltr_begin`, `ltr_partial`, `ltr_step` and `ltr_finish`.

use super::arguments::{blob, columns, one_setting, whole};
use crate::base::{Control, Error, Memory, Params, Result};
use crate::buckets::state::State;
use crate::buckets::{Answer, Kind};
use crate::data::{bucket_of, check_buckets};
use crate::sqlite::glue::{
    Database, Output, PURE, RunLimits, ScalarCall, ScalarFunction, id_of, text_argument,
};
use crate::train::algorithm;
use crate::train::options::Use;
use crate::train::protocol::Training;
use rusqlite::types::ValueRef;

pub const BUCKET: ScalarFunction =
    ScalarFunction::new("ltr_bucket", "query_id, buckets", bucket).with_flags(PURE);

pub const BEGIN: ScalarFunction =
    ScalarFunction::new("ltr_begin", "algorithm [, options]", begin).with_flags(PURE);

pub const PARTIAL: ScalarFunction =
    ScalarFunction::new("ltr_partial", "state, bucket, rows", partial).with_flags(PURE);

pub const STEP: ScalarFunction = ScalarFunction::new("ltr_step", "state, answer", step).with_flags(PURE);

pub const FINISH: ScalarFunction = ScalarFunction::new("ltr_finish", "state", finish).with_flags(PURE);

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
    one_setting(&Training::new(algorithm, options.clone())?)?;
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

fn state_bytes(value: ValueRef<'_>) -> Result<&[u8]> {
    blob("argument 'state'", value, "ltr_begin or ltr_step")
}

pub(super) fn state(call: &ScalarCall<'_>, value: ValueRef<'_>) -> Result<State> {
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
        Ok(Output::Blob(state.answer(bucket, rows, control)?.to_bytes()?))
    })
}

pub(super) fn step(call: &ScalarCall<'_>) -> Result<Output> {
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

pub(super) fn finish(call: &ScalarCall<'_>) -> Result<Output> {
    let value = call.context.get_raw(0);
    let state = state(call, value)?;
    here(call, &state.options.clone(), |control| {
        let finished = state.finish(control)?;
        call.state.set_warnings(finished.warnings);
        Ok(Output::Blob(finished.model.to_bytes()?))
    })
}

/// Information about a state, for `ltr_info`; `None` if the BLOB is not a state.
pub fn info(value: ValueRef<'_>) -> Result<Option<Output>> {
    match value {
        ValueRef::Blob(bytes) if Kind::State.begins(bytes) => {
            Ok(Some(Output::Json(State::from_bytes(bytes)?.to_json())))
        }
        _ => Ok(None),
    }
}

// `ltr_pack(query_id, doc_id, relevance, features [, query_features, weight, doc_weight])` and `ltr_merge(answer)`:
// aggregates.
