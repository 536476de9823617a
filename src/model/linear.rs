//! One function for all queries.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::codec::{decode_header, encode_header};
use crate::base::{Error, Result, require};
use crate::data::negatives;
use crate::learn::space::{AnySpace, Function, Scorer};
use crate::math::{BOUNDED, Random};

pub(super) const TAG: &str = "linear";

/// A function for all queries, and its space.
#[derive(Debug)]
pub struct Linear {
    /// The space of the function.
    pub space: AnySpace,
    pub function: Arc<Function>,
}

impl Linear {
    /// A ranker with this function of a space.
    pub fn new(space: impl Into<AnySpace>, function: Function) -> Self {
        Self { space: space.into(), function: Arc::new(function) }
    }

    /// The scorer of the function.
    pub fn scorer(&self) -> &dyn Scorer {
        self.space.scorer()
    }

    /// The weights of the scaled features, if the function is linear in one space.
    pub(super) fn linear_weights(&self) -> Option<&[f64]> {
        match &self.space {
            AnySpace::One(space) if space.is_linear() => Some(&self.function.weights),
            _ => None,
        }
    }

    /// Memory in bytes without the scaling.
    ///
    /// # Errors
    /// Too many bytes.
    pub fn encode(&self) -> Result<Vec<u8>> {
        encode_header(&(&self.space, &*self.function))
    }

    /// The ranker of bytes that are not trusted.
    ///
    /// # Errors
    /// [`Error::Corrupt`](crate::base::error::Error::Corrupt) for bytes that [`Self::encode`] does not write.
    pub fn decode(header: &[u8]) -> Result<Self> {
        let (space, function): (AnySpace, Function) = decode_header(header)?;
        space.scorer().validate()?;
        let dim = space.scorer().dim();
        require(
            "linear ranker",
            &[
                (function.weights.len() == dim, "as many weights as its space has"),
                (function.is_bounded(), BOUNDED),
            ],
        )?;
        Ok(Self::new(space, function))
    }
}

// Implicit feedback: how user-item pairs without ratings are learned, and their counts.

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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Scaling;
    use crate::learn::kernel::{Basis, Kernel};
    use crate::learn::space::{Member, Space, SumSpace};

    #[test]
    fn kernels_that_share_documents_are_stored_with_them_once() {
        let rows: Vec<f64> = (0..100).map(f64::from).collect();
        let encoded = |rows_of: [&[f64]; 2]| {
            let member = |gamma: f64, rows: &[f64]| {
                let kernel = Kernel::new("gaussian", vec![gamma]).unwrap();
                let space = Space::of_basis(Basis::new(kernel, rows, 50, 2));
                Member { scaling: Scaling::MaxNorm(1.0).into(), space }
            };
            let sum = SumSpace::new(2, vec![member(1.0, rows_of[0]), member(2.0, rows_of[1])]);
            Linear::new(sum, Function::zero(100)).encode().unwrap()
        };
        let reversed: Vec<f64> = rows.iter().rev().copied().collect();
        let (apart, shared) = (encoded([&rows, &reversed]), encoded([&rows, &rows]));
        assert!(shared.len() + 800 <= apart.len(), "{} and {} bytes", shared.len(), apart.len());
        for bytes in [apart, shared] {
            let read = Linear::decode(&bytes).unwrap();
            assert_eq!(read.encode().unwrap(), bytes);
            assert!((0..bytes.len()).all(|length| Linear::decode(&bytes[..length]).is_err()));
        }
    }
}
