//! JSON objects without repeated keys, and arrays of numbers of a known length. Parsers usually keep one of two values of a
//! key; here a repeated key is an error.

use std::cell::Cell;
use std::fmt;

use serde::de::{
    Deserialize, DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Unexpected, Visitor,
};
use serde_json::{Map, Value};

use crate::base::{Ticks, shorten};

/// Operations, for [`Ticks`], of a value in JSON.
pub(super) const VALUE_COST: usize = 64;

/// The entries of a JSON object in their order, repeated keys included, so that an error can name them.
pub(super) struct Entries(pub(super) Vec<(String, Value)>);

impl<'de> Deserialize<'de> for Entries {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct EntriesVisitor;
        impl<'de> Visitor<'de> for EntriesVisitor {
            type Value = Entries;
            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("an object")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Entries, A::Error> {
                let mut entries = Vec::new();
                while let Some((key, Strict(value))) = map.next_entry()? {
                    entries.push((key, value));
                }
                Ok(Entries(entries))
            }
        }
        deserializer.deserialize_map(EntriesVisitor)
    }
}

/// Longest text of a vector that is always read (bytes), and the bytes of each number of a longer one.
pub(crate) const LONGEST_VECTOR: usize = 1_000_000;
const LONGEST_NUMBER: usize = 100;

/// The number in a text (rule 3.1), between what SQLite counts as blanks. Words such as `inf` and `nan` are not numbers.
pub(crate) fn text_number(text: &str) -> Option<f64> {
    let text = text.trim_matches(|c| c == ' ' || ('\t'..='\r').contains(&c));
    let numeric = text.bytes().all(|byte| byte.is_ascii_digit() || b"+-.eE".contains(&byte));
    if numeric { text.parse().ok() } else { None }
}

/// A number, or a text that is one: SQLite's JSON has the values of an imported CSV as texts.
struct Number(f64);

impl<'de> Deserialize<'de> for Number {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct NumberVisitor;
        impl Visitor<'_> for NumberVisitor {
            type Value = Number;
            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a number")
            }
            fn visit_f64<E>(self, number: f64) -> Result<Number, E> {
                Ok(Number(number))
            }
            fn visit_i64<E>(self, number: i64) -> Result<Number, E> {
                Ok(Number(number as f64))
            }
            fn visit_u64<E>(self, number: u64) -> Result<Number, E> {
                Ok(Number(number as f64))
            }
            fn visit_str<E: Error>(self, text: &str) -> Result<Number, E> {
                text_number(text).map(Number).ok_or_else(|| E::invalid_type(Unexpected::Str(text), &self))
            }
        }
        deserializer.deserialize_any(NumberVisitor)
    }
}

/// The numbers of a JSON array, `None` for null, and the length of the array. If `width` numbers are expected, no more are kept,
/// and a text that is far too long is refused. With checkpoints.
///
/// # Errors
/// A text that is no array of numbers and nulls, with what is wrong.
pub(crate) fn numbers(text: &[u8], width: Option<usize>) -> Result<(Vec<Option<f64>>, usize), String> {
    let most = width.unwrap_or(usize::MAX);
    let longest = LONGEST_VECTOR.max(most.saturating_mul(LONGEST_NUMBER));
    if text.len() > longest {
        return Err(format!("{} bytes, more than {longest} for {most} numbers", text.len()));
    }
    let text = std::str::from_utf8(text).map_err(|_| "the text is not UTF-8".to_owned())?;
    let mut json = serde_json::Deserializer::from_str(text);
    let numbers = json.deserialize_seq(FirstNumbers(most));
    numbers.and_then(|numbers| json.end().map(|()| numbers)).map_err(|problem| json_problem(&problem))
}

/// Keeps the first numbers of an array, at most this number.
struct FirstNumbers(usize);

impl<'de> Visitor<'de> for FirstNumbers {
    type Value = (Vec<Option<f64>>, usize);

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an array")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
        let (mut kept, mut length, mut ticks) = (Vec::new(), 0, Ticks::default());
        while let Some(number) = list.next_element::<Option<Number>>()? {
            ticks.add(VALUE_COST);
            length += 1;
            if length <= self.0 {
                kept.push(number.map(|Number(number)| number));
            }
        }
        Ok((kept, length))
    }
}

/// A value in which no object has a key twice, of at most [`MOST_VALUES`] values.
pub(crate) struct Strict(pub(crate) Value);

/// Most values in a value: each can take 300 bytes of memory and two of text.
const MOST_VALUES: usize = 1 << 18;

impl<'de> Deserialize<'de> for Strict {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        StrictSeed(&Cell::new(MOST_VALUES)).deserialize(deserializer).map(Self)
    }
}

/// Reads a value. The cell has the number of values that may still be read.
#[derive(Clone, Copy)]
struct StrictSeed<'a>(&'a Cell<usize>);

impl<'de> DeserializeSeed<'de> for StrictSeed<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        let left = self.0.get().checked_sub(1);
        self.0.set(left.ok_or_else(|| D::Error::custom(format_args!("more than {MOST_VALUES} values")))?);
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for StrictSeed<'_> {
    type Value = Value;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a JSON value")
    }

    fn visit_unit<E: Error>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Value, A::Error> {
        let mut values = Vec::new();
        while let Some(value) = list.next_element_seed(self)? {
            values.push(value);
        }
        Ok(values.into())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
        let mut object = Map::new();
        while let Some(key) = map.next_key::<String>()? {
            if object.contains_key(&key) {
                let key = shorten(&key);
                return Err(A::Error::custom(format_args!("the key \"{key}\" appears twice in one object")));
            }
            object.insert(key, map.next_value_seed(self)?);
        }
        Ok(object.into())
    }
}

/// What is wrong with a JSON text, in the words of JSON and SQL in place of those of the parser.
pub(crate) fn json_problem(problem: &serde_json::Error) -> String {
    const WORDS: &[(&str, &str)] = &[
        ("invalid type: map, ", "an object, "),
        ("invalid type: sequence, ", "an array, "),
        ("invalid type: string ", "the text "),
        ("invalid type: floating point ", "the number "),
        ("invalid type: integer ", "the number "),
        ("invalid type: boolean ", "the value "),
        ("invalid type: ", ""),
        ("expected a sequence", "expected an array"),
        ("expected f64", "expected a number"),
        ("expected ident", "this is no JSON"),
        ("expected value", "expected a JSON value"),
        ("EOF while parsing a value", "the text ends where a value is expected"),
        ("EOF while parsing", "the text ends within"),
        ("key must be a string", "keys need double quotes"),
        ("recursion limit exceeded", "too many levels"),
        ("trailing characters", "more text after the end"),
        (" at line 1 column 0", ""),
    ];
    let text = problem.to_string();
    let text = WORDS.iter().fold(text, |text, (word, plain)| text.replacen(word, plain, 1));
    // The parser repeats a text or a key that it does not expect, however long.
    if text.len() <= LONGEST_PROBLEM { text } else { format!("{}: {}", shorten(&text), position(problem)) }
}

/// Longest message of the parser that is shown (bytes).
const LONGEST_PROBLEM: usize = 300;

fn position(problem: &serde_json::Error) -> String {
    format!("at line {} column {}", problem.line(), problem.column())
}
