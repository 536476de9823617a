//! Conversions of values of a row, and messages about ids and features. Messages about relevance and weights are in
//! `reader.rs`.

use std::cell::RefCell;
use std::collections::BTreeMap;

use rusqlite::types::ValueRef;

use super::quote;
use crate::base::text_number;
use crate::data::{Form, Seen, numbers_by_key};
use crate::sqlite::glue::{describe, number_of};

/// Days since 1970-01-01 of queries. Smaller numbers are probably years, larger ones seconds.
const DAYS: std::ops::Range<f64> = 3653.0..1e6;

/// The JSON object read last, and its numbers.
#[derive(Default)]
pub struct LastObject {
    text: RefCell<Vec<u8>>,
    numbers: RefCell<BTreeMap<String, Option<f64>>>,
}

impl LastObject {
    /// The number under a key of this object.
    pub fn value<'r>(&self, object: ValueRef<'r>, key: &str) -> ValueRef<'r> {
        let text = match object {
            ValueRef::Text(text) => text,
            ValueRef::Null => return ValueRef::Null,
            _ => return ValueRef::Text(b"a value that is not a JSON object"),
        };
        let (mut last, mut numbers) = (self.text.borrow_mut(), self.numbers.borrow_mut());
        if *last != text || last.is_empty() {
            let Some(read) = numbers_by_key(text) else { return object };
            (*last, *numbers) = (text.to_vec(), read);
        }
        numbers.get(key).copied().flatten().map_or(ValueRef::Null, ValueRef::Real)
    }
}

/// Days from a date to a time in this form; NaN without a time.
///
/// # Errors
/// The problem with a value that is not a time.
pub fn days_before(date: f64, form: Option<&Form>, time: ValueRef<'_>) -> Result<f64, String> {
    let text = if let ValueRef::Text(text) = time { std::str::from_utf8(text).ok() } else { None };
    let days = match (time, form) {
        (ValueRef::Null, _) => return Ok(f64::NAN),
        (ValueRef::Text(_), Some(form)) => text.and_then(|text| form.value(text)),
        (ValueRef::Text(_), None) => text.and_then(text_number).filter(|days| DAYS.contains(days)),
        (other, _) => number_of(other).filter(|days| DAYS.contains(days)),
    };
    days.map(|days| days - date).ok_or_else(|| {
        let form = form.map_or(String::new(), |form| format!("texts of the form {form} and "));
        format!("{}; expected {form}days since 1970-01-01", describe(time))
    })
}

/// The problem with a value that is not an id.
pub fn no_id(found: ValueRef<'_>, needed: &str) -> String {
    let found = if found == ValueRef::Null { "NULL" } else { "empty text" };
    format!("{found}; every row needs {needed}")
}

/// A value of a column that is not a feature.
pub fn seen(value: ValueRef<'_>) -> Seen<'_> {
    match value {
        ValueRef::Null => Seen::Missing,
        ValueRef::Blob(bytes) => Seen::Blob(bytes),
        ValueRef::Text(bytes) => number_of(value).map_or(Seen::Text(bytes), Seen::Number),
        ValueRef::Integer(_) | ValueRef::Real(_) => number_of(value).map_or(Seen::Missing, Seen::Number),
    }
}

/// Whether a text begins with a letter, so it is not a JSON array or object.
pub fn is_words(text: &[u8]) -> bool {
    text.trim_ascii_start().first().is_some_and(u8::is_ascii_alphabetic)
}

/// A feature that is not a number, for messages. CSV imports turn missing values into empty texts.
pub fn no_number(found: ValueRef<'_>, column: &str) -> String {
    let text = describe(found);
    match found {
        ValueRef::Text([]) => format!("{text} (nullif({}, '') in the source makes it NULL)", quote(column)),
        _ => text,
    }
}
