//! Pairwise losses: a sum over pairs of documents of one query,
//!
//!   L(y, s) = 2 / (N (N - 1)) sum over pairs with y_j > y_l of value(s_j - s_l)
//!
//! for its N documents; pairs with equal labels cost nothing. A file states the value of one pair.

mod hinge;
mod logistic;
mod psi;
mod squared_hinge;

use serde::{Deserialize, Serialize};

use super::{Loss, LossDef, Shape};

pub use hinge::HINGE;
pub use logistic::LOGISTIC;
pub use psi::PSI;
pub use squared_hinge::SQUARED_HINGE;

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

impl PairLoss {
    /// The definition of the loss.
    pub fn def(self) -> &'static PairDef {
        match self {
            Self::Hinge => &HINGE,
            Self::Psi => &PSI,
            Self::Logistic => &LOGISTIC,
            Self::SquaredHinge => &SQUARED_HINGE,
        }
    }
}

/// One pairwise loss.
#[derive(Debug)]
pub struct PairDef {
    /// What the registry knows of it.
    pub def: LossDef,
    /// What solvers know it as.
    pub pair: PairLoss,
    /// Cost of a pair with this margin.
    pub value: fn(f64) -> f64,
    /// A subgradient of the value at this margin, never above 0; for a loss that is not convex, a slope of one side.
    pub slope: fn(f64) -> f64,
}

/// The entry of a pairwise loss in the registry.
const fn entry(
    name: &'static str,
    summary: &'static str,
    shape: Shape,
    make: fn(&crate::param::Params) -> crate::error::Result<Loss>,
) -> LossDef {
    LossDef { name, summary, shape, parameters: &[], make }
}

impl PairDef {
    /// Value for one query; writes a subgradient with respect to the scores into the last argument. Cost O(N^2).
    ///
    /// Arguments: labels (N), scores (N), subgradient (N, overwritten).
    pub fn value_and_subgradient(&self, labels: &[f64], scores: &[f64], subgradient: &mut [f64]) -> f64 {
        subgradient.fill(0.0);
        let weight = pair_share(labels.len());
        let mut value = 0.0;
        for j in 0..labels.len() {
            for l in 0..labels.len() {
                if labels[j] > labels[l] {
                    let margin = scores[j] - scores[l];
                    value += weight * (self.value)(margin);
                    let slope = weight * (self.slope)(margin);
                    subgradient[j] += slope;
                    subgradient[l] -= slope;
                }
            }
        }
        value
    }
}

/// Every pairwise loss.
pub const PAIR_LOSSES: &[&PairDef] = &[&HINGE, &PSI, &LOGISTIC, &SQUARED_HINGE];

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
    use crate::math::dense::dot;

    /// Labels and two lists of scores, of equal length.
    type Rows = Vec<(u8, f64, f64)>;

    fn columns(rows: &Rows) -> (Vec<f64>, Vec<f64>, Vec<f64>) {
        let labels = rows.iter().map(|row| f64::from(row.0)).collect();
        (labels, rows.iter().map(|row| row.1).collect(), rows.iter().map(|row| row.2).collect())
    }

    fn rows() -> impl proptest::strategy::Strategy<Value = Rows> {
        proptest::collection::vec((0u8..4, -3.0f64..3.0, -3.0f64..3.0), 0..12)
    }

    proptest::proptest! {
        /// f(b) >= f(a) + g . (b - a): the law of a subgradient of a convex function.
        #[test]
        fn the_subgradient_inequality_holds(rows in rows()) {
            let (labels, a, b) = columns(&rows);
            let mut g = vec![0.0; rows.len()];
            for loss in PAIR_LOSSES.iter().filter(|loss| loss.pair != PairLoss::Psi) {
                let at_b = loss.value_and_subgradient(&labels, &b, &mut g);
                let at_a = loss.value_and_subgradient(&labels, &a, &mut g);
                let step: Vec<f64> = b.iter().zip(&a).map(|(x, y)| x - y).collect();
                proptest::prop_assert!(at_b >= at_a + dot(&g, &step) - 1e-12, "{}", loss.def.name);
            }
        }

        /// The slope is that of central differences, away from kinks.
        #[test]
        fn a_slope_is_that_of_differences(margin in -40.0f64..40.0) {
            let h = 1e-5;
            let smooth = (margin - 1.0).abs() > 2.0 * h && margin.abs() > 2.0 * h;
            for loss in PAIR_LOSSES.iter().filter(|_| smooth) {
                let difference = ((loss.value)(margin + h) - (loss.value)(margin - h)) / (2.0 * h);
                let error = (difference - (loss.slope)(margin)).abs();
                proptest::prop_assert!(error < 1e-8 * (1.0 + margin.abs()), "{}: {error}", loss.def.name);
            }
        }

        #[test]
        fn psi_is_a_difference_of_convex_functions(margin in -5.0f64..5.0) {
            let difference = (HINGE.value)(margin) - (-margin).max(0.0);
            proptest::prop_assert!(((PSI.value)(margin) - difference).abs() < 1e-15);
        }
    }

    /// Three documents, by hand: the pairs (a, b), (a, c) with margins 0.5 and -1; b and c are equal.
    #[test]
    fn values_by_hand() {
        let (labels, scores) = ([1.0, 0.0, 0.0], [0.0, -0.5, 1.0]);
        let value = |loss: &PairDef| loss.value_and_subgradient(&labels, &scores, &mut [0.0; 3]);
        assert!((value(&HINGE) - 2.5 / 3.0).abs() < 1e-15);
        assert!((value(&PSI) - 1.5 / 3.0).abs() < 1e-15);
        assert!((value(&SQUARED_HINGE) - 4.25 / 3.0).abs() < 1e-15);
        assert!((value(&LOGISTIC) - (0.474_076_984_180_106_7 + 1.313_261_687_518_222_8) / 3.0).abs() < 1e-15);
    }

    #[test]
    fn the_logistic_loss_survives_large_margins() {
        assert!(((LOGISTIC.value)(-1e6) - 1e6).abs() < 1e-9 && (LOGISTIC.value)(1e6) < 1e-300);
        assert!((LOGISTIC.slope)(-1e6) <= -1.0 && (LOGISTIC.slope)(1e6) <= 0.0);
    }

    #[test]
    fn pairs_of_equal_labels_are_not_counted() {
        assert_eq!(pairs(&[2.0, 0.0, 0.0, 1.0]), 5);
        assert_eq!(pairs(&[1.0, 1.0]), 0);
        assert_eq!(pairs(&[]), 0);
    }
}
