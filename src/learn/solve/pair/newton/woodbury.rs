//! Newton directions of few pairs.
//!
//! With m pairs z of weight s^2 in the zone, fewer than features, Z of rows s z, the direction comes from a system of m
//! equations (Woodbury's formula):
//!
//! ```text
//! (Z'Z + 2 lambda I)^-1 r = (r - Z' y) / (2 lambda),   (Z Z' + 2 lambda I) y = Z r
//! z_ab . z_cd = x_a . x_c - x_a . x_d - x_b . x_c + x_b . x_d
//! ```
//!
//! The products of documents, n^2 b / 2 operations, are computed once for all steps and all lambdas of a path.
#![allow(clippy::inline_always)]

use super::hessian::{difference, regularized_solve};
use crate::base::{Ticks, bytes_of, checkpoint, matrix_bytes, parallel};
use crate::learn::solve::PairBlock;
use crate::math::{LANES, Lanes, gram, lanes, simd};

/// From this many features on, systems of few pairs are solved.
const FEWEST_FEATURES: usize = 256;
/// Documents per feature up to which their products pay, and the most documents: the products take 8 n^2 bytes.
const PER_FEATURE: usize = 3;
const MOST_DOCUMENTS: usize = 4096;

/// Whether a problem has few enough documents for their products.
pub(super) fn are_few(documents: usize, dim: usize) -> bool {
    dim >= FEWEST_FEATURES && documents <= MOST_DOCUMENTS.min(PER_FEATURE * dim)
}

/// Memory in bytes for document products, pair lists, and the systems of two lists together.
pub fn product_bytes(documents: usize, dim: usize) -> u64 {
    if !are_few(documents, dim) {
        return 0;
    }
    let (padded, square) = (documents + LANES, dim + LANES);
    matrix_bytes(padded, 2 * padded + dim)
        .saturating_add(matrix_bytes(2 * square, 4 * square))
        .saturating_add(bytes_of::<ZonePair>(4 * dim))
}

/// A pair of documents, by their numbers in the problem, and its weight in the Hessian.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct ZonePair {
    pub better: u32,
    pub worse: u32,
    pub weight: f64,
}

/// Adds `factor` times the pairs of another list. Both are in the order of the better documents.
pub(super) fn add_scaled(pairs: &mut Vec<ZonePair>, factor: f64, others: &[ZonePair]) {
    let (mut first, mut new) = (0, Vec::new());
    for other in others {
        while pairs.get(first).is_some_and(|pair| pair.better < other.better) {
            first += 1;
        }
        let same_document = pairs[first..].iter_mut().take_while(|pair| pair.better == other.better);
        match same_document.into_iter().find(|pair| pair.worse == other.worse) {
            Some(pair) => pair.weight += factor * other.weight,
            None => new.push(ZonePair { weight: factor * other.weight, ..*other }),
        }
    }
    pairs.extend(new);
}

/// The documents of a problem and their products.
pub(super) struct Documents<'a> {
    rows: Vec<&'a [Lanes]>,
    /// Row i has the products of document i.
    products: Vec<Lanes>,
}

impl<'a> Documents<'a> {
    /// The documents of these queries, in their order.
    pub(super) fn new(blocks: impl Iterator<Item = &'a PairBlock>) -> Self {
        let rows: Vec<&[Lanes]> = blocks.flat_map(|block| block.x.chunks_exact(block.width)).collect();
        let width = lanes::blocks_for(rows.len());
        let panels = panels(&rows);
        let dim = panels.len() / width.max(1);
        let panel = |block: usize| &panels[block * dim..(block + 1) * dim];
        let tiles = parallel::map(width, |i| {
            let mut tiles = vec![Lanes::ZERO; (width - i) * LANES];
            for (j, tile) in (i..).zip(tiles.chunks_exact_mut(LANES)) {
                checkpoint();
                gram::add_product(panel(i), 1, panel(j), 1, dim, tile);
            }
            tiles
        });
        let mut products = vec![Lanes::ZERO; width * LANES * width];
        for (i, tiles) in tiles.iter().enumerate() {
            for (j, tile) in (i..).zip(tiles.chunks_exact(LANES)) {
                for (r, row) in tile.iter().enumerate() {
                    products[(i * LANES + r) * width + j] = *row;
                    for lane in 0..LANES {
                        products[(j * LANES + lane) * width + i].0[r] = row.0[lane];
                    }
                }
            }
        }
        Self { rows, products }
    }

    /// The solution of (H + 2 lambda I) d = r, H the Hessian of these pairs, lambda above 0.
    pub(super) fn solve(&self, pairs: &[ZonePair], lambda: f64, r: &[Lanes]) -> Option<Vec<Lanes>> {
        debug_assert!(lambda > 0.0);
        let matrix = self.pair_products(pairs);
        let right = times(&self.rows, pairs, r);
        let y = regularized_solve(&matrix, pairs.len(), lambda, &right)?;
        let mut d = r.to_vec();
        subtract_transposed(&self.rows, pairs, &y, &mut d);
        Some(lanes::scaled(&d, 0.5 / lambda))
    }

