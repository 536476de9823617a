//! The loop of all iterative methods: stop rule, record of steps and cancellation; and the best of several starts.

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

// Several starts, for functions with several local minima.

/// The best of the solution `first` from the default start and of the solutions from up to `others` other starts.
/// `solve` gets the number of a start, from 0 on, and the best solution so far; a number may have no start. An
/// interruption ends the search. The last step of the report describes the returned solution.
pub fn several_starts(
    first: Solution,
    others: usize,
    mut solve: impl FnMut(usize, &Solution) -> Option<Solution>,
) -> Solution {
    let (default_start, mut best) = (first.report.objective, first);
    for number in 0..others {
        if matches!(best.report.stop, Stop::Interrupted | Stop::Empty) {
            break;
        }
        if let Some(other) = solve(number, &best) {
            best = best.or(other);
        }
    }
    let report = &mut best.report;
    report.default_start = (report.objective < default_start).then_some(default_start);
    // The last step may belong to another start.
    let (objective, gap) = (report.objective, report.gap);
    let seconds = report.steps.last().map_or(0.0, |step| step.seconds);
    report.steps.push(Step { objective, gap, seconds });
    best
}

impl Solution {
    /// The better of two, with the iterations and steps of both. An interrupt stays one.
    fn or(mut self, other: Self) -> Self {
        let iterations = self.report.iterations + other.report.iterations;
        let interrupted = other.report.stop == Stop::Interrupted;
        // 1. The other run's steps continue this one's.
        let mut steps = std::mem::take(&mut self.report.steps);
        let (least, began) = (self.report.objective, steps.last().map_or(0.0, |step| step.seconds));
        steps.extend(other.report.steps.iter().map(|step| Step {
            objective: step.objective.min(least),
            seconds: began + step.seconds,
            ..*step
        }));
        // 2. The better one.
        let Self { w, report } = if other.report.objective < least { other } else { self };
        let stop = if interrupted { Stop::Interrupted } else { report.stop };
        Self { w, report: SolveReport { stop, iterations, steps, ..report } }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn solution(objective: f64, stop: Stop) -> Solution {
        let step = |objective| Step { objective, gap: 0.5, seconds: 1.0 };
        let steps = vec![step(objective + 1.0), step(objective)];
        Solution { w: vec![objective], report: SolveReport::new(stop, 2, objective, 0.5, steps) }
    }

    #[test]
    fn the_best_start_stays_and_an_interruption_ends_the_search() {
        let ends =
            [(7.0, Stop::Converged), (4.0, Stop::Stalled), (6.0, Stop::Interrupted), (1.0, Stop::Stalled)];
        let mut asked = 0;
        let best = several_starts(solution(5.0, Stop::Converged), 9, |number, best| {
            assert!(best.report.objective <= 5.0);
            asked += 1;
            let (objective, stop) = ends[number.checked_sub(1)?];
            Some(solution(objective, stop))
        });
        assert_eq!((best.w, asked), (vec![4.0], 4));
        let SolveReport { stop, iterations, default_start, steps, .. } = best.report;
        assert_eq!((stop, iterations, default_start), (Stop::Interrupted, 8, Some(5.0)));
        let objectives: Vec<f64> = steps.iter().map(|step| step.objective).collect();
        assert_eq!(objectives, [6.0, 5.0, 5.0, 5.0, 5.0, 4.0, 4.0, 4.0, 4.0]);
        assert!(steps.is_sorted_by(|a, b| a.seconds <= b.seconds));
    }
}
