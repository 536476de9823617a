//! The documents that a function is made of: f(x) = sum over p of beta_p K(x, x_p). This and the coefficients
//! beta are all that a model of one function needs.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::blocks::{check_coefficients, check_width, rows as in_blocks};
use super::kernel::Kernel;
use super::options::{MapOptions, not_finite};
use super::points::Points;
use super::sample::sample;
use crate::base::control::Control;
use crate::base::error::{Error, Result};
use crate::data::Matrix;
use crate::math::bounds::are_bounded;
use crate::math::dense::dot;

/// A model with more scaled features is damaged.
const MOST_FEATURES: usize = 2_000_000;

/// A kernel and r documents with d features.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Stored", into = "Stored")]
pub struct Basis {
    kernel: Kernel,
    points: Points,
}

/// A basis in a model.
#[derive(Serialize, Deserialize)]
struct Stored {
    kernel: Kernel,
    count: usize,
    dim: usize,
    /// Documents, row-major (count, dim).
    rows: Vec<f64>,
}

impl From<Basis> for Stored {
    fn from(basis: Basis) -> Self {
        let (count, dim) = (basis.points.len(), basis.points.dim());
        Self { rows: basis.points.rows(), kernel: basis.kernel, count, dim }
    }
}

impl TryFrom<Stored> for Basis {
    type Error = Error;

    fn try_from(stored: Stored) -> Result<Self> {
        Self::checked(stored.kernel, &stored.rows, stored.count, stored.dim)
    }
}

impl Basis {
    /// A basis of the documents `rows`, shape `(count, dim)`, row-major.
    ///
    /// # Panics
    /// If there are fewer values.
    pub fn new(kernel: Kernel, rows: &[f64], count: usize, dim: usize) -> Self {
        Self { kernel, points: Points::new(rows, count, dim) }
    }

    /// A basis of documents that are not trusted.
    ///
    /// # Errors
    /// [`Error::Corrupt`] for numbers that do not fit the sizes or the bound of stored numbers.
    pub fn checked(kernel: Kernel, rows: &[f64], count: usize, dim: usize) -> Result<Self> {
        let fits = count.checked_mul(dim) == Some(rows.len());
        // Documents are laid out in tiles, so that a few of many features take more memory than bytes.
        let narrow = dim <= MOST_FEATURES;
        // Without features the number of documents takes no bytes, so it is not trusted.
        let counted = dim > 0 || count <= 1;
        if !(fits && narrow && counted && are_bounded(rows)) {
            return Err(Error::Corrupt("the documents of a kernel do not fit their sizes".to_owned()));
        }
        Ok(Self::new(kernel, rows, count, dim))
    }

    /// All documents, or a sample of `landmarks` documents drawn with the seed.
    ///
    /// # Errors
    /// A kernel that is not a finite number on a document.
    pub fn of_documents(kernel: &Kernel, features: &Matrix, options: &MapOptions) -> Result<Self> {
        let chosen = sample(features.rows(), options.landmarks, options.seed);
        let (rows, dim) = (features.select_rows(&chosen).rows_f64(0..chosen.len()), features.columns());
        if !rows.chunks_exact(dim).all(|row| kernel.of(row, row).is_finite()) {
            return Err(not_finite());
        }
        Ok(Self::new(kernel.clone(), &rows, chosen.len(), dim))
    }

    /// Adds a document of d features.
    pub(super) fn push(&mut self, row: &[f64]) {
        self.points.push(row);
    }

    /// sqrt K(x, x), the length of a document in the space of the kernel; 0 if K(x, x) is negative.
    pub fn norm(&self, row: &[f64]) -> f64 {
        self.kernel.of(row, row).max(0.0).sqrt()
    }

    /// The kernel.
    pub fn kernel(&self) -> &Kernel {
        &self.kernel
    }

    /// The documents.
    pub fn points(&self) -> &Points {
        &self.points
    }

    /// k(x, P) of some documents: shape `(rows, r)`, row-major.
    ///
    /// # Errors
    /// Another number of features, or an interruption.
    pub fn columns(&self, features: &Matrix, rows: Range<usize>, control: &Control) -> Result<Vec<f64>> {
        check_width(features.columns(), self.points.dim())?;
        in_blocks(rows.len(), self.points.len(), control, |block, out| {
            self.fill(features, &shifted(&block, rows.start), out);
        })
    }

    /// Writes k(x, P) of up to a tile of documents.
    pub(super) fn fill(&self, features: &Matrix, rows: &Range<usize>, out: &mut [f64]) {
        let x = features.rows_f64(rows.clone());
        self.points.inner_of(self.kernel.def().inner, &x, 0..self.points.len(), out);
        self.kernel.outer(out);
    }

    /// f(x) of some documents, given beta (r).
    ///
    /// # Errors
    /// Another number of features or coefficients, or an interruption.
    pub fn scores(
        &self,
        features: &Matrix,
        rows: Range<usize>,
        coefficients: &[f64],
        control: &Control,
    ) -> Result<Vec<f64>> {
        let r = self.points.len();
        check_coefficients(coefficients.len(), r)?;
        check_width(features.columns(), self.points.dim())?;
        in_blocks(rows.len(), 1, control, |block, out| {
            let mut columns = vec![0.0; block.len() * r];
            self.fill(features, &shifted(&block, rows.start), &mut columns);
            for (number, score) in out.iter_mut().enumerate() {
                *score = dot(&columns[number * r..(number + 1) * r], coefficients);
            }
        })
    }
}

/// A range moved up.
pub(super) fn shifted(range: &Range<usize>, start: usize) -> Range<usize> {
    range.start + start..range.end + start
}
