//! Identifiers of queries and documents: SQL values with their storage class.
//!
//! They are ordered like in SQLite's BINARY collation: NULL, then numbers by value, then text by bytes, then blobs by
//! bytes.

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh64::xxh64;

use crate::base::{heap_bytes, shorten, text_number, whole_number};

/// An identifier.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub enum Id {
    /// SQL NULL: the only query of a source without a query column.
    #[default]
    Null,
    /// INTEGER.
    Integer(i64),
    /// REAL, never NaN.
    Real(f64),
    /// TEXT, as its bytes (SQLite does not promise UTF-8).
    Text(Box<[u8]>),
    /// BLOB.
    Blob(Box<[u8]>),
}

impl Id {
    /// A text identifier.
    pub fn text(text: &str) -> Self {
        Self::Text(text.as_bytes().into())
    }

    /// Bytes on the heap.
    pub fn heap_bytes(&self) -> u64 {
        match self {
            Self::Text(bytes) | Self::Blob(bytes) => heap_bytes(bytes.len()),
            Self::Null | Self::Integer(_) | Self::Real(_) => 0,
        }
    }

    /// Seeded XXH64 of a number's 8 bytes, little-endian, or of the bytes of a text or BLOB; NULL hashes to the seed. A
    /// whole number has the same hash as INTEGER and as REAL.
    pub fn xxh64(&self, seed: u64) -> u64 {
        let integer = |value: i64| xxh64(&value.to_le_bytes(), seed);
        match self {
            Self::Null => seed,
            Self::Integer(value) => integer(*value),
            Self::Real(value) if Self::Integer(*value as i64) == *self => integer(*value as i64),
            Self::Real(value) => xxh64(&value.to_bits().to_le_bytes(), seed),
            Self::Text(bytes) | Self::Blob(bytes) => xxh64(bytes, seed),
        }
    }

    /// Whether this is the number, or the number as text, as after a CSV import.
    pub fn is_number(&self, number: f64) -> bool {
        match self {
            Self::Text(bytes) => {
                let text = std::str::from_utf8(bytes).unwrap_or_default();
                text.parse::<f64>().is_ok_and(|id| id.total_cmp(&number).is_eq())
            }
            other => *other == Self::Real(number),
        }
    }

    /// The SQL type. A REAL without a fraction equals an INTEGER, so its type is INTEGER.
    pub fn type_name(&self) -> &'static str {
        match self {
            Self::Null => "NULL",
            Self::Real(value) if value.fract().abs() > 0.0 => "REAL",
            Self::Integer(_) | Self::Real(_) => "INTEGER",
            Self::Text(_) => "TEXT",
            Self::Blob(_) => "BLOB",
        }
    }

    /// Whether this is a REAL to which several whole numbers round.
    pub fn is_rounded(&self) -> bool {
        matches!(self, Self::Real(value) if value.fract().abs() <= 0.0 && whole_number(*value).is_none())
    }

    /// The same number or text in other types: 42 for '42', '42' for 42, and a text for the BLOB of its bytes.
    pub fn in_other_types(&self) -> Vec<Self> {
        match self {
            Self::Null => Vec::new(),
            Self::Integer(_) => vec![Self::text(&self.to_string())],
            Self::Real(value) => vec![Self::text(&value.to_string())],
            Self::Blob(bytes) => vec![Self::Text(bytes.clone())],
            Self::Text(bytes) => {
                let mut others = vec![Self::Blob(bytes.clone())];
                let text = std::str::from_utf8(bytes).unwrap_or_default().trim();
                if let Ok(whole) = text.parse() {
                    others.push(Self::Integer(whole));
                } else if let Some(number) = text_number(text) {
                    others.push(Self::Real(number));
                }
                others
            }
        }
    }

    /// The same whole number as TEXT or INTEGER: '42' for 42 and 42 for '42'.
    pub fn in_other_type(&self) -> Option<Self> {
        match self {
            Self::Integer(value) => Some(Self::text(&value.to_string())),
            Self::Text(bytes) => {
                let whole: i64 = std::str::from_utf8(bytes).ok()?.parse().ok()?;
                (whole.to_string().as_bytes() == &**bytes).then_some(Self::Integer(whole))
            }
            _ => None,
        }
    }

    /// The id and its type, for messages.
    pub fn describe(&self) -> String {
        match self {
            Self::Null | Self::Blob(_) => self.to_string(),
            Self::Text(bytes) => format!("'{}' (TEXT)", shorten(&String::from_utf8_lossy(bytes))),
            Self::Integer(_) | Self::Real(_) => format!("{self} ({})", self.type_name()),
        }
    }

    fn class(&self) -> u8 {
        match self {
            Self::Null => 0,
            Self::Integer(_) | Self::Real(_) => 1,
            Self::Text(_) => 2,
            Self::Blob(_) => 3,
        }
    }
}

