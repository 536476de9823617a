//! The feature map of a kernel: phi with phi(x).phi(z) = K(x, z), which makes a kernel method linear. [`Replacements`] gives
//! kernel values of a document whose features are replaced.
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
//! all candidates; with more documents the seed draws a sample of that size. In cross-validation on web search data,
//! pivots chosen from four times `landmarks` candidates ranked better than `landmarks` sampled documents, by .001 to
//! .003 of NDCG@10 with 600 landmarks, and equally well with 1,000.
//!
//! For a kernel that is not positive semidefinite, L is the factor of [`crate::math::positive_part`] for a sample of `landmarks`
//! documents: negative eigenvalues count as 0.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::basis::{Basis, check_width, in_blocks, is_valid_factor, shifted, solve_rows};
use super::kernel::Kernel;
use super::points::Points;
use super::sample::sample;
use super::{MapOptions, check_diagonal, coefficients, is_indefinite, reserve_candidates, warning};
use crate::base::control::Ticks;
use crate::base::{Control, Error, Result};
use crate::data::Matrix;
use crate::math::lanes::{LANES, Lanes};
use crate::math::simd::simd;
use crate::math::{Gram, lanes, pivoted, positive_part};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FeatureMap {
    /// The kernel and the pivots, which a model stores with the coefficients.
    pub basis: Basis,
    /// L, packed as in `math::triangular`.
    pub(super) factor: Vec<f64>,
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
        &self.rows[i * self.points.dim..(i + 1) * self.points.dim]
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
        self.points.inner_of(self.kernel.def.inner, self.row(pivot), rows, out);
        self.kernel.outer(out);
    }
}

impl FeatureMap {
    /// The map of a kernel for these (scaled) documents.
    ///
    /// # Errors
    /// A kernel that is not a finite number on a document, or an interrupt.
    pub fn fit(kernel: &Kernel, features: &Matrix, options: &MapOptions, control: &Control) -> Result<Self> {
        let dim = features.columns();
        let candidates = |count: usize| {
            let chosen = sample(features.rows(), count, options.seed);
            let memory = reserve_candidates(2 * chosen.len(), dim, control)?;
            let rows = features.select_rows(&chosen).rows_f64(0..chosen.len());
            Ok::<_, Error>((
                PivotDocuments { kernel, points: Points::new(&rows, chosen.len(), dim), rows },
                memory,
            ))
        };
        let (mut documents, mut _memory) = candidates(options.candidates())?;
        check_diagonal(&documents)?;
        let mut factor = pivoted::factor(&documents, options.limits(), control)?;
        if is_indefinite(factor.negative) {
            (documents, _memory) = candidates(options.landmarks)?;
            factor = positive_part(&documents, control)?;
        }
        let rows: Vec<f64> = factor.pivots.iter().flat_map(|&i| documents.row(i)).copied().collect();
        let basis = Basis::new(kernel.clone(), &rows, factor.pivots.len(), dim);
        Ok(Self { basis, factor: factor.factor, negative: factor.negative })
    }

    /// Number of features r, one per pivot.
    pub fn dim(&self) -> usize {
        self.basis.points.len()
    }

    /// phi of some documents: shape `(rows, r)`, row-major. Cost r (d + r / 2) multiplications per document.
    ///
    /// # Errors
    /// A different number of features, or an interrupt.
    pub fn features(&self, features: &Matrix, rows: Range<usize>, control: &Control) -> Result<Vec<f64>> {
        check_width(features.columns(), self.basis.points.dim)?;
        in_blocks(rows.len(), self.dim(), control, |block, out| {
            self.basis.fill(features, &shifted(&block, rows.start), out);
            solve_rows(&self.factor, self.dim(), out);
        })
    }

    /// k(x, P) of some documents: shape `(rows, r)`, row-major.
    ///
    /// # Errors
    /// A different number of features, or an interrupt.
    pub fn columns(&self, features: &Matrix, rows: Range<usize>, control: &Control) -> Result<Vec<f64>> {
        self.basis.columns(features, rows, control)
    }

    /// beta = U^-1 w, the coefficients of the pivots.
    ///
    /// # Errors
    /// A number of weights that differs from the number of features.
    pub fn coefficients(&self, w: &[f64]) -> Result<Vec<f64>> {
        coefficients(&self.factor, self.dim(), w)
    }

