//! The feature map of a kernel: phi with phi(x).phi(z) = K(x, z), so that a kernel method is a linear one.
//!
//! ```text
//! P         r pivot documents, chosen by a pivoted Cholesky factor of the Gram matrix of the candidates
//! L L'      = K(P, P), L lower triangular (r, r); U = L'
//! phi(x)    = L^-1 k(x, P)
//! w.phi(x)  = k(x, P).beta with beta = U^-1 w, so that a model needs P and beta only
//! |w|^2     = |f|^2 in the space of the kernel, for f in the span of P
//! ```
//!
//! phi(x).phi(z) = k(x, P) K(P, P)^-1 k(P, z) (Nystrom; Williams & Seeger 2001; Fine & Scheinberg 2001). It is K(x, z)
//! to the tolerance if x or z is a candidate and the rank was not limited. Up to four times `landmarks` documents are
//! all candidates; of more documents the seed draws a sample of that size. In cross-validation on web search data,
//! pivots chosen from four times `landmarks` candidates ranked better than `landmarks` sampled documents, by .001 to
//! .003 of NDCG@10 with 600 landmarks, and equally well with 1,000.
//!
//! A kernel that is not positive semidefinite is projected on a part that is; [`FeatureMap::negative`] measures the
//! rest.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::basis::{Basis, check_width, in_blocks, is_valid_factor, shifted, solve_rows};
use super::kernel::Kernel;
use super::landmarks::{Points, sample};
use super::{MapOptions, check_diagonal, coefficients, reserve_candidates, warning};
use crate::base::{Control, Result};
use crate::data::Matrix;
use crate::math::{Gram, pivoted};

/// A feature map.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FeatureMap {
    basis: Basis,
    /// L, packed as in `math::triangular`.
    factor: Vec<f64>,
    negative: f64,
}

/// The Gram matrix of the candidates.
struct PivotDocuments<'a> {
    kernel: &'a Kernel,
    rows: Vec<f64>,
    points: Points,
}

impl PivotDocuments<'_> {
    fn row(&self, i: usize) -> &[f64] {
        &self.rows[i * self.points.dim()..(i + 1) * self.points.dim()]
    }
}

impl Gram for PivotDocuments<'_> {
    fn len(&self) -> usize {
        self.points.len()
    }

    fn diagonal(&self, i: usize) -> f64 {
        self.kernel.of(self.row(i), self.row(i))
    }

    fn column(&self, pivot: usize, rows: Range<usize>, out: &mut [f64]) {
        self.points.inner_of(self.kernel.def().inner, self.row(pivot), rows, out);
        self.kernel.outer(out);
    }
}

impl FeatureMap {
    /// The map of a kernel for these (scaled) documents.
    ///
    /// # Errors
    /// A kernel that is not a finite number on a document, or an interruption.
    pub fn fit(kernel: &Kernel, features: &Matrix, options: &MapOptions, control: &Control) -> Result<Self> {
        let chosen = sample(features.rows(), options.candidates(), options.seed);
        let _memory = reserve_candidates(2 * chosen.len(), features.columns(), control)?;
        let rows = features.select_rows(&chosen).rows_f64(0..chosen.len());
        let dim = features.columns();
        let candidates = PivotDocuments { kernel, points: Points::new(&rows, chosen.len(), dim), rows };
        check_diagonal(&candidates)?;
        let found = pivoted::factor(&candidates, options.limits(), control)?;
        let rows: Vec<f64> = found.pivots.iter().flat_map(|&i| candidates.row(i)).copied().collect();
        let basis = Basis::new(kernel.clone(), &rows, found.pivots.len(), dim);
        Ok(Self { basis, factor: found.factor, negative: found.negative })
    }

    /// Number of features r: of pivots.
    pub fn dim(&self) -> usize {
        self.basis.points().len()
    }

    /// The kernel and the pivots: what a model keeps beside coefficients.
    pub fn basis(&self) -> &Basis {
        &self.basis
    }

    /// L, packed as in `math::triangular`.
    pub(super) fn factor(&self) -> &[f64] {
        &self.factor
    }

    /// phi of some documents: shape `(rows, r)`, row-major. Cost r (d + r / 2) multiplications per document.
    ///
    /// # Errors
    /// Another number of features, or an interruption.
    pub fn features(&self, features: &Matrix, rows: Range<usize>, control: &Control) -> Result<Vec<f64>> {
        check_width(features.columns(), self.basis.points().dim())?;
        in_blocks(rows.len(), self.dim(), control, |block, out| {
            self.basis.fill(features, &shifted(&block, rows.start), out);
            solve_rows(&self.factor, self.dim(), out);
        })
    }

    /// k(x, P) of some documents: shape `(rows, r)`, row-major.
    ///
    /// # Errors
    /// Another number of features, or an interruption.
    pub fn columns(&self, features: &Matrix, rows: Range<usize>, control: &Control) -> Result<Vec<f64>> {
        self.basis.columns(features, rows, control)
    }

    /// beta = U^-1 w, the coefficients of the pivots.
    ///
    /// # Errors
    /// Another number of weights than features.
    pub fn coefficients(&self, w: &[f64]) -> Result<Vec<f64>> {
        coefficients(&self.factor, self.dim(), w)
    }

    /// How far the kernel is from positive semidefinite on the candidates: the largest amount by which the
    /// diagonal of the map exceeds K(x, x), in largest K(x, x). At least 0, and only rounding where the
    /// kernel is.
    #[cfg(test)]
    pub fn negative(&self) -> f64 {
        self.negative
    }

    /// A warning if the map clearly differs from the kernel.
    pub fn warning(&self) -> Option<String> {
        warning(self.basis.kernel(), self.negative)
    }

    /// True if sizes agree, every number is finite, the factor has a positive diagonal, and the rest is not negative.
    pub fn is_valid(&self) -> bool {
        is_valid_factor(&self.factor, self.dim()) && (0.0..=f64::MAX).contains(&self.negative)
    }
}
