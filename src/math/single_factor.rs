//! Cholesky factor in single precision, S + ridge I = U'U, and solutions refined in double precision.
//!
//! ```text
//! U_pj = U_pp^-T (S_pj - sum over k < p of U_kp' U_kj)      tiles of 48 x 48, row of tiles after row of tiles
//! x    = x + (U'U)^-1 (b - (S + ridge I) x)                 residuals in double precision
//! ```
#![allow(clippy::needless_range_loop, reason = "several matrices have the same indices")]

use super::simd::simd;
use super::single::{PANEL, Row, add_product, panels_for};
use super::single_sums::{Panels, SingleSums};
use crate::base::checkpoint;

/// A pivot below this multiple of its diagonal entry is rounding.
const SMALLEST_PIVOT: f64 = 1e-6;
/// Steps of refinement.
const STEPS: usize = 2;

/// The solution of (M + ridge I) x = b for the leading matrix M of sums, b their last column; `None` if the matrix has no
/// factor in single precision.
pub fn solve_last_column(sums: &SingleSums, ridge: f64) -> Option<Vec<f64>> {
    let dim = sums.columns - 1;
    let factor = Factor::of(sums, dim, ridge)?;
    let right: Vec<f64> = (0..dim).map(|i| sums.get(i, dim)).collect();
    let mut x = vec![0.0; dim];
    let mut residual = right.clone();
    for step in 0..=STEPS {
        checkpoint();
        let change = factor.solve(&residual);
        x.iter_mut().zip(change).for_each(|(x, change)| *x += f64::from(change));
        if step < STEPS {
            let product = sums.times(&x);
            for (i, residual) in residual.iter_mut().enumerate() {
                *residual = right[i] - product[i] - ridge * x[i];
            }
        }
    }
    x.iter().all(|value| value.is_finite()).then_some(x)
}

/// U: panel j has the rows above and in its tile on the diagonal.
struct Factor {
    dim: usize,
    u: Panels,
}

impl Factor {
    fn of(sums: &SingleSums, dim: usize, ridge: f64) -> Option<Self> {
        let width = panels_for(dim);
        let mut u = Panels::zero(width * PANEL, dim);
        for p in 0..width {
            checkpoint();
            // 1. The row of tiles minus the products with the rows above.
            let (first, mut inverse) = (p * PANEL, [Row::ZERO; PANEL]);
            for j in p..width {
                let mut tile = [Row::ZERO; PANEL];
                add_product(&u.panel(p)[..first], &u.panel(j)[..first], PANEL, &mut tile);
                sums.subtract_from(p, j, dim, &mut tile);
                // 2. The factor on the diagonal, whose inverse gives the others.
                if j == p {
                    let diagonal = factor_tile(&tile, dim - first, ridge)?;
                    invert(&diagonal, &mut inverse);
                    u.panel_mut(p)[first..first + PANEL].copy_from_slice(&diagonal);
                } else {
                    let rows = &mut u.panel_mut(j)[first..first + PANEL];
                    rows.fill(Row::ZERO);
                    add_product(&inverse, &tile, PANEL, rows);
                }
            }
        }
        Some(Self { dim, u })
    }

    /// The solution of U'U x = b.
    fn solve(&self, b: &[f64]) -> Vec<f32> {
        let mut x = vec![Row::ZERO; panels_for(self.dim)];
        for (i, b) in b.iter().enumerate() {
            x[i / PANEL].values_mut()[i % PANEL] = *b as f32;
        }
        for j in 0..x.len() {
            forward(&self.u.panel(j)[..(j + 1) * PANEL], &mut x[..=j], self.dim - j * PANEL);
        }
        for j in (0..x.len()).rev() {
            backward(&self.u.panel(j)[..(j + 1) * PANEL], &mut x[..=j], self.dim - j * PANEL);
        }
        (0..self.dim).map(|i| x[i / PANEL].values()[i % PANEL]).collect()
    }
}

simd! {
    /// U_pp of a diagonal tile with `columns` columns, padded with the identity, in double precision.
    #[allow(clippy::large_stack_arrays, reason = "20 kB, of one tile")]
    fn factor_tile<'a>(tile: &'a [Row; PANEL], columns: usize, ridge: f64) -> Option<[Row; PANEL]> {
        let mut u = [[0.0_f64; PANEL]; PANEL];
        for i in 0..PANEL {
            for j in i..PANEL {
                let diagonal = if i < columns { ridge } else { 1.0 };
                u[i][j] = f64::from(tile[i].values()[j]) + if i == j { diagonal } else { 0.0 };
            }
        }
        for k in 0..PANEL {
            let (above, rest) = u.split_at_mut(k);
            let row = &mut rest[0];
            let whole = row[k];
            for above in above {
                let factor = above[k];
                for j in k..PANEL {
                    row[j] -= factor * above[j];
                }
            }
            let pivot = row[k];
            if !(pivot > SMALLEST_PIVOT * whole && pivot > 0.0) {
                return None;
            }
            let scale = 1.0 / pivot.sqrt();
            for j in k..PANEL {
                row[j] *= scale;
            }
        }
        let mut rows = [Row::ZERO; PANEL];
        for (row, u) in rows.iter_mut().zip(&u) {
            for j in 0..PANEL {
                row.values_mut()[j] = u[j] as f32;
            }
        }
        Some(rows)
    }
}

