//! Where Newton starts.
//!
//! 1. With w = m / (2 lambda), m = sum of c z, and all margins at most 1, alpha = c is optimal: nothing is left to do.
//!    The largest margin of m tells the smallest such lambda, once for a whole path.
//! 2. Otherwise the ridge solution: the hinge widened to delta = 4 around its kink has p = 3/4 - z'w / 4 as long as no
//!    pair leaves the zone, so (2 lambda I + sum of c z z' / 4) w = 3/4 m + t. Or w0, where that is better.
//! 3. On a path, the solution for the lambda before: times the ratio of lambdas, which follows 1, until the solution
//!    as it is has been better once. With a tilt or a center it is taken as it is.
//!
//! A start that the caller gives comes before all of them, a path's later problems excepted.

use super::Solver;
use crate::math::cholesky;
use crate::math::lanes::{self, Lanes};
use crate::math::simd::{SimdTask, dispatch};

/// Width of the first quadratic zone.
const FIRST_WIDTH: f64 = 0.15;
/// Width of the first zone from a start that knows nothing.
const COLD_WIDTH: f64 = 1.0;

/// Solves (H + 2 lambda I) x = b, H given by its blocks on and above the diagonal. Where rounding has made the matrix
/// indefinite the diagonal is raised until it is not. `None` when that does not help.
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
        if dispatch(FactorAndSolve { matrix: &mut matrix, dim, x: &mut x }) && lanes::dot(&x, &x).is_finite()
        {
            return Some(x);
        }
        shift = if shift > 0.0 { 30.0 * shift } else { 1e-14 * largest };
    }
    None
}

struct FactorAndSolve<'a> {
    matrix: &'a mut [Lanes],
    dim: usize,
    x: &'a mut [Lanes],
}

impl SimdTask for FactorAndSolve<'_> {
    type Output = bool;

    #[allow(clippy::inline_always)]
    #[inline(always)]
    fn run(self) -> bool {
        let width = self.x.len();
        let positive = cholesky::factor(self.matrix, width, self.dim);
        if positive {
            cholesky::solve(self.matrix, width, self.dim, self.x);
        }
        positive
    }
}

impl Solver<'_> {
    /// The solution for a lambda so large that no margin exceeds 1; false when lambda is smaller, or with a tilt or a
    /// center, which would move the margins.
    pub(super) fn solve_linear_regime(&mut self) -> bool {
        if !self.penalty.is_plain() {
            return false;
        }
        let lambda = self.penalty.lambda;
        let size = lanes::dot(&self.space.pair_sum, &self.space.pair_sum);
        let total = self.space.total_weight;
        // The weighted mean of the margins is at most the largest.
        if size > 2.0 * lambda * total {
            return false;
        }
        if self.largest_margin.is_none() {
            let direction = self.space.pair_sum.clone();
            self.space.set_point(&direction);
            self.largest_margin = Some(self.space.largest_margin());
        }
        if self.largest_margin.is_none_or(|margin| margin > 2.0 * lambda) {
            return false;
        }
        self.w = scaled(&self.space.pair_sum, 0.5 / lambda);
        self.best.w.clone_from(&self.w);
        self.best.primal = total - size / (4.0 * lambda);
        self.best.dual = self.best.primal;
        true
    }

    /// Goes to the start point and makes the first pass. `previous` is the solution for another lambda.
    pub(super) fn go_to_start(&mut self, previous: Option<(Vec<Lanes>, f64)>) {
        self.space.clear_centers();
        if let Some((w, lambda)) = previous {
            self.delta = self.last_width.min(FIRST_WIDTH);
            let plain = self.try_point(&w);
            if self.may_stretch && self.try_point(&scaled(&w, lambda / self.penalty.lambda)) > plain {
                self.may_stretch = false;
                self.try_point(&w);
            }
            return;
        }
        self.delta = FIRST_WIDTH;
        if let Some(start) = self.start.take() {
            self.try_point(&start);
            return;
        }
        let center = self.penalty.center.clone();
        let bound = center.as_ref().map_or(self.space.total_weight, |center| self.try_point(center));
        if let Some(w) = self.ridge()
            && self.try_point(&w) <= bound
        {
            return;
        }
        self.delta = COLD_WIDTH;
        let cold = center.unwrap_or_else(|| vec![Lanes::ZERO; self.space.width]);
        self.try_point(&cold);
    }

    /// (2 lambda I + sum of c z z' / 4)^-1 (3/4 m + t).
    fn ridge(&mut self) -> Option<Vec<Lanes>> {
        let moment = scaled(&self.space.moment(), 0.25);
        let mut right = scaled(&self.space.pair_sum, 0.75);
        self.penalty.add_pull(&mut right);
        regularized_solve(&moment, self.space.dim, self.penalty.lambda, &right)
    }

    /// Goes to w; answers P(w).
    fn try_point(&mut self, w: &[Lanes]) -> f64 {
        self.w = w.to_vec();
        self.look_again();
        self.point.primal
    }
}

fn scaled(x: &[Lanes], factor: f64) -> Vec<Lanes> {
    x.iter().map(|block| Lanes(block.0.map(|value| factor * value))).collect()
}
