//! The problem.

use std::ops::Range;
use std::sync::Arc;

use super::block::ListBlock;
use super::check_lambda;
use super::pass::groups;
use crate::error::{Error, Result};
use crate::loss::{ListLoss, QueryLoss, Shape};
use crate::math::dense::dot;

/// Losses that stand for those of the queries; `None` where a query keeps its own.
pub(super) type Losses = Vec<Option<Box<dyn QueryLoss>>>;

/// A weighted sum of the losses of queries with a penalty.
#[derive(Debug, Clone)]
pub struct ListProblem<'a> {
    dim: usize,
    blocks: Vec<(&'a ListBlock, f64)>,
    groups: Vec<Range<usize>>,
    loss: &'a ListLoss,
    lambda: f64,
    center: Option<Vec<f64>>,
    start: Option<Vec<f64>>,
    instead: Option<(Arc<Losses>, Shape)>,
}

impl<'a> ListProblem<'a> {
    /// The problem with these queries, whose loss is `loss`, each with its weight c >= 0, and lambda > 0.
    ///
    /// # Errors
    /// When a query has another number of features, or a weight or lambda is out of range.
    pub fn new(
        dim: usize,
        loss: &'a ListLoss,
        blocks: Vec<(&'a ListBlock, f64)>,
        lambda: f64,
    ) -> Result<Self> {
        if let Some((block, _)) = blocks.iter().find(|(block, _)| block.dim() != dim) {
            let what = "number of features of a query".to_owned();
            return Err(Error::Shape { what, found: block.dim(), expected: dim });
        }
        if let Some((_, weight)) = blocks.iter().find(|(_, weight)| !(weight.is_finite() && *weight >= 0.0)) {
            let (got, allowed) = (weight.to_string(), "a finite number of at least 0");
            return Err(Error::value("weight of a query", got, allowed));
        }
        check_lambda(lambda)?;
        let groups = groups(&blocks);
        Ok(Self { dim, blocks, groups, loss, lambda, center: None, start: None, instead: None })
    }

    /// The problem with the penalty lambda |w - w0|^2.
    ///
    /// # Errors
    /// When w0 has another number of features or a number that is not finite.
    pub fn with_center(self, center: Vec<f64>) -> Result<Self> {
        self.check_point("the center of the penalty", &center)?;
        Ok(Self { center: Some(center), ..self })
    }

    /// The problem with a point from which solvers of losses that are not convex start where there is no center.
    ///
    /// # Errors
    /// As [`Self::with_center`].
    pub fn with_start(self, w: Vec<f64>) -> Result<Self> {
        self.check_point("the start of a solver", &w)?;
        Ok(Self { start: Some(w), ..self })
    }

    fn check_point(&self, what: &str, point: &[f64]) -> Result<()> {
        if point.len() != self.dim {
            let what = format!("number of features of {what}");
            return Err(Error::Shape { what, found: point.len(), expected: self.dim });
        }
        if point.iter().all(|value| value.is_finite()) {
            return Ok(());
        }
        Err(Error::Data(format!("{what} must be finite numbers")))
    }

    /// The problem with other losses, one or none for every query, and the shape of all of them.
    pub(super) fn with_losses(&self, losses: Losses, shape: Shape) -> Self {
        Self { instead: Some((Arc::new(losses), shape)), ..self.clone() }
    }

    /// Number of features b.
    pub fn dim(&self) -> usize {
        self.dim
    }

    /// Queries and their weights c.
    pub fn blocks(&self) -> &[(&'a ListBlock, f64)] {
        &self.blocks
    }

    /// The loss.
    pub fn loss(&self) -> &'a ListLoss {
        self.loss
    }

    /// Factor of the penalty.
    pub fn lambda(&self) -> f64 {
        self.lambda
    }

    /// Center w0 of the penalty, where it is not 0.
    pub fn center(&self) -> Option<&[f64]> {
        self.center.as_deref()
    }

    /// Where a solver begins: at the center, else at the start, else at 0.
    pub(super) fn beginning(&self) -> Vec<f64> {
        let given = self.center.as_ref().or(self.start.as_ref());
        given.map_or_else(|| vec![0.0; self.dim], Clone::clone)
    }

    /// What solvers can make use of.
    pub(super) fn shape(&self) -> Shape {
        self.instead.as_ref().map_or_else(|| self.loss.shape(), |(_, shape)| *shape)
    }

    /// The loss of query number `query`.
    pub(super) fn loss_of(&self, query: usize) -> &dyn QueryLoss {
        let other = self.instead.as_ref().and_then(|(losses, _)| losses[query].as_deref());
        other.unwrap_or_else(|| self.blocks[query].0.loss())
    }

    /// Runs of queries that a pass takes together.
    pub(super) fn groups(&self) -> &[Range<usize>] {
        &self.groups
    }

    /// w - w0.
    pub(super) fn less_center(&self, w: &[f64]) -> Vec<f64> {
        match &self.center {
            None => w.to_vec(),
            Some(center) => w.iter().zip(center).map(|(w, w0)| w - w0).collect(),
        }
    }

    /// u + w0.
    pub(super) fn to_point(&self, u: &[f64]) -> Vec<f64> {
        match &self.center {
            None => u.to_vec(),
            Some(center) => u.iter().zip(center).map(|(u, w0)| u + w0).collect(),
        }
    }

    /// |w - w0|^2.
    pub fn distance2(&self, w: &[f64]) -> f64 {
        let u = self.less_center(w);
        dot(&u, &u)
    }
}
