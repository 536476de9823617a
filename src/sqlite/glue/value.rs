//! Conversion of SQL values.

use rusqlite::types::{ToSqlOutput, Value, ValueRef};
use rusqlite::{ErrorCode, ToSql};

use crate::base::{
    Error, LONGEST_VECTOR, Result, Strict, json_problem, numbers, shorten, text_number, whole_number,
};
use crate::data::{CategoryValue, Id, InputColumn, Missing, QueryValue, is_missing_mark, no_vector};
use crate::model::Model;

/// A value that an SQL function returns.
#[derive(Debug, Clone)]
pub enum Output {
    Null,
    Integer(i64),
    Real(f64),
    Text(String),
    /// JSON text.
    Json(serde_json::Value),
    Blob(Vec<u8>),
    /// An identifier, with its storage class.
    Id(Id),
}

/// A row of values of several types.
macro_rules! row {
    ($($value:expr),+ $(,)?) => { vec![$($crate::sqlite::glue::Output::from($value)),+] };
}
pub(crate) use row;

/// One conversion per type: `type => |value| variant`.
macro_rules! from_each {
    ($($type:ty => |$value:ident| $output:expr),+ $(,)?) => {
        $(impl From<$type> for Output {
            fn from($value: $type) -> Self {
                $output
            }
        })+
    };
}

from_each! {
    bool => |flag| Self::Integer(flag.into()),
    i64 => |value| Self::Integer(value),
    u32 => |count| Self::Integer(count.into()),
    u64 => |count| Self::Integer(i64::try_from(count).unwrap_or(i64::MAX)),
    usize => |count| Self::from(count as u64),
    f64 => |value| Self::Real(value),
    &str => |text| Self::Text(text.to_owned()),
    String => |text| Self::Text(text),
    serde_json::Value => |json| Self::Json(json),
    Vec<u8> => |bytes| Self::Blob(bytes),
    Id => |id| Self::Id(id),
    &Id => |id| Self::Id(id.clone()),
}

impl<T: Into<Self>> From<Option<T>> for Output {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}

impl ToSql for Output {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(match self {
            Self::Null => ToSqlOutput::Owned(Value::Null),
            Self::Integer(value) => ToSqlOutput::Owned(Value::Integer(*value)),
            Self::Real(value) => ToSqlOutput::Owned(Value::Real(*value)),
            Self::Text(text) => ToSqlOutput::Borrowed(ValueRef::Text(text.as_bytes())),
            Self::Json(json) => ToSqlOutput::Owned(Value::Text(json.to_string())),
            Self::Blob(bytes) => ToSqlOutput::Borrowed(ValueRef::Blob(bytes)),
            Self::Id(id) => ToSqlOutput::Borrowed(id_value(id)),
        })
    }
}

/// The SQL value of an identifier.
pub fn id_value(id: &Id) -> ValueRef<'_> {
    match id {
        Id::Null => ValueRef::Null,
        Id::Integer(value) => ValueRef::Integer(*value),
        Id::Real(value) => ValueRef::Real(*value),
        Id::Text(bytes) => ValueRef::Text(bytes),
        Id::Blob(bytes) => ValueRef::Blob(bytes),
    }
}

/// The identifier of an SQL value.
pub fn id_of(value: ValueRef<'_>) -> Id {
    match value {
        ValueRef::Null => Id::Null,
        ValueRef::Integer(value) => Id::Integer(value),
        ValueRef::Real(value) => Id::Real(value),
        ValueRef::Text(bytes) => Id::Text(bytes.into()),
        ValueRef::Blob(bytes) => Id::Blob(bytes.into()),
    }
}

/// The identifier in a source row. Empty text counts as NULL, because CSV imports use it for missing values.
pub fn row_id(value: ValueRef<'_>) -> Id {
    if value == ValueRef::Text(b"") { Id::Null } else { id_of(value) }
}

/// The number in an INTEGER, a REAL, or a TEXT that is a well-formed number, because CSV imports make everything TEXT.
#[inline]
pub fn number_of(value: ValueRef<'_>) -> Option<f64> {
    match value {
        ValueRef::Real(value) => Some(value),
        ValueRef::Integer(value) => Some(value as f64),
        ValueRef::Text(bytes) => std::str::from_utf8(bytes).ok().and_then(text_number),
        ValueRef::Null | ValueRef::Blob(_) => None,
    }
}

