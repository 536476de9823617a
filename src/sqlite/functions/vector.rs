//! `ltr_vec(x1, x2, ...)` and `ltr_vec_to_json(blob)`: vectors of features.
//!
//! Rules (docs/reference/rules.md, 10):
//! * 10.1: `ltr_vec` concatenates numbers, BLOBs of f32 and JSON arrays to a BLOB of little-endian f32.
//! * 10.2: NULL is a missing value, stored as NaN. Values that are infinite in single precision are errors.

use rusqlite::types::ValueRef;

use crate::base::{Error, Memory, Result, Ticks, bytes_of, grown_bytes, most_elements};
use crate::sqlite::glue::{
    Output, PURE, ScalarCall, ScalarFunction, describe, number_of, reading, vector_argument,
};

pub const VEC: ScalarFunction = ScalarFunction::new("ltr_vec", "", vec).with_flags(PURE).taking(&[-1]);

pub const VEC_TO_JSON: ScalarFunction =
    ScalarFunction::new("ltr_vec_to_json", "blob", to_json).with_flags(PURE);

/// Operations, for [`Ticks`], of a number in decimals.
const DECIMALS_COST: usize = 128;

/// Longest JSON number, with the comma after it, in bytes.
const LONGEST_NUMBER: usize = 32;

/// Advice for vectors that take too much memory.
const SHORTER: &str = "make shorter vectors";

fn vec(call: &ScalarCall<'_>) -> Result<Output> {
    reading(call.context, || concatenated(call))
}

fn concatenated(call: &ScalarCall<'_>) -> Result<Output> {
    let mut bytes: Vec<u8> = Vec::with_capacity(4 * call.context.len());
    let (mut held, mut ticks) = (Memory::default().nothing(), Ticks::default());
    for index in 0..call.context.len() {
        let value = call.context.get_raw(index);
        let what = || format!("argument {}", index + 1);
        let most = match value {
            ValueRef::Text(text) => most_elements(text),
            ValueRef::Blob(blob) => blob.len() / 4,
            _ => 1,
        };
        // Memory for the argument's numbers, the vector, and SQLite's copy.
        let result = grown_bytes(&bytes, 4 * most) + bytes.len() as u64 + bytes_of::<f32>(most);
        held.resize(result.saturating_add(bytes_of::<f64>(most)), "a vector", SHORTER)?;
        let numbers = match number_of(value) {
            Some(number) => vec![number],
            None if value == ValueRef::Null => vec![f64::NAN],
            None => vector_argument(&what(), value, None)?,
        };
        bytes.reserve(4 * numbers.len());
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
        return Err(Error::value("argument 1", describe(value), "a BLOB of f32 values, as made by ltr_vec"));
    };
    let (values, rest) = bytes.as_chunks::<4>();
    if !rest.is_empty() {
        return Err(Error::value("argument 1", describe(value), "a multiple of 4 bytes"));
    }
    reading(call.context, || json_of(values)).map(Output::Text)
}

/// The shortest decimals that read back as the same f32. NaN is null.
fn json_of(values: &[[u8; 4]]) -> Result<String> {
    let mut text = String::from("[");
    let (mut held, mut ticks) = (Memory::default().nothing(), Ticks::default());
    for (at, bytes) in values.iter().enumerate() {
        ticks.add(DECIMALS_COST);
        if text.capacity() - text.len() < LONGEST_NUMBER {
            // SQLite takes a copy.
            let longest = (text.len() + LONGEST_NUMBER).max(2 * text.capacity());
            held.resize(2 * longest as u64, "the text of a vector", SHORTER)?;
            text.reserve(LONGEST_NUMBER);
        }
        let value = f32::from_le_bytes(*bytes);
        if value.is_infinite() {
            return Err(Error::not_finite("argument 1", value.into(), at, true));
        }
        if at > 0 {
            text.push(',');
        }
        let decimals = format!("{value:?}").parse().unwrap_or(f64::NAN);
        text += &serde_json::Value::from(decimals).to_string();
    }
    text.push(']');
    Ok(text)
}
