//! Losses: what a ranking of one query costs, in score space.
//!
//! A loss sees the labels and scores of one query and nothing else: no features, weights or threads.

mod hinge;

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};

pub use hinge::HINGE;

/// What a pair costs, as a function of its margin `s_j - s_l` with `y_j > y_l`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum PairLoss {
    /// max(0, 1 - margin).
    Hinge,
    /// min(1, max(0, 1 - margin)), which is not convex.
    Psi,
    /// log(1 + exp(-margin)).
    Logistic,
    /// max(0, 1 - margin)^2.
    SquaredHinge,
}

/// One loss.
#[derive(Debug)]
pub struct LossDef {
    /// The name in the option `loss`.
    pub name: &'static str,
    /// One line for people.
    pub summary: &'static str,
    /// What one pair costs.
    pub pair: PairLoss,
    /// Value for one query; writes a subgradient with respect to the scores into the last argument.
    ///
    /// Arguments: labels (n), scores (n), subgradient (n, overwritten).
    pub value_and_subgradient: fn(&[f64], &[f64], &mut [f64]) -> f64,
}

/// Every loss.
pub const LOSSES: &[&LossDef] = &[&HINGE];

/// Names of all losses, in the order of [`LOSSES`].
pub const NAMES: &[&str] = &[HINGE.name];

/// The loss of this name.
///
/// # Errors
/// An unknown name, with the known ones.
pub fn find(name: &str) -> Result<&'static LossDef> {
    LOSSES
        .iter()
        .find(|loss| loss.name == name)
        .copied()
        .ok_or_else(|| Error::unknown("loss", name, NAMES.iter().copied()))
}

/// 2 / (N (N - 1)) for N documents: what one pair weighs in the mean over all pairs of a query; 0 without pairs.
pub fn pair_share(documents: usize) -> f64 {
    let n = documents as f64;
    if documents < 2 { 0.0 } else { 2.0 / (n * (n - 1.0)) }
}

/// The number of pairs of one query that a pairwise loss counts: those with different labels.
pub fn pairs(labels: &[f64]) -> u64 {
    let mut sorted = labels.to_vec();
    sorted.sort_by(|a, b| crate::math::order::compare(*a, *b));
    let n = sorted.len() as u64;
    let same: u64 = sorted
        .chunk_by(|a, b| crate::math::order::compare(*a, *b).is_eq())
        .map(|tie| (tie.len() as u64) * (tie.len() as u64 - 1) / 2)
        .sum();
    n * n.saturating_sub(1) / 2 - same
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_loss_stands_under_its_own_name() {
        for (loss, name) in LOSSES.iter().zip(NAMES) {
            assert_eq!(loss.name, *name);
            assert!(find(name).is_ok());
        }
    }

    #[test]
    fn pairs_of_equal_labels_are_not_counted() {
        assert_eq!(pairs(&[2.0, 0.0, 0.0, 1.0]), 5);
        assert_eq!(pairs(&[1.0, 1.0]), 0);
        assert_eq!(pairs(&[]), 0);
    }
}
