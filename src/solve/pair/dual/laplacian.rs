//! M'D M for a weight D of every pair: X' L X, where L is the Laplacian of the weighted graph of all pairs.
//!
//! Cost per query of n documents: n^2 b for L X and n b^2 / 2 for the product; memory 8 n^2 bytes.
#![allow(clippy::inline_always)]

use super::pairs::{Pairs, Part, Row};
use crate::math::lanes::{self, LANES, Lanes};
use crate::math::simd::{SimdTask, dispatch};

/// Rows of L X that are multiplied at once, fewer where their product with X would take longer than this many
/// multiplications.
const ROWS: usize = 64;
const GROUP_WORK: usize = 1 << 26;
/// Rows of L X whose sums stay in registers.
const TILE: usize = 4;

/// M'D M = X' L X, blocks on and above the diagonal; `fill` writes the D of a row. Worthless once canceled.
pub(super) fn weighted_moment(pairs: &Pairs<'_>, fill: impl Fn(&Row, &mut [f64])) -> Vec<Lanes> {
    let mut moment = vec![Lanes::ZERO; pairs.width * LANES * pairs.width];
    let (mut weights, mut products) = (Vec::new(), Vec::new());
    let group = (GROUP_WORK / (pairs.dim * pairs.dim).max(1)).clamp(TILE, ROWS);
    for part in &pairs.parts {
        adjacency(part, &fill, &mut weights);
        let n = part.block.n_docs();
        for first in (0..n).step_by(group) {
            if pairs.canceled() {
                return moment;
            }
            let rows = first..n.min(first + group);
            let (weights, products) = (&weights[..], &mut products);
            dispatch(GroupMoment { part, weights, rows, products, moment: &mut moment });
        }
    }
    moment
}

/// The matrix of -D by document, shape `(n, n)`, the degrees on its diagonal: L.
fn adjacency(part: &Part<'_>, fill: &impl Fn(&Row, &mut [f64]), laplacian: &mut Vec<f64>) {
    let (n, first) = (part.block.n_docs(), part.documents.start);
    laplacian.clear();
    laplacian.resize(n * n, 0.0);
    let mut weights = vec![0.0; n];
    for row in part.rows() {
        let weights = &mut weights[..row.pairs.len()];
        fill(&row, weights);
        let (a, low) = (row.high - first, row.low.start - first);
        for (b, weight) in (low..n).zip(weights.iter()) {
            laplacian[a * n + b] = -weight;
            laplacian[b * n + a] = -weight;
            laplacian[a * n + a] += weight;
            laplacian[b * n + b] += weight;
        }
    }
}

/// Adds X' L X for some rows of L.
struct GroupMoment<'r, 'a> {
    part: &'r Part<'a>,
    weights: &'r [f64],
    rows: std::ops::Range<usize>,
    /// Memory for rows of L X.
    products: &'r mut Vec<Lanes>,
    moment: &'r mut [Lanes],
}

impl SimdTask for GroupMoment<'_, '_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self { part, weights, rows, products, moment } = self;
        let (block, width) = (part.block, part.block.width());
        products.clear();
        products.resize(rows.len() * width, Lanes::ZERO);
        for (group, targets) in products.chunks_mut((TILE * width).max(1)).enumerate() {
            multiply(block.x(), width, &weights[(rows.start + group * TILE) * block.n_docs()..], targets);
        }
        let x = &block.x()[rows.start * width..rows.end * width];
        lanes::add_gram(x, products, width, rows.len(), moment);
    }
}

/// The first rows of L X, as many as `targets` holds, at most [`TILE`]; `rows` are those of L, shape `(..,
/// n)`.
#[inline(always)]
fn multiply(x: &[Lanes], width: usize, rows: &[f64], targets: &mut [Lanes]) {
    let n = x.len() / width;
    let count = targets.len() / width;
    // Beyond the last row the first one is multiplied again, so that the tile keeps its size.
    let row = |r: usize| if r < count { &rows[r * n..(r + 1) * n] } else { &rows[..n] };
    let (first, second, third, fourth) = (row(0), row(1), row(2), row(3));
    for column in 0..width {
        let mut tile = [Lanes::ZERO; TILE];
        for b in 0..n {
            let right = &x[b * width + column];
            for (sum, row) in tile.iter_mut().zip([first, second, third, fourth]) {
                sum.add_scaled(row[b], right);
            }
        }
        for (sum, target) in tile.iter().zip(targets.chunks_mut(width)) {
            target[column] = *sum;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{DIM, blocks, problem};
    use super::*;

    #[test]
    fn a_weighted_moment_equals_the_sum_over_pairs() {
        let blocks = blocks();
        let problem = problem(&blocks, 1.0);
        let pairs = Pairs::new(&problem, &|| false);
        let weight = |pair: usize| 1.0 + (pair % 7) as f64;
        let moment = weighted_moment(&pairs, |row, weights| {
            weights.iter_mut().zip(row.pairs.clone()).for_each(|(target, pair)| *target = weight(pair));
        });
        let mut expected = [[0.0; DIM]; DIM];
        for part in &pairs.parts {
            let features = |document| lanes::to_vec(part.block.row(document - part.documents.start), DIM);
            for row in part.rows() {
                for (low, pair) in row.low.clone().zip(row.pairs.clone()) {
                    let lower = features(low);
                    let z: Vec<f64> = features(row.high).iter().zip(lower).map(|(x, y)| x - y).collect();
                    for (line, left) in expected.iter_mut().zip(&z) {
                        line.iter_mut().zip(&z).for_each(|(sum, right)| *sum += weight(pair) * left * right);
                    }
                }
            }
        }
        for (i, line) in expected.iter().enumerate() {
            for (j, value) in line.iter().enumerate().skip(i) {
                let found = lanes::get(&moment[i * pairs.width..], j);
                assert!((found - value).abs() < 1e-10 * value.abs().max(1.0), "{i} {j}: {found} {value}");
            }
        }
    }
}
