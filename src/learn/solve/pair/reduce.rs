//! Fewer documents than features: the problem in the span of its documents.
//!
//! A rotation Q of feature space, a product of Householder reflections (Golub & Van Loan 2013, algorithm 5.2.1, on X'),
//! moves the m documents into the first m coordinates:
//!
//! ```text
//! X Q = [L 0],   L of shape (m, m), lower triangular
//! ```
//!
//! With w = Q \[y; u\] the scores are L y, the penalty is lambda |y - (Q'w0)_1|^2 + lambda |u - (Q'w0)_2|^2, and the
//! linear term splits in the same way. So y solves a problem with m features, and u = (Q'w0)_2 - (Q'v)_2 / (2 lambda). A
//! Newton step then costs m^3 instead of b^3. The rotation costs 2 m^2 b and is exact to rounding for any rank of X.
#![allow(clippy::inline_always)]

use super::{PairBlock, PairProblem, objective_by_definition};
use crate::base::{Control, parallel};
use crate::learn::solve::{Solution, SolveReport, Stop, StopRule};
use crate::math::{LANES, Lanes, lanes, simd};

/// Problems with fewer features are not reduced.
const FEWEST_FEATURES: usize = 64;
/// Documents per feature above which the rotation saves no time.
const MOST_DOCUMENTS: f64 = 0.7;
/// Rows whose reflections are applied together to all later rows.
const PANEL: usize = 32;

/// One reflection, I - factor v v'.
#[derive(Clone, Copy)]
struct Reflection<'a> {
    factor: f64,
    /// First block of v that is not zero.
    first: usize,
    v: &'a [Lanes],
}

simd! {
    /// Applies reflections to x, one after the other.
    fn reflect<'a>(reflections: &'a [Reflection<'a>], x: &'a mut [Lanes]) {
        for &Reflection { factor, first, v } in reflections {
            let (v, x) = (&v[first..], &mut x[first..]);
            let length = factor * lanes::dot(v, x);
            lanes::axpy(-length, v, x);
        }
    }
}

/// Q, row by row.
struct Rotation {
    width: usize,
    factors: Vec<f64>,
    /// The vectors v, shape `(m, 8 width)`.
    vectors: Vec<Lanes>,
}

impl Rotation {
    fn reflections(&self) -> Vec<Reflection<'_>> {
        reflections(&self.factors, &self.vectors, self.width, 0)
    }

    /// Q'x.
    fn forward(&self, x: &[f64]) -> Vec<f64> {
        rotated(&self.reflections(), x)
    }

    /// Q x.
    fn backward(&self, x: &[f64]) -> Vec<f64> {
        let mut reflections = self.reflections();
        reflections.reverse();
        rotated(&reflections, x)
    }
}

fn rotated(reflections: &[Reflection<'_>], x: &[f64]) -> Vec<f64> {
    let mut rotated = lanes::from_slice(x);
    reflect(reflections, &mut rotated);
    lanes::to_vec(&rotated, x.len())
}

/// Reflections of consecutive rows, from number `row` on.
fn reflections<'a>(factors: &[f64], vectors: &'a [Lanes], width: usize, row: usize) -> Vec<Reflection<'a>> {
    let vectors = vectors.chunks_exact(width).zip(factors).enumerate();
    vectors.map(|(k, (v, &factor))| Reflection { factor, first: (row + k) / LANES, v }).collect()
}

/// Number of features of the problem in the coordinates that are solved, if its useful queries have `documents` documents.
pub fn reduced_dim(problem: &PairProblem<'_>, documents: usize) -> usize {
    let pays = problem.dim > FEWEST_FEATURES && documents as f64 <= MOST_DOCUMENTS * problem.dim as f64;
    if pays && documents > 0 { documents } else { problem.dim }
}

/// A problem in the coordinates of its documents' span.
pub(super) struct Reduced<'p, 'a> {
    original: &'p PairProblem<'a>,
    rotation: Rotation,
    blocks: Vec<(PairBlock, f64)>,
}

