//! Points, steps and the loop that Newton's methods for the hinge and for smooth losses share.

use std::time::Instant;

use super::chunk::{PassSums, search};
use super::hessian::{Penalty, regularized_solve};
use super::space::{HingeRows, Rows};
use super::woodbury::ZonePair;
use crate::base::Control;
use crate::learn::solve::pair::PairProblem;
use crate::learn::solve::{Solution, SolveReport, Step, Stop, StopRule};
use crate::math::{Lanes, lanes};

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
    /// |r|^2 / (4 lambda), the gap caused by the gradient.
    pub gradient_gap: f64,
    pub best: Best,
}

/// A step in a direction.
pub(super) struct Move {
    pub length: f64,
    /// Slope of the objective at its start.
    pub slope: f64,
    /// Sums of a pass at its end.
    pub sums: PassSums,
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
        pass: impl Fn(&mut R, f64) -> PassSums,
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
        let mut sums = PassSums::default();
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

    /// Moves to w; returns P(w).
    fn evaluate_at(&mut self, w: &[Lanes]) -> f64 {
        self.state().w = w.to_vec();
        self.refresh();
        self.state().primal
    }

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
