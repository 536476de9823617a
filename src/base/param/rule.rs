//! The values that a parameter accepts, and the text of an error about other values.

use std::fmt;

use serde_json::{Number, Value};

/// Values of options that were removed, and what to use instead.
const REMOVED: [(&str, &str); 1] = [("dual_descent", "\"auto\"")];

/// Longest array of numbers.
const MAX_NUMBERS: usize = 1000;

/// The values that a parameter accepts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Rule {
    /// Any text.
    Text,
    /// `true` or `false`.
    Flag,
    /// `true`, `false` or this text.
    FlagOr(&'static str),
    /// A JSON object.
    Object,
    /// A text, or a JSON object.
    TextOrObject,
    /// A text, or a JSON array.
    TextOrArray,
    /// A JSON array or object.
    ArrayOrObject,
    /// A text, a JSON array or a JSON object.
    TextArrayOrObject,
    /// A text, or an array of texts.
    Texts,
    /// One of these texts.
    OneOf(&'static [&'static str]),
    /// One of these texts, or "@" and the name of a stored model.
    OneOfOrModel(&'static [&'static str]),
    /// An integer in this range, both ends included.
    Integer(u64, u64),
    /// As [`Self::Integer`], or this text.
    IntegerOr(u64, u64, &'static str),
    /// A whole number, or a text that is not empty.
    Id,
    /// A whole number of bytes, at least 1.
    Bytes,
    /// A number above the first and at most the second.
    Above(f64, f64),
    /// As [`Self::Above`], or an array of at most 1000 such numbers.
    AboveOrSeveral(f64, f64),
    /// A number in this range, both ends included.
    Between(f64, f64),
    /// A number above 0, or one of these texts.
    PositiveOr(&'static [&'static str]),
    /// A bandwidth: a number above 0, `rate`, or a multiple of the median ([`median_factor`]).
    Bandwidth,
    /// A number above 0, an array of at most 1000 such numbers, or one of these texts.
    PositivesOr(&'static [&'static str]),
    /// An array of 1 to 1000 numbers in this range, both ends included.
    NumbersBetween(f64, f64),
    /// A number above 0 and below 1, or a text.
    FractionOrText,
    /// A value that obeys this rule, or an array of 1 to 1000 such values.
    OneOrSeveral(&'static Rule),
}

/// A model with a larger bandwidth cannot be stored.
const LARGEST_BANDWIDTH: f64 = 1e150;

/// The factor of a multiple of the median: 1 of `median`, 0.5 of `0.5 median`; above 0.
pub fn median_factor(text: &str) -> Option<f64> {
    let factor = text.strip_suffix("median")?;
    let factor = if factor.is_empty() { 1.0 } else { factor.strip_suffix(' ')?.parse().ok()? };
    positive(factor).then_some(factor)
}

