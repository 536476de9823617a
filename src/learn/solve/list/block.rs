//! The documents and the loss of one query. They are prepared once for all problems that use the query.

use std::ops::Range;
use std::sync::Arc;

use super::product::rows_times;
use crate::base::control::Ticks;
use crate::base::error::{Error, Result};
use crate::cost::loss::{ListLoss, QueryLoss};
use crate::data::arrange::{ListConstraint, RowGroup};
use crate::data::{Dataset, Matrix, Slice, shaped};

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
