//! Options and checks of feature maps and pair maps.

use crate::base::{Control, Error, FEWER_LANDMARKS, Reservation, Result, check_size, matrix_bytes};
use crate::math::pivoted::Limits;
use crate::math::{Gram, cholesky};

/// A negative fraction above this is not rounding.
const CLEARLY_NEGATIVE: f64 = 1e-6;

/// Candidates for each pivot.
const CANDIDATES_PER_LANDMARK: usize = 4;

/// The size and precision of a map.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MapOptions {
    /// Largest number of pivots; at least 1.
    pub landmarks: usize,
    /// The fraction of the largest K(x, x) that may be neglected.
    pub tolerance: f64,
    /// Random seed for the sample of candidates.
    pub seed: u64,
}

impl MapOptions {
    /// With the tolerance 1e-12.
    pub fn new(landmarks: usize, seed: u64) -> Self {
        Self { landmarks, tolerance: 1e-12, seed }
    }

    /// Largest number of documents or pairs from which pivots are chosen.
    pub(super) fn candidates(&self) -> usize {
        self.landmarks.saturating_mul(CANDIDATES_PER_LANDMARK)
    }

    pub(super) fn limits(&self) -> Limits {
        Limits { rank: self.landmarks, tolerance: self.tolerance }
    }
}

/// Reserves the bytes of copies of documents from which pivots are chosen.
pub fn reserve_candidates(documents: usize, dim: usize, control: &Control) -> Result<Reservation> {
    control.reserve(matrix_bytes(documents, dim), "choosing landmarks", FEWER_LANDMARKS)
}

/// beta with L' beta = w.
pub fn coefficients(factor: &[f64], r: usize, w: &[f64]) -> Result<Vec<f64>> {
    check_size(&"number of weights of a kernel function", w.len(), r)?;
    let mut beta = w.to_vec();
    cholesky::backward(factor, &mut beta);
    Ok(beta)
}

/// Refuses a Gram matrix with a diagonal that is not a finite number.
pub fn check_diagonal(gram: &impl Gram) -> Result<()> {
    if (0..gram.len()).all(|i| gram.diagonal(i).is_finite()) {
        return Ok(());
    }
    Err(not_finite())
}

/// The error for a kernel with a diagonal that is not finite.
pub fn not_finite() -> Error {
    Error::Data(
        "the kernel of a document with itself is not a finite number: scale the features or lower 'scale'"
            .to_owned(),
    )
}

/// Whether a negative fraction is more than rounding.
pub fn is_indefinite(negative: f64) -> bool {
    negative > CLEARLY_NEGATIVE
}

/// A sentence about negative eigenvalues that are more than rounding.
pub fn warning(kernel: &str, negative: f64) -> Option<String> {
    is_indefinite(negative).then(|| {
        format!(
            "the kernel {kernel} is not positive semidefinite on these documents: negative eigenvalues ({:.1}% of the total \
             absolute value) count as 0",
            100.0 * negative
        )
    })
}
