//! Implicit feedback: how user-item pairs without ratings are learned, and their counts.

use serde::{Deserialize, Serialize};

use crate::base::{Error, Result};
use crate::data::negatives;
use crate::math::Random;

/// How pairs without ratings were learned.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub enum Implicit {
    /// By weighted least squares over all items.
    AllItems {
        /// alpha: a pair with a count n has the confidence 1 + alpha n.
        count_weight: f64,
    },
    /// By the loss on pairs, rated 1, and on items outside pairs, rated 0.
    Sampled {
        /// Number drawn for each pair.
        negatives: usize,
        /// Seed of the draws.
        seed: u64,
    },
}

/// Largest weight of a count.
pub const MAX_COUNT_WEIGHT: f64 = 1e6;
/// Largest number of drawn items for each pair.
pub const MAX_NEGATIVES: usize = 1000;

/// Largest confidence of a pair. Larger ones would swamp the digits of all other pairs in sums of products.
const MAX_CONFIDENCE: f64 = 1e9;

impl Implicit {
    /// Refuses a count that is not a valid pair weight; `origin` says where it comes from.
    ///
    /// # Errors
    /// [`Error::Data`] with the count and the allowed values.
    pub fn check(self, count: f64, origin: impl FnOnce() -> String) -> Result<()> {
        let count_weight = match self {
            Self::AllItems { count_weight } => count_weight,
            Self::Sampled { .. } => 0.0,
        };
        if count > 0.0 && count_weight * count <= MAX_CONFIDENCE {
            return Ok(());
        }
        let problem = if count > 0.0 {
            format!(
                "is too large: times the option 'count_weight' ({count_weight}) at most {MAX_CONFIDENCE:e} is allowed"
            )
        } else {
            "is not above 0; leave out pairs that did not occur".to_owned()
        };
        Err(Error::Data(format!("{}: the count {count:?} {problem}", origin())))
    }

    /// Whether all numbers are in the ranges of their options.
    pub(super) fn is_valid(self) -> bool {
        match self {
            Self::AllItems { count_weight } => (0.0..=MAX_COUNT_WEIGHT).contains(&count_weight),
            Self::Sampled { negatives, .. } => (1..=MAX_NEGATIVES).contains(&negatives),
        }
    }

    /// Items drawn for a user who has these items (ascending). `number` distinguishes users.
    pub fn negatives(self, number: usize, seen: &[u32], items: usize) -> Vec<u32> {
        let Self::Sampled { negatives: each, seed } = self else { return Vec::new() };
        let mut random = Random::new(Random::new(seed).bits().wrapping_add(number as u64));
        negatives(seen, items, each.saturating_mul(seen.len()), &mut random)
    }
}
