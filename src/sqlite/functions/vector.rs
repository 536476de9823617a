//! `ltr_vec(x1, x2, ...)` and `ltr_vec_to_json(blob)`: vectors of features.
//!
//! Rules (docs/reference/rules.md, 10):
//! * 10.1: `ltr_vec` concatenates numbers, BLOBs of f32 and JSON arrays to a BLOB of little-endian f32.
//! * 10.2: NULL is a missing value, which is NaN. Values that are infinite in single precision are errors.

use rusqlite::types::ValueRef;

use crate::base::{Error, Result, Ticks};
use crate::sqlite::glue::{Output, PURE, ScalarCall, ScalarFunction, describe, number_of, vector_argument};

/// The definition of `ltr_vec`.
pub const VEC: ScalarFunction = ScalarFunction::new("ltr_vec", "", vec).with_flags(PURE).taking(&[-1]);

/// The definition of `ltr_vec_to_json`.
pub const VEC_TO_JSON: ScalarFunction =
    ScalarFunction::new("ltr_vec_to_json", "blob", to_json).with_flags(PURE);

/// Bytes of an argument above which reading it checks for interrupts.
const LONG: usize = 1 << 16;

fn vec(call: &ScalarCall<'_>) -> Result<Output> {
    let is_long = |index: usize| match call.context.get_raw(index) {
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => bytes.len() > LONG,
        _ => false,
    };
    if (0..call.context.len()).any(is_long) {
        return call.with_connection(|_| concatenated(call));
    }
    concatenated(call)
}

fn concatenated(call: &ScalarCall<'_>) -> Result<Output> {
    let (mut bytes, mut ticks) = (Vec::with_capacity(4 * call.context.len()), Ticks::default());
    for index in 0..call.context.len() {
        let value = call.context.get_raw(index);
        let what = || format!("argument {}", index + 1);
        let numbers = match number_of(value) {
            Some(number) => vec![number],
            None if value == ValueRef::Null => vec![f64::NAN],
            None => vector_argument(&what(), value, None)?,
        };
        for number in numbers {
            ticks.add(1);
            push(number, &mut bytes, &what)?;
        }
    }
    Ok(Output::Blob(bytes))
}

fn push(number: f64, bytes: &mut Vec<u8>, what: &dyn Fn() -> String) -> Result<()> {
    let single = number as f32;
    if single.is_infinite() {
        return Err(Error::value(what(), format!("{number:?}"), "numbers within single precision"));
    }
    bytes.extend(single.to_le_bytes());
    Ok(())
}

fn to_json(call: &ScalarCall<'_>) -> Result<Output> {
    let value = call.context.get_raw(0);
    let ValueRef::Blob(bytes) = value else {
        return Err(Error::value("argument 1", describe(value), "a BLOB of f32 values, as ltr_vec makes"));
    };
    let (values, rest) = bytes.as_chunks::<4>();
    if !rest.is_empty() {
        return Err(Error::value("argument 1", describe(value), "a multiple of 4 bytes"));
    }
    let values: Vec<f32> = values.iter().map(|value| f32::from_le_bytes(*value)).collect();
    match values.iter().position(|value| value.is_infinite()) {
        // The shortest decimals that read back as the same f32.
        None => serde_json::from_str(&format!("{values:?}").replace("NaN", "null"))
            .map(Output::Json)
            .map_err(|problem| Error::Internal(problem.to_string())),
        Some(at) => Err(Error::value(
            "argument 1",
            format!("{} as value {}", values[at], at + 1),
            "finite numbers, and NaN",
        )),
    }
}
