//! Vectors given as arguments: the features of a document, and the features of a query.

use rusqlite::types::ValueRef;

use super::value::{describe, number_of};
use crate::base::{Error, LONGEST_VECTOR, Result, Strict, json_problem, numbers, shorten, text_number};
use crate::data::{CategoryValue, InputColumn, Missing, QueryValue, is_missing_mark, no_vector};
use crate::model::Model;

/// The values of a JSON object as an array, in the order of the model's columns. Missing keys
/// become null.
fn named_values(value: ValueRef<'_>, model: &Model) -> Option<String> {
    let ValueRef::Text(bytes) = value else { return None };
    let is_object = bytes.len() <= LONGEST_VECTOR && bytes.trim_ascii_start().starts_with(b"{");
    let Strict(object) = is_object.then(|| serde_json::from_slice(bytes).ok()).flatten()?;
    let object = object.as_object()?;
    let card = &model.card;
    let named = |name: &str| object.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
    let by_key = |name: &str| {
        let (.., key) = card.quantities.keys().find(|(known, ..)| *known == name)?;
        object.get_key_value(key)
    };
    let value = |name: &String| {
        named(name).or_else(|| by_key(name)).map_or(&serde_json::Value::Null, |(_, value)| value)
    };
    let names = card.input_names();
    serde_json::to_string(&names.iter().map(value).collect::<Vec<_>>()).ok()
}

/// A vector of finite numbers: a BLOB of little-endian `f32`, a JSON array, or with a model a JSON object by names.
/// With a model, the number of features is checked before any are copied, and missing ones are filled as in training.
/// Without a model they are NaN.
///
/// # Errors
/// A value in a different format; infinities; missing values that the model does not allow.
pub fn vector_argument(what: &str, value: ValueRef<'_>, model: Option<&Model>) -> Result<Vec<f64>> {
    if let Some(values) = model.and_then(|model| named_values(value, model)) {
        return vector_argument(what, ValueRef::Text(values.as_bytes()), model);
    }
    let is_text = matches!(value, ValueRef::Text(_));
    let reads_texts =
        |model: &&Model| !model.card.categories.is_empty() || is_text && !model.card.quantities.is_empty();
    let mixed = model.filter(reads_texts).map(|model| mixed_vector(what, value, model)).transpose()?;
    let allowed = "one vector: ltr_vec(x1, x2, ...) or a JSON array of numbers";
    let refuse = |problem: String| Error::value(what, problem, allowed);
    let fill = |at: usize| match model.map(|model| (model.card.missing, &model.card.means)) {
        Some((Missing::Error, _)) => None,
        Some((Missing::Zero, _)) => Some(0.0),
        Some((Missing::Mean, means)) => means.get(at).copied(),
        Some((Missing::Branch, _)) | None => Some(f64::NAN),
    };
    let check_width = |found: usize| model.map_or(Ok(()), |model| model.check_width(found));
    let mut values: Vec<f64> = match (mixed, value) {
        (Some(values), _) => values,
        (None, ValueRef::Blob(bytes)) => match bytes.as_chunks::<4>() {
            (chunks, []) => {
                check_width(chunks.len())?;
                chunks.iter().map(|chunk| f64::from(f32::from_le_bytes(*chunk))).collect()
            }
            _ => return Err(refuse(format!("a BLOB of {} bytes, not a multiple of 4", bytes.len()))),
        },
        (None, ValueRef::Text(bytes)) => match numbers(bytes, model.map(|model| model.card.features.len())) {
            Ok((values, found)) => {
                check_width(found)?;
                values
            }
            // Texts such as NA may mark missing values.
            Err(problem) => (model.and_then(|model| mixed_vector(what, value, model).ok()))
                .ok_or_else(|| refuse(format!("{} ({problem})", describe(value))))?,
        },
        (None, other) => return Err(refuse(describe(other))),
    };
    for (at, value) in values.iter_mut().enumerate() {
        if value.is_nan() {
            let allowed = "a number for every feature, such as coalesce(x, 0) for a missing one";
            *value =
                fill(at).ok_or_else(|| Error::value(what, format!("null as value {}", at + 1), allowed))?;
        } else if value.is_infinite() {
            return Err(Error::not_finite(what, *value, at, false));
        }
    }
    Ok(values)
}

