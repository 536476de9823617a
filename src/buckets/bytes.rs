//! The bytes of packs, answers and states: a kind, a format version, a length, a checksum and a body.
//!
//! | bytes | what |
//! |---|---|
//! | 0..8 | the kind |
//! | 8..16 | format version, little-endian like every number here |
//! | 16..24 | length of the body |
//! | 24..32 | XXH3-64 of the body |
//! | 32.. | the body: counts of 7 bits a byte, lowest first; numbers of 4 or 8 bytes; bytes |
//!
//! BLOBs are untrusted: a reader allocates no more than the bytes that are left can fill.

use xxhash_rust::xxh3::xxh3_64;

use crate::base::{Error, Result, Ticks};
use crate::data::Id;

const VERSION: u64 = 1;
/// Where the header has the version, the length of the body and its checksum.
const FORMAT: usize = 8;
const LENGTH: usize = 16;
const CHECKSUM: usize = 24;
const BODY: usize = 32;
/// No more than 64 bits: 9 groups of 7 and one of 1.
const LONGEST_COUNT: u32 = 63;

/// Largest number of bytes of a state.
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
        "the state of the training would take {bytes} bytes, more than {MOST_BYTES}; use fewer features, fewer landmarks, or \
         fewer values of lambda"
    )))
}

/// What a BLOB holds.
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
}

/// Bytes that grow.
#[derive(Debug, Default)]
pub struct Writer(Vec<u8>);

impl Writer {
    /// Adds a whole number from 0.
    pub fn count(&mut self, mut count: u64) {
        while count >= 1 << 7 {
            self.0.push(count as u8 | 1 << 7);
            count >>= 7;
        }
        self.0.push(count as u8);
    }

    /// Adds a byte.
    #[cfg(test)]
    pub fn raw(&mut self, byte: u8) {
        self.0.push(byte);
    }

    /// Adds bytes with their length.
    pub fn bytes(&mut self, bytes: &[u8]) {
        self.count(bytes.len() as u64);
        self.0.extend(bytes);
    }

    /// Adds numbers with their count.
    pub fn numbers(&mut self, numbers: &[f64]) {
        self.count(numbers.len() as u64);
        self.0.extend(numbers.iter().flat_map(|number| number.to_le_bytes()));
    }

    /// Adds numbers without their count, in single precision if it holds all of them exactly.
    pub fn series(&mut self, numbers: impl Iterator<Item = f64> + Clone) {
        let mut ticks = Ticks::default();
        let is_single = numbers.clone().all(|number| {
            ticks.add(1);
            f64::from(number as f32).to_bits() == number.to_bits() || number.is_nan()
        });
        self.count(u64::from(is_single));
        numbers.for_each(|number| {
            ticks.add(1);
            if is_single {
                self.0.extend((number as f32).to_le_bytes());
            } else {
                self.0.extend(number.to_le_bytes());
            }
        });
    }

    /// Adds an identifier.
    pub fn id(&mut self, id: &Id) {
        match id {
            Id::Null => self.count(0),
            Id::Integer(value) => {
                self.count(1);
                self.count(*value as u64);
            }
            Id::Real(value) => {
                self.count(2);
                self.count(value.to_bits());
            }
            Id::Text(text) => {
                self.count(3);
                self.bytes(text);
            }
            Id::Blob(bytes) => {
                self.count(4);
                self.bytes(bytes);
            }
        }
    }

    /// The bytes, as a part of a state.
    pub fn into_bytes(self) -> Vec<u8> {
        self.0
    }

    /// The BLOB with these bytes as its body.
    pub fn seal(self, kind: Kind) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(BODY + self.0.len());
        bytes.extend(kind.magic());
        bytes.extend(VERSION.to_le_bytes());
        bytes.extend((self.0.len() as u64).to_le_bytes());
        bytes.extend(xxh3_64(&self.0).to_le_bytes());
        bytes.extend(self.0);
        bytes
    }
}

/// The number at a place of the header; 0 beyond the end.
fn number_at(bytes: &[u8], at: usize) -> u64 {
    bytes.get(at..at + 8).and_then(|number| number.try_into().ok()).map_or(0, u64::from_le_bytes)
}

