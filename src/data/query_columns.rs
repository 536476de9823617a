//! How a query feature is encoded in a row: a scaled number, a category number, or positions of items.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::id::Id;
use super::missing::Missing;
use crate::base::{Error, Result, Strict, Ticks, shorten, text_number};
use crate::data::query_distance::Comparison;
use crate::math::{are_bounded, sort_items};

/// Largest number of distinct items in the orders of a query feature. Each takes a number in an encoded row.
pub const MAX_ITEMS: usize = 256;

/// The code of categories that did not occur in training.
const UNKNOWN: f64 = -1.0;

/// How a query feature is encoded, learned in training.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Encoding {
    /// A number: (value - center) * factor.
    Number {
        /// Replaces missing values with the option `missing` "mean".
        mean: f64,
        center: f64,
        factor: f64,
    },
    /// The index of a category. A missing value is a separate category.
    Category(Vec<Id>),
    /// An order: the position of each item, from 0. Unlisted items share the position after the last.
    Order(Vec<Id>),
}

/// A value that an encoding does not accept: the value, and what is allowed.
pub struct Refused {
    pub found: String,
    pub allowed: String,
}

impl Encoding {
    /// Learns the encoding of the values of all training queries. `given`: how the caller wants them compared.
    ///
    /// # Errors
    /// The index of a query and the problem with its value; or no query, and the problem with all values.
    pub fn fit<'a>(
        values: impl Iterator<Item = Cell<'a>> + Clone,
        given: Option<Comparison>,
    ) -> Result<(Self, Comparison), (Option<usize>, String)> {
        let is_order = |cell: &Cell<'_>| matches!(cell, Cell::Text(_)) && cell.order().is_some();
        let comparison = given.unwrap_or_else(|| {
            let number = |cell: Cell<'_>| matches!(cell, Cell::Missing) || cell.number().is_some();
            match () {
                () if ticking(values.clone()).all(number) => Comparison::Euclidean,
                () if ticking(values.clone()).any(|cell| is_order(&cell)) => Comparison::Mallows,
                () => Comparison::Overlap,
            }
        });
        let encoding = match comparison {
            Comparison::Euclidean => Self::number(values.clone()),
            Comparison::Overlap => Self::Category(categories(values.clone())),
            Comparison::Kendall | Comparison::Mallows => {
                Self::Order(items(values.clone()).map_err(|problem| (None, problem))?)
            }
        };
        // Every value must have this kind.
        let mut row = Vec::new();
        for (query, value) in ticking(values).enumerate() {
            row.clear();
            encoding.push(value, Missing::Mean, &mut row).map_err(|Refused { found, allowed }| {
                (Some(query), format!("{found}; \"{}\" compares {allowed}", comparison.name()))
            })?;
        }
        Ok((encoding, comparison))
    }

    fn number<'a>(values: impl Iterator<Item = Cell<'a>>) -> Self {
        let (mut sum, mut count) = (0.0, 0_usize);
        for value in values {
            if let Some(value) = value.number() {
                sum += value;
                count += 1;
            }
        }
        Self::Number { mean: sum / count.max(1) as f64, center: 0.0, factor: 1.0 }
    }

    /// How many numbers it takes in an encoded row.
    pub fn width(&self) -> usize {
        match self {
            Self::Number { .. } | Self::Category(_) => 1,
            Self::Order(items) => items.len(),
        }
    }

    /// Whether it is a number.
    pub fn is_number(&self) -> bool {
        matches!(self, Self::Number { .. })
    }

    /// Whether it is a category.
    pub fn is_category(&self) -> bool {
        matches!(self, Self::Category(_))
    }

    /// Whether a training query had this value; always true for numbers and orders.
    pub fn knows(&self, value: Cell<'_>) -> bool {
        if let Self::Category(known) = self { known.binary_search(&value.category()).is_ok() } else { true }
    }

    /// Whether values can be compared this way.
    pub fn takes(&self, comparison: Comparison) -> bool {
        match comparison {
            Comparison::Euclidean => self.is_number(),
            Comparison::Overlap => self.is_category(),
            Comparison::Kendall | Comparison::Mallows => matches!(self, Self::Order(_)),
        }
    }

    /// Appends a value's numbers to a row. Numbers are not scaled yet.
    pub fn push(&self, value: Cell<'_>, missing: Missing, row: &mut Vec<f64>) -> Result<(), Refused> {
        let refuse = |allowed: &str| Refused { found: value.describe(), allowed: allowed.to_owned() };
        match self {
            Self::Number { mean, .. } => row.push(match (value, value.number()) {
                (_, Some(value)) => value,
                (Cell::Missing, _) if missing == Missing::Zero => 0.0,
                (Cell::Missing, _) if missing == Missing::Branch => f64::NAN,
                (Cell::Missing, _) => *mean,
                _ => return Err(refuse("numbers")),
            }),
            Self::Category(known) => {
                let index = known.binary_search(&value.category());
                row.push(index.map_or(UNKNOWN, |index| index as f64));
            }
            Self::Order(items) => {
                let allowed = "orders: JSON arrays of texts or numbers, such as [\"price\", \"brand\"]";
                let listed = value.order().ok_or_else(|| refuse(allowed))?;
                push_positions(items, &listed, row).map_err(|item| {
                    refuse(&format!("orders in which no item appears twice, as {item} does"))
                })?;
            }
        }
        Ok(())
    }

    /// Whether an encoding decoded from bytes is valid.
    pub fn is_valid(&self) -> bool {
        match self {
            Self::Number { mean, center, factor } => {
                mean.is_finite() && center.is_finite() && *factor >= 0.0 && are_bounded([factor])
            }
            Self::Category(ids) => ids.is_sorted_by(|a, b| a < b),
            Self::Order(items) => items.len() <= MAX_ITEMS && items.is_sorted_by(|a, b| a < b),
        }
    }
}

