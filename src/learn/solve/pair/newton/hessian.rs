//! Hessians X' L X of one query, where L is the Laplacian of a graph of pairs; and the terms of the objective besides the
//! loss ([`Penalty`]).
//!
//! The graph is the quadratic zone, usually a small fraction of all pairs. With fewer pairs than documents the rows
//! z = `x_a - x_b` are formed and multiplied, Z' Z. With more, Y = L X is built from two row additions per pair and
//! multiplied by X. Both end in the same register-tiled product of cost m b^2 for m rows.

#![allow(clippy::inline_always)]

use super::sorted_pass;
use crate::learn::solve::pair::weights::Weights;
use crate::learn::solve::{PairBlock, PairProblem};
use crate::math::{LANES, Lanes, SingleProducts, cholesky, gram, lanes};

/// Rows z collected before they are multiplied.
const BATCH: usize = 128;

/// Solves (H + 2 lambda I) x = b, H given by its blocks on and above the diagonal. If rounding has made the matrix
/// indefinite, the diagonal is raised step by step. `None` if that fails.
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
    let (zone, factor) = sorted_pass::zone(block, scores, delta);
    let laplacian = lanes::scaled(&zone.laplacian, factor * weight / delta);
    let documents = zone.rows.len() / block.width.max(1);
    gram::add_gram(&zone.rows, &laplacian, block.width, documents, h);
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
    /// Replaces products in double precision.
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
        let width = block.width;
        let Some(single) = &mut self.single else {
            gram::add_gram(&block.x, &self.laplacian, width, block.n_docs(), h);
            return;
        };
        let inverse = 1.0 / single.scale;
        for (x, y) in block.x.chunks_exact(width).zip(self.laplacian.chunks_exact(width)) {
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
                let factor = factor / single.scale.sqrt();
                let z = |at: usize| difference(factor, &better[at], &worse[at]);
                single.push(z, z, h);
                continue;
            }
            self.waiting
                .extend(better.iter().zip(worse).map(|(better, worse)| difference(factor, better, worse)));
        }
        if self.waiting.len() >= BATCH * block.width {
            self.finish(block.width, h);
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
        let (n, width) = (block.n_docs(), block.width);
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

// Objective without the loss: linear term and penalty, v.w + lambda |w - w0|^2.
//
// With q = theta X'g - v the dual point theta alpha has the value
//
// ```text
// D(theta alpha) = theta sum of alpha - q.w0 - |q|^2 / (4 lambda)
// ```
//
// This is the value of the header of `pair` without the cancellation of lambda |w0|^2. It is largest at
// theta = (2 lambda (sum of alpha - X'g.w0) + X'g.v) / |X'g|^2, clamped to \[0, 1\].

/// Linear term v, center w0 and lambda of a problem.
pub(super) struct Penalty<'a> {
    problem: &'a PairProblem<'a>,
    pub lambda: f64,
    /// w0, if it is not 0.
    pub center: Option<Vec<Lanes>>,
    /// v, if it is not 0.
    pub linear_term: Option<Vec<Lanes>>,
}

impl<'a> Penalty<'a> {
    pub(super) fn new(problem: &'a PairProblem<'a>) -> Self {
        Self {
            problem,
            lambda: problem.lambda,
            center: problem.center().map(lanes::from_slice),
            linear_term: problem.linear_term.as_deref().map(lanes::from_slice),
        }
    }

    /// Whether v = 0 and w0 = 0.
    pub(super) fn is_plain(&self) -> bool {
        self.center.is_none() && self.linear_term.is_none()
    }

    /// v.w + lambda |w - w0|^2.
    pub(super) fn value(&self, w: &[Lanes]) -> f64 {
        let size = match &self.center {
            None => lanes::dot(w, w),
            Some(center) => {
                let mut difference = w.to_vec();
                lanes::axpy(-1.0, center, &mut difference);
                lanes::dot(&difference, &difference)
            }
        };
        let linear_term = self.linear_term.as_ref().map_or(0.0, |linear_term| lanes::dot(linear_term, w));
        linear_term + self.lambda * size
    }

    /// 2 lambda (w - w0) + v.
    pub(super) fn gradient(&self, w: &[Lanes]) -> Vec<Lanes> {
        let mut gradient = w.to_vec();
        if let Some(center) = &self.center {
            lanes::axpy(-1.0, center, &mut gradient);
        }
        for block in &mut gradient {
            block.0.iter_mut().for_each(|value| *value *= 2.0 * self.lambda);
        }
        if let Some(linear_term) = &self.linear_term {
            lanes::axpy(1.0, linear_term, &mut gradient);
        }
        gradient
    }

    /// t = 2 lambda w0 - v, added to `target`.
    pub(super) fn add_center_term(&self, target: &mut [Lanes]) {
        if !self.is_plain() {
            lanes::axpy(1.0, &lanes::from_slice(&self.problem.center_term(self.lambda)), target);
        }
    }

    /// w0 - v / (2 lambda), which minimizes the penalty, and the value there.
    pub(super) fn lowest(&self, width: usize) -> (Vec<Lanes>, f64) {
        let mut w = self.center.clone().unwrap_or_else(|| vec![Lanes::ZERO; width]);
        let Some(linear_term) = &self.linear_term else {
            return (w, 0.0);
        };
        let value = lanes::dot(linear_term, &w) - lanes::dot(linear_term, linear_term) / (4.0 * self.lambda);
        lanes::axpy(-0.5 / self.lambda, linear_term, &mut w);
        (w, value)
    }

    /// The larger of D(alpha) and the largest D(theta alpha), from the sum of alpha and X'g; at least D(0).
    pub(super) fn dual(&self, alpha: f64, alpha_z: &[Lanes]) -> f64 {
        let size = lanes::dot(alpha_z, alpha_z);
        let with = |vector: &Option<Vec<Lanes>>| vector.as_ref().map_or(0.0, |v| lanes::dot(v, alpha_z));
        let shortened = 2.0 * self.lambda * (alpha - with(&self.center)) + with(&self.linear_term);
        let theta = if size > 0.0 { (shortened / size).clamp(0.0, 1.0) } else { 1.0 };
        let dual = self.dual_at(theta, alpha, alpha_z, size).max(self.dual_at(1.0, alpha, alpha_z, size));
        if dual.is_finite() { dual } else { self.lowest(alpha_z.len()).1.max(f64::MIN) }
    }

    /// D(theta alpha); `size` is |X'g|^2.
    fn dual_at(&self, theta: f64, alpha: f64, alpha_z: &[Lanes], size: f64) -> f64 {
        if self.is_plain() {
            return theta * (alpha - theta * (size / (4.0 * self.lambda)));
        }
        let mut q = vec![Lanes::ZERO; alpha_z.len()];
        lanes::axpy(theta, alpha_z, &mut q);
        if let Some(linear_term) = &self.linear_term {
            lanes::axpy(-1.0, linear_term, &mut q);
        }
        let with_center = self.center.as_ref().map_or(0.0, |center| lanes::dot(center, &q));
        theta * alpha - with_center - lanes::dot(&q, &q) / (4.0 * self.lambda)
    }
}
