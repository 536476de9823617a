//! The common part of Newton's method for the hinge and for smooth losses: points, steps and the loop.

use std::time::Instant;

use super::chunk::Sums;
use super::few::ZonePair;
use super::hessian::{Penalty, regularized_solve};
use super::hinge::Hinge;
use super::space::{HingeRows, Rows};
use crate::base::control::Control;
use crate::learn::solve::pair::PairProblem;
use crate::learn::solve::{Solution, SolveReport, Step, Stop, StopRule};
use crate::math::lanes;
use crate::math::lanes::Lanes;

/// The best w and the best value of the dual so far.
#[derive(Debug, Clone, Default)]
pub(super) struct Best {
    pub w: Vec<Lanes>,
    pub primal: f64,
    pub dual: f64,
    /// Whether P was computed from the features; otherwise from scores that were moved step by step.
    pub is_fresh: bool,
}

/// The point of a fit; kept from one lambda of a path to the next.
pub(super) struct State<'a, R> {
    pub control: &'a Control,
    pub rule: StopRule,
    pub space: R,
    pub penalty: Penalty<'a>,
    /// The start requested by the caller.
    pub start: Option<Vec<Lanes>>,
    pub w: Vec<Lanes>,
    /// r = 2 lambda w - X'g - t.
    pub residual: Vec<Lanes>,
    /// P(w).
    pub primal: f64,
    /// |r|^2 / (4 lambda), the part of the gap that the gradient causes.
    pub gradient_gap: f64,
    pub best: Best,
}

/// A step in a direction.
pub(super) struct Move {
    pub length: f64,
    /// Slope of the objective at its start.
    pub slope: f64,
    /// Sums of a pass at its end.
    pub sums: Sums,
}

impl<'a, R: Rows> State<'a, R> {
    pub(super) fn new(problem: &'a PairProblem<'a>, rule: StopRule, space: R, control: &'a Control) -> Self {
        let zero = vec![Lanes::ZERO; space.totals().width];
        Self {
            control,
            rule,
            penalty: Penalty::new(problem),
            start: problem.start.as_deref().map(lanes::from_slice),
            w: zero.clone(),
            residual: zero.clone(),
            primal: f64::INFINITY,
            gradient_gap: 0.0,
            best: Best { w: zero, ..Best::default() },
            space,
        }
    }

    /// Certified gap of the best point.
    pub(super) fn gap(&self) -> f64 {
        (self.best.primal - self.best.dual).max(0.0)
    }

    pub(super) fn allowed_gap(&self) -> f64 {
        self.rule.allowed_gap(self.best.primal, self.space.totals().total_weight)
    }

    fn has_converged(&self) -> bool {
        self.gap() <= self.allowed_gap()
    }

    /// Computes P, the residual and its gap from a pass at w with this loss; `is_fresh` means that its scores were
    /// computed from the features. Returns X'g.
    pub(super) fn update(&mut self, loss: f64, is_fresh: bool) -> Vec<Lanes> {
        let alpha_z = self.space.transpose_times();
        self.residual = self.penalty.gradient(&self.w);
        lanes::axpy(-1.0, &alpha_z, &mut self.residual);
        self.primal = loss + self.penalty.value(&self.w);
        self.gradient_gap = lanes::dot(&self.residual, &self.residual) / (4.0 * self.penalty.lambda);
        if self.primal < self.best.primal {
            self.best.primal = self.primal;
            self.best.w.clone_from(&self.w);
            self.best.is_fresh = is_fresh;
        }
        alpha_z
    }

    /// Solves (H + 2 lambda I) d = r.
    pub(super) fn newton_direction(&self, hessian: &[Lanes]) -> Option<Vec<Lanes>> {
        regularized_solve(hessian, self.space.totals().dim, self.penalty.lambda, &self.residual)
    }

    /// The same for the Hessian of these pairs.
    pub(super) fn direction_of_pairs(&mut self, pairs: &[ZonePair]) -> Option<Vec<Lanes>>
    where
        R: HingeRows,
    {
        self.space.solve_pairs(pairs, self.penalty.lambda, &self.residual)
    }

