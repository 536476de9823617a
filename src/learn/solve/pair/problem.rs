//! The problem of a pairwise loss, and its objective by definition.

use super::super::{check_lambda, check_weight};
use super::block::PairBlock;
use crate::base::{Error, Result, Ticks, check_size};
use crate::cost::loss::PairLoss;
use crate::math::lanes;

/// Largest number of features. A fit needs several matrices of 8 b^2 bytes and b^3 / 3 multiplications per iteration.
const MOST_FEATURES: usize = 10_000;

/// A weighted sum of queries with a penalty.
#[derive(Debug, Clone)]
pub struct PairProblem<'a> {
    /// Number of features.
    pub dim: usize,
    /// Queries and their weights c.
    pub blocks: Vec<(&'a PairBlock, f64)>,
    /// Factor of the penalty.
    pub lambda: f64,
    pub loss: PairLoss,
    pub(super) center: Option<Vec<f64>>,
    pub(super) linear_term: Option<Vec<f64>>,
    pub(super) start: Option<Vec<f64>>,
}

impl<'a> PairProblem<'a> {
    /// The problem with the given queries, each with its weight c >= 0, and lambda > 0.
    ///
    /// # Errors
    /// If a query has a different number of features, there are too many, or a weight or lambda is out of range.
    pub fn new(dim: usize, blocks: Vec<(&'a PairBlock, f64)>, lambda: f64) -> Result<Self> {
        if dim > MOST_FEATURES {
            return Err(Error::Unsupported(format!(
                "{dim} features, products with query features included, are too many for this solver, which takes \
                 {MOST_FEATURES}; use fewer features, or \"interaction\": \"none\""
            )));
        }
        let what = "number of features of a query";
        blocks.iter().try_for_each(|(block, _)| check_size(&what, block.dim, dim))?;
        blocks.iter().try_for_each(|(_, weight)| check_weight(*weight))?;
        check_lambda(lambda)?;
        Ok(Self { dim, blocks, lambda, loss: PairLoss::Hinge, center: None, linear_term: None, start: None })
    }

    /// The problem with another loss per pair than the hinge.
    #[must_use]
    pub fn with_loss(self, loss: PairLoss) -> Self {
        Self { loss, ..self }
    }

    /// The problem with the penalty lambda |w - w0|^2.
    ///
    /// # Errors
    /// If w0 has a wrong number of features or a number that is not finite.
    pub fn with_center(self, center: Vec<f64>) -> Result<Self> {
        super::super::point("the center of the penalty", &center, self.dim)?;
        Ok(Self { center: Some(center), ..self })
    }

    /// The problem with v.w added to its objective; v has `dim` numbers.
    pub(super) fn with_linear_term(self, linear_term: Vec<f64>) -> Self {
        Self { linear_term: Some(linear_term), ..self }
    }

    /// The problem with a point from which a solver may start; w has `dim` numbers.
    pub(super) fn with_start(self, w: Vec<f64>) -> Self {
        Self { start: Some(w), ..self }
    }

    /// Center w0 of the penalty, if it is not 0.
    pub fn center(&self) -> Option<&[f64]> {
        self.center.as_deref()
    }

    /// t = 2 lambda w0 - v, so that 2 lambda w = X'g + t at the solution.
    pub(super) fn center_term(&self, lambda: f64) -> Vec<f64> {
        let mut term = vec![0.0; self.dim];
        if let Some(center) = &self.center {
            term.iter_mut().zip(center).for_each(|(t, w0)| *t += 2.0 * lambda * w0);
        }
        if let Some(linear_term) = &self.linear_term {
            term.iter_mut().zip(linear_term).for_each(|(t, v)| *t -= v);
        }
        term
    }

    /// Queries with a positive weight and at least one pair.
    pub(super) fn useful_blocks(&self) -> impl Iterator<Item = (&'a PairBlock, f64)> + '_ {
        self.blocks.iter().copied().filter(|(block, weight)| *weight > 0.0 && block.total_weight() > 0.0)
    }
}

// Objective by its definition: plain loops over documents, pairs and features.

/// P(w), pair by pair: the sum of c times the weight of the pair times L(margin), plus v.w + lambda |w - w0|^2. Cost T + m b.
pub fn objective_by_definition(problem: &PairProblem<'_>, w: &[f64]) -> f64 {
    let value = problem.loss.def().value;
    let mut loss = 0.0;
    for (block, weight) in &problem.blocks {
        let labels = &block.labels;
        let scores: Vec<f64> = (0..labels.len())
            .map(|document| w.iter().enumerate().map(|(j, w)| w * lanes::get(block.row(document), j)).sum())
            .collect();
        let (mut query_loss, mut ticks) = (0.0, Ticks::default());
        for a in 0..labels.len() {
            ticks.add(labels.len());
            for b in 0..labels.len() {
                if labels[a] > labels[b] {
                    query_loss += block.pair_weight(a, b) * value(scores[a] - scores[b]);
                }
            }
        }
        loss += weight * query_loss;
    }
    let number = |vector: Option<&[f64]>, j: usize| vector.map_or(0.0, |vector| vector[j]);
    let parts = w.iter().enumerate().map(|(j, w)| {
        let distance = w - number(problem.center(), j);
        number(problem.linear_term.as_deref(), j) * w + problem.lambda * distance * distance
    });
    loss + parts.sum::<f64>()
}
