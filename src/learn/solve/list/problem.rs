//! The problem.

use std::ops::Range;
use std::sync::Arc;

use super::pass::rows_times;
use crate::base::control::Ticks;
use crate::base::error::{Error, Result};
use crate::cost::loss::{ListLoss, QueryLoss, Shape};
use crate::data::arrange::{ListConstraint, RowGroup};
use crate::data::{Dataset, Matrix, Slice, shaped};
use crate::learn::solve;
use crate::math::optim::Ridge;

/// Losses in place of those of the queries. A query with `None` keeps its own.
pub(super) type Losses = Vec<Option<Box<dyn QueryLoss>>>;

/// A weighted sum of the losses of queries, with a penalty.
#[derive(Debug, Clone)]
pub struct ListProblem<'a> {
    dim: usize,
    blocks: Vec<(&'a ListBlock, f64)>,
    groups: Vec<Group>,
    loss: &'a ListLoss,
    center: Option<Vec<f64>>,
    start: Option<Vec<f64>>,
    replaced: Option<(Arc<Losses>, Shape)>,
}

impl<'a> ListProblem<'a> {
    /// The problem of these queries with their weights c >= 0. All queries were prepared for `loss`.
    ///
    /// # Errors
    /// A query with another number of features; a weight out of range.
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
    /// A center w0 of another length, or with a number that is not finite.
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

    /// The problem with other losses, one or none for each query, and their shape.
    pub(super) fn with_losses(&self, losses: Losses, shape: Shape) -> Self {
        Self { replaced: Some((Arc::new(losses), shape)), ..self.clone() }
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

    /// What solvers may assume of the losses.
    pub(super) fn shape(&self) -> Shape {
        self.replaced.as_ref().map_or_else(|| self.loss.shape(), |(_, shape)| *shape)
    }

    /// The loss of query number `query`.
    pub(super) fn loss_of(&self, query: usize) -> &dyn QueryLoss {
        let other = self.replaced.as_ref().and_then(|(losses, _)| losses[query].as_deref());
        other.unwrap_or_else(|| self.blocks[query].0.loss())
    }

    pub(super) fn groups(&self) -> &[Group] {
        &self.groups
    }
}

/// Least number of documents of a group, if more queries follow.
const GROUP: usize = 2048;

/// Consecutive queries that one thread processes.
#[derive(Debug, Clone)]
pub(super) struct Group {
    /// The queries, by their position in the problem.
    pub queries: Range<usize>,
    /// Their documents.
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

// The documents and the loss of one query. They are prepared once for all problems that use the query.

/// The documents of one query (N, b).
#[derive(Debug)]
pub enum Rows {
    /// All rows of a matrix.
    Own(Matrix),
    /// Some rows of a data set, without a copy.
    Of(Arc<Dataset>, Range<usize>),
}

/// One query.
#[derive(Debug)]
pub struct ListBlock {
    rows: Rows,
    n: usize,
    dim: usize,
    loss: Arc<dyn QueryLoss>,
}

impl Rows {
    fn matrix(&self) -> (&Matrix, Range<usize>) {
        match self {
            Self::Own(matrix) => (matrix, 0..matrix.rows()),
            Self::Of(data, rows) => (&data.features, rows.clone()),
        }
    }

    fn slice(&self) -> Slice<'_> {
        let (matrix, range) = self.matrix();
        matrix.slice(range).unwrap_or(Slice::F64(&[]))
    }
}

impl ListBlock {
    /// Prepares the documents of one query with a label each, and a row group each if the loss needs them.
    ///
    /// # Errors
    /// Sizes that differ, a number that is not finite, labels or row groups that the loss refuses.
    pub fn new(rows: Rows, labels: &[f64], row_groups: &[RowGroup], loss: &ListLoss) -> Result<Self> {
        let (matrix, range) = rows.matrix();
        let (n, dim) = (range.len(), matrix.columns());
        check_size("labels of a query", labels.len(), n)?;
        if loss.constraint() != ListConstraint::None {
            check_size("row groups of a query", row_groups.len(), n)?;
        }
        // Products need contiguous rows. A matrix in another order is copied.
        let rows = if matrix.slice(range.clone()).is_some() {
            rows
        } else {
            Rows::Own(Matrix::F64(shaped(n, dim, matrix.rows_f64(range))))
        };
        let finite = match rows.slice() {
            Slice::F32(values) => values.iter().all(|value| value.is_finite()),
            Slice::F64(values) => values.iter().all(|value| value.is_finite()),
        };
        if !(finite && labels.iter().all(|label| label.is_finite())) {
            return Err(Error::Data("labels and features of a query must be finite numbers".to_owned()));
        }
        loss.check_query(labels, row_groups)?;
        Ok(Self { rows, n, dim, loss: loss.prepare(labels, row_groups).into() })
    }

    /// The same query, whose documents have these weights; none if all are 1.
    ///
    /// # Errors
    /// Another number of weights; a loss that does not weigh documents.
    pub fn weighted(mut self, labels: &[f64], weights: &[f64], loss: &ListLoss) -> Result<Self> {
        if !weights.is_empty() {
            check_size("weights of the documents of a query", weights.len(), self.n)?;
            let weighted = loss.prepare_weighted(labels, weights).ok_or_else(|| {
                Error::Unsupported(format!("the loss '{}' does not weigh documents", loss.def().name))
            })?;
            self.loss = weighted.into();
        }
        Ok(self)
    }

    /// The same query with the first `dim` features.
    #[must_use]
    pub fn leading(&self, dim: usize) -> Self {
        let (mut values, mut ticks) = (Vec::with_capacity(self.n * dim), Ticks::default());
        for row in 0..self.n {
            ticks.add(dim);
            let range = row * self.dim..row * self.dim + dim;
            match self.slice() {
                Slice::F32(x) => values.extend(x[range].iter().map(|x| f64::from(*x))),
                Slice::F64(x) => values.extend(&x[range]),
            }
        }
        let rows = Rows::Own(Matrix::F64(shaped(self.n, dim, values)));
        Self { rows, n: self.n, dim, loss: Arc::clone(&self.loss) }
    }

    /// Number of documents N.
    pub fn n_docs(&self) -> usize {
        self.n
    }

    /// Number of features b.
    pub fn dim(&self) -> usize {
        self.dim
    }

    pub(super) fn check_dim(&self, dim: usize) -> Result<()> {
        check_size("number of features of a query", self.dim, dim)
    }

    /// The loss.
    pub fn loss(&self) -> &dyn QueryLoss {
        &*self.loss
    }

    /// X w.
    pub fn scores(&self, w: &[f64]) -> Vec<f64> {
        let mut scores = vec![0.0; self.n];
        rows_times(self.slice(), w, &mut scores);
        scores
    }

    /// The documents.
    pub(super) fn slice(&self) -> Slice<'_> {
        self.rows.slice()
    }
}

fn check_size(what: &str, found: usize, expected: usize) -> Result<()> {
    if found == expected {
        return Ok(());
    }
    Err(Error::Shape { what: what.to_owned(), found, expected })
}
