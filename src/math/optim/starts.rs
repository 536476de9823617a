//! Several starts, for functions with several local minima.

use super::{Solution, SolveReport, Step, Stop};

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
    /// The better of two, with the iterations and steps of both. An interruption stays one.
    fn or(mut self, other: Self) -> Self {
        let iterations = self.report.iterations + other.report.iterations;
        let interrupted = other.report.stop == Stop::Interrupted;
        // 1. The steps of the other continue those of this one.
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
