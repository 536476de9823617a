//! Differences of convex functions (Yuille & Rangarajan 2003; Le, Smola, Chapelle & Teo, algorithm 2).
//!
//! A round replaces each loss by a convex majorant that equals it at the current scores, and lowers the sum by cutting
//! planes. Majorants differ by linear functions, so the planes of all rounds and starts are kept. A round ends early, when it
//! has decreased the objective by more than is left. Then the step is extended while the objective decreases (Aragon Artacho,
//! Fleming & Vuong 2018). The rounds end at a point from which a round could decrease the objective by no more than the
//! allowed gap.
//!
//! **Starts.** Local minima differ. Each start (`starts`) makes a few rounds. The best continues, then the others that came
//! close to it.
//!
//! **Report.** The gap is that of the last round: it tells how close the solution is to a stationary point and does not
//! certify an optimum. `steps` has one entry per round of all starts. Each lambda is solved alone, so a solution does not
//! depend on the other lambdas of a path.

use std::time::Instant;

use super::ListProblem;
use super::starts::{Candidate, random_direction, random_starts, regression_on_worth};
use crate::base::control::Control;
use crate::cost::loss::{QueryLoss, Shape};
use crate::math::dense::dot;
use crate::math::optim::cutting_planes::Bundle;
use crate::math::optim::vector::{difference, moved};
use crate::math::optim::{
    Objective, Solution, SolveReport, Step, Stop, StopRule, several_starts, solve_path,
};
use crate::math::random::Random;

const MOST_ROUNDS: usize = 200;
/// Rounds that each start makes before it is compared with the best.
const TRIAL_ROUNDS: usize = 5;
/// Iterations of cutting planes before a round may end.
const ITERATIONS: u32 = 5;
/// A start is left if its objective after the trial is above this multiple of the best.
const CLOSE: f64 = 1.1;
/// Most doublings of a step.
const MOST_DOUBLINGS: i32 = 4;

/// Solves for each lambda.
pub(super) fn path(
    problem: &ListProblem<'_>,
    lambdas: &[f64],
    rule: &StopRule,
    control: &Control,
) -> Vec<Solution> {
    solve_path(lambdas, |lambda, _| Search::new(problem, lambda, rule, control).run())
}

/// The fit for one lambda.
struct Search<'p, 'a> {
    problem: &'p ListProblem<'a>,
    lambda: f64,
    rule: &'p StopRule,
    control: &'p Control,
    /// Planes of the majorant of the last round.
    bundle: Option<Bundle>,
    /// The majorant of the last round.
    majorant: Option<ListProblem<'a>>,
    first: f64,
}

/// A start on its way to a local minimum.
struct Descent {
    at: Candidate,
    gap: f64,
    stop: Stop,
    iterations: u32,
    /// One per round.
    steps: Vec<Step>,
    began: Instant,
}

impl<'p, 'a> Search<'p, 'a> {
    fn new(problem: &'p ListProblem<'a>, lambda: f64, rule: &'p StopRule, control: &'p Control) -> Self {
        Self { problem, lambda, rule, control, bundle: None, majorant: None, first: 0.0 }
    }

    fn run(mut self) -> Solution {
        let start = Candidate::on_ray(self.problem, self.lambda, self.problem.start());
        self.first = start.objective;
        let mut first = Descent::from(start);
        self.descend(&mut first, MOST_ROUNDS);
        let mut random = Random::new(0);
        several_starts(first.into(), 1 + random_starts(self.problem), |number, best| {
            let start = match number {
                0 => regression_on_worth(self.problem, self.lambda, self.control)?,
                _ => random_direction(&mut random, &best.w, number - 1),
            };
            Some(self.challenge(start, best.report.objective))
        })
    }

    /// The local minimum from another start, if its first rounds come close to the best objective.
    fn challenge(&mut self, start: Vec<f64>, best: f64) -> Solution {
        let mut descent = Descent::from(Candidate::on_ray(self.problem, self.lambda, start));
        self.descend(&mut descent, TRIAL_ROUNDS);
        if descent.at.objective <= CLOSE * best {
            self.descend(&mut descent, MOST_ROUNDS);
        }
        descent.into()
    }

    /// Rounds from a point until it is stationary, or has made `most` rounds.
    fn descend(&mut self, descent: &mut Descent, most: usize) {
        while descent.stop == Stop::IterationLimit && descent.steps.len() < most {
            self.round(descent);
            let seconds = descent.began.elapsed().as_secs_f64();
            descent.steps.push(Step { objective: descent.at.objective, gap: descent.gap, seconds });
        }
    }

