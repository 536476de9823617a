//! The codec of headers: bincode. The only file that names it.

use bincode::config::Config;
use bincode::de::read::{BorrowReader, Reader, SliceReader};
use bincode::de::{BorrowDecode, Decoder, DecoderImpl};
use bincode::error::DecodeError;
use bincode::serde::BorrowCompat;
use serde::{Deserialize, Serialize, Serializer};

use crate::base::param::list;
use crate::base::{Error, Result};

/// Most bytes that bincode reads and allocates for a header. There is only one limit, because a second one would compile
/// each decoder again.
const MAX_HEADER: usize = 1 << 30;

/// Most bytes that bincode counts per header byte: a small number takes one byte, but counts as many as its type has.
const COUNTED: usize = 16;

/// Appends a block to bytes. Called several times, so that not every block needs a copy in memory.
pub type Block<'a> = Box<dyn Fn(&mut Vec<u8>) -> Result<()> + 'a>;

/// A ranker as bytes: one header and any number of blocks.
pub struct Encoded<'a> {
    /// The part that is always needed.
    pub header: Vec<u8>,
    /// Blocks with the data of one training query each.
    pub blocks: Vec<Block<'a>>,
}

/// Encodes a header.
///
/// # Errors
/// A value that is too long.
pub fn encode_header<T: Serialize>(value: &T) -> Result<Vec<u8>> {
    bincode::serde::encode_to_vec(value, config())
        .map_err(|problem| Error::Unsupported(format!("the model cannot be stored: {problem}")))
}

/// Decodes a header that fills these bytes. The result may borrow from them.
///
/// # Errors
/// Bytes that are not such a header, or that continue after it.
pub fn decode_header<'a, T: Deserialize<'a>>(bytes: &'a [u8]) -> Result<T> {
    // Memory for text is allocated before its bytes are read, so a short header gets a low limit.
    let used_before = MAX_HEADER.saturating_sub(COUNTED.saturating_mul(bytes.len()));
    let mut decoder = DecoderImpl::new(HeaderReader(SliceReader::new(bytes)), config(), ());
    let value =
        decoder.claim_bytes_read(used_before).and_then(|()| BorrowDecode::borrow_decode(&mut decoder));
    let BorrowCompat(value) = value.map_err(|problem| Error::Corrupt(format!("header: {problem}")))?;
    match decoder.reader().0.peek_read(1) {
        None => Ok(value),
        Some(_) => Err(Error::Corrupt("bytes after the end of the header".to_owned())),
    }
}

/// Reads a header.
struct HeaderReader<'a>(SliceReader<'a>);

impl Reader for HeaderReader<'_> {
    #[inline]
    fn read(&mut self, bytes: &mut [u8]) -> std::result::Result<(), DecodeError> {
        self.0.read(bytes)
    }
}

impl<'a> BorrowReader<'a> for HeaderReader<'a> {
    fn take_bytes(&mut self, elements: usize) -> std::result::Result<&'a [u8], DecodeError> {
        self.0.take_bytes(elements.saturating_mul(list::element_bytes()))
    }
}

/// Writes bytes within a header in one step. They are stored like a list of numbers.
///
/// # Errors
/// Errors of the writer.
pub fn byte_string<S: Serializer>(bytes: &[u8], to: S) -> Result<S::Ok, S::Error> {
    to.serialize_bytes(bytes)
}

fn config() -> impl Config {
    bincode::config::standard().with_limit::<MAX_HEADER>()
}

/// A JSON object as text, because bincode cannot store values of unknown type.
pub(super) mod json_text {
    use serde::{Deserialize, Deserializer, Serializer, de::Error};
    use serde_json::Value;

    use crate::base::Strict;

    pub fn serialize<S: Serializer>(value: &Value, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&value.to_string())
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Value, D::Error> {
        let Strict(value) = serde_json::from_str(&String::deserialize(from)?).map_err(D::Error::custom)?;
        if value.is_object() { Ok(value) } else { Err(D::Error::custom("expected an object")) }
    }
}

// Column names by role, as read in training.