impl<'p, 'a> Reduced<'p, 'a> {
    /// The reduced problem; `None` if it saves no time, or when canceled.
    pub(super) fn new(problem: &'p PairProblem<'a>, control: &Control) -> Option<Self> {
        let useful: Vec<(&PairBlock, f64)> = problem.useful_blocks().collect();
        let m: usize = useful.iter().map(|(block, _)| block.n_docs()).sum();
        if reduced_dim(problem, m) == problem.dim {
            return None;
        }
        let width = lanes::blocks_for(problem.dim);
        let mut rows: Vec<Lanes> = useful.iter().flat_map(|(block, _)| &block.x).copied().collect();
        let (factors, lower) = triangular(&mut rows, width, problem.dim, control)?;
        let rotation = Rotation { width, factors, vectors: rows };
        let mut first = 0;
        let lower_width = lanes::blocks_for(m);
        let blocks = useful.into_iter().map(|(block, weight)| {
            let end = first + block.n_docs();
            let x = lower[first * lower_width..end * lower_width].to_vec();
            first = end;
            (block.with_features(x, m), weight)
        });
        Some(Self { original: problem, blocks: blocks.collect(), rotation })
    }

    /// The problem with m features.
    pub(super) fn problem(&self) -> PairProblem<'_> {
        let m = self.rotation.factors.len();
        let rotated = |vector: &Option<Vec<f64>>| {
            vector.as_ref().map(|vector| self.rotation.forward(vector)[..m].to_vec())
        };
        PairProblem {
            dim: m,
            blocks: self.blocks.iter().map(|(block, weight)| (block, *weight)).collect(),
            lambda: self.original.lambda,
            loss: self.original.loss,
            center: rotated(&self.original.center),
            linear_term: rotated(&self.original.linear_term),
            start: rotated(&self.original.start),
        }
    }

    /// The solutions of the original problem from the solutions of the reduced one. Objectives are computed from the original
    /// features, and the rounding of the rotation is added to the gap.
    pub(super) fn lifted(&self, lambdas: &[f64], solutions: Vec<Solution>, rule: &StopRule) -> Vec<Solution> {
        let weights = self.blocks.iter().map(|(block, weight)| weight * block.total_weight());
        let total_weight = weights.sum();
        let zero = vec![0.0; self.original.dim];
        let m = self.rotation.factors.len();
        let rotated =
            |vector: &Option<Vec<f64>>| self.rotation.forward(vector.as_ref().unwrap_or(&zero))[m..].to_vec();
        let (center, linear_term) = (rotated(&self.original.center), rotated(&self.original.linear_term));
        let lift = |(&lambda, Solution { mut w, mut report }): (&f64, Solution)| {
            // 1. The coordinates outside the span have a closed form and add a constant to the objective.
            let parts = || center.iter().zip(&linear_term);
            w.extend(parts().map(|(w0, v)| w0 - 0.5 * v / lambda));
            let w = self.rotation.backward(&w);
            let constant: f64 = parts().map(|(w0, v)| v * w0 - v * v / (4.0 * lambda)).sum();
            report.steps.iter_mut().for_each(|step| step.objective += constant);
            // 2. The gap between the objective in the original features and the reduced lower bound.
            let bound = report.objective + constant - report.gap;
            report.objective = objective_by_definition(&PairProblem { lambda, ..self.original.clone() }, &w);
            let gap = (report.objective - bound).max(0.0);
            let allowed = 2.0 * (report.gap + rule.allowed_gap(report.objective, total_weight));
            if report.stop == Stop::Converged && gap > allowed {
                report.stop = Stop::Stalled;
            }
            Solution { w, report: SolveReport { gap, ..report } }
        };
        lambdas.iter().zip(solutions).map(lift).collect()
    }
}

