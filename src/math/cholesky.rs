//! Cholesky factor of a symmetric positive definite matrix, H = U' U, in place; and triangular systems with packed rows.
//!
//! H is kept in blocks of eight (`math::lanes`), shape `(8 width, 8 width)`; only entries on and above the diagonal
//! are read and written. Cost b^3 / 3.

#![allow(clippy::inline_always, reason = "kernels are compiled again for wider registers")]

use super::dense::dot;
use super::lanes::{self, LANES, Lanes, Tile};
use super::simd::simd;
use crate::base::{Ticks, checkpoint};

/// Operations, for [`Ticks`], of the product of two blocks.
const TILE_COST: usize = 64;

/// Panels of eight rows that are subtracted from the rows below at once, so that these are read and written less often.
const PANELS: usize = 4;

/// A pivot below this multiple of its diagonal entry is rounding, not curvature.
const SMALLEST_PIVOT: f64 = 1e-15;

/// Replaces b by the solution of H x = b, and H by its factor; false if H is not positive definite.
pub fn factor_and_solve(h: &mut [Lanes], dim: usize, b: &mut [Lanes]) -> bool {
    let width = b.len();
    let positive = factor(h, width, dim);
    if positive {
        solve(h, width, dim, b);
    }
    positive
}

/// The factor of a matrix.
pub struct Factor {
    u: Vec<Lanes>,
    dim: usize,
}

impl Factor {
    /// The factor of the matrix with these entries on and above the diagonal; `None` if it is not positive definite.
    pub fn of(dim: usize, entry: impl Fn(usize, usize) -> f64) -> Option<Self> {
        let width = lanes::blocks_for(dim);
        let mut h = vec![Lanes::ZERO; LANES * width * width];
        for i in 0..dim {
            checkpoint();
            (i..dim).for_each(|j| *lanes::get_mut(&mut h[i * width..], j) = entry(i, j));
        }
        Self::of_blocks(h, dim)
    }

    /// The same for a matrix in blocks.
    pub fn of_blocks(mut h: Vec<Lanes>, dim: usize) -> Option<Self> {
        factor(&mut h, lanes::blocks_for(dim), dim).then_some(Self { u: h, dim })
    }

    /// The solution of H x = b.
    pub fn solve(&self, b: &[f64]) -> Vec<f64> {
        let mut x = lanes::from_slice(b);
        solve(&self.u, x.len(), self.dim, &mut x);
        lanes::to_vec(&x, self.dim)
    }
}

simd! {
    /// Overwrites the upper triangle of the leading `(dim, dim)` submatrix of H with U. Returns false if H is not
    /// positive definite in double precision. An entry has the products with the rows above it subtracted in their order.
    fn factor<'m>(h: &'m mut [Lanes], width: usize, dim: usize) -> bool {
        let diagonal: Vec<f64> = (0..dim).map(|i| lanes::get(&h[i * width..], i)).collect();
        let mut ticks = Ticks::default();
        for first in (0..width).step_by(PANELS) {
            let last = width.min(first + PANELS);
            let (upper, below) = h.split_at_mut(last * LANES * width);
            let panels = &mut upper[first * LANES * width..];
            // 1. The panels themselves.
            for block in first..last {
                let (earlier, later) = panels.split_at_mut((block + 1 - first) * LANES * width);
                let panel = &mut earlier[(block - first) * LANES * width..];
                let rows = LANES.min(dim - block * LANES);
                if !factor_panel(panel, width, block, &diagonal[block * LANES..][..rows]) {
                    return false;
                }
                subtract(panel, width, block + 1, later, &mut ticks);
            }
            // 2. The rows below them.
            subtract(panels, width, last, below, &mut ticks);
        }
        true
    }
}

