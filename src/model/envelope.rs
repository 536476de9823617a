//! The binary envelope of a model.
//!
//! | bytes | what |
//! |---|---|
//! | 0..8 | `ltrmodel` |
//! | 8..10 | format version, little-endian like every number here: 8 |
//! | 10..16 | zero |
//! | 16..24 | size of the model in bytes |
//! | 24..32 | size of the header in bytes |
//! | 32..48 | XXH3-128 of bytes 0..32 and the header: the model's key |
//! | 48.. | header: bincode of the index (size and XXH3-64 of each block) and of the model's own header |
//! | then | the blocks, concatenated |
//!
//! The header gives the position and checksum of each block, so a reader loads only the blocks that it needs. Checksums
//! detect damage; the decoders detect forged contents.

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::{Xxh3, xxh3_64};

use super::codec::{Block, byte_string, decode_header, encode_header};
use crate::base::{Error, Result, checkpoint};

const MAGIC: &[u8; 8] = b"ltrmodel";
const VERSION: u16 = 8;
const HASHED: usize = 32;
/// Size of a model's prefix up to and including the key.
pub const KEY_END: usize = 48;

/// Identifies a model: equal for equal bytes.
pub type Key = u128;

#[derive(Serialize, Deserialize)]
struct Header<'a> {
    index: Vec<Entry>,
    #[serde(serialize_with = "byte_string")]
    model: &'a [u8],
}

#[derive(Serialize, Deserialize)]
struct Entry {
    length: u64,
    checksum: u64,
}

/// Position and checksum of a block.
#[derive(Debug, Clone, Copy)]
pub(super) struct BlobSpan {
    /// First byte in the model.
    pub(super) offset: usize,
    /// Number of bytes.
    pub(super) length: usize,
    checksum: u64,
}

impl BlobSpan {
    /// Refuses bytes that are not this block.
    pub(super) fn check(&self, bytes: &[u8]) -> Result<()> {
        checkpoint();
        if bytes.len() == self.length && xxh3_64(bytes) == self.checksum {
            return Ok(());
        }
        corrupt(format!("the checksum of the block at byte {} does not match", self.offset))
    }
}

/// An opened model: the bytes of its header and the positions of its blocks.
pub(super) struct Opened<'a> {
    pub(super) header: &'a [u8],
    pub(super) index: Vec<BlobSpan>,
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

/// Writes a header and blocks into one BLOB. Every block is written twice, the first time only to compute its checksum,
/// so that at most one block is in memory besides the BLOB.
pub(super) fn seal(model: &[u8], blocks: &[Block<'_>]) -> Result<Vec<u8>> {
    // 1. Length and checksum of each block.
    let mut block_bytes = Vec::new();
    let mut entry = |block: &Block<'_>| {
        checkpoint();
        block_bytes.clear();
        block(&mut block_bytes)?;
        Ok(Entry { length: block_bytes.len() as u64, checksum: xxh3_64(&block_bytes) })
    };
    let index: Vec<Entry> = blocks.iter().map(&mut entry).collect::<Result<_>>()?;
    let blocks_length: u64 = index.iter().map(|entry| entry.length).sum();
    let header = encode_header(&Header { index, model })?;
    // 2. The fixed-width start, which ends with the key.
    let length = KEY_END + header.len() + blocks_length as usize;
    let mut bytes = Vec::with_capacity(length);
    bytes.extend(MAGIC);
    bytes.extend(VERSION.to_le_bytes());
    bytes.extend([0; 6]);
    bytes.extend((length as u64).to_le_bytes());
    bytes.extend((header.len() as u64).to_le_bytes());
    let key = key_of(&bytes, &header);
    bytes.extend(key.to_le_bytes());
    // 3. Header and blocks.
    bytes.extend(header);
    blocks.iter().try_for_each(|block| {
        checkpoint();
        block(&mut bytes)
    })?;
    Ok(bytes)
}

/// The number in the 8 bytes at `at`, which must exist.
fn number_at(bytes: &[u8], at: usize) -> u64 {
    let mut buffer = [0; 8];
    buffer.copy_from_slice(&bytes[at..at + 8]);
    u64::from_le_bytes(buffer)
}

/// The key in the first [`KEY_END`] bytes of a model.
///
/// # Errors
/// Bytes that do not begin like a model in a format version that this crate reads.
pub fn read_key(bytes: &[u8]) -> Result<Key> {
    if bytes.len() < KEY_END || !bytes.starts_with(MAGIC) {
        return corrupt(format!("{} bytes that do not begin like a model", bytes.len()));
    }
    let version = u16::from_le_bytes([bytes[8], bytes[9]]);
    if version != VERSION {
        let way_out = if version > VERSION { "use a newer library" } else { "train the model again" };
        return corrupt(format!("format version {version}, this library reads {VERSION}; {way_out}"));
    }
    let mut key = [0; 16];
    key.copy_from_slice(&bytes[HASHED..KEY_END]);
    Ok(Key::from_le_bytes(key))
}