impl Rule {
    /// Whether a value obeys the rule.
    pub fn accepts(&self, value: &Value) -> bool {
        let number = value.as_f64().filter(|x| !x.is_subnormal());
        let word = |words: &[&str]| value.as_str().is_some_and(|text| words.contains(&text));
        match *self {
            Self::Text => value.is_string(),
            Self::Flag => value.is_boolean(),
            Self::FlagOr(text) => value.is_boolean() || word(&[text]),
            Self::Object => value.is_object(),
            Self::TextOrObject => value.is_string() || value.is_object(),
            Self::TextOrArray => value.is_string() || value.is_array(),
            Self::ArrayOrObject => value.is_object() || value.is_array(),
            Self::TextArrayOrObject => value.is_string() || value.is_array() || value.is_object(),
            Self::Texts => value.is_string() || texts(value),
            Self::OneOf(words) => word(words),
            Self::OneOfOrModel(words) => word(words) || stored_model(value).is_some(),
            Self::Id => {
                whole(value).is_some_and(|n| n.is_i64())
                    || value.as_str().is_some_and(|text| !text.is_empty())
            }
            Self::Bytes => count(value).is_some_and(|n| n > 0),
            Self::Integer(low, high) => count(value).is_some_and(|n| (low..=high).contains(&n)),
            Self::IntegerOr(low, high, text) => Self::Integer(low, high).accepts(value) || word(&[text]),
            Self::Above(low, high) => number.is_some_and(|x| x > low && x <= high),
            Self::AboveOrSeveral(low, high) => {
                let one = Self::Above(low, high);
                let several = value.as_array().filter(|list| (1..=MAX_NUMBERS).contains(&list.len()));
                one.accepts(value) || several.is_some_and(|list| list.iter().all(|item| one.accepts(item)))
            }
            Self::Between(low, high) => number.is_some_and(|x| (low..=high).contains(&x)),
            Self::PositiveOr(words) => number.is_some_and(positive) || word(words),
            Self::Bandwidth => {
                let multiple = value.as_str().and_then(median_factor);
                number.or(multiple).is_some_and(|x| positive(x) && x <= LARGEST_BANDWIDTH) || word(&["rate"])
            }
            Self::PositivesOr(words) => {
                number.is_some_and(positive) || numbers(value, positive) || word(words)
            }
            Self::NumbersBetween(low, high) => numbers(value, |x| (low..=high).contains(&x)),
            Self::FractionOrText => number.is_some_and(|x| x > 0.0 && x < 1.0) || value.is_string(),
            Self::OneOrSeveral(rule) => {
                let several = value.as_array().filter(|list| (1..=MAX_NUMBERS).contains(&list.len()));
                rule.accepts(value) || several.is_some_and(|list| list.iter().all(|item| rule.accepts(item)))
            }
        }
    }
}

impl Rule {
    /// A value that obeys the rule, with integers where the rule asks for whole numbers: hosts such as JavaScript write 2 as
    /// 2.0, and people a million as 1e6.
    pub fn with_integers(&self, value: Value) -> Value {
        match (self, value) {
            (Self::OneOrSeveral(rule), Value::Array(list)) => {
                list.into_iter().map(|value| rule.with_integers(value)).collect()
            }
            (Self::OneOrSeveral(rule), value) => rule.with_integers(value),
            (Self::Id | Self::Bytes | Self::Integer(..) | Self::IntegerOr(..), value) => {
                whole(&value).map_or(value, Value::Number)
            }
            (_, value) => value,
        }
    }

    /// Whether its values are values of SQL, such as ids.
    pub fn takes_values(&self) -> bool {
        matches!(self, Self::TextOrArray | Self::ArrayOrObject | Self::TextArrayOrObject)
    }

    /// Whether an array can obey the rule.
    pub fn takes_arrays(&self) -> bool {
        matches!(
            self,
            Self::ArrayOrObject
                | Self::TextArrayOrObject
                | Self::Texts
                | Self::AboveOrSeveral(..)
                | Self::PositivesOr(_)
                | Self::NumbersBetween(..)
                | Self::OneOrSeveral(_)
        )
    }
}

impl Rule {
    /// The smallest and the largest number that can obey the rule.
    pub fn range(&self) -> (f64, f64) {
        match *self {
            Self::Integer(low, high) | Self::IntegerOr(low, high, _) => (low as f64, high as f64),
            Self::Above(low, high)
            | Self::AboveOrSeveral(low, high)
            | Self::Between(low, high)
            | Self::NumbersBetween(low, high) => (low, high),
            Self::OneOrSeveral(rule) => rule.range(),
            _ => (0.0, f64::INFINITY),
        }
    }
}

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

/// The integer that a number without a fraction is. Larger numbers than 2^53 are not exact.
pub fn whole_number(number: f64) -> Option<i64> {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    (number.abs() <= EXACT && number.fract().abs() <= 0.0).then_some(number as i64)
}

fn count(value: &Value) -> Option<u64> {
    whole(value)?.as_u64()
}

fn positive(x: f64) -> bool {
    x >= f64::MIN_POSITIVE && x.is_finite()
}