/// Subtracts the products with rows of U from the next rows, which begin with block `first`.
#[inline(always)]
fn subtract(panels: &[Lanes], width: usize, first: usize, rows: &mut [Lanes], ticks: &mut Ticks) {
    for (number, rows) in rows.chunks_exact_mut(LANES * width).enumerate() {
        let row_block = first + number;
        ticks.add(TILE_COST * (width - row_block) * (panels.len() / width / LANES));
        for column in row_block..width {
            subtract_tiles(panels, width, row_block, column, rows);
        }
    }
}

/// Factors the rows of `diagonal`, at most eight; block `block` of them is on the diagonal.
#[inline(always)]
fn factor_panel(panel: &mut [Lanes], width: usize, block: usize, diagonal: &[f64]) -> bool {
    for (k, size) in diagonal.iter().enumerate() {
        let (upper, lower) = panel.split_at_mut((k + 1) * width);
        let pivot_row = &mut upper[k * width + block..];
        let pivot = pivot_row[0].0[k];
        if !(pivot > SMALLEST_PIVOT * size && pivot > 0.0) {
            return false;
        }
        let scale = 1.0 / pivot.sqrt();
        for block in pivot_row.iter_mut() {
            for lane in 0..LANES {
                block.0[lane] *= scale;
            }
        }
        for (i, row) in lower.chunks_exact_mut(width).enumerate() {
            lanes::axpy(-pivot_row[0].0[k + 1 + i], pivot_row, &mut row[block..]);
        }
    }
    true
}

/// Subtracts the products with rows of U from one block of eight rows.
#[inline(always)]
fn subtract_tiles(panels: &[Lanes], width: usize, row_block: usize, column: usize, rows: &mut [Lanes]) {
    for half in 0..2 {
        let mut tile = [Lanes::ZERO; 4];
        for (r, row) in tile.iter_mut().enumerate() {
            *row = rows[(4 * half + r) * width + column];
        }
        for above in panels.chunks_exact(width) {
            let (left, right) = (&above[row_block].0, &above[column]);
            for r in 0..4 {
                tile[r].add_scaled(-left[4 * half + r], right);
            }
        }
        for (r, row) in tile.iter().enumerate() {
            rows[(4 * half + r) * width + column] = *row;
        }
    }
}

simd! {
    /// Solves U' U x = b in place, with the factor of [`factor`].
    fn solve<'m>(u: &'m [Lanes], width: usize, dim: usize, b: &'m mut [Lanes]) {
        // 1. U' y = b, forward.
        for k in 0..dim {
            let row = &u[k * width..(k + 1) * width];
            let (block, lane) = (k / LANES, k % LANES);
            let value = b[block].0[lane] / row[block].0[lane];
            b[block].0[lane] = value;
            for j in lane + 1..LANES {
                b[block].0[j] -= value * row[block].0[j];
            }
            lanes::axpy(-value, &row[block + 1..], &mut b[block + 1..]);
        }
        // 2. U x = y, backward.
        for k in (0..dim).rev() {
            let row = &u[k * width..(k + 1) * width];
            let (block, lane) = (k / LANES, k % LANES);
            let mut value = b[block].0[lane] - lanes::dot(&row[block + 1..], &b[block + 1..]);
            for j in lane + 1..LANES {
                value -= row[block].0[j] * b[block].0[j];
            }
            b[block].0[lane] = value / row[block].0[lane];
        }
    }
}

// Triangular systems: L is lower triangular, and its rows are stored one after the other.
//
// Row i has i + 1 numbers, the last one on the diagonal; r rows take r (r + 1) / 2.

/// Numbers in r rows; `None` on overflow.
pub fn packed_len(r: usize) -> Option<usize> {
    r.checked_add(1)?.checked_mul(r).map(|twice| twice / 2)
}

/// Row i of the packed matrix, including its diagonal.
#[inline(always)]
pub fn row(factor: &[f64], i: usize) -> &[f64] {
    let start = i * (i + 1) / 2;
    &factor[start..=start + i]
}