/// The end of the header, from the first [`KEY_END`] bytes of a model of `length` bytes.
///
/// # Errors
/// Bytes that do not begin like a model; a wrong size; a header that does not fit.
pub fn header_end(start: &[u8], length: u64) -> Result<usize> {
    read_key(start)?;
    let expected = number_at(start, 16);
    if expected != length {
        return corrupt(format!("{length} bytes, expected {expected}"));
    }
    let header_length = number_at(start, 24);
    let end = header_length.checked_add(KEY_END as u64).filter(|end| *end <= length);
    match end.and_then(|end| usize::try_from(end).ok()) {
        Some(end) => Ok(end),
        None => corrupt(format!("header of {header_length} bytes in a model of {length}")),
    }
}

/// Opens a model of `length` bytes from a prefix that contains the header.
pub(super) fn open(start: &[u8], length: u64) -> Result<Opened<'_>> {
    let end = header_end(start, length)?;
    let Some(header) = start.get(KEY_END..end) else {
        return corrupt(format!("{} bytes, but the header ends at byte {end}", start.len()));
    };
    if key_of(&start[..HASHED], header) != read_key(start)? {
        return corrupt("the checksum of its header does not match");
    }
    let Header { index, model } = decode_header(header)?;
    Ok(Opened { header: model, index: spans(&index, end, length)? })
}

/// The positions of blocks that fill the model from byte `first` to its end.
fn spans(index: &[Entry], first: usize, length: u64) -> Result<Vec<BlobSpan>> {
    let mut spans = Vec::with_capacity(index.len());
    let mut offset = first as u64;
    for (number, entry) in index.iter().enumerate() {
        let end = offset.checked_add(entry.length).filter(|end| *end <= length);
        let Some(end) = end else {
            let left = length - offset;
            return corrupt(format!("block {number} of {} bytes, but {left} are left", entry.length));
        };
        let span = (usize::try_from(offset), usize::try_from(entry.length));
        let (Ok(offset_here), Ok(block_length)) = span else {
            return corrupt(format!("block {number} is beyond the address space"));
        };
        spans.push(BlobSpan { offset: offset_here, length: block_length, checksum: entry.checksum });
        offset = end;
    }
    match length - offset {
        0 => Ok(spans),
        rest => corrupt(format!("{rest} bytes after the last block")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sealed(header: &[u8], blocks: &'static [&'static [u8]]) -> Vec<u8> {
        let block = |bytes: &'static [u8]| -> Block<'static> {
            Box::new(move |out| {
                out.extend(bytes);
                Ok(())
            })
        };
        seal(header, &blocks.iter().map(|bytes| block(bytes)).collect::<Vec<_>>()).unwrap()
    }

    /// The blocks of a model, all of them checked.
    fn blocks(bytes: &[u8]) -> Result<Vec<&[u8]>> {
        let opened = open(bytes, bytes.len() as u64)?;
        let block = |span: &BlobSpan| {
            let block = &bytes[span.offset..span.offset + span.length];
            span.check(block).map(|()| block)
        };
        opened.index.iter().map(block).collect()
    }

    #[test]
    fn what_is_sealed_opens_again() {
        let bytes = sealed(b"header", &[&[1, 2, 3], &[], &[4]]);
        assert_eq!(open(&bytes, bytes.len() as u64).unwrap().header, b"header");
        assert_eq!(blocks(&bytes).unwrap(), [&[1u8, 2, 3][..], &[], &[4]]);
        let end = header_end(&bytes, bytes.len() as u64).unwrap();
        assert_eq!(open(&bytes[..end], bytes.len() as u64).unwrap().index.len(), 3);
    }

    #[test]
    fn every_changed_missing_or_added_byte_is_found() {
        let bytes = sealed(b"some header", &[&[7; 20], &[9; 5]]);
        for at in 0..bytes.len() {
            for change in 1..=255u8 {
                let mut damaged = bytes.clone();
                damaged[at] ^= change;
                assert!(blocks(&damaged).is_err(), "byte {at} changed by {change}");
            }
            assert!(blocks(&bytes[..at]).is_err(), "cut at {at}");
        }
        for length in [0, 1 << 30, (1 << 31) - 1, (1 << 32) - 1, 1 << 63, u64::MAX] {
            for at in [16, 24] {
                let mut damaged = bytes.clone();
                damaged[at..at + 8].copy_from_slice(&length.to_le_bytes());
                assert!(blocks(&damaged).is_err(), "length {length} at {at}");
            }
        }
        let mut longer = bytes;
        longer.push(0);
        assert!(blocks(&longer).is_err());
    }
}
