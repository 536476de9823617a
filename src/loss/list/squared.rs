//! Least squares on the labels (Cossock & Zhang 2006).
//!
//! ```text
//! L(y, s) = 1 / (2 N) sum_j (s_j - y_j)^2
//! ```
//!
//! With `centering` "query", the default, scores and labels stand for their differences from their means in the query;
//! then N L = 1 / (4 N) sum_j sum_l ((s_j - s_l) - (y_j - y_l))^2: least squares on pairs. With "none" the loss changes
//! when a constant is added to all scores. `pair_squared` divides by N - 1 in place of N, so that it is the mean over the
//! ordered pairs of different documents.

use serde::{Deserialize, Serialize};

use super::{ListLoss, Quadratic, QueryLoss};
use crate::loss::{Loss, LossDef, Shape};

/// The definition.
pub const SQUARED: LossDef = LossDef {
    name: "squared",
    summary: "least squares: mean of (s_j - y_j)^2 / 2, scores and grades less their means in the query unless centering is none",
    shape: Shape::Quadratic,
    parameters: &["centering"],
    make: |given| {
        Ok(Loss::List(ListLoss::Squared(Squared {
            centered: given.text("centering") != Some("none"),
            of_pairs: false,
        })))
    },
};

/// The same as a mean over pairs of documents.
pub const PAIR_SQUARED: LossDef = LossDef {
    name: "pair_squared",
    summary: "least squares on pairs: mean of ((s_j - s_l) - (y_j - y_l))^2 / 4 over all ordered pairs of documents",
    shape: Shape::Quadratic,
    parameters: &[],
    make: |_| Ok(Loss::List(ListLoss::Squared(Squared::PAIRS))),
};

/// The loss.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Squared {
    /// Whether means are subtracted.
    pub centered: bool,
    /// Whether it is a mean over the N (N - 1) ordered pairs, not over the N documents.
    pub of_pairs: bool,
}

/// The loss of one query.
#[derive(Debug)]
struct OfQuery {
    labels: Vec<f64>,
    centered: bool,
    /// 1 / N or 1 / (N - 1).
    factor: f64,
}

impl Squared {
    /// Least squares on documents, less their means in the query.
    pub const CENTRED: Self = Self { centered: true, of_pairs: false };
    /// Least squares on pairs.
    pub const PAIRS: Self = Self { centered: true, of_pairs: true };

    pub(super) fn teaches(self, labels: &[f64]) -> bool {
        !self.centered || labels.len() > 1
    }

    pub(super) fn of(self, labels: &[f64]) -> impl QueryLoss + use<> {
        let terms = if self.of_pairs { labels.len() - 1 } else { labels.len() };
        OfQuery { labels: labels.to_vec(), centered: self.centered, factor: 1.0 / terms.max(1) as f64 }
    }
}

fn center(values: &mut [f64]) {
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    values.iter_mut().for_each(|value| *value -= mean);
}

impl QueryLoss for OfQuery {
    fn value_and_subgradient(&self, scores: &[f64], subgradient: &mut [f64]) -> f64 {
        for ((g, s), y) in subgradient.iter_mut().zip(scores).zip(&self.labels) {
            *g = s - y;
        }
        if self.centered {
            center(subgradient);
        }
        let sum: f64 = subgradient.iter().map(|error| error * error).sum();
        subgradient.iter_mut().for_each(|g| *g *= self.factor);
        0.5 * sum * self.factor
    }

    fn hessian_times(&self, _scores: &[f64], direction: &[f64], product: &mut [f64]) -> bool {
        product.copy_from_slice(direction);
        if self.centered {
            center(product);
        }
        product.iter_mut().for_each(|value| *value *= self.factor);
        true
    }

    fn quadratic(&self) -> Option<Quadratic<'_>> {
        Some(Quadratic { targets: &self.labels, centered: self.centered, factor: self.factor })
    }
}