/// Rows that [`forward`] solves at a time, so that it reads the solved ones less often.
const ROWS: usize = 4;

simd! {
    /// Solves L y = b in place for a tile of right-hand sides: `tiles[i]` has entry i of each.
    pub fn forward<'a>(factor: &'a [f64], tiles: &'a mut [Tile]) {
        let mut ticks = Ticks::default();
        for first in (0..tiles.len()).step_by(ROWS) {
            let (solved, rest) = tiles.split_at_mut(first);
            let count = ROWS.min(rest.len());
            ticks.add(ROWS * (first + ROWS));
            let rows: [&[f64]; ROWS] = std::array::from_fn(|r| row(factor, first + r.min(count - 1)));
            let heads = rows.map(|row| &row[..first]);
            for block in 0..lanes::BLOCKS {
                let mut sums: [Lanes; ROWS] = std::array::from_fn(|r| rest[r.min(count - 1)].0[block]);
                for (j, y) in solved.iter().enumerate() {
                    for r in 0..ROWS {
                        sums[r].add_scaled(-heads[r][j], &y.0[block]);
                    }
                }
                for r in 0..count {
                    let mut sum = sums[r];
                    for (entry, y) in rows[r][first..].iter().zip(&sums[..r]) {
                        sum.add_scaled(-entry, y);
                    }
                    let scale = 1.0 / rows[r][first + r];
                    sums[r] = sum.map(|value| value * scale);
                    rest[r].0[block] = sums[r];
                }
            }
        }
    }
}

/// Solves L y = b in place.
pub fn forward_vector(factor: &[f64], b: &mut [f64]) {
    let mut ticks = Ticks::default();
    for i in 0..b.len() {
        ticks.add(i);
        let (solved, rest) = b.split_at_mut(i);
        let row = row(factor, i);
        rest[0] = (rest[0] - dot(&row[..i], solved)) / row[i];
    }
}

/// Solves L' y = b in place.
pub fn backward(factor: &[f64], b: &mut [f64]) {
    let mut ticks = Ticks::default();
    for i in (0..b.len()).rev() {
        ticks.add(i);
        let (before, rest) = b.split_at_mut(i);
        let row = row(factor, i);
        rest[0] /= row[i];
        before.iter_mut().zip(row).for_each(|(value, entry)| *value -= rest[0] * entry);
    }
}

#[cfg(test)]
mod cholesky_tests {
    use super::*;

    #[test]
    fn the_solution_satisfies_the_equations() {
        for dim in 1..30 {
            check(dim);
        }
    }

    fn check(dim: usize) {
        let width = lanes::blocks_for(dim);
        let entry = |i: usize, j: usize| if i == j { 12.0 + dim as f64 } else { 1.0 / (1 + i + j) as f64 };
        let mut h = vec![Lanes::ZERO; width * lanes::LANES * width];
        for i in 0..dim {
            for j in i..dim {
                *lanes::get_mut(&mut h[i * width..], j) = entry(i, j);
            }
        }
        let right: Vec<f64> = (0..dim).map(|i| i as f64 - 3.0).collect();
        let mut x = lanes::from_slice(&right);
        assert!(factor(&mut h, width, dim));
        solve(&h, width, dim, &mut x);
        for (i, expected) in right.iter().enumerate() {
            let sum: f64 = (0..dim).map(|j| entry(i, j) * lanes::get(&x, j)).sum();
            assert!((sum - expected).abs() < 1e-12);
        }
    }

