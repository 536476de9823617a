//! The bucket of a query: a number that depends only on its id, the same as in Spark.

use super::id::Id;
use crate::base::{Error, Result};

/// The seed of the hash, same as in Spark.
const SEED: u64 = 42;

/// Largest number of buckets.
pub const MOST_BUCKETS: u64 = 1 << 16;

/// Checks a caller's number of buckets.
///
/// # Errors
/// A number that is not a power of two, or too large.
pub fn check_buckets(what: &str, buckets: u64) -> Result<u32> {
    if buckets.is_power_of_two() && buckets <= MOST_BUCKETS {
        return Ok(buckets as u32);
    }
    Err(Error::value(what, buckets.to_string(), format!("a power of two from 1 to {MOST_BUCKETS}")))
}

/// The bucket of a query among `buckets`, a power of two: the same as `pmod(xxhash64(id), buckets)` in Spark for BIGINT and
/// STRING. A whole number has the same bucket as INTEGER and as REAL.
pub fn bucket_of(query: &Id, buckets: u32) -> u32 {
    hash(query) as u32 & (buckets - 1)
}

fn hash(query: &Id) -> u64 {
    query.xxh64(SEED)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_of_buckets_is_a_power_of_two() {
        assert_eq!(check_buckets("argument 'buckets'", 256).unwrap(), 256);
        for wrong in [0, 3, 1 << 17] {
            assert!(check_buckets("argument 'buckets'", wrong).is_err());
        }
    }

    /// Spark's documentation gives 4105715581806190027 as the hash of 'ABC'. The other hashes come from an
    /// implementation in Python that follows the specification of XXH64.
    #[test]
    fn buckets_match_spark() {
        let text = |text: &str| bucket_of(&Id::text(text), 1 << 16);
        assert_eq!(u64::from(text("ABC")), 4_105_715_581_806_190_027_u64 % (1 << 16));
        let known = ["", "Spark", "query 17", "\u{e9}", "the quick brown fox jumps over the lazy dog"];
        assert_eq!(known.map(text), [59140, 62903, 19517, 27572, 9164]);
        let integer = |id: i64| bucket_of(&Id::Integer(id), 1 << 16);
        assert_eq!([0, 1, -1, 42, 123_456_789_012].map(integer), [29804, 53810, 28626, 62174, 54519]);
        assert_eq!([0, 1, -1].map(|id| bucket_of(&Id::Integer(id), 256)), [108, 50, 210]);
    }

    #[test]
    fn equal_ids_have_one_bucket() {
        for id in [0, 1, -7, 1 << 40] {
            assert_eq!(bucket_of(&Id::Integer(id), 64), bucket_of(&Id::Real(id as f64), 64));
        }
    }
}
