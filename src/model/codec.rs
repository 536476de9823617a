//! The codec of headers: bincode. The only file that names it.

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::error::{Error, Result};

/// No header is longer than this (bytes).
const MAX_HEADER: usize = 1 << 30;

/// A header below this length (bytes) takes at most 64 times this memory.
const SHORT_HEADER: usize = 1 << 16;

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
    bincode::serde::encode_to_vec(value, bincode::config::standard().with_limit::<MAX_HEADER>())
        .map_err(|problem| Error::Unsupported(format!("the model cannot be stored: {problem}")))
}

/// The header of these bytes, all of them.
///
/// # Errors
/// Bytes that are not such a header, or continue after it.
pub fn decode_header<T: DeserializeOwned>(bytes: &[u8]) -> Result<T> {
    // Memory for a text is allocated before its bytes are read, so that a short header has a low limit. More limits would
    // cost a copy of each decoder.
    let (value, used) = match bytes.len() {
        0..SHORT_HEADER => decode_within::<T, { 64 * SHORT_HEADER }>(bytes),
        _ => decode_within::<T, MAX_HEADER>(bytes),
    }?;
    if used == bytes.len() {
        Ok(value)
    } else {
        Err(Error::Corrupt(format!("the header ends after {used} of {} bytes", bytes.len())))
    }
}

/// A value of at most `MOST` bytes of memory, and the number of bytes read.
fn decode_within<T: DeserializeOwned, const MOST: usize>(bytes: &[u8]) -> Result<(T, usize)> {
    bincode::serde::decode_from_slice(bytes, bincode::config::standard().with_limit::<MOST>())
        .map_err(|problem| Error::Corrupt(format!("header: {problem}")))
}
