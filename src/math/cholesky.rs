//! Cholesky factor of a symmetric positive definite matrix, H = U' U, in place.
//!
//! H is kept in blocks of eight (`math::lanes`), shape `(8 width, 8 width)`; only entries on and above the diagonal
//! are read and written. Cost b^3 / 3.
#![allow(clippy::inline_always)]

use super::lanes::{self, Lanes};

/// A pivot below this share of its diagonal entry is rounding, not curvature.
const SMALLEST_PIVOT: f64 = 1e-15;

/// Replaces the upper triangle of the leading `(dim, dim)` part of H by U. Answers false, with H spoiled, where H is
/// not positive definite in double precision.
#[inline(always)]
pub fn factor(h: &mut [Lanes], width: usize, dim: usize) -> bool {
    let diagonal: Vec<f64> = (0..dim).map(|i| lanes::get(&h[i * width..], i)).collect();
    for k in 0..dim {
        let (upper, lower) = h.split_at_mut((k + 1) * width);
        let pivot_row = &mut upper[k * width..];
        let pivot = lanes::get(pivot_row, k);
        if !(pivot > SMALLEST_PIVOT * diagonal[k] && pivot > 0.0) {
            return false;
        }
        let scale = 1.0 / pivot.sqrt();
        for block in &mut pivot_row[k / lanes::LANES..] {
            block.0.iter_mut().for_each(|value| *value *= scale);
        }
        for i in k + 1..dim {
            let row = &mut lower[(i - k - 1) * width..(i - k) * width];
            let first = i / lanes::LANES;
            lanes::axpy(-lanes::get(pivot_row, i), &pivot_row[first..], &mut row[first..]);
        }
    }
    true
}

/// Solves U' U x = b in place, with the factor of [`factor`].
#[inline(always)]
pub fn solve(u: &[Lanes], width: usize, dim: usize, b: &mut [Lanes]) {
    for k in 0..dim {
        let row = &u[k * width..(k + 1) * width];
        let value = lanes::get(b, k) / lanes::get(row, k);
        *lanes::get_mut(b, k) = value;
        for j in k + 1..dim {
            *lanes::get_mut(b, j) -= value * lanes::get(row, j);
        }
    }
    for k in (0..dim).rev() {
        let row = &u[k * width..(k + 1) * width];
        let mut value = lanes::get(b, k);
        for j in k + 1..dim {
            value -= lanes::get(row, j) * lanes::get(b, j);
        }
        *lanes::get_mut(b, k) = value / lanes::get(row, k);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_solution_satisfies_the_equations() {
        let (dim, width) = (11, lanes::blocks_for(11));
        let entry = |i: usize, j: usize| if i == j { 12.0 } else { 1.0 / (1 + i + j) as f64 };
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

    #[test]
    fn an_indefinite_matrix_is_refused() {
        let mut h = vec![Lanes::ZERO; 8];
        h[0].0[0] = 1.0;
        h[0].0[1] = 2.0;
        h[1].0[1] = 1.0;
        assert!(!factor(&mut h, 1, 2));
    }
}