/// A category's value; `None` for a BLOB and for text that is not UTF-8.
pub fn category_value(value: ValueRef<'_>) -> Option<CategoryValue<'_>> {
    match value {
        ValueRef::Null => Some(CategoryValue::Null),
        ValueRef::Integer(value) => Some(CategoryValue::Integer(value)),
        ValueRef::Real(value) => Some(CategoryValue::Real(value)),
        ValueRef::Text(bytes) => std::str::from_utf8(bytes).ok().map(CategoryValue::Text),
        ValueRef::Blob(_) => None,
    }
}

/// The whole number in an INTEGER, or in a REAL without a fraction, because JavaScript binds every number as REAL.
pub fn whole_of(value: ValueRef<'_>) -> Option<i64> {
    match value {
        ValueRef::Integer(value) => Some(value),
        ValueRef::Real(value) => whole_number(value),
        _ => None,
    }
}

/// A value for messages.
pub fn describe(value: ValueRef<'_>) -> String {
    match value {
        ValueRef::Null => "NULL".to_owned(),
        ValueRef::Integer(value) => value.to_string(),
        ValueRef::Real(value) => format!("{value:?}"),
        // Only 60 characters are shown, so longer text is not copied.
        ValueRef::Text(bytes) => {
            format!("text '{}'", shorten(&String::from_utf8_lossy(&bytes[..bytes.len().min(1000)])))
        }
        ValueRef::Blob(bytes) => format!("a BLOB of {} bytes", bytes.len()),
    }
}

/// SQLite's message without the statement text.
///
/// Static builds of rusqlite append ` in <statement> at offset <number>`. The loadable build does not, and there is no
/// error variant to match instead.
pub fn message(error: &rusqlite::Error) -> String {
    let mut text = error.to_string();
    let starts = |rest: &str| {
        let rest = rest.trim_start().to_ascii_uppercase();
        ["SELECT", "WITH", "VALUES", "--", "/*", "INSERT", "DELETE"].iter().any(|word| rest.starts_with(word))
    };
    let statement = text.match_indices(" in ").find(|(index, word)| starts(&text[index + word.len()..]));
    if let (Some((index, _)), Some(_)) = (statement, text.rfind(" at offset ")) {
        text.truncate(index);
    }
    text
}

/// A database error. `otherwise` makes it, unless the call was interrupted; an error about another connection's lock
/// keeps its text.
pub fn from_host(error: &rusqlite::Error, otherwise: impl FnOnce(String) -> Error) -> Error {
    match error.sqlite_error_code() {
        Some(ErrorCode::OperationInterrupted) => Error::Interrupted,
        // With a shared cache, SQLITE_LOCKED also reports locks of other connections.
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
            Error::Busy(otherwise(message(error)).to_string())
        }
        _ => otherwise(message(error)),
    }
}

/// Longest text argument (bytes). Arguments are copied several times, into statements and messages.
const LONGEST_TEXT: usize = 1 << 20;

/// A text argument: a name, a source, options.
///
/// # Errors
/// A value that is not TEXT in UTF-8, or longer than [`LONGEST_TEXT`].
pub fn text_argument(what: &str, value: ValueRef<'_>) -> Result<String> {
    match value {
        ValueRef::Text(bytes) if bytes.len() > LONGEST_TEXT => Err(Error::value(
            what,
            format!("text of {} bytes", bytes.len()),
            format!("text of at most {LONGEST_TEXT} bytes"),
        )),
        ValueRef::Text(bytes) => String::from_utf8(bytes.to_vec())
            .map_err(|_| Error::value(what, "text that is not UTF-8", "UTF-8 text")),
        other => Err(Error::value(what, describe(other), "text")),
    }
}

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
            return Err(refuse(format!("{value} as value {}", at + 1)));
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_lose_the_statement_but_nothing_else() {
        let connection = rusqlite::Connection::open_in_memory().unwrap();
        for (sql, expected) in [
            ("SELECT nope", "no such column: nope"),
            ("SELECT 1 ORDER BY 2", "1st ORDER BY term out of range - should be between 1 and 1"),
            (
                "SELECT 1 AS a UNION SELECT 2 ORDER BY a + 1",
                "1st ORDER BY term does not match any column in the result set",
            ),
            ("SELECT * FROM nowhere WHERE 'x in y at offset 1'", "no such table: nowhere"),
        ] {
            assert_eq!(message(&connection.prepare(sql).unwrap_err()), expected);
        }
    }

    #[test]
    fn only_well_formed_numbers_are_numbers() {
        for (text, number) in [
            ("1", Some(1.0)),
            (" -2.5e1 ", Some(-25.0)),
            ("", None),
            ("inf", None),
            ("1x", None),
            ("nan", None),
        ] {
            assert_eq!(number_of(ValueRef::Text(text.as_bytes())), number, "{text}");
        }
    }
}
