//! The problem of a listwise loss.

use std::ops::Range;
use std::sync::Arc;

use crate::base::Result;
use crate::cost::loss::{ListLoss, QueryLoss, Shape};
use crate::learn::solve;
use crate::math::Ridge;

use super::block::ListBlock;

/// Losses instead of the queries' own. A query with `None` keeps its own.
pub(super) type Losses = Vec<Option<Box<dyn QueryLoss>>>;

/// A weighted sum of query losses, with a penalty.
#[derive(Debug, Clone)]
pub struct ListProblem<'a> {
    dim: usize,
    /// Queries and their weights c.
    pub blocks: Vec<(&'a ListBlock, f64)>,
    pub(super) groups: Vec<Group>,
    pub loss: &'a ListLoss,
    center: Option<Vec<f64>>,
    start: Option<Vec<f64>>,
    replaced: Option<(Arc<Losses>, Shape)>,
}

impl<'a> ListProblem<'a> {
    /// The problem of these queries with their weights c >= 0. All queries were prepared for `loss`.
    ///
    /// # Errors
    /// A query with a different number of features; a weight out of range.
    pub fn new(dim: usize, loss: &'a ListLoss, blocks: Vec<(&'a ListBlock, f64)>) -> Result<Self> {
        for (block, weight) in &blocks {
            block.check_dim(dim)?;
            solve::check_weight(*weight)?;
        }
        let groups = groups(&blocks);
        Ok(Self { dim, blocks, groups, loss, center: None, start: None, replaced: None })
    }

    /// The problem with the penalty lambda |w - w0|^2.
    ///
    /// # Errors
    /// A center w0 with a wrong number of values, or with a number that is not finite.
    pub fn with_center(self, center: Vec<f64>) -> Result<Self> {
        solve::point("the center of the penalty", &center, self.dim)?;
        Ok(Self { center: Some(center), ..self })
    }

    /// The problem with a start for solvers of losses that are not convex. A center takes precedence.
    ///
    /// # Errors
    /// As [`Self::with_center`].
    pub fn with_start(self, w: Vec<f64>) -> Result<Self> {
        solve::point("the start of a solver", &w, self.dim)?;
        Ok(Self { start: Some(w), ..self })
    }

    /// The problem without a center.
    pub(super) fn without_center(&self) -> Self {
        Self { center: None, ..self.clone() }
    }

    /// The problem with other losses, at most one per query, and their shape.
    pub(super) fn with_losses(&self, losses: Losses, shape: Shape) -> Self {
        Self { replaced: Some((Arc::new(losses), shape)), ..self.clone() }
    }

    /// Number of features b.
    pub fn dim(&self) -> usize {
        self.dim
    }

    /// Center w0 of the penalty, if it is not 0.
    pub fn center(&self) -> Option<&[f64]> {
        self.center.as_deref()
    }

    /// P for a lambda.
    pub fn ridge(&self, lambda: f64) -> Ridge<'_> {
        Ridge { risk: self, lambda, center: self.center() }
    }

    /// The point from which solvers start: the center, otherwise the start, otherwise 0.
    pub(super) fn start(&self) -> Vec<f64> {
        let given = self.center.as_ref().or(self.start.as_ref());
        given.map_or_else(|| vec![0.0; self.dim], Clone::clone)
    }

    /// The properties of the losses that solvers may assume.
    pub(super) fn shape(&self) -> Shape {
        self.replaced.as_ref().map_or_else(|| self.loss.shape(), |(_, shape)| *shape)
    }

    /// The loss of query number `query`.
    pub(super) fn loss_of(&self, query: usize) -> &dyn QueryLoss {
        let other = self.replaced.as_ref().and_then(|(losses, _)| losses[query].as_deref());
        other.unwrap_or_else(|| self.blocks[query].0.loss())
    }
}

/// Least number of documents of a group, if more queries follow.
const GROUP: usize = 2048;

/// Consecutive queries that one thread processes.
#[derive(Debug, Clone)]
pub(super) struct Group {
    /// The queries, by their position in the problem.
    pub queries: Range<usize>,
    /// The documents of these queries.
    pub documents: Range<usize>,
}

/// Splits queries into groups.
fn groups(blocks: &[(&ListBlock, f64)]) -> Vec<Group> {
    let mut groups = Vec::new();
    let (mut first_query, mut first_document, mut documents) = (0, 0, 0);
    for (query, (block, _)) in blocks.iter().enumerate() {
        documents += block.n_docs();
        if documents - first_document >= GROUP || query + 1 == blocks.len() {
            groups.push(Group { queries: first_query..query + 1, documents: first_document..documents });
            (first_query, first_document) = (query + 1, documents);
        }
    }
    groups
}
