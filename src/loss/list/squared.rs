//! Least squares on the labels (Cossock & Zhang 2006).
//!
//! ```text
//! L(y, s) = 1 / (2 N) sum_j (s_j - y_j)^2
//! ```
//!
//! With `centring` "query", the default, scores and labels stand for their differences from their means in the query;
//! then N L = 1 / (4 N) sum_j sum_l ((s_j - s_l) - (y_j - y_l))^2: least squares on pairs. With "none" the loss changes
//! when a constant is added to all scores.

use serde::{Deserialize, Serialize};

use super::{ListLoss, Quadratic, QueryLoss};
use crate::loss::{Loss, LossDef, Shape};

/// The definition.
pub const SQUARED: LossDef = LossDef {
    name: "squared",
    summary: "least squares: mean of (s_j - y_j)^2 / 2, scores and grades less their means in the query unless centring is none",
    shape: Shape::Quadratic,
    parameters: &["centring"],
    make: |given| {
        Ok(Loss::List(ListLoss::Squared(Squared { centred: given.text("centring") != Some("none") })))
    },
};

/// The loss.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Squared {
    /// Whether means are subtracted.
    pub centred: bool,
}

/// The loss of one query.
#[derive(Debug)]
struct OfQuery {
    labels: Vec<f64>,
    centred: bool,
}

impl Squared {
    pub(super) fn teaches(self, labels: &[f64]) -> bool {
        !self.centred || labels.len() > 1
    }

    pub(super) fn of(self, labels: &[f64]) -> impl QueryLoss + use<> {
        OfQuery { labels: labels.to_vec(), centred: self.centred }
    }
}

fn centre(values: &mut [f64]) {
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    values.iter_mut().for_each(|value| *value -= mean);
}

impl QueryLoss for OfQuery {
    fn value_and_subgradient(&self, scores: &[f64], subgradient: &mut [f64]) -> f64 {
        let n = scores.len() as f64;
        for ((g, s), y) in subgradient.iter_mut().zip(scores).zip(&self.labels) {
            *g = s - y;
        }
        if self.centred {
            centre(subgradient);
        }
        let sum: f64 = subgradient.iter().map(|error| error * error).sum();
        subgradient.iter_mut().for_each(|g| *g /= n);
        0.5 * sum / n
    }

    fn hessian_times(&self, _scores: &[f64], direction: &[f64], product: &mut [f64]) -> bool {
        product.copy_from_slice(direction);
        if self.centred {
            centre(product);
        }
        let n = direction.len() as f64;
        product.iter_mut().for_each(|value| *value /= n);
        true
    }

    fn quadratic(&self) -> Option<Quadratic<'_>> {
        let factor = 1.0 / self.labels.len() as f64;
        Some(Quadratic { targets: &self.labels, centred: self.centred, factor })
    }
}
