//! One query feature of one query, as the source gives it: a number, a category, or an order of items.

use serde_json::Value;

use super::id::{Id, text_number};
use crate::base::error::shorten;

/// A query feature of one query.
///
/// ```
/// use sqlite_ltr::QueryValue;
///
/// assert_eq!(QueryValue::from(f64::NAN), QueryValue::Missing);
/// assert_eq!(QueryValue::order(["price", "brand"]), QueryValue::from(r#"["price","brand"]"#));
/// ```
#[derive(Debug, Clone, Default, PartialEq)]
pub enum QueryValue {
    /// No value.
    #[default]
    Missing,
    /// A finite number.
    Number(f64),
    /// A category; or an order of items from first to last, as a JSON array of texts or numbers; or a number, if all values
    /// of the query feature are numbers and the option `query_distance` does not name it.
    Text(Box<str>),
}

impl QueryValue {
    /// An order of items, from first to last. Items that are missing come after all others.
    pub fn order(items: impl IntoIterator<Item = impl Into<String>>) -> Self {
        let items = items.into_iter().map(|item| Value::String(item.into())).collect();
        Self::Text(Value::Array(items).to_string().into())
    }

    /// Whether it is missing, a number, or a text that is a finite number.
    #[cfg(feature = "sqlite")]
    pub(crate) fn is_number(&self) -> bool {
        *self == Self::Missing || self.cell().number().is_some()
    }

    /// Bytes on the heap.
    pub(crate) fn heap_bytes(&self) -> u64 {
        match self {
            Self::Text(text) => crate::base::memory::heap_bytes(text.len()),
            Self::Missing | Self::Number(_) => 0,
        }
    }

    pub(super) fn cell(&self) -> Cell<'_> {
        match self {
            Self::Missing => Cell::Missing,
            Self::Number(value) => Cell::Number(*value),
            Self::Text(text) => Cell::Text(text),
        }
    }
}

impl From<f64> for QueryValue {
    /// NaN is a missing value.
    fn from(value: f64) -> Self {
        if value.is_nan() { Self::Missing } else { Self::Number(value) }
    }
}

impl From<&str> for QueryValue {
    fn from(text: &str) -> Self {
        Self::Text(text.into())
    }
}

impl From<String> for QueryValue {
    fn from(text: String) -> Self {
        Self::Text(text.into())
    }
}

/// A borrowed [`QueryValue`].
#[derive(Debug, Clone, Copy)]
pub(super) enum Cell<'a> {
    Missing,
    Number(f64),
    Text(&'a str),
}

impl Cell<'_> {
    /// The number, or the finite number in a text.
    pub fn number(self) -> Option<f64> {
        match self {
            Self::Missing => None,
            Self::Number(value) => Some(value),
            Self::Text(text) => text_number(text).filter(|number| number.is_finite()),
        }
    }

    /// The category, which is equal for equal values; that of missing values is NULL. Text stays text: '007' is not '7'.
    pub fn category(self) -> Id {
        match self {
            Self::Missing => Id::Null,
            Self::Number(value) => Id::Real(value),
            Self::Text(text) => Id::text(text),
        }
    }

    /// The items of an order, from first to last; none of a missing value.
    pub fn order(self) -> Option<Vec<Id>> {
        let item = |item: Value| match item {
            Value::String(text) => Some(Id::from(text)),
            Value::Number(number) => number.as_i64().map(Id::Integer).or(number.as_f64().map(Id::Real)),
            _ => None,
        };
        match self {
            Self::Missing => Some(Vec::new()),
            Self::Number(_) => None,
            Self::Text(text) => {
                serde_json::from_str::<Vec<Value>>(text).ok()?.into_iter().map(item).collect()
            }
        }
    }

    /// The value for messages.
    pub fn describe(self) -> String {
        match self {
            Self::Missing => "NULL".to_owned(),
            Self::Number(value) => format!("{value}"),
            Self::Text(text) => format!("text '{}'", shorten(text)),
        }
    }
}

impl std::fmt::Display for QueryValue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.cell().describe())
    }
}