    /// Searches from w in the direction -`solution` and moves to the point found; `pass` computes the sums at a step.
    /// `None` if the objective does not decrease.
    pub(super) fn move_against(
        &mut self,
        solution: &[Lanes],
        pass: impl Fn(&mut R, f64) -> Sums,
    ) -> Option<Move> {
        let Self { space, penalty, w, residual, .. } = self;
        let direction = lanes::scaled(solution, -1.0);
        let slope = lanes::dot(residual, &direction);
        if slope >= 0.0 || !slope.is_finite() {
            return None;
        }
        space.set_direction(&direction);
        let penalty_slope = lanes::dot(&penalty.gradient(w), &direction);
        let penalty_curvature = 2.0 * penalty.lambda * lanes::dot(&direction, &direction);
        let mut sums = Sums::default();
        let length = search(slope, |step| {
            sums = pass(space, step);
            sums.slope(penalty_slope + step * penalty_curvature)
        })?;
        space.accept();
        lanes::axpy(length, &direction, w);
        Some(Move { length, slope, sums })
    }
}

/// One of the two forms of the method.
pub(super) trait Newton<'a> {
    /// Where the rows are.
    type Rows: Rows;

    /// The common state.
    fn state(&mut self) -> &mut State<'a, Self::Rows>;

    /// Moves to the start for a new lambda; true if that is the solution.
    fn begin(&mut self, lambda: f64) -> bool;

    /// Evaluates w with scores computed from the features.
    fn refresh(&mut self);

    /// Makes one iteration.
    fn advance(&mut self);

    /// Whether further iterations are expected to bring nothing.
    fn is_stuck(&self) -> bool;

    /// Counts a gap that seemed small enough until it was computed from the features.
    fn count_refuted(&mut self) {}
}

/// Solves for one lambda; on a path, from the previous solution.
pub(super) fn run<'a>(method: &mut impl Newton<'a>, lambda: f64) -> Solution {
    let mut steps = Vec::new();
    let stop = if method.state().space.totals().pairs == 0 {
        let state = method.state();
        state.penalty.lambda = lambda;
        let (w, value) = state.penalty.lowest(state.space.totals().width);
        state.best = Best { w, primal: value, dual: value, is_fresh: true };
        Stop::Empty
    } else if method.begin(lambda) {
        Stop::Converged
    } else {
        iterate(method, &mut steps)
    };
    let state = method.state();
    // After a cancellation sums over pairs are incomplete, and any other stop reason is meaningless.
    let stop = if state.control.is_canceled() { Stop::Interrupted } else { stop };
    let (iterations, objective, gap) = (steps.len() as u32, state.best.primal, state.gap());
    let report = SolveReport::new(stop, iterations, objective, gap, steps);
    Solution { w: lanes::to_vec(&state.best.w, state.space.totals().dim), report }
}

fn iterate<'a>(method: &mut impl Newton<'a>, steps: &mut Vec<Step>) -> Stop {
    let began = Instant::now();
    loop {
        if method.state().has_converged() {
            if confirmed(method) {
                return Stop::Converged;
            }
            method.count_refuted();
        }
        let stuck = method.is_stuck();
        let state = method.state();
        let stop = if state.control.is_canceled() {
            Some(Stop::Interrupted)
        } else if steps.len() >= state.rule.max_iterations as usize {
            Some(Stop::IterationLimit)
        } else {
            stuck.then_some(Stop::Stalled)
        };
        if let Some(stop) = stop {
            confirmed(method);
            return stop;
        }
        method.advance();
        let (state, seconds) = (method.state(), began.elapsed().as_secs_f64());
        steps.push(Step { objective: state.best.primal, gap: state.gap(), seconds });
    }
}

/// Computes P of the best w from the features, because moved scores drift by rounding. Returns whether the gap is
/// still small enough; if not, the fit continues from there.
fn confirmed<'a>(method: &mut impl Newton<'a>) -> bool {
    let state = method.state();
    if !state.best.is_fresh {
        state.w.clone_from(&state.best.w);
        state.best.primal = f64::INFINITY;
        method.refresh();
    }
    method.state().has_converged()
}

