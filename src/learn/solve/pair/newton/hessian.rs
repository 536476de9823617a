//! Hessians X' L X of one query, where L is the Laplacian of a graph of pairs.
//!
//! The graph is the quadratic zone, usually a small part of all pairs. With fewer pairs than documents the rows
//! z = `x_a - x_b` are formed and multiplied, Z' Z. With more, Y = L X is built from two row additions per pair and
//! multiplied by X. Both end in the same register-tiled product of cost m b^2 for m rows.
#![allow(clippy::inline_always)]

use super::long;
use crate::learn::solve::PairBlock;
use crate::learn::solve::pair::weights::Weights;
use crate::math::lanes;
use crate::math::lanes::{LANES, Lanes};
use crate::math::single_products::SingleProducts;
use crate::math::{cholesky, gram};

/// Rows z collected before they are multiplied.
const BATCH: usize = 128;

/// Solves (H + 2 lambda I) x = b, H given by its blocks on and above the diagonal. If rounding has made the matrix
/// indefinite, the diagonal is raised step by step. `None` if that does not help.
pub(super) fn regularized_solve(h: &[Lanes], dim: usize, lambda: f64, b: &[Lanes]) -> Option<Vec<Lanes>> {
    let width = b.len();
    let largest = (0..dim).map(|i| lanes::get(&h[i * width..], i)).fold(0.0, f64::max);
    let mut shift = 0.0;
    for _ in 0..8 {
        let mut matrix = h.to_vec();
        for i in 0..dim {
            *lanes::get_mut(&mut matrix[i * width..], i) += 2.0 * lambda + shift;
        }
        let mut x = b.to_vec();
        if cholesky::factor_and_solve(&mut matrix, dim, &mut x) && lanes::dot(&x, &x).is_finite() {
            return Some(x);
        }
        shift = if shift > 0.0 { 30.0 * shift } else { 1e-14 * largest };
    }
    None
}

/// h += weight / delta * sum of z z' over the zone of a long query; returns the number of pairs in the zone.
pub(super) fn add_long_zone(
    block: &PairBlock,
    scores: &[Lanes],
    delta: f64,
    weight: f64,
    h: &mut [Lanes],
) -> u64 {
    let (zone, factor) = long::zone(block, scores, delta);
    let laplacian = lanes::scaled(&zone.laplacian, factor * weight / delta);
    let documents = zone.rows.len() / block.width().max(1);
    gram::add_gram(&zone.rows, &laplacian, block.width(), documents, h);
    (factor * zone.pairs as f64) as u64
}

/// factor * (better - worse) of eight numbers.
#[inline(always)]
pub(super) fn difference(factor: f64, better: &Lanes, worse: &Lanes) -> Lanes {
    let mut z = Lanes::ZERO;
    for lane in 0..LANES {
        z.0[lane] = factor * (better.0[lane] - worse.0[lane]);
    }
    z
}

/// Precision of a Hessian.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Precision {
    Single,
    Double,
}

/// Buffers for the matrix products of one thread.
#[derive(Default)]
pub(super) struct Products {
    /// Rows z of the next product, multiplied by the square root of their weight.
    waiting: Vec<Lanes>,
    /// Rows of Y = L X.
    laplacian: Vec<Lanes>,
    /// Pairs at each document.
    degree: Vec<f64>,
    /// In place of products in double precision.
    single: Option<SingleProducts>,
}

impl Products {
    /// Computes the next products in single precision, each with a weight of about this one.
    pub(super) fn become_single(&mut self, width: usize, weight: f64) {
        self.single = Some(SingleProducts::new(width, weight));
    }

    /// Multiplies the rows that wait for products in single precision, the last ones.
    pub(super) fn end_single(&mut self, h: &mut [Lanes]) {
        if let Some(mut single) = self.single.take() {
            single.finish(h);
        }
    }

