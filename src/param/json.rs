//! JSON objects without repeated keys. Parsers usually keep one of two values; here a repeated key is an error.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

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

/// A value in which no object has a key twice.
struct Strict(Value);

impl<'de> Deserialize<'de> for Strict {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(StrictVisitor)
    }
}

struct StrictVisitor;

impl<'de> Visitor<'de> for StrictVisitor {
    type Value = Strict;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a JSON value")
    }

    fn visit_unit<E: Error>(self) -> Result<Strict, E> {
        Ok(Strict(Value::Null))
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Strict, E> {
        Ok(Strict(value.into()))
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Strict, E> {
        Ok(Strict(value.into()))
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Strict, E> {
        Ok(Strict(value.into()))
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Strict, E> {
        Ok(Strict(value.into()))
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Strict, E> {
        Ok(Strict(value.into()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Strict, A::Error> {
        let mut values = Vec::new();
        while let Some(Strict(value)) = list.next_element()? {
            values.push(value);
        }
        Ok(Strict(values.into()))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Strict, A::Error> {
        let mut object = Map::new();
        while let Some((key, Strict(value))) = map.next_entry::<String, Strict>()? {
            if object.contains_key(&key) {
                return Err(A::Error::custom(format_args!("the key \"{key}\" appears twice in one object")));
            }
            object.insert(key, value);
        }
        Ok(Strict(object.into()))
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
    WORDS.iter().fold(problem.to_string(), |text, (word, plain)| text.replacen(word, plain, 1))
}