// The start of Newton's method for the hinge.
//
// 1. If w = m / (2 lambda), m = sum of c z, gives no margin above 1, alpha = c is optimal and w is the solution. The
//    largest margin of m gives the smallest such lambda, once for a path.
// 2. Otherwise the ridge solution: the hinge widened to delta = 4 has p = 3/4 - z'w / 4 if no pair leaves the zone, so
//    (2 lambda I + sum of c z z' / 4) w = 3/4 m + t. Or w0 if that is better.
// 3. On a path, the previous solution: times the ratio of lambdas, as 1. suggests, until the plain solution is
//    better for the first time. With a linear term or a center it is always plain.
//
// A start given by the caller replaces 1. to 3. for the first lambda.

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

    /// Moves to w; returns P(w).
    fn evaluate_at(&mut self, w: &[Lanes]) -> f64 {
        self.state.w = w.to_vec();
        self.refresh();
        self.state.primal
    }
}

// Line search on scores: a step t > 0 at which the slope of the smoothed objective has become small.
//
// phi(t) is convex, so the minimum is on the side of t given by the sign of phi'(t). t = 1 is tried first; a step is
// accepted if |phi'(t)| <= 0.3 |phi'(0)|. Otherwise the next step is that of the secant: inside the middle of the
// bracket, or up to four times as long while there is no bracket. A jump of the slope makes the secant slow. So if a
// step has not halved the bracket, the next one cuts it in half, or to a tenth while its lower end is zero. Cost one
// pass over the pairs per step.

/// Fraction of the first slope that is accepted.
const REMAINING_SLOPE: f64 = 0.3;
/// Largest number of steps tried.
const MOST_STEPS: usize = 50;

/// Slope at a step, and the size below which it is rounding.
#[derive(Debug, Clone, Copy)]
pub(super) struct Slope {
    pub value: f64,
    pub noise: f64,
}

/// The step found; the last call of `slope` was made there. `None` if no step decreases the objective for certain.
pub(super) fn search(slope_at_zero: f64, mut slope: impl FnMut(f64) -> Slope) -> Option<f64> {
    let (mut low, mut low_slope) = (0.0, slope_at_zero);
    let mut high: Option<(f64, f64)> = None;
    let mut step = 1.0;
    let mut slow = false;
    for _ in 0..MOST_STEPS {
        let Slope { value, noise } = slope(step);
        if value.abs() <= REMAINING_SLOPE * slope_at_zero.abs() || value.abs() <= noise {
            return Some(step);
        }
        let length = high.map_or(f64::INFINITY, |(high, _)| high - low);
        if value > 0.0 {
            high = Some((step, value));
        } else {
            (low, low_slope) = (step, value);
        }
        // A cut is always followed by a secant.
        slow = !slow && high.is_some_and(|(high, _)| high - low > 0.5 * length);
        step = match high {
            Some((high, _)) if slow => low + (high - low) * if low > 0.0 { 0.5 } else { 0.1 },
            _ => next_step(low, low_slope, high, slope_at_zero),
        };
        if !step.is_finite() {
            return None;
        }
    }
    (low > 0.0).then(|| {
        slope(low);
        low
    })
}

/// The secant's step, kept inside the bracket.
fn next_step(low: f64, low_slope: f64, high: Option<(f64, f64)>, slope_at_zero: f64) -> f64 {
    if let Some((high, high_slope)) = high {
        let fraction = (-low_slope / (high_slope - low_slope)).clamp(0.1, 0.9);
        return low + fraction * (high - low);
    }
    let secant = low * slope_at_zero / (slope_at_zero - low_slope);
    if secant > 1.5 * low { secant.min(4.0 * low) } else { 1.5 * low }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_minimum_is_found_on_either_side_of_one() {
        for minimum in [1e-4, 0.3, 1.0, 7.0, 1e3] {
            let slope = |t: f64| Slope { value: if t < minimum { -1.0 } else { t - minimum }, noise: 0.0 };
            let step = search(-1.0, slope).unwrap_or(f64::NAN);
            assert!(slope(step).value.abs() <= 0.3 || step > 0.9 * minimum, "{minimum}: {step}");
        }
    }

    #[test]
    fn a_slope_that_never_falls_ends_the_search() {
        assert!(search(-1.0, |_| Slope { value: 1.0, noise: 0.0 }).is_none());
    }
}
