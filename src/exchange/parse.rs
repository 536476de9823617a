//! Parsing of JSON, and its memory.

use std::io::{BufReader, Read};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer};
use serde_ignored::Path;
use serde_json::{Map, Value};

use crate::base::{Error, Result, Strict, checkpoint, json_problem, shorten};

/// Upper bound on the bytes that reading a text takes. Each byte is attributed to a character that begins or ends
/// something:
///
/// | character | what | bytes |
/// |---|---|---|
/// | `{` | an object: a node in the text and in its tree, or a map | 700 |
/// | `[` | a list, which has room for four values | 128 |
/// | `,` | a value in a list, whose capacity doubles | 64 |
/// | `"` | half of a text | 24 |
/// | `<`, blank, line end (not in JSON) | a tag or a number in a list, which belongs to a node | 100 |
pub fn parsed_bytes(text: &str) -> u64 {
    let is_json = text.trim_start().starts_with(['{', '[']);
    let bytes = |byte: u8| match byte {
        b'{' => 700,
        b'[' => 128,
        b',' => 64,
        b'"' => 24,
        b'<' | b' ' | b'\t' | b'\n' if !is_json => 100,
        _ => 2,
    };
    text.bytes().map(bytes).sum()
}

/// Bytes for a parser, with a checkpoint at each block.
struct Blocks<'a>(&'a [u8]);

impl Read for Blocks<'_> {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        checkpoint();
        self.0.read(into)
    }
}

/// The value of a JSON text. `ignored` collects keys that the type does not have.
pub(super) fn any_json<T: DeserializeOwned>(
    text: &str,
    mut ignored: impl FnMut(Path<'_>),
) -> serde_json::Result<T> {
    let mut parser = serde_json::Deserializer::from_reader(BufReader::new(Blocks(text.as_bytes())));
    let value = serde_ignored::deserialize(&mut parser, &mut ignored)?;
    parser.end().map(|()| value)
}

/// Parses a JSON text. `harmless`: keys outside the type that do not affect scores.
///
/// # Errors
/// [`Error::Corrupt`] with the location; [`Error::Unsupported`] for other keys.
pub(super) fn json<T: DeserializeOwned>(text: &str, harmless: &str) -> Result<T> {
    let mut unknown = None;
    let value = any_json(text, |path| {
        let last = if let Path::Some { parent } = &path { parent } else { &path };
        let is_harmless = matches!(last, Path::Map { key, .. } if has_word(harmless, key));
        if !is_harmless && unknown.is_none() {
            // Paths contain a question mark for each optional value.
            unknown = Some(path.to_string().replace("?.", ""));
        }
    });
    let value = value.map_err(|problem| {
        let way_out = if problem.to_string().starts_with("recursion limit") {
            "; trees as nested JSON can be 120 (XGBoost's get_dump: 60) levels deep: use the text or JSON of save_model"
        } else {
            ""
        };
        Error::Corrupt(format!("{}{way_out}", json_problem(&problem)))
    })?;
    unknown.map_or(Ok(value), |path| Err(unknown_key(&path)))
}

/// Whether a key is one of these words.
pub(super) fn has_word(words: &str, key: &str) -> bool {
    words.split_ascii_whitespace().any(|word| word == key)
}

/// The error for an unknown key. Dots in its path separate the enclosing keys.
pub(super) fn unknown_key(path: &str) -> Error {
    let (place, key) = path.rsplit_once('.').unwrap_or(("the text", path));
    let (place, key) = (shorten(place), shorten(key));
    Error::Unsupported(format!(
        "the key '{key}' in {place} is unknown and may change scores; remove it from the text if it does not"
    ))
}

/// An object without repeated keys.
pub(super) fn object<'de, D: Deserializer<'de>>(from: D) -> Result<Map<String, Value>, D::Error> {
    match Strict::deserialize(from)? {
        Strict(Value::Object(object)) => Ok(object),
        Strict(_) => Err(serde::de::Error::custom("expected an object")),
    }
}