/// The features of a document for a model that reads texts: a JSON array of its column values, numbers first, then
/// categories. Missing numbers are NaN.
fn mixed_vector(what: &str, value: ValueRef<'_>, model: &Model) -> Result<Vec<f64>> {
    let card = &model.card;
    let refuse = |found: &str| Err(no_vector(what, found, &card.input_names()));
    let ValueRef::Text(bytes) = value else { return refuse(&describe(value)) };
    if bytes.len() > LONGEST_VECTOR {
        return refuse(&format!("{} bytes of text", bytes.len()));
    }
    let Ok(values) = serde_json::from_slice::<Vec<Strict>>(bytes) else {
        return refuse(&describe(value));
    };
    let inputs = card.categories.inputs(card.features.len());
    if values.len() != inputs.len() {
        return refuse(&format!("{} values", values.len()));
    }
    let number_in = |at: usize, text: &str| {
        let (number, may_be_missing) = match card.quantities.of(&card.features[at]) {
            // A date needs the query time.
            Some(form) => (form.value(text), !form.is_age()),
            None => (text_number(text), is_missing_mark(text.trim())),
        };
        number.or((may_be_missing && card.missing != Missing::Error).then_some(f64::NAN))
    };
    let mut features = vec![0.0; card.features.len()];
    for (Strict(value), input) in values.iter().zip(inputs) {
        match (input, value) {
            (InputColumn::Number(at), serde_json::Value::Null) => features[at] = f64::NAN,
            // As in source rows, text may be a number.
            (InputColumn::Number(at), value) => {
                if let Some(number) = value.as_f64().or_else(|| number_in(at, value.as_str()?)) {
                    features[at] = number;
                } else {
                    let name = &card.features[at];
                    let form = card.quantities.of(name).map(|form| format!(", read as {form}"));
                    let form = form.unwrap_or_default();
                    return refuse(&format!("{} for \"{name}\"{form}", shorten(&value.to_string())));
                }
            }
            (InputColumn::Category(category, range), value) => {
                let Some(value) = json_category_value(value) else {
                    return refuse(&format!("{} for \"{}\"", shorten(&value.to_string()), category.name));
                };
                category.encode(value.text().as_deref(), &mut features[range]);
            }
        }
    }
    Ok(features)
}

/// A category value in a JSON array. True and false are 1 and 0 in SQLite.
fn json_category_value(value: &serde_json::Value) -> Option<CategoryValue<'_>> {
    match value {
        serde_json::Value::Null => Some(CategoryValue::Null),
        serde_json::Value::Bool(flag) => Some(CategoryValue::Integer(i64::from(*flag))),
        serde_json::Value::String(text) => Some(CategoryValue::Text(text)),
        serde_json::Value::Number(number) => {
            // SQLite has no larger whole numbers.
            match number.as_i64() {
                Some(whole) => Some(CategoryValue::Integer(whole)),
                None if number.is_u64() => None,
                None => number.as_f64().map(CategoryValue::Real),
            }
        }
        _ => None,
    }
}

/// The features of a query: numbers, texts and orders of items by position, in a JSON array; or a BLOB of numbers.
///
/// # Errors
/// A value in a different format; NaN and infinities; a text of more than [`LONGEST_VECTOR`] bytes.
pub fn query_values(what: &str, value: ValueRef<'_>) -> Result<Vec<QueryValue>> {
    // Reading does not check for interrupts, so limit the length.
    if let ValueRef::Text(bytes) | ValueRef::Blob(bytes) = value
        && bytes.len() > LONGEST_VECTOR
    {
        let allowed = format!("a vector of at most {LONGEST_VECTOR} bytes");
        return Err(Error::value(what, format!("{} bytes", bytes.len()), allowed));
    }
    let ValueRef::Text(bytes) = value else {
        let entry = |value: f64| if value.is_nan() { QueryValue::Missing } else { QueryValue::Number(value) };
        return Ok(vector_argument(what, value, None)?.into_iter().map(entry).collect());
    };
    let allowed = "one vector: ltr_vec(x1, x2, ...) or a JSON array of numbers, texts and orders of items";
    let refuse = |problem: String| Error::value(what, problem, allowed);
    let values: Vec<Strict> = serde_json::from_slice(bytes)
        .map_err(|problem| refuse(format!("{} ({})", describe(value), json_problem(&problem))))?;
    let entry = |(at, Strict(value)): (usize, Strict)| {
        query_entry(&value)
            .ok_or_else(|| refuse(format!("{} as value {}", shorten(&value.to_string()), at + 1)))
    };
    values.into_iter().enumerate().map(entry).collect()
}

/// A query feature in a JSON array.
fn query_entry(value: &serde_json::Value) -> Option<QueryValue> {
    match value {
        serde_json::Value::Null => Some(QueryValue::Missing),
        serde_json::Value::Number(number) => {
            number.as_f64().filter(|number| number.is_finite()).map(QueryValue::Number)
        }
        serde_json::Value::String(text) => query_value(ValueRef::Text(text.as_bytes())),
        serde_json::Value::Array(_) => Some(QueryValue::from(value.to_string())),
        _ => None,
    }
}

/// A query feature in a separate column. Text stays text: whether it is a number depends on the other values of its column.
pub fn query_value(value: ValueRef<'_>) -> Option<QueryValue> {
    match value {
        ValueRef::Null => Some(QueryValue::Missing),
        ValueRef::Text(bytes) => std::str::from_utf8(bytes).ok().map(QueryValue::from),
        other => number_of(other).filter(|number| number.is_finite()).map(QueryValue::Number),
    }
}
