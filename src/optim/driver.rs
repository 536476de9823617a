//! The loop of all iterative methods: stop rule, record of steps and cancellation.

use std::time::Instant;

use super::{Solution, SolveReport, Step, Stop, StopRule};
use crate::control::Control;

/// An iterative method at its current point.
pub trait Method {
    /// After this many iterations without a smaller gap the method has stalled.
    const PATIENCE: usize = usize::MAX;

    /// Objective of the best point so far.
    fn objective(&self) -> f64;

    /// Certified upper bound of [`Self::objective`] minus the optimum.
    fn gap(&self) -> f64;

    /// The scale of [`StopRule::allowed_gap`], read at the start.
    fn scale(&self) -> f64 {
        self.objective()
    }

    /// Makes one iteration; false if no further progress is possible.
    fn advance(&mut self, control: &Control) -> bool;

    /// The best point.
    fn into_point(self) -> Vec<f64>;
}

/// Iterates the method that `start` creates until the stop rule or the caller ends the run.
pub fn iterate<M: Method>(rule: &StopRule, control: &Control, start: impl FnOnce() -> M) -> Solution {
    let began = Instant::now();
    let mut method = start();
    let scale = method.scale();
    let mut steps = Vec::new();
    let (mut smallest, mut idle) = (f64::INFINITY, 0);
    let stop = loop {
        let (objective, gap) = (method.objective(), method.gap());
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
    let (objective, gap) = (method.objective(), method.gap());
    Solution { w: method.into_point(), report: SolveReport { stop, iterations, objective, gap, steps } }
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