simd! {
    /// U_pp^-1, an upper triangle: row after row from the last, each sum over k in ascending order.
    fn invert<'a>(u: &'a [Row; PANEL], inverse: &'a mut [Row; PANEL]) {
        for i in (0..PANEL).rev() {
            let row = u[i].values();
            let mut rest = [0.0_f64; PANEL];
            for k in i + 1..PANEL {
                let (factor, below) = (f64::from(row[k]), inverse[k].values());
                for j in 0..PANEL {
                    rest[j] += factor * f64::from(below[j]);
                }
            }
            let (pivot, values) = (f64::from(row[i]), inverse[i].values_mut());
            for j in i..PANEL {
                let unit = if i == j { 1.0 } else { 0.0 };
                values[j] = ((unit - rest[j]) / pivot) as f32;
            }
        }
    }
}

simd! {
    /// Block j of U'y = b, with earlier blocks solved; `u` has the rows of panel j.
    fn forward<'a>(u: &'a [Row], x: &'a mut [Row], columns: usize) {
        let Some((last, solved)) = x.split_last_mut() else { return };
        for (row, number) in u.iter().zip(0..solved.len() * PANEL) {
            let y = solved[number / PANEL].values()[number % PANEL];
            for (value, u) in last.values_mut().iter_mut().zip(row.values()) {
                *value = (-y).mul_add(*u, *value);
            }
        }
        for (k, row) in u[solved.len() * PANEL..].iter().enumerate().take(columns) {
            let y = last.values()[k] / row.values()[k];
            for (value, u) in last.values_mut().iter_mut().zip(row.values()).skip(k + 1) {
                *value = (-y).mul_add(*u, *value);
            }
            last.values_mut()[k] = y;
        }
    }
}

simd! {
    /// Block j of U x = y, with later blocks solved; its products are subtracted from the earlier blocks.
    fn backward<'a>(u: &'a [Row], x: &'a mut [Row], columns: usize) {
        let Some((last, before)) = x.split_last_mut() else { return };
        let (above, diagonal) = u.split_at(before.len() * PANEL);
        for k in (0..columns.min(PANEL)).rev() {
            let mut value = last.values()[k];
            for j in k + 1..PANEL {
                value = (-diagonal[k].values()[j]).mul_add(last.values()[j], value);
            }
            last.values_mut()[k] = value / diagonal[k].values()[k];
        }
        for (number, row) in above.iter().enumerate() {
            let mut sums = [0.0_f32; 16];
            for block in 0..PANEL / 16 {
                for lane in 0..16 {
                    let j = block * 16 + lane;
                    sums[lane] = row.values()[j].mul_add(last.values()[j], sums[lane]);
                }
            }
            let mut sum = 0.0;
            for lane in sums {
                sum += lane;
            }
            before[number / PANEL].values_mut()[number % PANEL] -= sum;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_solution_satisfies_the_equations() {
        for dim in [1, 47, 48, 49, 130] {
            let mut rows = Panels::zero(200, dim + 1);
            for (i, j) in (0..200).flat_map(|i| (0..=dim).map(move |j| (i, j))) {
                *rows.get_mut(i, j) = ((i * 37 + j * 11 + i * j) as f32).sin();
            }
            let mut sums = SingleSums::zero(dim + 1);
            sums.add(&[&rows]);
            let x = solve_last_column(&sums, 3.0).unwrap();
            for i in 0..dim {
                let left: f64 = (0..dim).map(|j| sums.get(i, j) * x[j]).sum::<f64>() + 3.0 * x[i];
                assert!((left - sums.get(i, dim)).abs() < 1e-6, "{dim}: {left}");
            }
        }
    }

    #[test]
    fn a_matrix_that_is_singular_has_no_solution() {
        let mut rows = Panels::zero(1, 3);
        (0..3).for_each(|j| *rows.get_mut(0, j) = 1.0);
        let mut sums = SingleSums::zero(3);
        sums.add(&[&rows]);
        assert!(solve_last_column(&sums, 0.0).is_none());
    }
}