/// Whether a value is a number closer to 0 than [`f64::MIN_POSITIVE`], or an array with one. Such numbers have fewer digits,
/// and divisions by them overflow.
fn is_too_small(value: &Value) -> bool {
    let subnormal = |value: &Value| value.as_f64().is_some_and(f64::is_subnormal);
    subnormal(value) || value.as_array().is_some_and(|list| list.iter().any(subnormal))
}

/// Whether a value is an array of 1 to [`MAX_NUMBERS`] numbers with a property, none of them subnormal.
fn numbers(value: &Value, have: impl Fn(f64) -> bool) -> bool {
    value.as_array().filter(|list| (1..=MAX_NUMBERS).contains(&list.len())).is_some_and(|list| {
        list.iter().all(|item| item.as_f64().is_some_and(|x| !x.is_subnormal() && have(x)))
    })
}

fn texts(value: &Value) -> bool {
    value.as_array().is_some_and(|list| !list.is_empty() && list.iter().all(Value::is_string))
}

impl Rule {
    /// What is allowed, for an error about this value.
    pub fn allowed_for(&self, value: &Value) -> String {
        if is_too_small(value) {
            return format!("{self}; the smallest number above 0 is {:e}", f64::MIN_POSITIVE);
        }
        if let Some((name, instead)) = REMOVED.iter().find(|(name, _)| value == name) {
            return format!("{self}; \"{name}\" was removed, use {instead}");
        }
        match self {
            Self::OneOrSeveral(_) if value.is_array() => {
                format!("{self}, or an array of 1 to {MAX_NUMBERS} such values")
            }
            _ => self.to_string(),
        }
    }
}

fn quoted(words: &[&str]) -> String {
    words.iter().map(|word| format!("\"{word}\"")).collect::<Vec<_>>().join(", ")
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text => f.write_str("a text"),
            Self::Flag => f.write_str("true or false"),
            Self::FlagOr(text) => write!(f, "true, false or \"{text}\""),
            Self::Object => f.write_str("a JSON object"),
            Self::TextOrObject => f.write_str("a text or a JSON object"),
            Self::TextOrArray => f.write_str("a text or a JSON array"),
            Self::ArrayOrObject => f.write_str("a JSON array or object"),
            Self::TextArrayOrObject => f.write_str("a text, a JSON array or a JSON object"),
            Self::Texts => f.write_str("a text or an array of texts"),
            Self::OneOf([only]) => write!(f, "only \"{only}\""),
            Self::OneOf(words) => write!(f, "one of {}", quoted(words)),
            Self::OneOfOrModel(words) => {
                write!(f, "one of {} (a stored model; the @ belongs to it)", quoted(words))
            }
            Self::Id => f.write_str("a whole number from -2^63 to 2^63 - 1, or a text that is not empty"),
            Self::Bytes => f.write_str("a whole number of bytes from 1"),
            Self::Integer(low, high) => write!(f, "a whole number from {low} to {high}"),
            Self::IntegerOr(low, high, text) => {
                write!(f, "a whole number from {low} to {high} or \"{text}\"")
            }
            Self::Above(low, high) => write!(f, "a number above {low}, at most {high}"),
            Self::AboveOrSeveral(low, high) => {
                write!(f, "a number above {low}, at most {high}, or an array of up to {MAX_NUMBERS} of them")
            }
            Self::Between(low, high) => write!(f, "a number from {low} to {high}"),
            Self::PositiveOr([]) => f.write_str("a number above 0"),
            Self::PositiveOr(words) => write!(f, "a number above 0 or {}", quoted(words)),
            Self::Bandwidth => f.write_str(
                "a number above 0 and at most 1e150, \"median\", a multiple of it such as \"0.5 median\", or \"rate\"",
            ),
            Self::NumbersBetween(low, high) => {
                write!(f, "an array of up to {MAX_NUMBERS} numbers from {low} to {high}")
            }
            Self::PositivesOr(words) => {
                write!(f, "a number above 0, an array of up to {MAX_NUMBERS} of them, or {}", quoted(words))
            }
            Self::FractionOrText => f.write_str("a number above 0 and below 1, \"documents\", or a source"),
            Self::OneOrSeveral(rule) => rule.fmt(f),
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

            /// The name.
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
