//! Where numbers are in the bytes of a header: its type reads the bytes, and each number on the way is written down.

use serde::de::value::Error;
use serde::de::{
    DeserializeOwned, DeserializeSeed, Deserializer, EnumAccess, SeqAccess, VariantAccess, Visitor,
};
use serde_json::Value;

/// How a number is written.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// One byte: a small number, a truth value, whether a value follows.
    Byte,
    /// A whole number, a length or the number of a variant.
    Whole,
    Single,
    Double,
    /// A JSON object after its length, with numbers to change.
    Json,
}

/// A number, or a JSON object.
pub struct Place {
    pub at: usize,
    pub length: usize,
    pub kind: Kind,
}

/// Reads the bytes of one value after the other.
pub struct Walk<'a> {
    bytes: &'a [u8],
    pub at: usize,
    pub places: Vec<Place>,
}

impl<'a> Walk<'a> {
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0, places: Vec::new() }
    }

    /// Reads a value.
    pub fn value<T: DeserializeOwned>(&mut self) {
        T::deserialize(&mut *self).expect("bytes of this type");
    }

    /// Passes over bytes with their length. Returns where they are, without the length.
    pub fn bytes(&mut self) -> std::ops::Range<usize> {
        let length = self.count() as usize;
        self.take(length);
        self.at - length..self.at
    }

    /// Whether all bytes were read.
    pub fn is_at_end(&self) -> bool {
        self.at == self.bytes.len()
    }

    fn take(&mut self, length: usize) -> &'a [u8] {
        self.at += length;
        &self.bytes[self.at - length..self.at]
    }

    fn number(&mut self, length: usize, kind: Kind) -> &'a [u8] {
        self.places.push(Place { at: self.at, length, kind });
        self.take(length)
    }

    /// A whole number.
    fn whole(&mut self) -> u64 {
        let length = match self.bytes[self.at] {
            0..=250 => 1,
            251 => 3,
            252 => 5,
            _ => 9,
        };
        whole_of(self.number(length, Kind::Whole))
    }

    /// A length that is not a place.
    fn count(&mut self) -> u64 {
        let count = self.whole();
        self.places.pop();
        count
    }

    fn signed(&mut self) -> i64 {
        let number = self.whole();
        (number >> 1) as i64 ^ -((number & 1) as i64)
    }
}

/// A whole number of its bytes.
pub fn whole_of(bytes: &[u8]) -> u64 {
    let digits = if bytes.len() == 1 { bytes } else { &bytes[1..] };
    digits.iter().rev().fold(0, |number, digit| number << 8 | u64::from(*digit))
}

/// Methods that read one number.
macro_rules! numbers {
    ($($method:ident $visit:ident $read:expr;)*) => { $(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
            let read: fn(Self) -> _ = $read;
            visitor.$visit(read(self))
        }
    )* };
}

impl<'de> Deserializer<'de> for &mut Walk<'de> {
    type Error = Error;

    numbers! {
        deserialize_bool visit_bool |walk| walk.number(1, Kind::Byte)[0] == 1;
        deserialize_u8 visit_u8 |walk| walk.number(1, Kind::Byte)[0];
        deserialize_i8 visit_i8 |walk| walk.number(1, Kind::Byte)[0] as i8;
        deserialize_u16 visit_u64 |walk| walk.whole();
        deserialize_u32 visit_u64 |walk| walk.whole();
        deserialize_u64 visit_u64 |walk| walk.whole();
        deserialize_i16 visit_i64 |walk| walk.signed();
        deserialize_i32 visit_i64 |walk| walk.signed();
        deserialize_i64 visit_i64 |walk| walk.signed();
        deserialize_f32 visit_f32 |walk| f32::from_le_bytes(walk.number(4, Kind::Single).try_into().expect("4 bytes"));
        deserialize_f64 visit_f64 |walk| f64::from_le_bytes(walk.number(8, Kind::Double).try_into().expect("8 bytes"));
    }

    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        let start = self.at;
        let text = self.bytes();
        let text = &self.bytes[text];
        if text.starts_with(b"{") && serde_json::from_slice::<Value>(text).is_ok() {
            self.places.push(Place { at: start, length: self.at - start, kind: Kind::Json });
        }
        visitor.visit_str(std::str::from_utf8(text).expect("text"))
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.deserialize_str(visitor)
    }

    fn deserialize_bytes<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        // A list of numbers, read whole.
        let (count, start) = (self.whole(), self.at);
        for _ in 0..count {
            self.number(8, Kind::Double);
        }
        visitor.visit_borrowed_bytes(&self.bytes[start..self.at])
    }

    fn deserialize_byte_buf<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.deserialize_bytes(visitor)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.number(1, Kind::Byte)[0] {
            0 => visitor.visit_none(),
            _ => visitor.visit_some(self),
        }
    }

    fn deserialize_unit<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_unit()
    }

    fn deserialize_unit_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Error> {
        visitor.visit_unit()
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Error> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        let left = self.whole() as usize;
        visitor.visit_seq(Elements { walk: self, left })
    }

    fn deserialize_tuple<V: Visitor<'de>>(self, left: usize, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_seq(Elements { walk: self, left })
    }

    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        left: usize,
        visitor: V,
    ) -> Result<V::Value, Error> {
        self.deserialize_tuple(left, visitor)
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        self.deserialize_tuple(fields.len(), visitor)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        visitor.visit_enum(self)
    }

    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Error> {
        panic!("bincode has no types")
    }

    serde::forward_to_deserialize_any! { char map identifier ignored_any }
}

struct Elements<'w, 'a> {
    walk: &'w mut Walk<'a>,
    left: usize,
}

impl<'de> SeqAccess<'de> for Elements<'_, 'de> {
    type Error = Error;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, Error> {
        if self.left == 0 {
            return Ok(None);
        }
        self.left -= 1;
        seed.deserialize(&mut *self.walk).map(Some)
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.left)
    }
}

impl<'de> EnumAccess<'de> for &mut Walk<'de> {
    type Error = Error;
    type Variant = Self;

    fn variant_seed<V: DeserializeSeed<'de>>(self, seed: V) -> Result<(V::Value, Self), Error> {
        let number = self.whole() as u32;
        let value = seed.deserialize(serde::de::value::U32Deserializer::<Error>::new(number))?;
        Ok((value, self))
    }
}

impl<'de> VariantAccess<'de> for &mut Walk<'de> {
    type Error = Error;

    fn unit_variant(self) -> Result<(), Error> {
        Ok(())
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<T::Value, Error> {
        seed.deserialize(self)
    }

    fn tuple_variant<V: Visitor<'de>>(self, left: usize, visitor: V) -> Result<V::Value, Error> {
        self.deserialize_tuple(left, visitor)
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        self.deserialize_tuple(fields.len(), visitor)
    }
}
