//! ListNet, top one (Cao et al. 2007): cross entropy of the probabilities of being ranked first.
//!
//! ```text
//! L(y, s) = log sum_j exp(s_j) - sum_j t_j s_j,   t = softmax(y), or softmax(2^y - 1) with `target` "gain"
//! dL/ds   = p - t,   p = softmax(s);   Hessian diag(p) - p p'
//! ```
//!
//! With all labels equal it pulls the scores together; its minimum is then log N, not 0.

use serde::{Deserialize, Serialize};

use super::gains::check_gains;
use super::{ListLoss, QueryLoss};
use crate::error::Result;
use crate::loss::{Loss, LossDef, Shape};

/// The definition.
pub const LIST_NET: LossDef = LossDef {
    name: "list_net",
    summary: "cross entropy of the top-one probabilities softmax(y), or softmax(2^y - 1), and softmax(s)",
    shape: Shape::Smooth,
    parameters: &["target"],
    make: |given| {
        Ok(Loss::List(ListLoss::ListNet(ListNet { of_gains: given.text("target") == Some("gain") })))
    },
};

/// The loss.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ListNet {
    /// Whether the target is made of gains, not grades.
    pub of_gains: bool,
}

/// The loss of one query.
#[derive(Debug)]
struct OfQuery {
    targets: Vec<f64>,
}

impl ListNet {
    pub(super) fn check(self, labels: &[f64]) -> Result<()> {
        if self.of_gains { check_gains(labels, LIST_NET.name) } else { Ok(()) }
    }

    pub(super) fn of(self, labels: &[f64]) -> impl QueryLoss + use<> {
        let mut targets = labels.to_vec();
        if self.of_gains {
            targets.iter_mut().for_each(|label| *label = libm::exp2(*label) - 1.0);
        }
        softmax(&mut targets);
        OfQuery { targets }
    }
}

/// Replaces values by their softmax; answers the logarithm of the sum of exponentials.
fn softmax(values: &mut [f64]) -> f64 {
    let largest = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let mut sum = 0.0;
    for value in values.iter_mut() {
        *value = libm::exp(*value - largest);
        sum += *value;
    }
    values.iter_mut().for_each(|value| *value /= sum);
    largest + libm::log(sum)
}

impl QueryLoss for OfQuery {
    fn value_and_subgradient(&self, scores: &[f64], subgradient: &mut [f64]) -> f64 {
        subgradient.copy_from_slice(scores);
        let mut value = softmax(subgradient);
        for ((g, t), s) in subgradient.iter_mut().zip(&self.targets).zip(scores) {
            value -= t * s;
            *g -= t;
        }
        value
    }

    fn hessian_times(&self, scores: &[f64], direction: &[f64], product: &mut [f64]) -> bool {
        product.copy_from_slice(scores);
        softmax(product);
        let mean: f64 = product.iter().zip(direction).map(|(p, d)| p * d).sum();
        product.iter_mut().zip(direction).for_each(|(p, d)| *p *= d - mean);
        true
    }
}
