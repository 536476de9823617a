//! The round that an answer belongs to. Answers of other rounds and trainings are refused.

use serde::{Deserialize, Serialize};

use super::bytes::Kind;
use crate::base::{Error, Result};
use crate::data::MOST_BUCKETS;

/// The error for an answer or a question of another training. `problem`: how it differs.
pub fn of_another_training(what: &str, problem: &str) -> Error {
    Error::Data(format!("the {what} is from another training: {problem}"))
}

/// The round that an answer belongs to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Round {
    /// Identifies the training and all answers of earlier rounds.
    pub training: u64,
    /// Number of the round, from 1.
    pub number: u64,
    /// Number of buckets.
    pub buckets: u32,
    /// The buckets with rows, ascending; `None` in the first round, which finds them.
    #[serde(with = "bits")]
    pub present: Option<Vec<u32>>,
}

impl Round {
    /// The first bucket with rows from `start` to `end`.
    pub(super) fn first_in(&self, start: u32, end: u32) -> Option<u32> {
        match &self.present {
            None => (start < end).then_some(start),
            Some(present) => {
                let next = present.get(present.partition_point(|bucket| *bucket < start)).copied();
                next.filter(|bucket| *bucket < end)
            }
        }
    }

    /// Refuses a subtree without rows.
    pub(super) fn check_rows(&self, start: u32, width: u32) -> Result<()> {
        let first = self.first_in(start, start + width);
        let problem = || format!("bucket {start} has no rows in the first round, but an answer later");
        first.map(drop).ok_or_else(|| Error::Data(problem()))
    }

    /// Refuses an answer of another round or training.
    pub(super) fn check_same(&self, other: &Self) -> Result<()> {
        let problem = if self.number != other.number {
            format!("the answer is from round {}, not round {}", other.number, self.number)
        } else if self != other {
            "the answer is from another training".to_owned()
        } else {
            return Ok(());
        };
        Err(Error::Data(format!(
            "{problem}; compute answers with ltr_partial of the state that ltr_step gets"
        )))
    }

    /// Checks a round that was read from bytes.
    ///
    /// # Errors
    /// A number of buckets that differs from the training's.
    pub fn check(&self) -> Result<()> {
        let last = self.present.as_ref().and_then(|present| present.last());
        if u64::from(self.buckets) <= MOST_BUCKETS
            && self.buckets.is_power_of_two()
            && last.is_none_or(|last| *last < self.buckets)
        {
            return Ok(());
        }
        Err(Kind::State.forged("a power of two as the number of buckets, and only these buckets"))
    }
}

/// Buckets as bits: an eighth of a byte each.
mod bits {
    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use crate::data::MOST_BUCKETS;

    #[expect(clippy::ref_option, reason = "the form that serde calls")]
    pub fn serialize<S: Serializer>(present: &Option<Vec<u32>>, to: S) -> Result<S::Ok, S::Error> {
        let bits = present.as_ref().map(|present| {
            let mut bits = vec![0u8; present.last().map_or(0, |last| *last as usize / 8 + 1)];
            present.iter().for_each(|bucket| bits[*bucket as usize / 8] |= 1 << (bucket % 8));
            bits
        });
        bits.serialize(to)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Vec<u32>>, D::Error> {
        let Some(bits) = <Option<&[u8]>>::deserialize(from)? else { return Ok(None) };
        if bits.len() as u64 > MOST_BUCKETS / 8 {
            return Err(D::Error::custom("more buckets than a training has"));
        }
        let is_present = |bucket: &u32| bits[*bucket as usize / 8] >> (bucket % 8) & 1 == 1;
        Ok(Some((0..8 * bits.len() as u32).filter(is_present).collect()))
    }
}
