//! Kernels: the function space of a ranking function, and the maps that make a kernel method linear.
//!
//! Every kernel is K(x, z) = outer(q(x, z)). q is a sum over features: the dot product, the squared Euclidean distance
//! or the sum of absolute differences. So q of two concatenations is the sum of the q of their halves, as pairwise
//! functions need it. A new kernel is a [`KernelDef`] in `functions.rs` and a line of [`KERNELS`].
//!
//! * [`KernelSpec`]: the value of the option `kernel`; `fit` turns it into a [`Kernel`] with numbers.
//! * [`FeatureMap`]: documents to vectors phi with phi(x).phi(z) = K(x, z), for functions of documents.
//! * [`SingleMap`]: the same in single precision, for sums over very many documents.
//! * [`PairMap`]: pairs of documents to vectors psi, for functions of pairs, with the recovery of scores.
//! * [`SpanFactor`]: the span of documents that are added one by one, for online training.
//!
//! The linear kernel needs no map: phi(x) = x.

mod basis;
mod functions;
#[allow(clippy::module_inception, reason = "the file of the type Kernel")]
mod kernel;
mod landmarks;
mod map;
mod pair_map;
mod single_map;
#[cfg(test)]
mod tests;

use std::fmt;

use crate::base::{Control, Error, FEWER_LANDMARKS, Reservation, Result, Rule, matrix_bytes, names_of};
use crate::math::pivoted::Limits;
use crate::math::{Gram, cholesky};

pub use basis::{Basis, SpanFactor};
pub use functions::Inner;
pub use kernel::{Kernel, KernelSpec};
pub use landmarks::{Points, sample};
pub use map::FeatureMap;
pub use map::Replacements;
pub use pair_map::{PairMap, PairQuery, as_documents, ordered_pairs};
pub use single_map::SingleMap;

/// Every kernel; the first is the default, and needs no map.
pub const KERNELS: &[&KernelDef] = &[
    &functions::LINEAR,
    &functions::POLYNOMIAL,
    &functions::GAUSSIAN,
    &functions::LAPLACE,
    &functions::LAPLACE_L1,
    &functions::TANH,
];

/// Names of all kernels, in the order of [`KERNELS`].
pub const NAMES: &[&str] = names_of!(KERNELS);

/// The kernel of this name.
///
/// # Errors
/// An unknown name, with the known ones.
pub fn find(name: &str) -> Result<&'static KernelDef> {
    let known = KERNELS.iter().find(|def| def.name == name).copied();
    known.ok_or_else(|| Error::unknown("kernel", name, NAMES.iter().copied()))
}

// Options and checks of feature maps and pair maps.

/// A negative part above this fraction of the largest diagonal is not rounding.
const CLEARLY_NEGATIVE: f64 = 1e-6;

/// Candidates for each pivot.
const CANDIDATES_PER_LANDMARK: usize = 4;

/// The size and precision of a map.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MapOptions {
    /// Most pivots; at least 1.
    pub landmarks: usize,
    /// The fraction of the largest K(x, x) that may be left out.
    pub tolerance: f64,
    /// The seed of the sample of candidates.
    pub seed: u64,
}

impl Default for MapOptions {
    fn default() -> Self {
        Self { landmarks: 1000, tolerance: 1e-12, seed: 0 }
    }
}

impl MapOptions {
    /// Most documents or pairs from which pivots are chosen.
    pub(super) fn candidates(&self) -> usize {
        self.landmarks.saturating_mul(CANDIDATES_PER_LANDMARK)
    }

    pub(super) fn limits(&self) -> Limits {
        Limits { rank: self.landmarks, tolerance: self.tolerance }
    }
}

/// Reserves the bytes of copies of documents from which pivots are chosen.
pub(super) fn reserve_candidates(documents: usize, dim: usize, control: &Control) -> Result<Reservation> {
    control.reserve(matrix_bytes(documents, dim), "choosing landmarks", FEWER_LANDMARKS)
}

/// beta with L' beta = w.
pub(super) fn coefficients(factor: &[f64], r: usize, w: &[f64]) -> Result<Vec<f64>> {
    if w.len() != r {
        let what = "number of weights of a kernel function".to_owned();
        return Err(Error::Shape { what, found: w.len(), expected: r });
    }
    let mut beta = w.to_vec();
    cholesky::backward(factor, &mut beta);
    Ok(beta)
}

/// Refuses a Gram matrix with a diagonal that is not a finite number.
pub(super) fn check_diagonal(gram: &impl Gram) -> Result<()> {
    if (0..gram.len()).all(|i| gram.diagonal(i).is_finite()) {
        return Ok(());
    }
    Err(not_finite())
}

/// What is wrong with such a kernel.
pub(super) fn not_finite() -> Error {
    Error::Data(
        "the kernel of a document with itself is not a finite number: scale the features or lower 'scale'"
            .to_owned(),
    )
}

/// A sentence about a negative part that is more than rounding.
pub(super) fn warning(kernel: &Kernel, negative: f64) -> Option<String> {
    (negative > CLEARLY_NEGATIVE).then(|| {
        format!(
            "the kernel {} is not positive semidefinite on these documents (by {negative:.2e} of its largest \
             value); a projection that is was used instead",
            kernel.def.name
        )
    })
}

// Declaration of a kernel.

/// The declaration of one kernel.
#[derive(Debug)]
pub struct KernelDef {
    /// Name in options and in models.
    pub name: &'static str,
    /// K(x, z) in ASCII.
    pub formula: &'static str,
    /// Authors and year.
    pub source: &'static str,
    /// Parameters, in the order in which `outer` takes them.
    pub parameters: &'static [ParameterDef],
    /// q, of which the kernel is a function.
    pub inner: Inner,
    /// True if every Gram matrix is positive semidefinite.
    pub positive_semidefinite: bool,
    /// True if outer(q + r) = outer(q) outer(r), so that K of a concatenation is the product of two K.
    pub factorizes: bool,
    /// Turns each q into K, given the parameters.
    pub outer: fn(&[f64], &mut [f64]),
}

/// One parameter of a kernel.
#[derive(Debug)]
pub struct ParameterDef {
    /// Name in options.
    pub name: &'static str,
    /// The values it accepts. The word `median` means 1 / (median distance between documents).
    pub rule: Rule,
    /// The default.
    pub fallback: Fallback,
}

/// A default in the scale of the documents. A scale of 0 counts as 1.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Fallback {
    /// The number itself.
    Number(f64),
    /// The number / v, the total variance of the features.
    PerVariance(f64),
    /// The number / sqrt(2 v), the root mean square distance of two documents.
    PerDistance(f64),
    /// The number / d, the number of features.
    PerFeature(f64),
}

impl Fallback {
    /// The gamma of a kernel with the width s > 0: 1 / (2 s^2 v) of squared distances, 1 / (s sqrt(2 v)) of distances
    /// and 1 / (s d) of sums of absolute differences.
    #[must_use]
    pub fn of_width(self, s: f64) -> Self {
        match self {
            Self::Number(_) => self,
            Self::PerVariance(_) => Self::PerVariance(0.5 / (s * s)),
            Self::PerDistance(_) => Self::PerDistance(1.0 / s),
            Self::PerFeature(_) => Self::PerFeature(1.0 / s),
        }
    }
}

impl fmt::Display for Fallback {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => write!(f, "{number}"),
            Self::PerVariance(number) => write!(f, "{number} / (total variance of the features)"),
            Self::PerDistance(number) => write!(f, "{number} / (root mean square distance of two documents)"),
            Self::PerFeature(number) => write!(f, "{number} / (number of features)"),
        }
    }
}