    /// The fraction of absolute eigenvalues that is negative, and counts as 0; rounding if the kernel is positive
    /// semidefinite.
    #[cfg(test)]
    pub fn negative(&self) -> f64 {
        self.negative
    }

    /// A warning if the map clearly differs from the kernel.
    pub fn warning(&self) -> Option<String> {
        warning(self.basis.kernel.def.name, self.negative)
    }

    /// Whether sizes agree, every number is finite, the factor has a positive diagonal, and the rest is not negative.
    pub fn is_valid(&self) -> bool {
        is_valid_factor(&self.factor, self.dim()) && (0.0..=f64::MAX).contains(&self.negative)
    }
}

// Values of a kernel function of a document whose features are replaced, group by group. A kernel that is a product over
// features changes by a factor, so that no distance is computed again.

/// Smallest value of a kernel whose factors have all digits.
const SMALLEST: f64 = 1e-250;

/// A kernel function of a document, some of whose groups of features are replaced.
pub struct Replacements {
    /// beta_l K(x, x_l) of the document before, and their sum.
    terms: (Vec<Lanes>, f64),
    /// Each group's factors of the terms.
    factors: Vec<Vec<Lanes>>,
}

impl Replacements {
    /// Values of the function. `replaced`: shape `(values, groups)`, row-major, whether each group is replaced.
    pub fn values(&self, replaced: &[bool]) -> Vec<f64> {
        let groups = self.factors.len();
        let (mut current, mut ticks) = (vec![false; groups], Ticks::default());
        let (mut terms, mut sum) = self.terms.clone();
        let value = |replaced: &[bool]| {
            if current.iter().zip(replaced).filter(|(before, now)| **before && !**now).count() > 0 {
                current.fill(false);
                terms.copy_from_slice(&self.terms.0);
                sum = self.terms.1;
            }
            for ((now, before), factors) in replaced.iter().zip(&mut current).zip(&self.factors) {
                if now != before {
                    ticks.add(terms.len());
                    sum = multiply(&mut terms, factors);
                    *before = true;
                }
            }
            sum
        };
        replaced.chunks_exact(groups.max(1)).map(value).collect()
    }
}

simd! {
    /// Multiplies terms by factors and returns their sum.
    fn multiply<'a>(terms: &'a mut [Lanes], factors: &'a [Lanes]) -> f64 {
        let mut sum = Lanes::ZERO;
        for (term, factor) in terms.iter_mut().zip(factors) {
            let (mut products, factor) = (term.0, factor.0);
            for lane in 0..LANES {
                products[lane] *= factor[lane];
                sum.0[lane] += products[lane];
            }
            term.0 = products;
        }
        sum.fold()
    }
}

impl Basis {
    /// The function with the coefficients beta (r) of the document `before`, with groups of features of the document `after`.
    /// `None` for kernels that are not products over features, and for kernel values near 0.
    pub fn replacements(
        &self,
        beta: &[f64],
        [before, after]: [&[f64]; 2],
        groups: impl Iterator<Item = Vec<usize>>,
    ) -> Option<Replacements> {
        let (kernel, points) = (&self.kernel, &self.points);
        let def = kernel.def;
        let mut least = kernel.block(before, 1, points);
        let terms: Vec<f64> = least.iter().zip(beta).map(|(value, beta)| value * beta).collect();
        let (mut factors, mut ticks) = (Vec::new(), Ticks::default());
        for columns in groups.take_while(|_| def.factorizes) {
            ticks.add(2 * columns.len() * least.len());
            let [old, new] = [before, after].map(|x| {
                let mut values = points.inner_over(def.inner, x, &columns);
                kernel.outer(&mut values);
                values
            });
            let factor: Vec<f64> = new.iter().zip(old).map(|(new, old)| new / old).collect();
            least.iter_mut().zip(&factor).for_each(|(least, factor)| *least *= factor.min(1.0));
            factors.push(lanes::from_slice(&factor));
        }
        let is_precise = def.factorizes && least.iter().all(|value| *value >= SMALLEST);
        let sum = terms.iter().sum();
        is_precise.then(|| Replacements { terms: (lanes::from_slice(&terms), sum), factors })
    }
}
