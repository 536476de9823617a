//! Annealing, for limits of smooth losses (Le, Smola, Chapelle & Teo, algorithm 4).
//!
//! A round replaces each loss by its smooth form of width sigma, solves the problem by L-BFGS and halves sigma. The first
//! sigma is twice the standard deviation of the scores within queries. The rounds end if the smooth risk and the risk differ
//! by less than 0.001. The solution is the point with the least original objective of all rounds, from each start of
//! `starts`.
//!
//! **Report.** The objective is the original one. The gap is that of the last round: it tells how close its solution is
//! to a stationary point and does not certify an optimum. `steps` has one entry per round of all starts, with the least
//! objective so far, and `iterations` counts the iterations of all rounds. Each lambda starts from the same point, because
//! otherwise solutions would depend on the order of a path.

use std::time::Instant;

use super::ListProblem;
use super::starts::{Candidate, random_direction, random_starts, regression_on_worth, spread};
use crate::base::control::Control;
use crate::cost::loss::Shape;
use crate::math::optim::{
    Objective, Point, Solution, SolveReport, Step, Stop, StopRule, lbfgs, several_starts, solve_path,
};
use crate::math::random::Random;

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
        let from = |w| rounds(problem, lambda, problem.ridge(lambda).at(w), &inner, control);
        let mut random = Random::new(0);
        let others = 1 + random_starts(problem) / RANDOM_STARTS_LESS;
        several_starts(from(problem.start()), others, |number, best| {
            let start = match number {
                0 => regression_on_worth(problem, lambda, control)?,
                _ => random_direction(&mut random, &best.w, number),
            };
            Some(from(Candidate::on_ray(problem, lambda, start).w))
        })
    })
}

/// The rounds from one start.
fn rounds(
    problem: &ListProblem<'_>,
    lambda: f64,
    start: Point,
    inner: &StopRule,
    control: &Control,
) -> Solution {
    let began = Instant::now();
    let weight: f64 = problem.blocks().iter().map(|(_, weight)| weight).sum();
    let (mut w, mut sigma) = (start.w.clone(), first_sigma(problem, &start.w));
    let report = SolveReport::new(Stop::IterationLimit, 0, start.value, start.value, Vec::new());
    let mut best = Solution { w: start.w, report };
    for _ in 0..MOST_SMOOTH_ROUNDS {
        // 1. The solution of the smooth problem.
        let losses = (0..problem.blocks().len()).map(|query| problem.loss_of(query).smoothed(sigma));
        let smooth = problem.with_losses(losses.collect(), Shape::Smooth);
        let round = lbfgs::minimize(&smooth.ridge(lambda), w, inner, control);
        // 2. The original objective there.
        let point = problem.ridge(lambda).at(round.w.clone());
        let report = &mut best.report;
        if point.value < report.objective {
            (best.w, report.objective) = (point.w, point.value);
        }
        report.gap = round.report.gap;
        report.iterations += round.report.iterations;
        let seconds = began.elapsed().as_secs_f64();
        report.steps.push(Step { objective: report.objective, gap: report.gap, seconds });
        // 3. Both objectives have the same penalty, so their difference is that of the risks.
        let close = (round.report.objective - point.value).abs() < RISK_DIFFERENCE * weight;
        if round.report.stop == Stop::Interrupted || close {
            report.stop = if close { Stop::Converged } else { round.report.stop };
            break;
        }
        w = round.w;
        sigma *= 0.5;
    }
    best
}

/// Twice the standard deviation of the scores; 1 if all are equal.
fn first_sigma(problem: &ListProblem<'_>, w: &[f64]) -> f64 {
    let deviation = spread(problem, &problem.image(w));
    if deviation > 0.0 { FIRST_SIGMA * deviation } else { 1.0 }
}
