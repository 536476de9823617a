//! Annealing, for limits of smooth losses (Le, Smola, Chapelle & Teo, algorithm 4).
//!
//! A round replaces each loss by its smooth form of width sigma, solves the problem by L-BFGS and halves sigma. The first
//! sigma is twice the standard deviation of the scores within queries. The rounds end if the smooth risk and the risk differ
//! by less than 0.001. The solution is the point with the least original objective of all rounds, from each start of
//! `starts`.
//!
//! **Report.** The objective is the original one. The gap is that of the last round: it tells how close its solution is
//! to a stationary point and does not certify an optimum. `steps` has one entry per round of all starts, with the least
//! objective so far, and `iterations` counts the iterations of all rounds. Each lambda starts from the same point, because otherwise solutions would depend on the
//! order of a path.

use std::time::Instant;

use super::ListProblem;
use super::starts::{Candidate, random_direction, random_starts, regression_on_worth, spread};
use crate::control::Control;
use crate::loss::Shape;
use crate::math::random::Random;
use crate::optim::{Objective, Point, Solution, SolveReport, Step, Stop, StopRule, lbfgs, solve_path};

const MOST_SMOOTH_ROUNDS: usize = 10;
/// Most L-BFGS iterations of a round. The next round continues from there.
const MOST_SMOOTH_ITERATIONS: u32 = 30;
/// Annealing ends at this difference of the risks, relative to the weights of all queries.
const RISK_DIFFERENCE: f64 = 1e-3;
/// Annealing takes longer than rounds of convex problems: this factor fewer random starts.
const RANDOM_STARTS_LESS: usize = 4;
/// First sigma, in standard deviations of the scores.
const FIRST_SIGMA: f64 = 2.0;

/// Solves for each lambda.
pub(super) fn path(
    problem: &ListProblem<'_>,
    lambdas: &[f64],
    rule: &StopRule,
    control: &Control,
) -> Vec<Solution> {
    let inner = StopRule { max_iterations: rule.max_iterations.min(MOST_SMOOTH_ITERATIONS), ..*rule };
    solve_path(lambdas, |lambda, _| {
        let mut rounds = Rounds::new(problem, lambda);
        let mut best = rounds.from(problem.ridge(lambda).at(problem.start()), &inner, control);
        let default_start = best.value;
        let mut random = Random::new(0);
        let others = random_starts(problem) / RANDOM_STARTS_LESS;
        for number in 0..=others {
            if best.stop == Stop::Interrupted {
                break;
            }
            let start = match number {
                0 => regression_on_worth(problem, lambda, control),
                _ => Some(random_direction(&mut random, &best.w, number)),
            };
            let Some(start) = start else { continue };
            let start = Candidate::on_ray(problem, lambda, start);
            let other = rounds.from(problem.ridge(lambda).at(start.w), &inner, control);
            best = best.or(other);
        }
        rounds.finish(best, default_start)
    })
}

/// The best point of the rounds from one start, or from several.
struct Annealed {
    w: Vec<f64>,
    value: f64,
    gap: f64,
    stop: Stop,
}

impl Annealed {
    /// The better of two. An interruption stays one.
    fn or(self, other: Self) -> Self {
        let interrupted = other.stop == Stop::Interrupted;
        let mut better = if other.value < self.value { other } else { self };
        if interrupted {
            better.stop = Stop::Interrupted;
        }
        better
    }
}

/// The rounds from all starts.
struct Rounds<'p, 'a> {
    problem: &'p ListProblem<'a>,
    lambda: f64,
    iterations: u32,
    steps: Vec<Step>,
    began: Instant,
}

impl<'p, 'a> Rounds<'p, 'a> {
    fn new(problem: &'p ListProblem<'a>, lambda: f64) -> Self {
        Self { problem, lambda, iterations: 0, steps: Vec::new(), began: Instant::now() }
    }

    /// The rounds from one start.
    fn from(&mut self, start: Point, inner: &StopRule, control: &Control) -> Annealed {
        let problem = self.problem;
        let weight: f64 = problem.blocks().iter().map(|(_, weight)| weight).sum();
        let mut w = start.w.clone();
        let mut sigma = first_sigma(problem, &w);
        let (stop, value) = (Stop::IterationLimit, start.value);
        let mut best = Annealed { w: start.w, value, gap: value, stop };
        for _ in 0..MOST_SMOOTH_ROUNDS {
            let losses = (0..problem.blocks().len()).map(|query| problem.loss_of(query).smoothed(sigma));
            let smooth = problem.with_losses(losses.collect(), Shape::Smooth);
            let round = lbfgs::minimize(&smooth.ridge(self.lambda), w, inner, control);
            // Both objectives have the same penalty, so their difference is that of the risks.
            let difference = round.report.objective - self.record(&round, &mut best);
            let close = difference.abs() < RISK_DIFFERENCE * weight;
            if round.report.stop == Stop::Interrupted || close {
                best.stop = if close { Stop::Converged } else { round.report.stop };
                break;
            }
            w = round.w;
            sigma *= 0.5;
        }
        best
    }

    /// Adds a round. Returns the original objective of its solution.
    fn record(&mut self, round: &Solution, best: &mut Annealed) -> f64 {
        let point = self.problem.ridge(self.lambda).at(round.w.clone());
        if point.value < best.value {
            (best.w, best.value) = (point.w, point.value);
        }
        best.gap = round.report.gap;
        self.iterations += round.report.iterations;
        let least = self.steps.last().map_or(best.value, |step| step.objective.min(best.value));
        let seconds = self.began.elapsed().as_secs_f64();
        self.steps.push(Step { objective: least, gap: best.gap, seconds });
        point.value
    }

    fn finish(self, best: Annealed, default_start: f64) -> Solution {
        let Annealed { w, value: objective, gap, stop } = best;
        let (iterations, mut steps) = (self.iterations, self.steps);
        // The last step may be that of another start.
        steps.push(Step { objective, gap, seconds: self.began.elapsed().as_secs_f64() });
        let default_start = (objective < default_start).then_some(default_start);
        Solution {
            w,
            report: SolveReport {
                default_start,
                ..SolveReport::new(stop, iterations, objective, gap, steps)
            },
        }
    }
}

/// Twice the standard deviation of the scores; 1 if all are equal.
fn first_sigma(problem: &ListProblem<'_>, w: &[f64]) -> f64 {
    let deviation = spread(problem, &problem.image(w));
    if deviation > 0.0 { FIRST_SIGMA * deviation } else { 1.0 }
}
