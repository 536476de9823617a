//! Listwise losses: functions of all scores of a query.
//!
//! A [`ListLoss`] with its parameters is made ready for the labels of one query ([`ListLoss::prepare`]); the
//! [`QueryLoss`] then gives value and subgradient at any scores. Objectives are means over queries plus
//! lambda / 2 |f|^2. Losses do not change when a constant is added to all scores, unless a file says otherwise.

mod direct;
mod list_net;
mod squared;

use std::fmt::Debug;

use serde::{Deserialize, Serialize};

use super::{LossDef, Shape};
use crate::error::Result;

pub use direct::{BOUNDS, Bound, DECODERS, DIRECT, Decoder, Direct, DirectQuery, Measure};
pub use list_net::{LIST_NET, ListNet};
pub use squared::{SQUARED, Squared};

/// A listwise loss with its parameters.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum ListLoss {
    /// Least squares on the labels.
    Squared(Squared),
    /// Cross entropy of top-one probabilities.
    ListNet(ListNet),
    /// A bound of the regret in a measure.
    Direct(Direct),
}

/// A loss of the scores of one query, whose labels it knows.
pub trait QueryLoss: Debug + Send + Sync {
    /// The value at these scores (N); writes a subgradient with respect to them into the last argument (N, overwritten).
    ///
    /// Scores are finite. The same scores give the same bits.
    fn value_and_subgradient(&self, scores: &[f64], subgradient: &mut [f64]) -> f64;

    /// For [`Shape::Quadratic`] and [`Shape::Smooth`]: the Hessian at these scores times a direction (N), written into
    /// the last argument (N, overwritten). False where the loss has none.
    fn hessian_times(&self, _scores: &[f64], _direction: &[f64], _product: &mut [f64]) -> bool {
        false
    }

    /// For [`Shape::Quadratic`]: what it is made of.
    fn quadratic(&self) -> Option<Quadratic<'_>> {
        None
    }

    /// For [`Shape::Difference`]: a convex loss that is nowhere below this one and equal to it at these scores.
    fn majorant(&self, _scores: &[f64]) -> Option<Box<dyn QueryLoss>> {
        None
    }

    /// For [`Shape::Annealed`]: the smooth loss of width sigma > 0, which tends to this one as sigma falls to 0.
    fn smoothed(&self, _sigma: f64) -> Option<Box<dyn QueryLoss>> {
        None
    }
}

/// factor / 2 sum_j (s_j - t_j)^2, of scores s and targets t less their means where `centred`.
#[derive(Debug, Clone, Copy)]
pub struct Quadratic<'a> {
    /// t (N).
    pub targets: &'a [f64],
    /// Whether means are subtracted.
    pub centred: bool,
    /// What the sum is multiplied with.
    pub factor: f64,
}

impl ListLoss {
    /// What the registry knows of it.
    pub fn def(&self) -> &'static LossDef {
        match self {
            Self::Squared(_) => &SQUARED,
            Self::ListNet(_) => &LIST_NET,
            Self::Direct(_) => &DIRECT,
        }
    }

    /// What solvers can make use of.
    pub fn shape(&self) -> Shape {
        match self {
            Self::Direct(loss) => loss.shape(),
            _ => self.def().shape,
        }
    }

    /// Whether a query with these labels teaches anything.
    pub fn teaches(&self, labels: &[f64]) -> bool {
        match self {
            Self::Squared(loss) => loss.teaches(labels),
            Self::ListNet(_) => labels.len() > 1,
            Self::Direct(loss) => loss.teaches(labels),
        }
    }

    /// Refuses the labels of a query that the loss is not for; to be asked before [`ListLoss::prepare`].
    ///
    /// # Errors
    /// What the loss says of them.
    pub fn check(&self, labels: &[f64]) -> Result<()> {
        match self {
            Self::Direct(loss) => loss.measure.check(labels),
            _ => Ok(()),
        }
    }

    /// The loss of a query with these labels (N >= 1, finite), in the order of its documents.
    pub fn prepare(&self, labels: &[f64]) -> Box<dyn QueryLoss> {
        match self {
            Self::Squared(loss) => Box::new(loss.of(labels)),
            Self::ListNet(_) => Box::new(ListNet::of(labels)),
            Self::Direct(loss) => loss.of(labels),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::loss::{Given, LOSSES, Loss};
    use crate::math::dense::dot;

    /// Every listwise loss with default parameters.
    fn every() -> impl Iterator<Item = (&'static LossDef, ListLoss)> {
        LOSSES.iter().filter_map(|def| match (def.make)(&Given(&serde_json::Map::new())).unwrap() {
            Loss::List(loss) => Some((*def, loss)),
            Loss::Pair(_) => None,
        })
    }

    /// Labels and two lists of scores, of equal length.
    fn rows() -> impl proptest::strategy::Strategy<Value = Vec<(u8, f64, f64)>> {
        proptest::collection::vec((0u8..4, -3.0f64..3.0, -3.0f64..3.0), 1..12)
    }

    fn columns(rows: &[(u8, f64, f64)]) -> (Vec<f64>, Vec<f64>, Vec<f64>) {
        let labels = rows.iter().map(|row| f64::from(row.0)).collect();
        (labels, rows.iter().map(|row| row.1).collect(), rows.iter().map(|row| row.2).collect())
    }

    proptest::proptest! {
        /// f(b) >= f(a) + g . (b - a).
        #[test]
        fn the_subgradient_inequality_holds(rows in rows()) {
            let (labels, a, b) = columns(&rows);
            let mut g = vec![0.0; rows.len()];
            for (def, loss) in every().filter(|(def, _)| def.shape.is_convex()) {
                let loss = loss.prepare(&labels);
                let at_b = loss.value_and_subgradient(&b, &mut g);
                let at_a = loss.value_and_subgradient(&a, &mut g);
                let step: Vec<f64> = b.iter().zip(&a).map(|(x, y)| x - y).collect();
                proptest::prop_assert!(at_b >= at_a + dot(&g, &step) - 1e-10, "{}", def.name);
            }
        }

        /// The Hessian of smooth losses is that of differences of gradients.
        #[test]
        fn a_hessian_is_that_of_differences(rows in rows()) {
            let (labels, scores, direction) = columns(&rows);
            let n = rows.len();
            for (def, loss) in every().filter(|(def, _)| matches!(def.shape, Shape::Quadratic | Shape::Smooth)) {
                let loss = loss.prepare(&labels);
                let mut product = vec![0.0; n];
                proptest::prop_assert!(loss.hessian_times(&scores, &direction, &mut product), "{}", def.name);
                let gradient_at = |h: f64| {
                    let moved: Vec<f64> = scores.iter().zip(&direction).map(|(s, d)| s + h * d).collect();
                    let mut g = vec![0.0; n];
                    loss.value_and_subgradient(&moved, &mut g);
                    g
                };
                let (ahead, behind) = (gradient_at(1e-5), gradient_at(-1e-5));
                for i in 0..n {
                    let difference = (ahead[i] - behind[i]) / 2e-5;
                    proptest::prop_assert!((difference - product[i]).abs() < 1e-6, "{}", def.name);
                }
            }
        }
    }
}