/// A body that is read.
pub struct Reader<'a> {
    kind: Kind,
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    /// The body of a BLOB of this kind.
    ///
    /// # Errors
    /// Bytes that are not such a BLOB, or of another version.
    pub fn open(kind: Kind, bytes: &'a [u8]) -> Result<Self> {
        let refuse = |problem: String| Err(Error::Data(format!("not {}: {problem}", kind.name())));
        let (start, body) = match bytes.split_at_checked(BODY) {
            Some(parts) if kind.begins(bytes) => parts,
            _ => return refuse(format!("{} bytes that begin otherwise", bytes.len())),
        };
        let version = number_at(start, FORMAT);
        if version != VERSION {
            return refuse(format!("format version {version}, this library reads {VERSION}"));
        }
        if number_at(start, LENGTH) != body.len() as u64 || number_at(start, CHECKSUM) != xxh3_64(body) {
            return refuse("it is damaged (its length or checksum does not match)".to_owned());
        }
        Ok(Self { kind, rest: body })
    }

    /// The checksum in the header of a BLOB that [`Self::open`] accepted.
    pub fn checksum(bytes: &[u8]) -> u64 {
        number_at(bytes, CHECKSUM)
    }

    /// A part of a state.
    pub fn of_state(bytes: &'a [u8]) -> Self {
        Self { kind: Kind::State, rest: bytes }
    }

    /// The error about a body whose checksum matches, but which no function of this crate wrote.
    pub fn forged(&self, needed: &str) -> Error {
        Error::Data(format!("not {}: its contents need {needed}", self.kind.name()))
    }

    fn take(&mut self, length: u64) -> Result<&'a [u8]> {
        let length = usize::try_from(length).unwrap_or(usize::MAX);
        let Some((taken, rest)) = self.rest.split_at_checked(length) else {
            return Err(self.forged("more bytes"));
        };
        self.rest = rest;
        Ok(taken)
    }

    /// The next whole number.
    ///
    /// # Errors
    /// Too few bytes.
    pub fn count(&mut self) -> Result<u64> {
        let (mut count, mut shift) = (0, 0);
        loop {
            let byte = self.take(1)?[0];
            count |= u64::from(byte & 0x7f) << shift;
            if byte < 1 << 7 {
                return Ok(count);
            }
            shift += 7;
            if shift > LONGEST_COUNT {
                return Err(self.forged("whole numbers of 64 bits"));
            }
        }
    }

    /// The next whole number, at most `most`.
    ///
    /// # Errors
    /// A number above `most`.
    pub fn count_to(&mut self, most: u64) -> Result<usize> {
        let count = self.count()?;
        if count <= most { Ok(count as usize) } else { Err(self.forged(&format!("numbers up to {most}"))) }
    }

    /// A count of things of at least one byte each.
    ///
    /// # Errors
    /// A count above the number of bytes that are left.
    pub fn length(&mut self) -> Result<usize> {
        let length = self.count()?;
        if length <= self.rest.len() as u64 { Ok(length as usize) } else { Err(self.forged("more bytes")) }
    }

    /// The next bytes.
    ///
    /// # Errors
    /// Too few bytes.
    pub fn bytes(&mut self) -> Result<&'a [u8]> {
        let length = self.count()?;
        self.take(length)
    }

    /// The next numbers.
    ///
    /// # Errors
    /// Too few bytes.
    pub fn numbers(&mut self) -> Result<Vec<f64>> {
        let count = self.count()?;
        let bytes = self.take(count.saturating_mul(8))?;
        Ok(bytes.as_chunks::<8>().0.iter().map(|number| f64::from_le_bytes(*number)).collect())
    }

    /// Reads `count` numbers of [`Writer::series`].
    ///
    /// # Errors
    /// Too few bytes.
    pub fn doubles(&mut self, count: usize) -> Result<Vec<f64>> {
        self.series(count, f64::from, |number| number)
    }

    /// Reads `count` numbers of [`Writer::series`], in single precision.
    ///
    /// # Errors
    /// Too few bytes.
    pub fn singles(&mut self, count: usize) -> Result<Vec<f32>> {
        self.series(count, |number| number, |number| number as f32)
    }

    fn series<T>(
        &mut self,
        count: usize,
        from_single: impl Fn(f32) -> T,
        from_double: impl Fn(f64) -> T,
    ) -> Result<Vec<T>> {
        let is_single = self.count_to(1)? == 1;
        let bytes = self.take((count as u64).saturating_mul(if is_single { 4 } else { 8 }))?;
        Ok(if is_single {
            bytes.as_chunks::<4>().0.iter().map(|number| from_single(f32::from_le_bytes(*number))).collect()
        } else {
            bytes.as_chunks::<8>().0.iter().map(|number| from_double(f64::from_le_bytes(*number))).collect()
        })
    }

    /// The next identifier.
    ///
    /// # Errors
    /// Too few bytes; an unknown class.
    pub fn id(&mut self) -> Result<Id> {
        Ok(match self.count_to(4)? {
            0 => Id::Null,
            1 => Id::Integer(self.count()? as i64),
            2 => match f64::from_bits(self.count()?) {
                value if value.is_nan() => return Err(self.forged("ids that are numbers")),
                value => Id::Real(value),
            },
            3 => Id::Text(self.bytes()?.into()),
            _ => Id::Blob(self.bytes()?.into()),
        })
    }

    /// Refuses further bytes.
    ///
    /// # Errors
    /// Further bytes.
    pub fn end(&self) -> Result<()> {
        if self.rest.is_empty() { Ok(()) } else { Err(self.forged("no further bytes")) }
    }
}
