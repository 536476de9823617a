//! The bytes around a model.
//!
//! | bytes | what |
//! |---|---|
//! | 0..8 | `ltrmodel` |
//! | 8..10 | format version, little-endian like every number here |
//! | 10..16 | zero |
//! | 16..24 | length of the whole |
//! | 24..32 | length of the header |
//! | 32..48 | XXH3-128 of bytes 0..32 and the header: the model's key |
//! | 48.. | header: bincode of the index (length and XXH3-64 of each block) and of the model's own header |
//! | then | the blocks, one after the other |
//!
//! The header alone tells where each block is and what it must hash to, so a reader may fetch only the blocks it
//! needs. Checksums find damage; malice is the decoders' affair.

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::{Xxh3, xxh3_64};

use crate::error::{Error, Result};
use crate::ranker::{decode_header, encode_header};

const MAGIC: &[u8; 8] = b"ltrmodel";
const VERSION: u16 = 1;
const HASHED: usize = 32;
/// The first bytes of a model, up to the end of its key.
pub const KEY_END: usize = 48;

/// Tells models apart: equal for equal bytes.
pub type Key = u128;

#[derive(Serialize, Deserialize)]
struct Header {
    index: Vec<Entry>,
    model: Vec<u8>,
}

#[derive(Serialize, Deserialize)]
struct Entry {
    length: u64,
    checksum: u64,
}

/// The parts of an opened envelope.
pub(super) struct Opened<'a> {
    pub(super) header: &'a [u8],
    pub(super) blocks: Vec<&'a [u8]>,
}

fn corrupt<T>(problem: impl Into<String>) -> Result<T> {
    Err(Error::Corrupt(problem.into()))
}

fn key_of(start: &[u8], header: &[u8]) -> Key {
    let mut hasher = Xxh3::new();
    hasher.update(start);
    hasher.update(header);
    hasher.digest128()
}

/// Puts a header and blocks into one BLOB.
pub(super) fn seal(model: &[u8], blocks: &[Vec<u8>]) -> Result<Vec<u8>> {
    let entry = |block: &Vec<u8>| Entry { length: block.len() as u64, checksum: xxh3_64(block) };
    let index = blocks.iter().map(entry).collect();
    let header = encode_header(&Header { index, model: model.to_vec() })?;
    let length = KEY_END + header.len() + blocks.iter().map(Vec::len).sum::<usize>();
    let mut bytes = Vec::with_capacity(length);
    bytes.extend(MAGIC);
    bytes.extend(VERSION.to_le_bytes());
    bytes.extend([0; 6]);
    bytes.extend((length as u64).to_le_bytes());
    bytes.extend((header.len() as u64).to_le_bytes());
    let key = key_of(&bytes, &header);
    bytes.extend(key.to_le_bytes());
    bytes.extend(header);
    for block in blocks {
        bytes.extend(block);
    }
    Ok(bytes)
}

/// A fixed-width number at a place that is known to exist.
fn number_at(bytes: &[u8], at: usize) -> u64 {
    let mut buffer = [0; 8];
    buffer.copy_from_slice(&bytes[at..at + 8]);
    u64::from_le_bytes(buffer)
}

/// The key written in the first [`KEY_END`] bytes of a model.
///
/// # Errors
/// Bytes that do not begin like a model of a version that this crate reads.
pub fn read_key(bytes: &[u8]) -> Result<Key> {
    if bytes.len() < KEY_END || !bytes.starts_with(MAGIC) {
        return corrupt(format!("{} bytes that do not begin like a model", bytes.len()));
    }
    let version = u16::from_le_bytes([bytes[8], bytes[9]]);
    if version != VERSION {
        return corrupt(format!("format version {version}, this library reads {VERSION}"));
    }
    let mut key = [0; 16];
    key.copy_from_slice(&bytes[HASHED..KEY_END]);
    Ok(Key::from_le_bytes(key))
}

/// Checks all bytes and finds the parts.
pub(super) fn open(bytes: &[u8]) -> Result<Opened<'_>> {
    let key = read_key(bytes)?;
    let length = number_at(bytes, 16);
    if length != bytes.len() as u64 {
        return corrupt(format!("{} bytes, but its header says {length}", bytes.len()));
    }
    let header_length = usize::try_from(number_at(bytes, 24)).unwrap_or(usize::MAX);
    let body = &bytes[KEY_END..];
    let Some((header, blocks)) = body.split_at_checked(header_length) else {
        return corrupt(format!("header of {header_length} bytes in a body of {}", body.len()));
    };
    if key_of(&bytes[..HASHED], header) != key {
        return corrupt("the checksum of its header does not match");
    }
    let Header { index, model } = decode_header(header)?;
    let model_start = header.len() - model.len();
    Ok(Opened { header: &header[model_start..], blocks: split_blocks(&index, blocks)? })
}

fn split_blocks<'a>(index: &[Entry], mut rest: &'a [u8]) -> Result<Vec<&'a [u8]>> {
    let mut blocks = Vec::with_capacity(index.len().min(rest.len() + 1));
    for (number, entry) in index.iter().enumerate() {
        let length = usize::try_from(entry.length).unwrap_or(usize::MAX);
        let Some((block, after)) = rest.split_at_checked(length) else {
            return corrupt(format!("block {number} of {length} bytes, but {} are left", rest.len()));
        };
        if xxh3_64(block) != entry.checksum {
            return corrupt(format!("the checksum of block {number} does not match"));
        }
        blocks.push(block);
        rest = after;
    }
    if rest.is_empty() { Ok(blocks) } else { corrupt(format!("{} bytes after the last block", rest.len())) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_sealed_opens_again() {
        let bytes = seal(b"header", &[vec![1, 2, 3], Vec::new(), vec![4]]).unwrap();
        let opened = open(&bytes).unwrap();
        assert_eq!(opened.header, b"header");
        assert_eq!(opened.blocks, [&[1u8, 2, 3][..], &[], &[4]]);
    }

    #[test]
    fn every_changed_missing_or_added_byte_is_found() {
        let bytes = seal(b"some header", &[vec![7; 20], vec![9; 5]]).unwrap();
        for at in 0..bytes.len() {
            for change in 1..=255u8 {
                let mut damaged = bytes.clone();
                damaged[at] ^= change;
                assert!(open(&damaged).is_err(), "byte {at} changed by {change}");
            }
            assert!(open(&bytes[..at]).is_err(), "cut at {at}");
        }
        for length in [0, 1 << 30, (1 << 31) - 1, (1 << 32) - 1, 1 << 63, u64::MAX] {
            for at in [16, 24] {
                let mut damaged = bytes.clone();
                damaged[at..at + 8].copy_from_slice(&length.to_le_bytes());
                assert!(open(&damaged).is_err(), "length {length} at {at}");
            }
        }
        let mut longer = bytes;
        longer.push(0);
        assert!(open(&longer).is_err());
    }
}
