//! Rows made in blocks of one tile, on all threads of the caller's pool; the bits do not depend on their
//! number.

use std::ops::Range;

use crate::base::control::Control;
use crate::base::error::{Error, Result};
use crate::base::memory::zeros;
use crate::base::parallel;
use crate::math::tile::{TILE, Tile};
use crate::math::triangular;

/// The rows that `work` writes: shape `(count, width)`, row-major. It is given the numbers of up to [`TILE`]
/// rows and their positions. A single block stays on the calling thread.
///
/// # Errors
/// An interruption, noticed between blocks.
pub(super) fn rows(
    count: usize,
    width: usize,
    control: &Control,
    work: impl Fn(Range<usize>, &mut [f64]) + Sync,
) -> Result<Vec<f64>> {
    let mut out = zeros(count.saturating_mul(width))?;
    if width == 0 {
        return Ok(out);
    }
    let one = |block: usize, position: &mut [f64]| -> Result<()> {
        control.check()?;
        let start = block * TILE;
        work(start..start + position.len() / width, position);
        Ok(())
    };
    if count <= TILE {
        one(0, &mut out)?;
    } else {
        parallel::try_each_of(out.chunks_mut(TILE * width).collect(), one)?;
    }
    Ok(out)
}

/// Replaces each of up to [`TILE`] rows k of `r` numbers by the solution of L phi = k.
pub(super) fn solve_rows(factor: &[f64], r: usize, rows: &mut [f64]) {
    let mut tiles = vec![Tile::ZERO; r];
    for (lane, row) in rows.chunks_exact(r).enumerate() {
        tiles.iter_mut().zip(row).for_each(|(tile, value)| *tile.get_mut(lane) = *value);
    }
    triangular::forward(factor, &mut tiles);
    for (lane, row) in rows.chunks_exact_mut(r).enumerate() {
        tiles.iter().zip(row).for_each(|(tile, value)| *value = tile.get(lane));
    }
}

/// Refuses a matrix with another number of features than the pivots have.
pub(super) fn check_width(found: usize, expected: usize) -> Result<()> {
    if found == expected {
        return Ok(());
    }
    Err(Error::Shape { what: "number of features for the kernel".to_owned(), found, expected })
}

/// Refuses another number of coefficients than pivots.
pub(super) fn check_coefficients(found: usize, expected: usize) -> Result<()> {
    if found == expected {
        return Ok(());
    }
    Err(Error::Shape { what: "number of coefficients of a kernel function".to_owned(), found, expected })
}

/// True if a packed factor of `r` rows has its size, finite numbers and a positive diagonal.
pub(super) fn is_valid_factor(factor: &[f64], r: usize) -> bool {
    triangular::packed_len(r) == Some(factor.len())
        && factor.iter().all(|value| value.is_finite())
        && (0..r).all(|i| triangular::row(factor, i)[i] > 0.0)
}
