//! Values of a function at documents that get some features from other documents, as the importance of features needs them.
//!
//! A kernel that is a product over features is the factor of these features times the factor of the others:
//!
//! ```text
//! f(x) = sum over p of (beta_p K(x without S, x_p)) K(x' in S alone, x_p)
//! ```
//!
//! Both factors are computed once for all orders of the documents x'. No factor is a quotient, so equal documents have equal
//! values.

use super::basis::check_width;
use super::def::Inner;
use super::{Basis, Kernel};
use crate::base::{Control, Result, parallel};
use crate::data::Shuffle;
use crate::math::{LANES, Lanes, TILE, Tile, simd};

/// Sets of features whose factors are computed together: the sums over all other features are shared.
const SETS: usize = 8;
/// With more documents, one at a time.
const MANY: usize = 4096;

impl Basis {
    /// The sums of functions with kernels of the name of this one, at documents `x`, shape `(n, d)`, with features of others:
    /// for each shuffle, the values of its orders, concatenated. For kernels that are products over features.
    ///
    /// # Errors
    /// A different number of features; an interrupt.
    pub fn shuffled(
        &self,
        x: &[f64],
        n: usize,
        shuffles: &[Shuffle],
        functions: &[(&Kernel, &[f64])],
        control: &Control,
    ) -> Result<Vec<Vec<f64>>> {
        check_width(x.len() / n.max(1), self.points.dim)?;
        let sets: Vec<&[Shuffle]> = shuffles.chunks(if n > MANY { 1 } else { SETS }).collect();
        let of = |number: usize| self.shuffled_sets(x, n, sets[number], functions, control);
        Ok(parallel::try_map(sets.len(), of)?.concat())
    }

    fn shuffled_sets(
        &self,
        x: &[f64],
        n: usize,
        shuffles: &[Shuffle],
        functions: &[(&Kernel, &[f64])],
        control: &Control,
    ) -> Result<Vec<Vec<f64>>> {
        // 1. The features of each set, then the others.
        let is_other = |column: &usize| shuffles.iter().all(|shuffle| !shuffle.columns.contains(column));
        let others: Vec<usize> = (0..self.points.dim).filter(is_other).collect();
        let parts: Vec<&[usize]> =
            shuffles.iter().map(|shuffle| &shuffle.columns[..]).chain([&others[..]]).collect();
        let mut values: Vec<Vec<f64>> =
            shuffles.iter().map(|shuffle| vec![0.0; n * shuffle.orders.len()]).collect();
        let mut q = vec![0.0; n * TILE * parts.len()];
        let (mut without, mut alone) = (vec![0.0; n * TILE], vec![0.0; n * TILE]);
        for first in (0..self.points.len()).step_by(TILE) {
            let tile = first..self.points.len().min(first + TILE);
            // 2. q of each part with each document of the tile.
            control.check()?;
            inner_of_parts(self.kernel.def.inner, self.points.tiles_of(&tile), x, &parts, &mut q);
            for (set, (Shuffle { orders, .. }, values)) in shuffles.iter().zip(&mut values).enumerate() {
                for (kernel, beta) in functions {
                    // 3. Both factors.
                    separate(&q, parts.len(), set, &mut without, &mut alone);
                    kernel.outer(&mut without);
                    kernel.outer(&mut alone);
                    weigh(&beta[tile.clone()], &mut without);
                    // 4. The sums.
                    for (order, values) in orders.iter().zip(values.chunks_exact_mut(n)) {
                        add_products_of(&without, &alone, order, values);
                    }
                }
            }
        }
        Ok(values)
    }
}

/// q over a part's features: of each document, with each document of a tile.
#[allow(clippy::inline_always, reason = "compiled for each register width")]
#[inline(always)]
fn sum_terms(inner: Inner, tiles: &[Tile], x: &[f64], parts: &[&[usize]], q: &mut [f64]) {
    let dim = tiles.len();
    for row in 0..x.len() / dim {
        for (number, part) in parts.iter().enumerate() {
            let mut sums = Tile::ZERO;
            for column in *part {
                let (x, z) = (x[row * dim + column], &tiles[*column]);
                for block in 0..TILE / LANES {
                    for lane in 0..LANES {
                        sums.0[block].0[lane] += inner.term(x, z.0[block].0[lane]);
                    }
                }
            }
            let start = (row * parts.len() + number) * TILE;
            for block in 0..TILE / LANES {
                let start = start + block * LANES;
                q[start..start + LANES].copy_from_slice(&sums.0[block].0);
            }
        }
    }
}

simd! {
    /// q of each document over each part of the features, with a tile of documents.
    fn inner_of_parts<'a>(
        inner: Inner,
        tiles: &'a [Tile],
        x: &'a [f64],
        parts: &'a [&'a [usize]],
        q: &'a mut [f64],
    ) {
        match inner {
            Inner::SquaredDistance => sum_terms(Inner::SquaredDistance, tiles, x, parts, q),
            Inner::Manhattan => sum_terms(Inner::Manhattan, tiles, x, parts, q),
            Inner::Dot => sum_terms(Inner::Dot, tiles, x, parts, q),
        }
    }
}

simd! {
    /// q over all features but a part, and over the part alone.
    fn separate<'a>(q: &'a [f64], parts: usize, part: usize, without: &'a mut [f64], alone: &'a mut [f64]) {
        for row in 0..without.len() / TILE {
            let q = &q[row * parts * TILE..(row + 1) * parts * TILE];
            let own = row * TILE..(row + 1) * TILE;
            let without = &mut without[own.clone()];
            without.copy_from_slice(&q[(parts - 1) * TILE..]);
            for other in 0..parts - 1 {
                if other != part {
                    for lane in 0..TILE {
                        without[lane] += q[other * TILE + lane];
                    }
                }
            }
            alone[own].copy_from_slice(&q[part * TILE..(part + 1) * TILE]);
        }
    }
}

simd! {
    /// Multiplies the values of each document by the coefficients; lanes without one become 0.
    fn weigh<'a>(coefficients: &'a [f64], values: &'a mut [f64]) {
        let mut factors = [0.0; TILE];
        factors[..coefficients.len()].copy_from_slice(coefficients);
        for row in 0..values.len() / TILE {
            for lane in 0..TILE {
                values[row * TILE + lane] *= factors[lane];
            }
        }
    }
}

simd! {
    /// Adds the product of row i of `a` and row `order[i]` of `b` to sum i.
    fn add_products_of<'a>(a: &'a [f64], b: &'a [f64], order: &'a [usize], sums: &'a mut [f64]) {
        for row in 0..order.len() {
            let (a, b) = (&a[row * TILE..(row + 1) * TILE], &b[order[row] * TILE..(order[row] + 1) * TILE]);
            let mut sum = Lanes::ZERO;
            for block in 0..TILE / LANES {
                for lane in 0..LANES {
                    sum.0[lane] += a[block * LANES + lane] * b[block * LANES + lane];
                }
            }
            sums[row] += sum.fold();
        }
    }
}
