//! One query's documents and its loss, prepared once and shared by every problem that uses the query.

use std::ops::Range;
use std::sync::Arc;

use super::product::rows_times;
use crate::arrange::{ListConstraint, RowGroup};
use crate::data::{Dataset, Matrix, Slice, shaped};
use crate::error::{Error, Result};
use crate::loss::{ListLoss, QueryLoss};

/// The documents of one query (N, b).
#[derive(Debug)]
pub enum Rows {
    /// All rows of a matrix.
    Own(Matrix),
    /// Some rows of a data set, not copied.
    Of(Arc<Dataset>, Range<usize>),
}

/// One query.
#[derive(Debug)]
pub struct ListBlock {
    rows: Rows,
    n: usize,
    dim: usize,
    loss: Box<dyn QueryLoss>,
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
    /// Prepares the documents of one query with a label each, and with a row group each where the loss asks for groups.
    ///
    /// # Errors
    /// When the sizes do not agree, a number is not finite, or the loss refuses the labels or row groups.
    pub fn new(rows: Rows, labels: &[f64], row_groups: &[RowGroup], loss: &ListLoss) -> Result<Self> {
        let (matrix, range) = rows.matrix();
        let (n, dim) = (range.len(), matrix.columns());
        if n != labels.len() {
            let what = "labels of a query".to_owned();
            return Err(Error::Shape { what, found: labels.len(), expected: n });
        }
        // A row-major matrix has its rows side by side; any other is copied into one that has.
        let rows = if matrix.slice(range.clone()).is_some() {
            rows
        } else {
            Rows::Own(Matrix::F64(shaped(n, dim, matrix.rows_f64(range))))
        };
        if loss.constraint() != ListConstraint::None && row_groups.len() != n {
            return Err(Error::Shape {
                what: "row groups of a query".to_owned(),
                found: row_groups.len(),
                expected: n,
            });
        }
        let finite = match rows.slice() {
            Slice::F32(values) => values.iter().all(|value| value.is_finite()),
            Slice::F64(values) => values.iter().all(|value| value.is_finite()),
        };
        if !(finite && labels.iter().all(|label| label.is_finite())) {
            return Err(Error::Data("labels and features of a query must be finite numbers".to_owned()));
        }
        loss.check(labels, row_groups)?;
        Ok(Self { rows, n, dim, loss: loss.prepare(labels, row_groups) })
    }

    /// Number of documents N.
    pub fn n_docs(&self) -> usize {
        self.n
    }

    /// Number of features b.
    pub fn dim(&self) -> usize {
        self.dim
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
