//! Newton's method for losses with a curvature: squared hinge and logistic.
//!
//! A step solves H d = -r with r = 2 lambda w - X'g - t and H = 2 lambda I + X' L X (see `curve`); a line search on
//! scores follows. With alpha = c p, p = -L'(margin), Fenchel's equality holds for each pair, and the gap is due
//! to the gradient alone (Rockafellar 1970, theorem 31.3):
//!
//! ```text
//! P(w) - D(alpha) = |r|^2 / (4 lambda)
//! ```
//!
//! If a squared hinge has fewer active pairs than features, H is almost singular, and the line search cuts the step to
//! nothing. Then H also includes pairs beyond the kink: the longer steps stay short, the farther. With all pairs
//! included the step minimizes a quadratic upper bound.
//!
//! H is dense in the pairs and the most expensive part, so it is kept for the next step while the gap decreases tenfold
//! (Shamanskii 1967). The first step from w = 0 needs no pass: all pairs have one weight there, and the sum of z z' is
//! known (`block`).

use super::chunk::PassSums;
use super::curve::Curve;
use super::hessian::{Precision, regularized_solve};
use super::space::{Rows, Space};
use super::state::{Newton, State};
use crate::math::{Lanes, lanes};

/// Factor of the gap in one step up to which the Hessian is kept.
const KEEP: f64 = 0.1;
/// Steps in which neither gap nor objective decrease by 1 %, after which the fit has stalled.
const PATIENCE: u32 = 80;
/// Shorter steps count as short.
const SHORT_STEP: f64 = 0.2;
/// Reach beyond the kink after the first short step, and its factors after further short steps and after long ones.
const FIRST_REACH: f64 = 0.1;
const REACH_GROWTH: f64 = 3.0;
const REACH_SHRINK: f64 = 0.25;

/// A fit; kept from one lambda of a path to the next.
pub(super) struct Smooth<'a, C> {
    curve: C,
    state: State<'a, Space<'a>>,
    /// Distance beyond the kink up to which pairs count in H.
    reach: f64,
    /// X' L X, while it is kept.
    hessian: Option<Vec<Lanes>>,
    /// Whether a lambda has been solved before.
    solved: bool,
    /// Gap and objective at the last clear decrease, and the steps since.
    last: (f64, f64),
    idle: u32,
}

impl<'a, C: Curve> Newton<'a> for Smooth<'a, C> {
    type Rows = Space<'a>;

    fn state(&mut self) -> &mut State<'a, Space<'a>> {
        &mut self.state
    }

    fn begin(&mut self, lambda: f64) -> bool {
        if self.solved {
            self.state.start = Some(self.state.best.w.clone());
        }
        self.solved = true;
        self.state.penalty.lambda = lambda;
        (self.reach, self.hessian) = (0.0, None);
        (self.last, self.idle) = ((f64::INFINITY, f64::INFINITY), 0);
        (self.state.best.primal, self.state.best.dual) = (f64::INFINITY, f64::MIN);
        self.move_to_start();
        false
    }

    fn refresh(&mut self) {
        self.state.space.set_point(&self.state.w);
        let sums = self.state.space.curve_pass(self.curve, 0.0);
        self.evaluate(&sums, true);
    }

    fn advance(&mut self) {
        let before = self.state.gradient_gap;
        let step = self.newton_step();
        self.adapt_reach(step);
        if self.state.gradient_gap > KEEP * before {
            self.hessian = None;
        }
        let (gap, primal) = (self.state.gap(), self.state.best.primal);
        if gap < 0.99 * self.last.0 || primal < 0.99 * self.last.1 {
            (self.last, self.idle) = ((gap, primal), 0);
        } else {
            self.idle += 1;
        }
    }

    fn is_stuck(&self) -> bool {
        self.idle > PATIENCE
    }
}

impl<'a, C: Curve> Smooth<'a, C> {
    pub(super) fn new(curve: C, state: State<'a, Space<'a>>) -> Self {
        let last = (f64::INFINITY, f64::INFINITY);
        Self { curve, state, reach: 0.0, hessian: None, solved: false, last, idle: 0 }
    }

    /// The start given by the caller or by the previous lambda; else the better of w0 and the Newton step from w = 0.
    fn move_to_start(&mut self) {
        if let Some(start) = self.state.start.take() {
            self.evaluate_at(&start);
            return;
        }
        let center = self.state.penalty.center.clone();
        let bound =
            self.evaluate_at(&center.unwrap_or_else(|| vec![Lanes::ZERO; self.state.space.totals().width]));
        let (slope, curvature) = self.curve.at_zero();
        let (space, penalty) = (&mut self.state.space, &self.state.penalty);
        let hessian = lanes::scaled(&space.moment(Precision::Double), curvature);
        let mut right = lanes::scaled(&space.totals().pair_sum, slope);
        penalty.add_center_term(&mut right);
        if let Some(w) = regularized_solve(&hessian, space.totals().dim, penalty.lambda, &right)
            && self.evaluate_at(&w) > bound
        {
            let best = self.state.best.w.clone();
            self.evaluate_at(&best);
        }
    }

    /// Gap and residual at w from the sums of a pass there.
    fn evaluate(&mut self, sums: &PassSums, is_fresh: bool) {
        self.state.update(sums.loss, is_fresh);
        let dual = self.state.primal - self.state.gradient_gap;
        if dual.is_finite() {
            self.state.best.dual = self.state.best.dual.max(dual);
        }
    }

    /// Extends the reach after a short step and reduces it after a long one.
    fn adapt_reach(&mut self, step: f64) {
        let reach = if step >= SHORT_STEP {
            REACH_SHRINK * self.reach
        } else if self.reach > 0.0 {
            REACH_GROWTH * self.reach
        } else {
            FIRST_REACH
        };
        if step < SHORT_STEP || self.reach > 0.0 {
            self.hessian = None;
        }
        self.reach = reach;
    }

    /// One step with its line search; returns the step size, 0 if the objective does not decrease.
    fn newton_step(&mut self) -> f64 {
        let curve = self.curve.reaching(self.reach);
        let hessian = self.hessian.take().unwrap_or_else(|| self.state.space.curve_hessian(curve));
        let direction = self.state.newton_direction(&hessian);
        self.hessian = Some(hessian);
        let curve = self.curve;
        let pass = |space: &mut Space<'a>, step: f64| space.curve_pass(curve, step);
        let Some(moved) = direction.and_then(|direction| self.state.move_against(&direction, pass)) else {
            self.refresh();
            return 0.0;
        };
        self.evaluate(&moved.sums, false);
        moved.length
    }
}
