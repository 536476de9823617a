//! The loop of all iterative methods: stop rule, record of steps and cancellation.

use std::time::Instant;

use super::{Solution, SolveReport, Step, Stop, StopRule};
use crate::base::Control;

/// An iterative method at its current point.
pub trait Method {
    /// Number of iterations without a smaller gap after which the method has stalled.
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
