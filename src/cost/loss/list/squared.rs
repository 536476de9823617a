//! Least squares on the labels (Cossock & Zhang 2006).
//!
//! ```text
//! L(y, s) = 1 / (2 N) sum_j (s_j - y_j)^2
//! ```
//!
//! With `centering` "query", the default, the means in the query are subtracted from scores and labels. Then
//! L = 1 / (4 N^2) sum_j sum_l ((s_j - s_l) - (y_j - y_l))^2. `pair_squared` divides by N - 1 instead of N: a quarter of
//! the mean over the N (N - 1) ordered pairs. With "none" a constant added to all scores changes the loss. With weights of
//! documents the sum and the means are weighted, and N is the sum of the weights.

use std::sync::Arc;

use crate::base::named;
use crate::cost::loss::{ListwiseLoss, LossDef, Quadratic, QueryLoss, Shape};
use crate::data::RowGroup;

pub const SQUARED: LossDef = LossDef {
    parameters: &["centering"],
    ..LossDef::listwise("squared", Shape::Quadratic, |params| {
        let centering = params.choice("centering")?.unwrap_or(Centering::Query);
        Ok(Arc::new(Squared { centered: centering == Centering::Query, over_pairs: false }))
    })
};

/// The declaration of the mean over pairs of documents.
pub const PAIR_SQUARED: LossDef = LossDef::listwise("pair_squared", Shape::Quadratic, |_| {
    Ok(Arc::new(Squared { centered: true, over_pairs: true }))
});

/// The value subtracted from scores and grades.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Centering {
    /// Their means in the query.
    Query,
    /// Nothing.
    None,
}

named!(Centering { Query = "query", None = "none" });

pub(in crate::cost::loss) struct Squared {
    /// Whether means are subtracted.
    centered: bool,
    /// True for the mean over the N (N - 1) ordered pairs, false for the mean over the N documents.
    over_pairs: bool,
}

/// The loss of one query.
struct SquaredQuery {
    labels: Vec<f64>,
    /// Weights of the documents, the largest one 1; empty if all are 1.
    weights: Vec<f64>,
    centered: bool,
    /// 1 / N or 1 / (N - 1); N is the sum of these weights.
    factor: f64,
}

impl Squared {
    /// Least squares on documents, with the default parameters.
    pub(in crate::cost::loss) const DEFAULT: Self = Self { centered: true, over_pairs: false };
}

impl ListwiseLoss for Squared {
    fn is_informative(&self, labels: &[f64]) -> bool {
        !self.centered || labels.len() > 1
    }

    fn prepare(&self, labels: &[f64], _row_groups: &[RowGroup]) -> Box<dyn QueryLoss> {
        let terms = if self.over_pairs { labels.len() - 1 } else { labels.len() };
        let factor = 1.0 / terms.max(1) as f64;
        Box::new(SquaredQuery {
            labels: labels.to_vec(),
            weights: Vec::new(),
            centered: self.centered,
            factor,
        })
    }

    fn prepare_weighted(&self, labels: &[f64], weights: &[f64]) -> Option<Box<dyn QueryLoss>> {
        if self.over_pairs {
            return None;
        }
        // The loss depends on their ratios only. The sum of these is from 1 to N, however small or large they are.
        let largest = weights.iter().copied().fold(0.0, f64::max);
        let weights: Vec<f64> = weights.iter().map(|weight| weight / largest).collect();
        let factor = 1.0 / weights.iter().sum::<f64>();
        let labels = labels.to_vec();
        Some(Box::new(SquaredQuery { labels, weights, centered: self.centered, factor }))
    }
}

impl SquaredQuery {
    /// Subtracts the mean if the loss does.
    fn center(&self, values: &mut [f64]) {
        if !self.centered {
            return;
        }
        let mean = if self.weights.is_empty() {
            values.iter().sum::<f64>() / values.len() as f64
        } else {
            self.factor * self.weights.iter().zip(&*values).map(|(weight, value)| weight * value).sum::<f64>()
        };
        values.iter_mut().for_each(|value| *value -= mean);
    }

    /// Multiplies by the weights and the factor.
    fn weigh(&self, values: &mut [f64]) {
        values.iter_mut().zip(&self.weights).for_each(|(value, weight)| *value *= weight);
        values.iter_mut().for_each(|value| *value *= self.factor);
    }
}

impl QueryLoss for SquaredQuery {
    fn value_and_subgradient(&self, scores: &[f64], subgradient: &mut [f64]) -> f64 {
        for ((g, s), y) in subgradient.iter_mut().zip(scores).zip(&self.labels) {
            *g = s - y;
        }
        self.center(subgradient);
        let sum: f64 = if self.weights.is_empty() {
            subgradient.iter().map(|error| error * error).sum()
        } else {
            subgradient.iter().zip(&self.weights).map(|(error, weight)| weight * error * error).sum()
        };
        self.weigh(subgradient);
        0.5 * sum * self.factor
    }

    fn hessian_times(&self, _scores: &[f64], direction: &[f64], product: &mut [f64]) -> bool {
        product.copy_from_slice(direction);
        self.center(product);
        self.weigh(product);
        true
    }

    fn quadratic(&self) -> Option<Quadratic<'_>> {
        let Self { labels, weights, centered, factor } = self;
        Some(Quadratic { targets: labels, weights, centered: *centered, factor: *factor })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Only weight ratios matter: sums of the largest are infinite, and 1 / the smallest is.
    #[test]
    fn weights_of_any_size_give_the_same_loss() {
        let (labels, scores) = ([0.0, 1.0, 3.0], [0.5, -1.0, 2.0]);
        let at = |unit: f64| {
            let loss = Squared::DEFAULT.prepare_weighted(&labels, &[unit, 0.0, 3.0 * unit]).unwrap();
            let mut slope = vec![0.0; 3];
            (loss.value_and_subgradient(&scores, &mut slope), slope)
        };
        let (value, slope) = at(1.0);
        assert!(value > 0.0 && slope[0] != 0.0);
        for unit in [5e-324, 1e-320, 1e-3, 1e100, 5e307] {
            let (other, others) = at(unit);
            assert!((other - value).abs() < 1e-12, "{unit:e}: {other} {value}");
            assert!(slope.iter().zip(others).all(|(a, b)| (a - b).abs() < 1e-12), "{unit:e}");
        }
    }
}