/// Adds the position of each known item among the listed items. Unknown items take no position.
fn push_positions<'a>(items: &[Id], listed: &'a [Id], row: &mut Vec<f64>) -> Result<(), &'a Id> {
    let start = row.len();
    let ranked: Vec<usize> = listed.iter().filter_map(|item| items.binary_search(item).ok()).collect();
    row.resize(start + items.len(), ranked.len() as f64);
    for (position, &item) in ranked.iter().enumerate() {
        row[start + item] = position as f64;
    }
    let mut sorted: Vec<&Id> = listed.iter().collect();
    sort_items(&mut sorted, Ord::cmp);
    let repeated = sorted.windows(2).find(|pair| pair[0] == pair[1]);
    repeated.map_or(Ok(()), |pair| Err(pair[0]))
}

/// Cost of reading a value, in operations of about a nanosecond.
pub const READING: usize = 1000;

/// The same values, with checkpoints.
fn ticking<'a>(values: impl Iterator<Item = Cell<'a>>) -> impl Iterator<Item = Cell<'a>> {
    let mut ticks = Ticks::default();
    values.inspect(move |_| ticks.add(READING))
}

/// The distinct categories, sorted.
fn categories<'a>(values: impl Iterator<Item = Cell<'a>>) -> Vec<Id> {
    let mut categories = BTreeSet::new();
    categories.extend(ticking(values).map(Cell::category));
    categories.into_iter().collect()
}

/// The distinct items in all orders, sorted.
///
/// # Errors
/// More than [`MAX_ITEMS`] items.
fn items<'a>(values: impl Iterator<Item = Cell<'a>>) -> Result<Vec<Id>, String> {
    let mut items = BTreeSet::new();
    for listed in ticking(values).filter_map(Cell::order) {
        for item in listed {
            items.insert(item);
            if items.len() > MAX_ITEMS {
                return Err(format!(
                    "orders with more than {MAX_ITEMS} different items; leave out rare ones"
                ));
            }
        }
    }
    Ok(items.into_iter().collect())
}

/// An error about the value of a query.
pub fn refuse_value(place: &str, name: &str, problem: &str) -> Error {
    Error::Data(format!("{place} \"{name}\" is {problem}"))
}

// Query feature values as in the source: a number, a category, or an order of items.

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
    /// A category; an order of items from first to last, as a JSON array of texts or numbers; or a number, if all values of
    /// the query feature are numbers and the option `query_distance` does not name it.
    Text(Box<str>),
}

impl QueryValue {
    /// The text, if the value is text.
    pub fn text(&self) -> Option<&str> {
        if let Self::Text(text) = self { Some(text) } else { None }
    }

    /// An order of items, from first to last. Items that are not listed come after all others.
    pub fn order(items: impl IntoIterator<Item = impl Into<String>>) -> Self {
        let items = items.into_iter().map(|item| Value::String(item.into())).collect();
        Self::Text(Value::Array(items).to_string().into())
    }

    /// Whether it is missing, a number, or a text that is a finite number.
    pub(crate) fn is_number(&self) -> bool {
        *self == Self::Missing || self.cell().number().is_some()
    }

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

    /// The category. Equal values have equal categories, and missing values have the category NULL. Text stays text:
    /// '007' is not '7'.
    pub fn category(self) -> Id {
        match self {
            Self::Missing => Id::Null,
            Self::Number(value) => Id::Real(value),
            Self::Text(text) => Id::text(text),
        }
    }

    /// The items of an order, from first to last; empty for a missing value.
    pub fn order(self) -> Option<Vec<Id>> {
        let item = |Strict(item): Strict| match item {
            Value::String(text) => Some(Id::from(text)),
            Value::Number(number) => number.as_i64().map(Id::Integer).or(number.as_f64().map(Id::Real)),
            _ => None,
        };
        match self {
            Self::Missing => Some(Vec::new()),
            Self::Number(_) => None,
            Self::Text(text) => {
                serde_json::from_str::<Vec<Strict>>(text).ok()?.into_iter().map(item).collect()
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

#[cfg(test)]
mod tests {
    use super::*;

    fn fit(texts: &[&str], given: Option<Comparison>) -> (Encoding, Comparison) {
        Encoding::fit(texts.iter().map(|text| Cell::Text(text)), given)
            .unwrap_or_else(|(_, problem)| panic!("{problem}"))
    }

    #[test]
    fn texts_are_numbers_only_if_all_are_and_no_distance_is_given() {
        let (encoding, comparison) = fit(&["1", "3"], None);
        assert_eq!(
            (encoding, comparison),
            (Encoding::Number { mean: 2.0, center: 0.0, factor: 1.0 }, Comparison::Euclidean)
        );
        for (texts, given) in [
            (["007", "7", "A"], None),
            (["1e5", "100000", "zz"], None),
            ([" 7", "7 ", "7"], Some(Comparison::Overlap)),
        ] {
            let (encoding, comparison) = fit(&texts, given);
            assert_eq!(comparison, Comparison::Overlap);
            let expected = categories(texts.iter().map(|text| Cell::Text(text)));
            assert_eq!((expected.len(), encoding), (3, Encoding::Category(expected)));
        }
    }
}
