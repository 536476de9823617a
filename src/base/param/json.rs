//! JSON objects without repeated keys, and arrays of numbers of a known length. Parsers usually keep one of two values of a
//! key; here a repeated key is an error.

use std::cell::Cell;
use std::fmt;
use std::marker::PhantomData;

use serde::de::{
    Deserialize, DeserializeOwned, DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Unexpected,
    Visitor,
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

/// Longest vector text that is always read, and largest size per number of a longer one, in bytes.
pub(crate) const LONGEST_VECTOR: usize = 1_000_000;
const LONGEST_NUMBER: usize = 100;

/// The number in a text (rule 3.1), trimmed of the characters that SQLite treats as blanks. Words such as `inf` and
/// `nan` are not numbers.
pub(crate) fn text_number(text: &str) -> Option<f64> {
    let text = text.trim_matches(|c| c == ' ' || ('\t'..='\r').contains(&c));
    let numeric = text.bytes().all(|byte| byte.is_ascii_digit() || b"+-.eE".contains(&byte));
    if numeric { text.parse().ok() } else { None }
}

/// A number, or text that is a number: in SQLite's JSON, values imported from CSV are text.
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

/// The numbers of a JSON array, NaN for null, and the length of the array. If `width` numbers are expected, no more are kept,
/// and a text that is far too long is refused. With checkpoints.
///
/// # Errors
/// Text that is not an array of numbers and nulls, with the problem.
pub(crate) fn numbers(text: &[u8], width: Option<usize>) -> Result<(Vec<f64>, usize), String> {
    let most = width.unwrap_or(usize::MAX);
    let longest = LONGEST_VECTOR.max(most.saturating_mul(LONGEST_NUMBER));
    if text.len() > longest {
        return Err(format!("{} bytes, more than {longest} for {most} numbers", text.len()));
    }
    let (mut kept, mut length) = (Vec::with_capacity(most_elements(text).min(most)), 0);
    each_element(text, |number: Option<Number>| {
        length += 1;
        if length <= most {
            kept.push(number.map_or(f64::NAN, |Number(number)| number));
        }
        Ok(())
    })?;
    Ok((kept, length))
}

/// An upper bound of the number of elements of a JSON array.
pub(crate) fn most_elements(text: &[u8]) -> usize {
    text.split(|byte| *byte == b',').count()
}

/// Calls `each` with the elements of a JSON array. With checkpoints.
///
/// # Errors
/// Text that is not an array of such elements, with the problem; errors of `each`.
pub(crate) fn each_element<T: DeserializeOwned>(
    text: &[u8],
    each: impl FnMut(T) -> Result<(), String>,
) -> Result<(), String> {
    let text = std::str::from_utf8(text).map_err(|_| "the text is not UTF-8".to_owned())?;
    let mut json = serde_json::Deserializer::from_str(text);
    let read = json.deserialize_seq(Elements(each, PhantomData));
    read.and_then(|()| json.end()).map_err(|problem| json_problem(&problem))
}

/// Passes on the elements of an array.
struct Elements<T, F>(F, PhantomData<T>);

impl<'de, T: Deserialize<'de>, F: FnMut(T) -> Result<(), String>> Visitor<'de> for Elements<T, F> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an array")
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut list: A) -> Result<(), A::Error> {
        let mut ticks = Ticks::default();
        while let Some(element) = list.next_element()? {
            ticks.add(VALUE_COST);
            self.0(element).map_err(A::Error::custom)?;
        }
        Ok(())
    }
}

/// A value in which no object has a key twice, of at most [`MOST_VALUES`] values and [`MOST_LEVELS`] levels.
pub(crate) struct Strict(pub(crate) Value);

/// Largest number of nested values: each can take 300 bytes of memory and two of text.
const MOST_VALUES: usize = 1 << 18;

/// Largest nesting depth: each level takes up to a kilobyte of the stack, and a thread's stack may be 128 kB.
const MOST_LEVELS: usize = 16;

impl<'de> Deserialize<'de> for Strict {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let seed = StrictSeed { values: &Cell::new(MOST_VALUES), levels: MOST_LEVELS };
        seed.deserialize(deserializer).map(Self)
    }
}

/// Reads a value with at most this many nested values and levels.
#[derive(Clone, Copy)]
struct StrictSeed<'a> {
    values: &'a Cell<usize>,
    levels: usize,
}

impl StrictSeed<'_> {
    /// For the values in an array or an object.
    fn inner<E: Error>(self) -> Result<Self, E> {
        let levels = self.levels.checked_sub(1);
        let levels = levels.ok_or_else(|| E::custom(format_args!("more than {MOST_LEVELS} levels")))?;
        Ok(Self { levels, ..self })
    }
}

impl<'de> DeserializeSeed<'de> for StrictSeed<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        let left = self.values.get().checked_sub(1);
        self.values
            .set(left.ok_or_else(|| D::Error::custom(format_args!("more than {MOST_VALUES} values")))?);
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
        let (mut values, seed) = (Vec::new(), self.inner()?);
        while let Some(value) = list.next_element_seed(seed)? {
            values.push(value);
        }
        Ok(values.into())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
        let (mut object, seed) = (Map::new(), self.inner()?);
        while let Some(key) = map.next_key::<String>()? {
            if object.contains_key(&key) {
                let key = shorten(&key);
                return Err(A::Error::custom(format_args!("the key \"{key}\" appears twice in one object")));
            }
            object.insert(key, map.next_value_seed(seed)?);
        }
        Ok(object.into())
    }
}

/// The first whole number in a JSON text that is beyond 64 bits. The parser would round such a number.
pub(crate) fn long_integer(text: &str) -> Option<String> {
    // Without escapes every other part between quotes is a string.
    let text = text.replace("\\\\", "").replace("\\\"", "");
    let outside = text.split('"').step_by(2);
    let mut words =
        outside.flat_map(|part| part.split(|c: char| !c.is_ascii_digit() && !"+-.eE".contains(c)));
    let is_whole = |word: &str| word.bytes().all(|byte| byte == b'-' || byte.is_ascii_digit());
    words.find(|word| !word.is_empty() && is_whole(word) && word.parse::<i64>().is_err()).map(str::to_owned)
}

/// The problem with a JSON text, in the words of JSON and SQL instead of the parser's.
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
        ("expected ident", "this is not JSON"),
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
    // The parser quotes an unexpected text or key in full, however long.
    if text.len() <= LONGEST_PROBLEM { text } else { format!("{}: {}", shorten(&text), position(problem)) }
}

/// Longest message of the parser that is shown (bytes).
const LONGEST_PROBLEM: usize = 300;

fn position(problem: &serde_json::Error) -> String {
    format!("at line {} column {}", problem.line(), problem.column())
}
