//! Conversion of SQL values.

use rusqlite::types::{ToSqlOutput, Value, ValueRef};
use rusqlite::{ErrorCode, ToSql};

use crate::base::{Error, Result, shorten, text_number, whole_number};
use crate::data::{CategoryValue, Id};

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
