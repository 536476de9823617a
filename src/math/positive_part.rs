//! A triangular factor for the positive part of a symmetric matrix that is not positive semidefinite.
//!
//! ```text
//! K = V E V'       eigenvalues E, largest first
//! L L' = V F V'    F has the eigenvalues of E above `LEAST` times the largest, and `FAR` times the largest for each other one
//! |L^-1 K e_i|^2   = e_i' V E^2 F^-1 V' e_i: a kept direction counts with its eigenvalue, another with E^2 / FAR, almost 0
//! ```
//!
//! A pivoted factor of K itself would end at the first rows whose remaining diagonal is negative.

use std::ops::Range;

use super::pivoted::{Limits, Pivoted, factor};
use super::{Gram, TILE, eigen};
use crate::base::{Control, FEWER_LANDMARKS, Result, matrix_bytes};

/// The smallest eigenvalue that counts, in largest ones.
const LEAST: f64 = 1e-6;
/// Replacement for all other eigenvalues, relative to the largest.
const FAR: f64 = 1e6;

/// A matrix in memory, row-major.
struct Dense {
    values: Vec<f64>,
    n: usize,
}

impl Gram for Dense {
    fn len(&self) -> usize {
        self.n
    }

    fn diagonal(&self, i: usize) -> f64 {
        self.values[i * self.n + i]
    }

    fn column(&self, pivot: usize, rows: Range<usize>, out: &mut [f64]) {
        out.copy_from_slice(&self.values[pivot * self.n..][rows]);
    }
}

/// The factor. All rows are pivots, and `negative` is the fraction of absolute eigenvalues that is negative.
///
/// # Errors
/// An interrupt; more memory than allowed.
pub fn positive_part(gram: &impl Gram, control: &Control) -> Result<Pivoted> {
    let n = gram.len();
    let what = format_args!("the eigenvalues of {n} landmarks");
    let _memory = control.reserve(matrix_bytes(n, n.saturating_mul(4)), what, FEWER_LANDMARKS)?;
    // 1. Eigenvalues.
    let mut values = vec![0.0; n * n];
    for (pivot, column) in values.chunks_exact_mut(n.max(1)).enumerate() {
        control.check()?;
        for (tile, out) in column.chunks_mut(TILE).enumerate() {
            gram.column(pivot, tile * TILE..tile * TILE + out.len(), out);
        }
    }
    let spectrum = eigen::symmetric(values, n, control)?;
    let largest = spectrum.values.first().map_or(0.0, |largest| largest.max(0.0));
    let kept = spectrum.values.iter().take_while(|value| **value > LEAST * largest).count();
    let [all, negative] = spectrum
        .values
        .iter()
        .fold([0.0; 2], |[all, negative], value| [all + value.abs(), negative + (0.0 - value).max(0.0)]);
    let negative = if all > 0.0 { negative / all } else { 0.0 };
    if kept == 0 {
        return Ok(Pivoted { pivots: Vec::new(), factor: Vec::new(), remaining: 0.0, negative });
    }
    // 2. V F V'.
    let mut values = vec![0.0; n * n];
    for (i, row) in values.chunks_exact_mut(n).enumerate() {
        control.check()?;
        row[i] = FAR * largest;
        for (vector, value) in spectrum.vectors.chunks_exact(n).zip(&spectrum.values[..kept]) {
            let scale = (value - FAR * largest) * vector[i];
            row.iter_mut().zip(vector).for_each(|(sum, entry)| *sum += scale * entry);
        }
    }
    let factored = factor(&Dense { values, n }, Limits { rank: n, tolerance: 0.0 }, control)?;
    Ok(Pivoted { negative, ..factored })
}