    /// Z Z'; blocks on and above the diagonal.
    fn pair_products(&self, pairs: &[ZonePair]) -> Vec<Lanes> {
        let (n, width) = (lanes::blocks_for(self.rows.len()), lanes::blocks_for(pairs.len()));
        let mut matrix = vec![Lanes::ZERO; width * LANES * width];
        let roots: Vec<f64> = pairs.iter().map(|pair| pair.weight.sqrt()).collect();
        let row = |document: u32| &self.products[document as usize * n..(document as usize + 1) * n];
        let mut products = vec![Lanes::ZERO; n];
        let mut ticks = Ticks::default();
        for (i, (pair, out)) in pairs.iter().zip(matrix.chunks_exact_mut(width.max(1))).enumerate() {
            ticks.add(n + 4 * (pairs.len() - i));
            let (better, worse) = (row(pair.better), row(pair.worse));
            for block in 0..n {
                products[block] = difference(roots[i], &better[block], &worse[block]);
            }
            for (j, other) in pairs.iter().enumerate().skip(i) {
                let product = lanes::get(&products, other.better as usize)
                    - lanes::get(&products, other.worse as usize);
                *lanes::get_mut(out, j) = roots[j] * product;
            }
        }
        matrix
    }
}

/// The panels of eight documents, one after the other; a panel has eight numbers for each feature.
fn panels(rows: &[&[Lanes]]) -> Vec<Lanes> {
    let dim = rows.first().map_or(0, |row| row.len() * LANES);
    let mut panels = vec![Lanes::ZERO; lanes::blocks_for(rows.len()) * dim];
    for (panel, rows) in panels.chunks_exact_mut(dim.max(1)).zip(rows.chunks(LANES)) {
        for (lane, row) in rows.iter().enumerate() {
            for (feature, numbers) in panel.iter_mut().enumerate() {
                numbers.0[lane] = lanes::get(row, feature);
            }
        }
    }
    panels
}

simd! {
    /// Z x.
    fn times<'m, 'a>(rows: &'m [&'a [Lanes]], pairs: &'m [ZonePair], x: &'m [Lanes]) -> Vec<Lanes> {
        let mut out = vec![Lanes::ZERO; lanes::blocks_for(pairs.len())];
        for (i, pair) in pairs.iter().enumerate() {
            let (better, worse) = (rows[pair.better as usize], rows[pair.worse as usize]);
            let mut sum = Lanes::ZERO;
            for (block, x) in x.iter().enumerate() {
                sum.add_product(&difference(1.0, &better[block], &worse[block]), x);
            }
            *lanes::get_mut(&mut out, i) = pair.weight.sqrt() * sum.fold();
        }
        out
    }
}

simd! {
    /// x -= Z'y.
    fn subtract_transposed<'m, 'a>(
        rows: &'m [&'a [Lanes]],
        pairs: &'m [ZonePair],
        y: &'m [Lanes],
        x: &'m mut [Lanes],
    ) {
        for (i, pair) in pairs.iter().enumerate() {
            let (better, worse) = (rows[pair.better as usize], rows[pair.worse as usize]);
            let factor = pair.weight.sqrt() * lanes::get(y, i);
            for (block, x) in x.iter_mut().enumerate() {
                x.add_scaled(-factor, &difference(1.0, &better[block], &worse[block]));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::Random;

    const DIM: usize = 13;

    fn blocks() -> Vec<PairBlock> {
        let mut numbers = Random::new(7);
        let mut block = |n: usize| {
            let x: Vec<f64> = (0..n * DIM).map(|_| numbers.symmetric()).collect();
            let labels: Vec<f64> = (0..n).map(|i| (i % 3) as f64).collect();
            PairBlock::new(&x, &labels, DIM).unwrap()
        };
        vec![block(9), block(1), block(14)]
    }

    fn pair(better: u32, worse: u32, weight: f64) -> ZonePair {
        ZonePair { better, worse, weight }
    }

    #[test]
    fn the_solution_solves_the_full_matrix() {
        let blocks = blocks();
        let rows: Vec<&[Lanes]> = blocks.iter().flat_map(|block| block.x.chunks_exact(block.width)).collect();
        let width = rows[0].len();
        let pairs = [pair(0, 4, 0.5), pair(0, 7, 2.0), pair(3, 8, 0.1), pair(11, 20, 3.0), pair(23, 10, 1.0)];
        let r = lanes::from_slice(&(0..DIM).map(|i| (i as f64).cos()).collect::<Vec<f64>>());
        let documents = Documents::new(blocks.iter());
        for pairs in [&pairs[..], &pairs[..1], &[]] {
            let mut matrix = vec![Lanes::ZERO; width * LANES * width];
            for pair in pairs {
                let difference = |at: usize| {
                    lanes::get(rows[pair.better as usize], at) - lanes::get(rows[pair.worse as usize], at)
                };
                for (i, j) in (0..DIM).flat_map(|i| (i..DIM).map(move |j| (i, j))) {
                    *lanes::get_mut(&mut matrix[i * width..], j) +=
                        pair.weight * difference(i) * difference(j);
                }
            }
            let expected = regularized_solve(&matrix, DIM, 0.01, &r).unwrap();
            let actual = documents.solve(pairs, 0.01, &r).unwrap();
            for i in 0..DIM {
                let [actual, expected] = [&actual, &expected].map(|x| lanes::get(x, i));
                assert!((actual - expected).abs() < 1e-11 * (1.0 + expected.abs()), "{actual} {expected}");
            }
        }
    }

    #[test]
    fn a_pair_of_both_lists_appears_once() {
        let mut pairs = vec![pair(1, 5, 1.0), pair(1, 3, 2.0), pair(4, 6, 3.0)];
        add_scaled(&mut pairs, 0.5, &[pair(0, 2, 4.0), pair(1, 3, 8.0), pair(1, 6, 2.0), pair(4, 6, 2.0)]);
        let expected = [pair(1, 5, 1.0), pair(1, 3, 6.0), pair(4, 6, 4.0), pair(0, 2, 2.0), pair(1, 6, 1.0)];
        assert_eq!(pairs, expected);
    }
}
