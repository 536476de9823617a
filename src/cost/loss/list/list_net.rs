//! ListNet, top one (Cao et al. 2007): cross entropy of the probabilities of being ranked first.
//!
//! ```text
//! L(y, s) = log sum_j exp(s_j) - sum_j t_j s_j,   t = softmax(y), or softmax(2^y - 1) with `target` "gain"
//! dL/ds   = p - t,   p = softmax(s);   Hessian diag(p) - p p'
//! ```
//!
//! With equal labels the minimum is log N, at equal scores. A document of weight w counts as w copies: both softmax functions
//! then have the terms w_j exp(s_j) and w_j exp(y_j).

use std::sync::Arc;

use super::check_gains;
use crate::base::{Result, named};
use crate::cost::loss::{ListwiseLoss, LossDef, QueryLoss, Shape};
use crate::data::RowGroup;

pub const LIST_NET: LossDef = LossDef {
    parameters: &["target"],
    ..LossDef::listwise("list_net", Shape::Smooth, |params| {
        let target = params.choice("target")?.unwrap_or(Target::Grade);
        Ok(Arc::new(ListNet { of_gains: target == Target::Gain }))
    })
};

/// The target of a loss or of a model of ratings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Target {
    /// Grades y.
    Grade,
    /// Gains 2^y - 1.
    Gain,
}

named!(Target { Grade = "grade", Gain = "gain" });

struct ListNet {
    /// Whether the targets are probabilities of gains, not of grades.
    of_gains: bool,
}

/// The loss of one query.
struct ListNetQuery {
    targets: Vec<f64>,
    /// Logarithms of the document weights; empty if all are 1.
    log_weights: Vec<f64>,
}

impl ListwiseLoss for ListNet {
    fn is_informative(&self, labels: &[f64]) -> bool {
        labels.len() > 1
    }

    /// Two distributions.
    fn lipschitz(&self, _labels: &[f64]) -> Option<f64> {
        Some(2.0)
    }

    fn check_query(&self, labels: &[f64], _row_groups: &[RowGroup]) -> Result<()> {
        if self.of_gains { check_gains(labels, LIST_NET.name) } else { Ok(()) }
    }

    fn prepare(&self, labels: &[f64], _row_groups: &[RowGroup]) -> Box<dyn QueryLoss> {
        Box::new(self.query(labels, Vec::new()))
    }

    fn prepare_weighted(&self, labels: &[f64], weights: &[f64]) -> Option<Box<dyn QueryLoss>> {
        let log_weights = weights.iter().map(|weight| libm::log(*weight)).collect();
        Some(Box::new(self.query(labels, log_weights)))
    }
}

impl ListNet {
    fn query(&self, labels: &[f64], log_weights: Vec<f64>) -> ListNetQuery {
        let mut targets = labels.to_vec();
        if self.of_gains {
            targets.iter_mut().for_each(|label| *label = libm::exp2(*label) - 1.0);
        }
        let mut query = ListNetQuery { targets: Vec::new(), log_weights };
        query.softmax(&mut targets);
        query.targets = targets;
        query
    }
}

impl ListNetQuery {
    /// Replaces values by their weighted softmax; returns the logarithm of the weighted sum of exponentials.
    fn softmax(&self, values: &mut [f64]) -> f64 {
        values.iter_mut().zip(&self.log_weights).for_each(|(value, log_weight)| *value += log_weight);
        softmax(values)
    }
}

/// Replaces values by their softmax; returns the logarithm of the sum of exponentials.
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

impl QueryLoss for ListNetQuery {
    fn value_and_subgradient(&self, scores: &[f64], subgradient: &mut [f64]) -> f64 {
        subgradient.copy_from_slice(scores);
        let mut value = self.softmax(subgradient);
        for ((g, t), s) in subgradient.iter_mut().zip(&self.targets).zip(scores) {
            value -= t * s;
            *g -= t;
        }
        value
    }

    fn hessian_times(&self, scores: &[f64], direction: &[f64], product: &mut [f64]) -> bool {
        product.copy_from_slice(scores);
        self.softmax(product);
        let mean: f64 = product.iter().zip(direction).map(|(p, d)| p * d).sum();
        product.iter_mut().zip(direction).for_each(|(p, d)| *p *= d - mean);
        true
    }
}