/// Replaces m rows of `width` blocks by the vectors of their reflections; returns their factors and L, shape
/// `(m, 8 ceil(m / 8))`; `None` after a cancellation. Rows are reflected in parallel.
fn triangular(
    rows: &mut [Lanes],
    width: usize,
    dim: usize,
    control: &Control,
) -> Option<(Vec<f64>, Vec<Lanes>)> {
    let m = rows.len() / width;
    let lower_width = lanes::blocks_for(m);
    let mut lower = vec![Lanes::ZERO; m * lower_width];
    let mut factors = Vec::with_capacity(m);
    // A panel of rows at a time: first its rows by each other, then all later rows by the panel.
    for first in (0..m).step_by(PANEL) {
        if control.is_canceled() {
            return None;
        }
        let count = PANEL.min(m - first);
        let (panel, later) = rows[first * width..].split_at_mut(count * width);
        for k in 0..count {
            let (before, row) = panel.split_at_mut(k * width);
            let row = &mut row[..width];
            let ready = reflections(&factors[first..], before, width, first);
            reflect(&ready, row);
            let target = &mut lower[(first + k) * lower_width..(first + k + 1) * lower_width];
            factors.push(become_reflection(row, first + k, dim, target));
        }
        let ready = reflections(&factors[first..], panel, width, first);
        parallel::each_of(later.chunks_exact_mut(width).collect(), |_, x| reflect(&ready, x));
    }
    Some((factors, lower))
}

/// Replaces row `k`, reflected by all previous rows, by the vector v of the reflection that makes its entries after k
/// zero; writes its row of L and returns the factor 2 / |v|^2.
fn become_reflection(row: &mut [Lanes], k: usize, dim: usize, lower: &mut [Lanes]) -> f64 {
    for j in 0..k {
        *lanes::get_mut(lower, j) = lanes::get(row, j);
        *lanes::get_mut(row, j) = 0.0;
    }
    let corner = lanes::get(row, k);
    let tail: f64 = (k + 1..dim).map(|j| lanes::get(row, j) * lanes::get(row, j)).sum();
    if tail < f64::MIN_POSITIVE {
        *lanes::get_mut(lower, k) = corner;
        return 0.0;
    }
    let length = (corner * corner + tail).sqrt();
    let diagonal = if corner > 0.0 { -length } else { length };
    *lanes::get_mut(lower, k) = diagonal;
    *lanes::get_mut(row, k) = corner - diagonal;
    2.0 / lanes::dot(row, row)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rotated rows have the products of the rows, and the rotation is undone by its reverse.
    #[test]
    fn a_rotation_keeps_all_products() {
        let (m, dim) = (41, 90);
        let width = lanes::blocks_for(dim);
        let entry = |i: usize, j: usize| ((i * dim + j) as f64 * 0.77).sin();
        // Row 7 equals row 3, and row 9 is zero.
        let row = |i: usize| -> Vec<f64> {
            let number = if i == 7 { 3 } else { i };
            (0..dim).map(|j| if i == 9 { 0.0 } else { entry(number, j) }).collect()
        };
        let mut rows: Vec<Lanes> = (0..m).flat_map(|i| lanes::from_slice(&row(i))).collect();
        let (factors, lower) = triangular(&mut rows, width, dim, &Control::default()).unwrap();
        let rotation = Rotation { width, factors, vectors: rows };
        let lower_width = lanes::blocks_for(m);
        for i in 0..m {
            let l = |i: usize| &lower[i * lower_width..(i + 1) * lower_width];
            for j in 0..m {
                let expected: f64 = row(i).iter().zip(row(j)).map(|(x, y)| x * y).sum();
                assert!((lanes::dot(l(i), l(j)) - expected).abs() < 1e-12, "{i} {j}");
            }
            let rotated = rotation.forward(&row(i));
            assert!((0..dim).all(|j| {
                let expected = if j < m { lanes::get(l(i), j) } else { 0.0 };
                (rotated[j] - expected).abs() < 1e-13
            }));
            assert!(rotation.backward(&rotated).iter().zip(row(i)).all(|(x, y)| (x - y).abs() < 1e-13));
        }
    }
}
