//! The loop of all iterative methods: stop rule, record of steps and cancellation.

use std::time::Instant;

use super::objective::moved;
use super::{Point, Ridge, Solution, SolveReport, Step, Stop, StopRule};
use crate::base::control::Control;
use crate::math::dense::dot;

/// An iterative method at its current point.
pub trait Method {
    /// After this many iterations without a smaller gap the method has stalled.
    const PATIENCE: usize = usize::MAX;

    /// The best point so far.
    fn best(&self) -> Best<'_>;

    /// The scale of [`StopRule::allowed_gap`], read at the start.
    fn scale(&self) -> f64 {
        self.best().objective
    }

    /// Makes one iteration; false if no further progress is possible.
    fn advance(&mut self, control: &Control) -> bool;
}

/// A point with its certificate.
pub struct Best<'a> {
    /// The point.
    pub w: &'a [f64],
    /// The objective there.
    pub objective: f64,
    /// Upper bound of the objective minus the optimum.
    pub gap: f64,
}

impl<'a> Best<'a> {
    /// A point with a lower bound of the optimum.
    pub fn with_bound(w: &'a [f64], objective: f64, bound: f64) -> Self {
        Self { w, objective, gap: (objective - bound).max(0.0) }
    }
}

/// Iterates the method that `start` creates until the stop rule or the caller ends the run.
pub fn iterate<M: Method>(rule: &StopRule, control: &Control, start: impl FnOnce() -> M) -> Solution {
    let began = Instant::now();
    let mut method = start();
    let scale = method.scale();
    let mut steps = Vec::new();
    let (mut smallest, mut idle) = (f64::INFINITY, 0);
    let stop = loop {
        let Best { objective, gap, .. } = method.best();
        steps.push(Step { objective, gap, seconds: began.elapsed().as_secs_f64() });
        idle = if gap < smallest { 0 } else { idle + 1 };
        smallest = smallest.min(gap);
        if gap <= rule.allowed_gap(objective, scale) {
            break Stop::Converged;
        }
        if control.is_canceled() {
            break Stop::Interrupted;
        }
        if steps.len() > rule.max_iterations as usize {
            break Stop::IterationLimit;
        }
        if idle > M::PATIENCE {
            break Stop::Stalled;
        }
        if !method.advance(control) {
            break if control.is_canceled() { Stop::Interrupted } else { Stop::Stalled };
        }
    };
    let iterations = steps.len() as u32 - 1;
    let Best { w, objective, gap } = method.best();
    Solution { w: w.to_vec(), report: SolveReport::new(stop, iterations, objective, gap, steps) }
}

/// Solves for each parameter; `solve` receives the previous solution. An interrupted path ends with the interrupted
/// solution.
pub fn solve_path(
    parameters: &[f64],
    mut solve: impl FnMut(f64, Option<&Solution>) -> Solution,
) -> Vec<Solution> {
    let mut solutions: Vec<Solution> = Vec::with_capacity(parameters.len());
    for &parameter in parameters {
        let next = solve(parameter, solutions.last());
        let interrupted = next.report.stop == Stop::Interrupted;
        solutions.push(next);
        if interrupted {
            break;
        }
    }
    solutions
}

// Steps w + t d along a direction of descent, for smooth functions.
//
// ```text
// sufficient decrease    P(w + t d) <= P(w) + 1e-4 t g.d                         (Armijo 1966)
// curvature              g(w + t d).d >= 0.9 g.d                                 (Wolfe 1969)
// ```
//
// Close to a minimum rounding hides the decrease of P. Among values that are equal up to rounding, a condition on
// gradients decides.

const ARMIJO: f64 = 1e-4;
const WOLFE: f64 = 0.9;
/// Values that differ by less than this, relative, are equal up to rounding.
const ROUNDING: f64 = 1e-14;
const MOST_HALVINGS: u32 = 30;
const MOST_BISECTIONS: u32 = 50;

/// The start of a search.
struct Line<'a> {
    objective: &'a Ridge<'a>,
    from: &'a Point,
    d: &'a [f64],
    /// g.d
    slope: f64,
}

impl Line<'_> {
    fn at(&self, t: f64) -> Point {
        self.objective.at(moved(&self.from.w, t, self.d))
    }

    fn decreases(&self, trial: &Point, t: f64) -> bool {
        trial.value <= self.from.value + ARMIJO * t * self.slope && trial.value < self.from.value
    }

    fn equals(&self, trial: &Point) -> bool {
        trial.value <= self.from.value + ROUNDING * self.from.value.abs()
    }
}

/// Halves t from 1 to the first sufficient decrease, or to an equal value with a shorter gradient.
pub(super) fn backtrack(objective: &Ridge<'_>, from: &Point, d: &[f64]) -> Option<Point> {
    let line = Line { objective, from, d, slope: dot(d, &from.gradient) };
    let size = dot(&from.gradient, &from.gradient);
    let mut t = 1.0;
    for _ in 0..MOST_HALVINGS {
        let trial = line.at(t);
        if line.decreases(&trial, t) || (line.equals(&trial) && dot(&trial.gradient, &trial.gradient) < size)
        {
            return Some(trial);
        }
        t *= 0.5;
    }
    None
}

/// Bisects from `t` to a step with sufficient decrease and curvature (Lewis & Overton 2013). An equal value counts as
/// sufficient if its slope is at most (2e-4 - 1) g.d (Hager & Zhang 2005).
pub(super) fn bisect(objective: &Ridge<'_>, from: &Point, d: &[f64], mut t: f64) -> Option<Point> {
    let line = Line { objective, from, d, slope: dot(d, &from.gradient) };
    if line.slope >= 0.0 {
        return None;
    }
    let (mut low, mut high) = (0.0, f64::INFINITY);
    // The last trial with sufficient decrease. It is the answer if the bracket closes on an edge of the function.
    let mut lower = None;
    for _ in 0..MOST_BISECTIONS {
        let trial = line.at(t);
        let slope = dot(d, &trial.gradient);
        let flat = line.equals(&trial) && slope <= (2.0 * ARMIJO - 1.0) * line.slope;
        if !(line.decreases(&trial, t) || flat) {
            high = t;
        } else if slope < WOLFE * line.slope {
            low = t;
            lower = Some(trial);
        } else {
            return Some(trial);
        }
        t = if high.is_finite() { 0.5 * (low + high) } else { 2.0 * low };
    }
    lower
}
