//! The values that a parameter accepts, and the text of an error about other values.

use std::fmt;

use serde_json::{Number, Value};

/// Largest array.
pub const MAX_VALUES: usize = 1000;

/// The values that a parameter accepts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Rule {
    /// Any text.
    Text,
    /// `true` or `false`.
    Flag,
    /// A JSON object.
    Object,
    /// A JSON array.
    Array,
    /// One of these texts. `@name` is "@" and the name of a stored model.
    OneOf(&'static [&'static str]),
    /// An integer in this range, both ends included.
    Integer(u64, u64),
    /// A whole number, or a text that is not empty.
    Id,
    /// A number above the first and at most the second.
    Above(f64, f64),
    /// A number above 0 and below 1.
    Fraction,
    /// A number in this range, both ends included.
    Between(f64, f64),
    /// A multiple of the median ([`median_factor`]).
    Median,
    /// An array of 1 to 1000 values that obey this rule.
    Several(&'static Rule),
    /// A value that obeys one of these rules.
    Or(&'static [Rule]),
}

/// A number above 0.
pub const POSITIVE: Rule = Rule::Above(0.0, f64::MAX);

/// A model with a larger bandwidth cannot be stored.
pub const LARGEST_BANDWIDTH: f64 = 1e150;

/// The factor in a multiple of the median: 1 for `median`, 0.5 for `0.5 median`; above 0.
pub fn median_factor(text: &str) -> Option<f64> {
    let factor = text.strip_suffix("median")?;
    let factor = if factor.is_empty() { 1.0 } else { factor.strip_suffix(' ')?.parse().ok()? };
    POSITIVE.accepts(&factor.into()).then_some(factor)
}

impl Rule {
    /// Whether a value obeys the rule.
    pub fn accepts(&self, value: &Value) -> bool {
        let number = value.as_f64().filter(|x| !x.is_subnormal());
        match *self {
            Self::Text => value.is_string(),
            Self::Flag => value.is_boolean(),
            Self::Object => value.is_object(),
            Self::Array => value.is_array(),
            Self::OneOf(words) => {
                let model = words.contains(&STORED) && stored_model(value).is_some();
                model || value.as_str().is_some_and(|text| words.contains(&text) && text != STORED)
            }
            Self::Id => {
                whole(value).is_some_and(|n| n.is_i64())
                    || value.as_str().is_some_and(|text| !text.is_empty())
            }
            Self::Integer(low, high) => {
                whole(value).and_then(|n| n.as_u64()).is_some_and(|n| (low..=high).contains(&n))
            }
            Self::Above(low, high) => number.is_some_and(|x| x > low && x <= high),
            Self::Fraction => number.is_some_and(|x| x > 0.0 && x < 1.0),
            Self::Between(low, high) => number.is_some_and(|x| (low..=high).contains(&x)),
            Self::Median => value
                .as_str()
                .and_then(median_factor)
                .is_some_and(|factor| Self::Above(0.0, LARGEST_BANDWIDTH).accepts(&factor.into())),
            Self::Several(rule) => rule.accepts_all(value),
            Self::Or(rules) => rules.iter().any(|rule| rule.accepts(value)),
        }
    }

    /// Whether a value is an array of 1 to 1000 values that obey the rule.
    pub fn accepts_all(&self, value: &Value) -> bool {
        let list = value.as_array().filter(|list| (1..=MAX_VALUES).contains(&list.len()));
        list.is_some_and(|list| list.iter().all(|item| self.accepts(item)))
    }

    /// A value that obeys the rule, or an array of such values, with integers where the rule asks for whole numbers: hosts such
    /// as JavaScript write 2 as 2.0, and people a million as 1e6.
    pub fn with_integers(&self, value: Value) -> Value {
        match value {
            Value::Array(list) => list.into_iter().map(|value| self.with_integers(value)).collect(),
            value if self.asks(|rule| matches!(rule, Self::Id | Self::Integer(..))) => {
                whole(&value).map_or(value, Value::Number)
            }
            value => value,
        }
    }

    /// Whether the values are SQL values, such as ids.
    pub fn takes_values(&self) -> bool {
        self.asks(|rule| matches!(rule, Self::Array))
    }

    /// Whether an array can obey the rule.
    pub fn takes_arrays(&self) -> bool {
        self.asks(|rule| matches!(rule, Self::Array | Self::Several(_)))
    }

    /// Whether the rule or one of its alternatives satisfies a predicate.
    fn asks(&self, has: impl Fn(&Self) -> bool + Copy) -> bool {
        match self {
            Self::Or(rules) => rules.iter().any(|rule| rule.asks(has)),
            rule => has(rule),
        }
    }

    /// The smallest and the largest number that can obey the rule.
    pub fn range(&self) -> (f64, f64) {
        match *self {
            Self::Integer(low, high) => (low as f64, high as f64),
            Self::Above(low, high) | Self::Between(low, high) => (low, high),
            Self::Several(rule) | Self::Or([rule, ..]) => rule.range(),
            _ => (0.0, f64::INFINITY),
        }
    }
}

/// An end of a range. Large numbers are written with an exponent.
struct Bound(f64);

impl fmt::Display for Bound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 < 1e20 { write!(f, "{}", self.0) } else { write!(f, "{:e}", self.0) }
    }
}