impl From<i64> for Id {
    fn from(id: i64) -> Self {
        Self::Integer(id)
    }
}

impl From<i32> for Id {
    fn from(id: i32) -> Self {
        Self::Integer(id.into())
    }
}

impl From<u32> for Id {
    fn from(id: u32) -> Self {
        Self::Integer(id.into())
    }
}

impl From<&str> for Id {
    fn from(id: &str) -> Self {
        Self::text(id)
    }
}

impl From<String> for Id {
    fn from(id: String) -> Self {
        Self::Text(id.into_bytes().into())
    }
}

/// Exact comparison of an integer with a real.
fn compare_mixed(integer: i64, real: f64) -> Ordering {
    const LIMIT: f64 = 9_223_372_036_854_775_808.0;
    if real >= LIMIT {
        return Ordering::Less;
    }
    if real < -LIMIT {
        return Ordering::Greater;
    }
    let whole = real.trunc();
    integer.cmp(&(whole as i64)).then_with(|| (whole + 0.0).total_cmp(&(real + 0.0)))
}

impl Ord for Id {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Self::Integer(a), Self::Integer(b)) => a.cmp(b),
            (Self::Real(a), Self::Real(b)) => (a + 0.0).total_cmp(&(b + 0.0)),
            (Self::Integer(a), Self::Real(b)) => compare_mixed(*a, *b),
            (Self::Real(a), Self::Integer(b)) => compare_mixed(*b, *a).reverse(),
            (Self::Text(a), Self::Text(b)) | (Self::Blob(a), Self::Blob(b)) => a.cmp(b),
            _ => self.class().cmp(&other.class()),
        }
    }
}

impl PartialOrd for Id {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Id {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Id {}

impl Hash for Id {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.class().hash(state);
        match self {
            Self::Null => {}
            Self::Integer(value) => value.hash(state),
            // A real that equals an integer must have the same hash.
            Self::Real(value) if compare_mixed(*value as i64, *value).is_eq() => {
                (*value as i64).hash(state);
            }
            Self::Real(value) => value.to_bits().hash(state),
            Self::Text(bytes) | Self::Blob(bytes) => bytes.hash(state),
        }
    }
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Null => f.write_str("NULL"),
            Self::Integer(value) => write!(f, "{value}"),
            Self::Real(value) => write!(f, "{value:?}"),
            Self::Text(bytes) => write!(f, "'{}'", String::from_utf8_lossy(bytes)),
            Self::Blob(bytes) => write!(f, "a BLOB of {} bytes", bytes.len()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identifiers_order_as_in_sqlite() {
        let ordered = [
            Id::Null,
            Id::Real(-1.5),
            Id::Integer(-1),
            Id::Integer(1),
            Id::Real(1.5),
            Id::Integer((1 << 53) + 1),
            Id::Real(1e300),
            Id::text("1"),
            Id::text("a"),
            Id::Blob([0].into()),
        ];
        assert!(ordered.is_sorted());
        assert!(ordered.windows(2).all(|pair| pair[0] != pair[1]));
    }

    #[test]
    fn the_same_value_in_another_type_is_found_both_ways() {
        let same = [
            (Id::Integer(42), Id::text("42")),
            (Id::Real(42.0), Id::text("42")),
            (Id::Real(1.5), Id::text("1.5")),
            (Id::text("ab"), Id::Blob(b"ab".as_slice().into())),
        ];
        for (a, b) in same {
            assert!(a.in_other_types().contains(&b) && b.in_other_types().contains(&a), "{a} {b}");
        }
        for (id, name) in [(Id::Real(2.0), "INTEGER"), (Id::Real(2.5), "REAL"), (Id::text("2"), "TEXT")] {
            assert_eq!(id.type_name(), name);
        }
        assert!(Id::Null.in_other_types().is_empty() && !Id::text("x1").in_other_types().contains(&1.into()));
    }

    #[test]
    fn a_real_equals_the_integer_of_its_value_and_hashes_alike() {
        assert_eq!(Id::Integer(2), Id::Real(2.0));
        assert_ne!(Id::Integer((1 << 53) + 1), Id::Real((1u64 << 53) as f64));
        let set: std::collections::HashSet<Id> = [Id::Integer(2), Id::Real(2.0), Id::text("2")].into();
        assert_eq!(set.len(), 2);
        let zeros: std::collections::HashSet<Id> = [Id::Integer(0), Id::Real(-0.0), Id::Real(0.0)].into();
        assert_eq!(zeros.len(), 1);
    }
}
