//! The codec of headers: bincode. The only file that names it.

use bincode::config::Config;
use bincode::de::{BorrowDecode, BorrowDecoder};
use bincode::error::DecodeError;
use bincode::serde::BorrowCompat;
use serde::{Deserialize, Serialize, Serializer};

use crate::base::{Error, Result};

/// Bytes that bincode reads and allocates at most for a header. The only limit, for a second one would compile each decoder
/// again.
const MAX_HEADER: usize = 1 << 30;

/// Bytes that bincode counts at most for each byte of a header: a small number is one byte, and counts as its type does.
const COUNTED: usize = 16;

/// Appends a block to bytes. Called more than once, which avoids a copy of every block in memory.
pub type Block<'a> = Box<dyn Fn(&mut Vec<u8>) -> Result<()> + 'a>;

/// A ranker as bytes: one header and any number of blocks.
pub struct Encoded<'a> {
    /// What every use needs.
    pub header: Vec<u8>,
    /// The data of one training query each.
    pub blocks: Vec<Block<'a>>,
}

/// The bytes of a header.
///
/// # Errors
/// A value that is too long.
pub fn encode_header<T: Serialize>(value: &T) -> Result<Vec<u8>> {
    bincode::serde::encode_to_vec(value, config())
        .map_err(|problem| Error::Unsupported(format!("the model cannot be stored: {problem}")))
}

/// The header of these bytes, all of them. It may refer to them.
///
/// # Errors
/// Bytes that are not such a header, or continue after it.
pub fn decode_header<'a, T: Deserialize<'a>>(bytes: &'a [u8]) -> Result<T> {
    let used_before = MAX_HEADER.saturating_sub(COUNTED.saturating_mul(bytes.len()));
    let (Limited(value), used) = bincode::borrow_decode_from_slice_with_context(bytes, config(), used_before)
        .map_err(|problem| Error::Corrupt(format!("header: {problem}")))?;
    if used == bytes.len() {
        Ok(value)
    } else {
        Err(Error::Corrupt(format!("the header ends after {used} of {} bytes", bytes.len())))
    }
}

/// A value for which a part of the limit is used before it is read: memory for a text is allocated before its bytes are
/// read, so that a short header has a low limit.
struct Limited<T>(T);

impl<'a, T: Deserialize<'a>> BorrowDecode<'a, usize> for Limited<T> {
    fn borrow_decode<D: BorrowDecoder<'a, Context = usize>>(decoder: &mut D) -> Result<Self, DecodeError> {
        let used_before = *decoder.context();
        decoder.claim_bytes_read(used_before)?;
        BorrowCompat::borrow_decode(decoder).map(|BorrowCompat(value)| Self(value))
    }
}

/// Writes bytes within a header all at once. They are stored like a list of numbers.
pub fn byte_string<S: Serializer>(bytes: &[u8], to: S) -> Result<S::Ok, S::Error> {
    to.serialize_bytes(bytes)
}

fn config() -> impl Config {
    bincode::config::standard().with_limit::<MAX_HEADER>()
}

/// A JSON object as text: bincode stores no values of unknown types.
pub(super) mod json_text {
    use serde::{Deserialize, Deserializer, Serializer, de::Error};
    use serde_json::{Map, Value};

    pub fn serialize<S: Serializer>(value: &Value, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&value.to_string())
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Value, D::Error> {
        let object: Map<String, Value> =
            serde_json::from_str(&String::deserialize(from)?).map_err(D::Error::custom)?;
        Ok(Value::Object(object))
    }
}

// Column names by role, as a training read them.

/// Names of the columns that a training read from its source. A data set of the Rust API has none.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TrainingColumns {
    /// The query id.
    pub query: Option<String>,
    /// The document id.
    pub doc: Option<String>,
    /// The relevance.
    pub relevance: Option<String>,
    /// The weight of the query.
    pub weight: Option<String>,
    /// The weight of the document.
    pub doc_weight: Option<String>,
    /// The slot.
    pub slot: Option<String>,
    /// The column of feature vectors; `None` if each feature has a column of its own.
    pub features: Option<String>,
    /// The column of vectors of query features; `None` if each has a column of its own.
    pub query_features: Option<String>,
    /// Columns without a role.
    #[serde(default, with = "crate::base::param::list")]
    pub ignored: Vec<String>,
}

impl TrainingColumns {
    /// The column of a role.
    pub fn of(&self, role: &str) -> Option<&str> {
        let column = match role {
            "query" => &self.query,
            "doc" => &self.doc,
            "relevance" => &self.relevance,
            "weight" => &self.weight,
            "doc_weight" => &self.doc_weight,
            "slot" => &self.slot,
            "features" => &self.features,
            "query_features" => &self.query_features,
            _ => &None,
        };
        column.as_deref()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_that_is_longer_than_its_header_takes_no_memory() {
        let length = [&[253][..], &(1u64 << 29).to_le_bytes()].concat();
        let error = decode_header::<String>(&length).unwrap_err().to_string();
        assert!(error.contains("LimitExceeded"), "{error}");
    }

    #[test]
    fn bytes_are_stored_like_numbers_and_take_no_more_memory_than_a_text() {
        #[derive(Serialize, Deserialize)]
        struct Whole<'a>(#[serde(serialize_with = "byte_string")] &'a [u8]);
        for length in [0, 1, 250, 251, 70_000] {
            let numbers: Vec<u8> = (0..length).map(|i| i as u8).collect();
            let bytes = encode_header(&Whole(&numbers)).unwrap();
            assert_eq!(bytes, encode_header(&numbers).unwrap());
            assert_eq!(decode_header::<Whole>(&bytes).unwrap().0, numbers);
            assert!(decode_header::<Whole>(&bytes[..length]).is_err());
        }
        let length = [&[253][..], &(1u64 << 29).to_le_bytes()].concat();
        let error = decode_header::<Whole>(&length).map(|_| ()).unwrap_err().to_string();
        assert!(error.contains("LimitExceeded"), "{error}");
    }

    #[test]
    fn headers_of_small_numbers_and_of_texts_are_read() {
        for length in [0, 1, 100, 100_000] {
            let value =
                (vec![1u64; length], vec![-1i64; length], "x".repeat(length), vec![Some(0.5); length]);
            let bytes = encode_header(&value).unwrap();
            assert_eq!(
                decode_header::<(Vec<u64>, Vec<i64>, String, Vec<Option<f64>>)>(&bytes).unwrap(),
                value
            );
        }
    }
}