/// How a rule writes the name of a stored model.
const STORED: &str = "@name";

/// The model that a text such as "@name" or "@name@2" refers to.
pub fn stored_model(value: &Value) -> Option<&str> {
    value.as_str()?.strip_prefix('@').filter(|name| !name.is_empty())
}

/// The integer in a number without a fraction.
fn whole(value: &Value) -> Option<Number> {
    let number = value.as_number()?;
    if number.is_f64() {
        number.as_f64().and_then(whole_number).map(Number::from)
    } else {
        Some(number.clone())
    }
}

/// The integer equal to a number without a fraction. Numbers above 2^53 are not exact.
pub fn whole_number(number: f64) -> Option<i64> {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    (number.abs() <= EXACT && number.fract().abs() <= 0.0).then_some(number as i64)
}

/// Whether a value is a number closer to 0 than [`f64::MIN_POSITIVE`], or an array with one. Such numbers have fewer digits,
/// and divisions by them overflow.
fn is_too_small(value: &Value) -> bool {
    let subnormal = |value: &Value| value.as_f64().is_some_and(f64::is_subnormal);
    subnormal(value) || value.as_array().is_some_and(|list| list.iter().any(subnormal))
}

impl Rule {
    /// The allowed values, for an error about this value.
    pub fn allowed_for(&self, value: &Value) -> String {
        if is_too_small(value) {
            return format!("{self}; the smallest number above 0 is {:e}", f64::MIN_POSITIVE);
        }
        self.to_string()
    }

    /// The alternatives. `of`: a rule whose values an array may list.
    fn alternatives(&self, of: Option<&Self>) -> Vec<String> {
        match self {
            Self::Or(rules) => rules.iter().flat_map(|rule| rule.alternatives(rules.first())).collect(),
            Self::Flag => vec!["true".to_owned(), "false".to_owned()],
            Self::OneOf(words) if of.is_some() => words.iter().map(|word| format!("\"{word}\"")).collect(),
            Self::Several(rule) if of == Some(rule) && **rule != Self::Text => {
                vec![format!("an array of up to {MAX_VALUES} of them")]
            }
            rule => vec![rule.to_string()],
        }
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text => f.write_str("a text"),
            Self::Object => f.write_str("a JSON object"),
            Self::Array => f.write_str("a JSON array"),
            Self::OneOf([only]) => write!(f, "only \"{only}\""),
            Self::OneOf(words) => {
                let quoted: Vec<String> = words.iter().map(|word| format!("\"{word}\"")).collect();
                let model =
                    if words.contains(&STORED) { " (a stored model; the @ belongs to it)" } else { "" };
                write!(f, "one of {}{model}", quoted.join(", "))
            }
            Self::Id => f.write_str("a whole number from -2^63 to 2^63 - 1, or a text that is not empty"),
            Self::Integer(low, u64::MAX) if *low > 0 => write!(f, "a whole number from {low}"),
            Self::Integer(low, high) => write!(f, "a whole number from {low} to {high}"),
            Self::Above(low, f64::MAX) => write!(f, "a number above {low}"),
            Self::Above(low, high) => write!(f, "a number above {low}, at most {}", Bound(*high)),
            Self::Fraction => f.write_str("a number above 0 and below 1"),
            Self::Between(low, high) => write!(f, "a number from {low} to {high}"),
            Self::Median => f.write_str("a multiple of the median such as \"0.5 median\""),
            Self::Several(Self::Text) => f.write_str("an array of texts"),
            Self::Several(Self::Between(low, high)) => {
                write!(f, "an array of up to {MAX_VALUES} numbers from {low} to {high}")
            }
            Self::Several(rule) => write!(f, "an array of up to {MAX_VALUES}, each {rule}"),
            Self::Flag | Self::Or(_) => {
                let mut parts = self.alternatives(None);
                let last = parts.pop().unwrap_or_default();
                let or = if parts.iter().any(|part| part.contains(',')) { ", or " } else { " or " };
                write!(f, "{}{or}{last}", parts.join(", "))
            }
        }
    }
}

// Enums whose variants have names in parameters. One table has the names and the variants, so the enum parses each name
// that a rule allows.

/// An enum with a name for each variant.
pub trait Named: Copy + 'static {
    /// The names, in the order of the variants.
    const NAMES: &'static [&'static str];

    /// The variant with this name.
    fn from_name(name: &str) -> Option<Self>;
}

/// Gives every variant of an enum a name: `named!(Prior { Zero = "zero", Global = "global" })`.
macro_rules! named {
    ($type:ident { $($variant:ident = $name:literal),+ $(,)? }) => {
        impl $type {
            /// The names, in the order of the variants.
            pub const NAMES: &'static [&'static str] = &[$($name),+];

            #[allow(dead_code, reason = "some are only parsed")]
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name),+ }
            }

            /// The variant with this name.
            pub fn parse(name: &str) -> Option<Self> {
                match name { $($name => Some(Self::$variant),)+ _ => None }
            }
        }

        impl $crate::base::param::Named for $type {
            const NAMES: &'static [&'static str] = Self::NAMES;

            fn from_name(name: &str) -> Option<Self> {
                Self::parse(name)
            }
        }
    };
}

pub(crate) use named;