    fn round(&mut self, descent: &mut Descent) {
        // 1. The convex problem that equals this one at the current point.
        let convex = self.next_majorant(&descent.at);
        let objective = convex.ridge(self.lambda);
        let Some(bundle) = &mut self.bundle else { return };
        // 2. A solution whose decrease exceeds what is left.
        let before = descent.at.objective;
        let allowed = self.rule.allowed_gap(before, self.first);
        let mut rule = StopRule { max_iterations: ITERATIONS, tolerance: 0.5 * self.rule.tolerance };
        let mut iterations = 0;
        let (decrease, gap, stop) = loop {
            let report = bundle.minimize(objective, &rule, self.control).report;
            iterations += report.iterations;
            let decrease = before - report.objective;
            let limited = iterations >= self.rule.max_iterations;
            if report.stop != Stop::IterationLimit || report.gap <= decrease || limited {
                break (decrease, report.gap, report.stop);
            }
            rule.max_iterations = ITERATIONS;
        };
        descent.iterations += iterations;
        descent.gap = gap + decrease.max(0.0);
        // 3. The step, longer if that is better.
        let solution = bundle.best();
        let direction = difference(&solution.w, &descent.at.w);
        let step = difference(&solution.image, &descent.at.image);
        let next = self.extend(&descent.at, &direction, &step);
        let decrease = before - next.objective;
        if decrease > 0.0 {
            descent.at = next;
        }
        self.majorant = Some(convex);
        // 4. Whether the point is stationary.
        if stop == Stop::Interrupted {
            descent.stop = stop;
        } else if decrease <= allowed && descent.gap <= allowed {
            descent.stop = Stop::Converged;
        } else if decrease <= 0.0 {
            descent.stop = Stop::Stalled;
        }
    }

    /// The majorant that is tight at a point. The planes become planes of it.
    fn next_majorant(&mut self, at: &Candidate) -> ListProblem<'a> {
        let majorant = |loss: &dyn QueryLoss, scores: &[f64]| loss.majorant(scores);
        let losses = self.problem.map_losses(&at.image, majorant);
        let convex = self.problem.with_losses(losses, Shape::Convex);
        let objective = convex.ridge(self.lambda);
        let (Some(bundle), Some(old)) = (&mut self.bundle, &self.majorant) else {
            self.bundle = Some(Bundle::new(&objective, at.w.clone()));
            return convex;
        };
        let mut slopes = [vec![0.0; at.image.len()], vec![0.0; at.image.len()]];
        let [new_slopes, old_slopes] = &mut slopes;
        let new_risk = convex.value_at(&at.image, new_slopes);
        let old_risk = old.value_at(&at.image, old_slopes);
        let change = difference(new_slopes, old_slopes);
        let linear = convex.transposed(&change);
        let constant = new_risk - old_risk - dot(&change, &at.image);
        bundle.replace_risk(&objective, (&linear, constant), (at.w.clone(), at.image.clone()));
        convex
    }

    /// The best of from + t direction, t = 1, 2, 4, ...
    fn extend(&self, from: &Candidate, direction: &[f64], step: &[f64]) -> Candidate {
        let ridge = self.problem.ridge(self.lambda);
        let at = |t: f64| {
            let w = moved(&from.w, t, direction);
            let (risk, _) = self.problem.value_on_line(&from.image, step, t);
            let objective = risk + ridge.penalty(&w);
            (t, w, objective)
        };
        let mut best = at(1.0);
        for doubling in 1..=MOST_DOUBLINGS {
            let next = at(2.0_f64.powi(doubling));
            if next.2 >= best.2 {
                break;
            }
            best = next;
        }
        let (t, w, objective) = best;
        Candidate { w, image: moved(&from.image, t, step), objective }
    }
}

impl From<Candidate> for Descent {
    fn from(at: Candidate) -> Self {
        let (gap, stop, steps) = (at.objective, Stop::IterationLimit, Vec::new());
        Self { at, gap, stop, iterations: 0, steps, began: Instant::now() }
    }
}

impl From<Descent> for Solution {
    fn from(Descent { at, gap, stop, iterations, steps, .. }: Descent) -> Self {
        Self { w: at.w, report: SolveReport::new(stop, iterations, at.objective, gap, steps) }
    }
}
