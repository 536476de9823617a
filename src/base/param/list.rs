//! `#[serde(with = "list")]`: a list whose reading and writing have checkpoints.

use std::cell::Cell;
use std::fmt;
use std::marker::PhantomData;

use serde::de::{Deserialize, Deserializer, SeqAccess, Visitor};
use serde::ser::{Serialize, Serializer};

use super::json::VALUE_COST;
use crate::base::Ticks;

pub fn serialize<S: Serializer, T: Serialize>(list: &[T], to: S) -> Result<S::Ok, S::Error> {
    let mut ticks = Ticks::default();
    to.collect_seq(list.iter().inspect(|_| ticks.add(VALUE_COST)))
}

pub fn deserialize<'de, D: Deserializer<'de>, T: Deserialize<'de>>(from: D) -> Result<Vec<T>, D::Error> {
    from.deserialize_seq(ListVisitor(PhantomData))
}

thread_local! {
    /// Bytes per element of the next byte string.
    static ELEMENT_BYTES: Cell<usize> = const { Cell::new(1) };
}

/// Bytes of numbers in a model header, read all at once. Serde can only do that with byte strings, so a list of
/// numbers is read as one, and the reader of the header asks for [`element_bytes`].
pub struct Numbers<'a>(pub &'a [[u8; 8]]);

impl<'de> Deserialize<'de> for Numbers<'de> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        ELEMENT_BYTES.set(size_of::<f64>());
        let bytes = <&[u8]>::deserialize(from);
        ELEMENT_BYTES.set(1);
        bytes.map(|bytes| Self(bytes.as_chunks().0))
    }
}

/// `#[serde(deserialize_with = "list::whole")]`: [`Numbers`] as a vector.
pub fn whole<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<f64>, D::Error> {
    let Numbers(numbers) = Numbers::deserialize(from)?;
    Ok(numbers.iter().map(|bytes| f64::from_le_bytes(*bytes)).collect())
}

/// Bytes per element of the byte string being read.
pub fn element_bytes() -> usize {
    ELEMENT_BYTES.get()
}

struct ListVisitor<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for ListVisitor<T> {
    type Value = Vec<T>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an array")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut from: A) -> Result<Vec<T>, A::Error> {
        let (mut list, mut ticks) = (Vec::new(), Ticks::default());
        while let Some(value) = from.next_element()? {
            ticks.add(VALUE_COST);
            list.push(value);
        }
        Ok(list)
    }
}