/// Names of the columns that training read from its source; empty for data sets from the Rust API.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TrainingColumns {
    /// The query id.
    pub query: Option<String>,
    /// The document id.
    pub doc: Option<String>,
    pub relevance: Option<String>,
    /// The weight of the query.
    pub weight: Option<String>,
    /// The weight of the document.
    pub doc_weight: Option<String>,
    pub slot: Option<String>,
    /// The column of feature vectors; `None` if each feature has its own column.
    pub features: Option<String>,
    /// The column of query feature vectors; `None` if each query feature has its own column.
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
    use serde::de::DeserializeOwned;
    use serde_json::json;

    use super::*;
    use crate::base::Control;
    use crate::data::{Matrix, shaped};
    use crate::learn::kernel::{FeatureMap, KernelSpec, MapOptions, PairMap};

    #[derive(Serialize, Deserialize)]
    struct StoredBasis {
        kernel: (String, Vec<f64>),
        count: u64,
        dim: u64,
        rows: Vec<f64>,
    }

    /// A map of documents, or of pairs of documents with pivots `P`.
    #[derive(Serialize, Deserialize)]
    struct StoredMap<P> {
        basis: StoredBasis,
        pivots: P,
        factor: Vec<f64>,
        negative: f64,
    }

    /// A map as bytes, changed by `change`, read back; `None` where that is refused.
    fn damaged<T: Serialize + DeserializeOwned, P: Serialize + DeserializeOwned>(
        map: &T,
        change: impl Fn(&mut StoredMap<P>),
    ) -> Option<T> {
        let mut stored = decode_header(&encode_header(map).unwrap()).unwrap();
        change(&mut stored);
        decode_header(&encode_header(&stored).unwrap()).ok()
    }

    #[test]
    fn maps_survive_their_bytes_and_damage_is_found() {
        type OfDocuments = StoredMap<()>;
        type OfPairs = StoredMap<Vec<(u32, u32)>>;
        let (control, options) = (Control::default(), MapOptions::new(8, 0));
        let values = (0..36).map(|i| (f64::from(i * i % 1013) * 1.7 + f64::from(i) * 0.31).sin()).collect();
        let features = Matrix::F64(shaped(12, 3, values));
        let gaussian = KernelSpec::parse(&json!("gaussian")).unwrap().fit(&features, 0, &control).unwrap();
        let map = FeatureMap::fit(&gaussian, &features, &options, &control).unwrap();
        assert_eq!(damaged(&map, |_: &mut OfDocuments| {}), Some(map.clone()));
        let invalid =
            |change: &dyn Fn(&mut OfDocuments)| damaged(&map, change).is_none_or(|map| !map.is_valid());
        assert!(invalid(&|map| map.factor[0] = 0.0));
        assert!(invalid(&|map| map.factor[2] = -1.0));
        assert!(invalid(&|map| map.factor = vec![1.0]));
        assert!(invalid(&|map| map.basis.count = 7));
        assert!(invalid(&|map| map.basis.count = u64::MAX));
        assert!(invalid(&|map| map.basis.rows[0] = f64::NAN));
        assert!(invalid(&|map| map.basis.kernel.1[0] = -1.0));
        assert!(invalid(&|map| map.basis.kernel.0 = "cosine".to_owned()));
        let linear = || ("linear".to_owned(), vec![]);
        assert!(invalid(&|map| {
            map.basis = StoredBasis { kernel: linear(), count: u64::MAX, dim: 0, rows: vec![] };
        }));
        let labels: Vec<f64> = (0..12).map(f64::from).collect();
        let pairs = PairMap::fit(&gaussian, &features, &[0, 12], &labels, &options, &control).unwrap();
        assert_eq!(damaged(&pairs, |_: &mut OfPairs| {}), Some(pairs.clone()));
        let invalid =
            |change: &dyn Fn(&mut OfPairs)| damaged(&pairs, change).is_none_or(|map| !map.is_valid());
        assert!(invalid(&|map| map.pivots[0].1 = 12));
        assert!(invalid(&|map| map.pivots.clear()));
        assert!(invalid(&|map| map.factor[0] = -1.0));
    }

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
    fn numbers_are_read_all_at_once_within_their_header() {
        #[derive(Debug, Serialize, Deserialize, PartialEq)]
        struct Whole(#[serde(deserialize_with = "list::whole")] Vec<f64>, String);
        let value = Whole(vec![0.1, -0.0, f64::MAX, 1e-320], "text".to_owned());
        let bytes = encode_header(&value).unwrap();
        assert_eq!(decode_header::<Whole>(&bytes).unwrap(), value);
        assert_eq!(decode_header::<(Vec<f64>, String)>(&bytes).unwrap().0, value.0);
        for length in 0..bytes.len() {
            assert!(decode_header::<Whole>(&bytes[..length]).is_err());
        }
        let length = [&[253][..], &(u64::MAX / 4).to_le_bytes()].concat();
        assert!(decode_header::<Whole>(&length).is_err());
        assert_eq!(decode_header::<String>(b"\x01a").unwrap(), "a", "an error leaves nothing behind");
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
