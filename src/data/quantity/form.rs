use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::json;

use super::dates;
use super::numbers::{MARKS, begins_with_zero, is_money, parse, shape, split, with_exponent};
use crate::base::text_number;

/// Longest text, in bytes, that may be a quantity.
pub const LONGEST: usize = 64;

/// Prefixes of the names of key and age forms.
const KEY: &str = "key ";
const AGE: &str = "age ";

/// The form in which all texts of a column write numbers, dates or durations. Models and options store its name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Form {
    /// A number, with text before and after it.
    Number(NumberForm),
    /// A date, time or duration: the index in the table.
    Listed(usize),
    /// The number under a key of the JSON objects in another column.
    Key { column: String, key: String },
    /// Days from a date to the time of the query.
    Age {
        /// The form of the date.
        date: Box<Form>,
        /// The column of the time of the query.
        column: String,
        /// The form of its texts; `None` if it has numbers, days since 1970-01-01.
        time: Option<Box<Form>>,
    },
}

/// Marks of a number and the text around it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NumberForm {
    pub before: String,
    pub after: String,
    pub thousands: Option<char>,
    pub decimal: char,
}

impl Form {
    /// The value of a text: dates become days since 1970-01-01 (UTC), times and durations seconds (minutes, if the text
    /// has hours and minutes but no seconds). `None`: the text does not fit the form.
    pub fn value(&self, text: &str) -> Option<f64> {
        match self {
            _ if text.len() > LONGEST => None,
            Self::Number(form) => form.value(text),
            Self::Listed(form) => dates::value(*form, text.trim()),
            // The row reader extracts numbers from objects and subtracts dates.
            Self::Key { .. } | Self::Age { .. } => text_number(text),
        }
    }

    /// The name, as [`Form::parse_name`] reads it: "number $ 1,234.56", "date d.m.Y", "duration h:mm:ss".
    pub fn name(&self) -> String {
        match self {
            Self::Number(form) => form.name(),
            Self::Listed(form) => dates::name(*form),
            Self::Key { column, key } => format!("{KEY}{}", json!([column, key])),
            Self::Age { date, column, time } => format!("{AGE}{}", json!([date, column, time])),
        }
    }

    /// The form of this name.
    pub fn parse_name(name: &str) -> Option<Self> {
        if let Some(key) = name.strip_prefix(KEY) {
            let (column, key) = serde_json::from_str(key).ok()?;
            return Some(Self::Key { column, key });
        }
        if let Some(age) = name.strip_prefix(AGE) {
            let (date, column, time): (Self, String, Option<Self>) = serde_json::from_str(age).ok()?;
            let are_dates = date.is_date() && time.iter().all(Self::is_date);
            return are_dates.then(|| Self::Age { date: date.into(), column, time: time.map(Box::new) });
        }
        let listed = (0..dates::FORMS).find(|form| dates::name(*form) == name);
        listed.map(Self::Listed).or_else(|| NumberForm::parse_name(name).map(Self::Number))
    }

    /// Whether the values are days between a date and the time of the query.
    pub fn is_age(&self) -> bool {
        matches!(self, Self::Age { .. })
    }

    /// Whether it is the number under a key of JSON objects.
    pub fn is_key(&self) -> bool {
        matches!(self, Self::Key { .. })
    }

    /// Whether the values are days since 1970-01-01.
    pub fn is_date(&self) -> bool {
        matches!(self, Self::Listed(form) if dates::is_date(*form))
    }
}

impl From<Form> for String {
    fn from(form: Form) -> Self {
        form.name()
    }
}

impl TryFrom<String> for Form {
    type Error = String;

    fn try_from(name: String) -> Result<Self, String> {
        Self::parse_name(&name)
            .ok_or_else(|| format!("'{name}' is not a form of numbers, dates or durations"))
    }
}

impl fmt::Display for Form {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name())
    }
}

impl NumberForm {
    pub(super) fn value(&self, text: &str) -> Option<f64> {
        let text = text.trim();
        let is_money = is_money(&self.before, &self.after);
        // Numbers without the currency, and negative ones in parentheses, are amounts of money too.
        let accepts_plain = is_money || self.before.is_empty() && self.after.is_empty();
        if accepts_plain
            && self.decimal == '.'
            && let Some(value) = with_exponent(text)
        {
            return Some(value);
        }
        let split = split(text, shape(text, &mut String::new())?);
        let has_form = split.before == self.before && split.after == self.after;
        let is_plain = accepts_plain && split.before.is_empty() && split.after.is_empty();
        if !has_form && !is_plain || split.in_parentheses && !is_money || begins_with_zero(split.number) {
            return None;
        }
        let (value, thousands) = parse(split.number, self.decimal)?;
        let value = if split.is_negative { -value } else { value };
        (thousands.is_none() || thousands == self.thousands).then_some(value)
    }

    fn sample(thousands: Option<char>, decimal: char) -> String {
        format!("1{}234{decimal}56", thousands.map_or(String::new(), String::from))
    }

    fn name(&self) -> String {
        let sample = Self::sample(self.thousands, self.decimal);
        let parts = ["number", &self.before, &sample, &self.after];
        parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ")
    }

    fn parse_name(name: &str) -> Option<Self> {
        let text = format!("{} ", name.strip_prefix("number ")?);
        let marks = [None].into_iter().chain(MARKS.map(Some)).flat_map(|mark| [(mark, '.'), (mark, ',')]);
        let found = marks.filter(|(thousands, decimal)| *thousands != Some(*decimal)).filter_map(
            |(thousands, decimal)| {
                let sample = format!(" {} ", Self::sample(thousands, decimal));
                let start = format!(" {text}").find(&sample)?;
                let (before, after) =
                    (text[..start].trim().to_owned(), text[start + sample.len() - 1..].trim().to_owned());
                Some((start, Self { before, after, thousands, decimal }))
            },
        );
        found.min_by_key(|(start, _)| *start).map(|(_, form)| form)
    }
}