    /// Each entry of U by its formula, the terms in their order.
    #[test]
    fn the_factor_has_the_bits_of_the_plain_sums() {
        for dim in [7, 8, 31, 32, 33, 71] {
            let width = lanes::blocks_for(dim);
            let entry = |i: usize, j: usize| if i == j { dim as f64 } else { ((i * 7 + j * 3) as f64).sin() };
            let (mut h, mut u) = (vec![Lanes::ZERO; width * LANES * width], vec![0.0; dim * dim]);
            for (i, j) in (0..dim).flat_map(|i| (i..dim).map(move |j| (i, j))) {
                *lanes::get_mut(&mut h[i * width..], j) = entry(i, j);
            }
            for i in 0..dim {
                let rest = |u: &[f64], j: usize| {
                    (0..i).fold(entry(i, j), |sum, k| sum + -u[k * dim + i] * u[k * dim + j])
                };
                let scale = 1.0 / rest(&u, i).sqrt();
                (i..dim).for_each(|j| u[i * dim + j] = rest(&u, j) * scale);
            }
            assert!(factor(&mut h, width, dim));
            for (i, j) in (0..dim).flat_map(|i| (i..dim).map(move |j| (i, j))) {
                let found = lanes::get(&h[i * width..], j);
                assert_eq!(found.to_bits(), u[i * dim + j].to_bits(), "{dim}: {i}, {j}");
            }
        }
    }

    #[test]
    fn an_indefinite_matrix_is_refused() {
        let mut h = vec![Lanes::ZERO; 8];
        h[0].0[0] = 1.0;
        h[0].0[1] = 2.0;
        h[1].0[1] = 1.0;
        assert!(!factor(&mut h, 1, 2));
    }
}

#[cfg(test)]
mod triangular_tests {
    use super::*;

    const FACTOR: [f64; 6] = [2.0, 1.0, 4.0, -3.0, 0.5, 8.0];

    #[test]
    fn both_solutions_satisfy_their_equations() {
        let b = [3.0, -1.0, 5.0];
        let mut tiles = b.map(|value| {
            let mut tile = Tile::ZERO;
            *tile.get_mut(7) = value;
            tile
        });
        forward(&FACTOR, &mut tiles);
        let (mut back, mut alone) = (b, b);
        forward_vector(&FACTOR, &mut alone);
        backward(&FACTOR, &mut back);
        for i in 0..3 {
            let left: f64 = (0..=i).map(|j| row(&FACTOR, i)[j] * tiles[j].get(7)).sum();
            let right: f64 = (i..3).map(|j| row(&FACTOR, j)[i] * back[j]).sum();
            assert!((alone[i] - tiles[i].get(7)).abs() < 1e-14);
            assert!((left - b[i]).abs() < 1e-14 && (right - b[i]).abs() < 1e-14);
            assert!(tiles[i].get(8).abs() < 1e-300, "the other right-hand sides are 0");
        }
    }

    /// Each number by its formula, the terms in their order.
    #[test]
    fn the_solutions_of_a_tile_have_the_bits_of_the_plain_sums() {
        for dim in 0..14 {
            let at = |i: usize| (i as f64 * 0.83).sin() + 1.5;
            let factor: Vec<f64> = (0..dim * (dim + 1) / 2).map(at).collect();
            let mut tiles = vec![Tile::ZERO; dim];
            for (i, lane) in (0..dim).flat_map(|i| (0..lanes::TILE).map(move |lane| (i, lane))) {
                *tiles[i].get_mut(lane) = at(i * 7 + lane);
            }
            forward(&factor, &mut tiles);
            for lane in 0..lanes::TILE {
                let mut y = Vec::new();
                for i in 0..dim {
                    let row = row(&factor, i);
                    let sum = row
                        .iter()
                        .zip(&y)
                        .fold(at(i * 7 + lane), |sum, (entry, y): (_, &f64)| sum + -entry * y);
                    y.push(sum * (1.0 / row[i]));
                    assert_eq!(tiles[i].get(lane).to_bits(), y[i].to_bits(), "{dim}: {i}, {lane}");
                }
            }
        }
    }

    #[test]
    fn sizes_that_cannot_be_counted_are_not() {
        assert_eq!(packed_len(0), Some(0));
        assert_eq!(packed_len(3), Some(6));
        assert_eq!(packed_len(usize::MAX), None);
    }
}