    /// h += X' Y for the rows of Y = L X.
    #[inline(always)]
    fn add_laplacian(&mut self, block: &PairBlock, h: &mut [Lanes]) {
        let width = block.width();
        let Some(single) = &mut self.single else {
            gram::add_gram(block.x(), &self.laplacian, width, block.n_docs(), h);
            return;
        };
        let inverse = 1.0 / single.scale();
        for (x, y) in block.x().chunks_exact(width).zip(self.laplacian.chunks_exact(width)) {
            single.push(|at| x[at], |at| y[at].map(|value| inverse * value), h);
        }
    }

    /// h += weight * sum of w z z' over the given pairs, w their weights. Some rows may wait until [`Self::finish`].
    #[inline(always)]
    pub(super) fn add_pairs(
        &mut self,
        block: &PairBlock,
        pairs: &[(u32, u32)],
        weight: f64,
        h: &mut [Lanes],
    ) {
        if pairs.len() >= block.n_docs() {
            self.zone_laplacian(block, pairs, weight);
            self.add_laplacian(block, h);
            return;
        }
        let equal = weight.sqrt();
        for &(a, b) in pairs {
            let of_pair = |weights: &Weights| (weight * weights.pair(a as usize, b as usize)).sqrt();
            let factor = block.weights().map_or(equal, of_pair);
            let (better, worse) = (block.row(a as usize), block.row(b as usize));
            if let Some(single) = &mut self.single {
                let factor = factor / single.scale().sqrt();
                let z = |at: usize| difference(factor, &better[at], &worse[at]);
                single.push(z, z, h);
                continue;
            }
            self.waiting
                .extend(better.iter().zip(worse).map(|(better, worse)| difference(factor, better, worse)));
        }
        if self.waiting.len() >= BATCH * block.width() {
            self.finish(block.width(), h);
        }
    }

    /// weight * L X for the graph of the given pairs.
    #[cfg(test)]
    pub(super) fn laplacian_of(mut self, block: &PairBlock, pairs: &[(u32, u32)], weight: f64) -> Vec<Lanes> {
        self.zone_laplacian(block, pairs, weight);
        self.laplacian
    }

    /// Multiplies the waiting rows.
    #[inline(always)]
    pub(super) fn finish(&mut self, width: usize, h: &mut [Lanes]) {
        if let Some(rows) = self.waiting.len().checked_div(width) {
            gram::add_gram(&self.waiting, &self.waiting, width, rows, h);
        }
        self.waiting.clear();
    }

    /// h += weight * S, the matrix of all pairs of a query.
    #[inline(always)]
    pub(super) fn add_moment(&mut self, block: &PairBlock, weight: f64, h: &mut [Lanes]) {
        if let Some(moment) = block.pair_moment() {
            lanes::axpy(weight, moment, h);
        } else {
            block.full_laplacian(weight, &mut self.laplacian);
            self.add_laplacian(block, h);
        }
    }

    /// Y = weight * (D X - A X) for the graph of the given pairs with their weights.
    #[inline(always)]
    fn zone_laplacian(&mut self, block: &PairBlock, pairs: &[(u32, u32)], weight: f64) {
        let (n, width) = (block.n_docs(), block.width());
        self.degree.clear();
        self.degree.resize(n, 0.0);
        self.laplacian.clear();
        self.laplacian.resize(n * width, Lanes::ZERO);
        for &(a, b) in pairs {
            let (a, b) = (a as usize, b as usize);
            let w = block.pair_weight(a, b);
            self.degree[a] += w;
            self.degree[b] += w;
            lanes::axpy(-w, block.row(b), &mut self.laplacian[a * width..(a + 1) * width]);
            lanes::axpy(-w, block.row(a), &mut self.laplacian[b * width..(b + 1) * width]);
        }
        for (a, degree) in self.degree.iter().enumerate() {
            for (target, x) in self.laplacian[a * width..(a + 1) * width].iter_mut().zip(block.row(a)) {
                target.add_scaled(*degree, x);
                *target = target.map(|value| weight * value);
            }
        }
    }
}
