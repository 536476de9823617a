//! Binary format of packs, answers and states: a kind, a format version, a size, a checksum and a body.
//!
//! | bytes | what |
//! |---|---|
//! | 0..8 | the kind |
//! | 8..16 | format version, little-endian like every number here |
//! | 16..24 | size of the body |
//! | 24..32 | XXH3-64 of the body |
//! | 32.. | the body: bincode; a pack's numbers follow it |
//!
//! BLOBs are untrusted: the codec of the headers of models reads them, which allocates in proportion to their bytes.

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64;

use crate::base::{Error, Result};
use crate::model::{decode_header, encode_header};

const VERSION: u64 = 2;
/// Offsets of the version, the body size and the checksum in the header.
const FORMAT: usize = 8;
const LENGTH: usize = 16;
const CHECKSUM: usize = 24;
/// Where the body begins.
pub const BODY: usize = 32;

/// Largest state, in bytes.
const MOST_BYTES: usize = 128 << 20;

/// Refuses a state, or an answer for it, that has too many bytes.
///
/// # Errors
/// More bytes than a state may have.
pub fn check_bytes(bytes: usize) -> Result<()> {
    if bytes <= MOST_BYTES {
        return Ok(());
    }
    Err(Error::Unsupported(format!(
        "the state of the training would take {bytes} bytes, more than {MOST_BYTES}; use fewer features or fewer values of \
         lambda"
    )))
}

/// The content of a BLOB.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// The rows of a bucket.
    Pack,
    /// Sums over buckets.
    Answer,
    /// A training between two rounds.
    State,
}

impl Kind {
    fn magic(self) -> &'static [u8; 8] {
        match self {
            Self::Pack => b"ltr_pack",
            Self::Answer => b"ltranswe",
            Self::State => b"ltrstate",
        }
    }

    /// The name in messages.
    fn name(self) -> &'static str {
        match self {
            Self::Pack => "rows of ltr_pack",
            Self::Answer => "an answer of ltr_partial",
            Self::State => "a state of ltr_begin",
        }
    }

    /// Whether these bytes begin like a BLOB of this kind.
    pub fn begins(self, bytes: &[u8]) -> bool {
        bytes.starts_with(self.magic())
    }

    /// The BLOB of a value.
    ///
    /// # Errors
    /// A value that is too long.
    pub fn encode(self, value: &impl Serialize) -> Result<Vec<u8>> {
        Ok(self.seal([&[0; BODY], &encode_header(value)?[..]].concat()))
    }

    /// The BLOB of bytes that have its body from [`BODY`] on.
    pub fn seal(self, mut bytes: Vec<u8>) -> Vec<u8> {
        let (start, body) = bytes.split_at_mut(BODY);
        let numbers = [VERSION, body.len() as u64, xxh3_64(body)].map(u64::to_le_bytes);
        start.copy_from_slice(&[&self.magic()[..], &numbers.concat()].concat());
        bytes
    }

    /// The value of a BLOB.
    ///
    /// # Errors
    /// Bytes that [`Self::encode`] does not write.
    pub fn decode<'a, T: Deserialize<'a>>(self, bytes: &'a [u8]) -> Result<T> {
        self.decode_body(self.body(bytes)?)
    }

    /// Decodes a value at the start of a body.
    ///
    /// # Errors
    /// Bytes of another value.
    pub fn decode_body<'a, T: Deserialize<'a>>(self, body: &'a [u8]) -> Result<T> {
        decode_header(body).map_err(|_| self.forged("the form that this library writes"))
    }

    /// The body of a BLOB.
    ///
    /// # Errors
    /// Bytes of another kind or version; damage.
    pub fn body(self, bytes: &[u8]) -> Result<&[u8]> {
        let refuse = |problem: String| Err(Error::Data(format!("not {}: {problem}", self.name())));
        let body = match bytes.get(BODY..) {
            Some(body) if self.begins(bytes) => body,
            _ => return refuse(format!("{} bytes that begin otherwise", bytes.len())),
        };
        let version = number_at(bytes, FORMAT);
        if version != VERSION {
            return refuse(format!("format version {version}, this library reads {VERSION}"));
        }
        if number_at(bytes, LENGTH) != body.len() as u64 || checksum(bytes) != xxh3_64(body) {
            return refuse("it is damaged (its length or checksum does not match)".to_owned());
        }
        Ok(body)
    }

    /// The error for a body whose checksum matches, but which this library did not write.
    pub fn forged(self, needed: &str) -> Error {
        Error::Data(format!("not {}: its contents need {needed}", self.name()))
    }
}

/// The checksum in the header of a BLOB that [`Kind::body`] accepts.
pub fn checksum(bytes: &[u8]) -> u64 {
    number_at(bytes, CHECKSUM)
}

/// The number at an offset of the header; 0 beyond the end.
fn number_at(bytes: &[u8], at: usize) -> u64 {
    bytes.get(at..at + 8).and_then(|number| number.try_into().ok()).map_or(0, u64::from_le_bytes)
}
