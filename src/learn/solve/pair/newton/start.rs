//! The start of Newton's method for the hinge.
//!
//! 1. If w = m / (2 lambda), m = sum of c z, gives no margin above 1, alpha = c is optimal and w is the solution. The
//!    largest margin of m gives the smallest such lambda, once for a path.
//! 2. Otherwise the ridge solution: the hinge widened to delta = 4 has p = 3/4 - z'w / 4 if no pair leaves the zone, so
//!    (2 lambda I + sum of c z z' / 4) w = 3/4 m + t. Or w0 if that is better.
//! 3. On a path, the previous solution: times the ratio of lambdas, as 1. suggests, until the plain solution is
//!    better for the first time. With a linear term or a center it is always plain.
//!
//! A start given by the caller replaces 1. to 3. for the first lambda.

use super::hessian::regularized_solve;
use super::hinge::Hinge;
use super::space::HingeRows;
use super::state::Newton;
use crate::math::{Lanes, lanes};

/// Width of the first zone.
const FIRST_WIDTH: f64 = 0.15;
/// Width of the first zone from w0 or 0.
const COLD_WIDTH: f64 = 1.0;

impl<R: HingeRows> Hinge<'_, R> {
    /// The solution for a lambda so large that no margin exceeds 1. False for a smaller lambda, and with a linear term
    /// or a center, which would move the margins.
    pub(super) fn solve_linear_regime(&mut self) -> bool {
        let (space, penalty) = (&mut self.state.space, &self.state.penalty);
        if !penalty.is_plain() {
            return false;
        }
        let lambda = penalty.lambda;
        let size = lanes::dot(&space.totals().pair_sum, &space.totals().pair_sum);
        // The weighted mean of the margins is at most the largest.
        if size > 2.0 * lambda * space.totals().total_weight {
            return false;
        }
        if self.largest_margin.is_none() {
            let direction = space.totals().pair_sum.clone();
            space.set_point(&direction);
            self.largest_margin = Some(space.largest_margin());
        }
        if self.largest_margin.is_none_or(|margin| margin > 2.0 * lambda) {
            return false;
        }
        self.state.w = lanes::scaled(&space.totals().pair_sum, 0.5 / lambda);
        self.state.best.w.clone_from(&self.state.w);
        self.state.best.primal = space.totals().total_weight - size / (4.0 * lambda);
        self.state.best.dual = self.state.best.primal;
        true
    }

    /// Moves to the start and makes the first pass. `previous` is the solution for another lambda.
    pub(super) fn move_to_start(&mut self, previous: Option<(Vec<Lanes>, f64)>) {
        self.state.space.clear_centers();
        if let Some((w, lambda)) = previous {
            self.delta = self.last_width.min(FIRST_WIDTH);
            let plain = self.evaluate_at(&w);
            let ratio = lambda / self.state.penalty.lambda;
            if self.may_stretch && self.evaluate_at(&lanes::scaled(&w, ratio)) > plain {
                self.may_stretch = false;
                self.evaluate_at(&w);
            }
            return;
        }
        self.delta = FIRST_WIDTH;
        if let Some(start) = self.state.start.take() {
            self.evaluate_at(&start);
            return;
        }
        let center = self.state.penalty.center.clone();
        let bound =
            center.as_ref().map_or(self.state.space.totals().total_weight, |center| self.evaluate_at(center));
        if let Some(w) = self.ridge()
            && self.evaluate_at(&w) <= bound
        {
            return;
        }
        self.delta = COLD_WIDTH;
        let cold = center.unwrap_or_else(|| vec![Lanes::ZERO; self.state.space.totals().width]);
        self.evaluate_at(&cold);
    }

    /// (2 lambda I + sum of c z z' / 4)^-1 (3/4 m + t).
    fn ridge(&mut self) -> Option<Vec<Lanes>> {
        let (space, penalty) = (&mut self.state.space, &self.state.penalty);
        let moment = lanes::scaled(&space.moment(self.precision), 0.25);
        let mut right = lanes::scaled(&space.totals().pair_sum, 0.75);
        penalty.add_center_term(&mut right);
        regularized_solve(&moment, space.totals().dim, penalty.lambda, &right)
    }
}
