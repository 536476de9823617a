//! Losses that are not convex, by rounds of problems with other losses (Le, Smola, Chapelle & Teo, algorithms 2 and 4).
//!
//! **Differences of convex functions** (Yuille & Rangarajan 2003). A round replaces each loss by a convex majorant that
//! equals it at the current scores, and solves the problem by cutting planes. The objective never increases. The rounds
//! end if it decreases by no more than the allowed gap.
//!
//! **Annealing**, for limits of smooth losses. A round replaces each loss by its smooth form of width sigma, solves the
//! problem by L-BFGS and halves sigma. The first sigma is twice the standard deviation of the scores within queries. The
//! rounds end if the smooth risk and the risk differ by less than 0.001. The solution is the point with the least original
//! objective of all rounds.
//!
//! **Report.** The objective is the original one. The gap is that of the last round: it tells how close its solution is
//! to a stationary point and does not certify an optimum. `steps` has one entry per round, and `iterations` counts the
//! iterations of all rounds. Each lambda starts from the same point, because otherwise solutions would depend on the
//! order of a path.

use std::time::Instant;

use super::ListProblem;
use crate::control::Control;
use crate::loss::{QueryLoss, Shape};
use crate::optim::cutting_planes::minimize_path;
use crate::optim::{Objective, Solution, SolveReport, Step, Stop, StopRule, lbfgs, solve_path};

const MOST_CONVEX_ROUNDS: usize = 50;
/// Tolerance of a convex round, relative to the requested one.
const INNER_TOLERANCE: f64 = 0.1;
const MOST_SMOOTH_ROUNDS: usize = 10;
/// Most L-BFGS iterations of a round. The next round continues from there.
const MOST_SMOOTH_ITERATIONS: u32 = 30;
/// Annealing ends at this difference of the risks, relative to the weights of all queries.
const RISK_DIFFERENCE: f64 = 1e-3;
/// First sigma, in standard deviations of the scores.
const FIRST_SIGMA: f64 = 2.0;

/// Rounds of convex problems, for each lambda.
pub(super) fn convex_path(
    problem: &ListProblem<'_>,
    lambdas: &[f64],
    rule: &StopRule,
    control: &Control,
) -> Vec<Solution> {
    let inner = StopRule { tolerance: INNER_TOLERANCE * rule.tolerance, ..*rule };
    solve_path(lambdas, |lambda, _| {
        let mut rounds = Rounds::new(problem, lambda);
        let first = rounds.report.objective;
        for _ in 0..MOST_CONVEX_ROUNDS {
            // 1. The convex problem that equals this one at the best point.
            let majorant = |loss: &dyn QueryLoss, scores: &[f64]| loss.majorant(scores);
            let losses = problem.map_losses(&problem.image(&rounds.w), majorant);
            let convex = problem.with_losses(losses, Shape::Convex);
            let round = minimize_path(&convex, convex.center(), &rounds.w, &[lambda], &inner, control).pop();
            let (Some(round), before) = (round, rounds.report.objective) else { break };
            // 2. Its solution, and whether the rounds end.
            let objective = rounds.record(&round);
            let allowed = rule.allowed_gap(rounds.report.objective, first);
            if round.report.stop == Stop::Interrupted || before - objective <= allowed {
                rounds.report.stop = round.report.stop;
                break;
            }
        }
        rounds.finish()
    })
}

/// Annealing, for each lambda.
pub(super) fn anneal_path(
    problem: &ListProblem<'_>,
    lambdas: &[f64],
    rule: &StopRule,
    control: &Control,
) -> Vec<Solution> {
    let inner = StopRule { max_iterations: rule.max_iterations.min(MOST_SMOOTH_ITERATIONS), ..*rule };
    let weight: f64 = problem.blocks().iter().map(|(_, weight)| weight).sum();
    solve_path(lambdas, |lambda, _| {
        let mut rounds = Rounds::new(problem, lambda);
        let mut w = rounds.w.clone();
        let mut sigma = first_sigma(problem, &w);
        for _ in 0..MOST_SMOOTH_ROUNDS {
            let losses = (0..problem.blocks().len()).map(|query| problem.loss_of(query).smoothed(sigma));
            let smooth = problem.with_losses(losses.collect(), Shape::Smooth);
            let round = lbfgs::minimize(&smooth.ridge(lambda), w, &inner, control);
            // Both objectives have the same penalty, so their difference is that of the risks.
            let difference = round.report.objective - rounds.record(&round);
            let close = difference.abs() < RISK_DIFFERENCE * weight;
            if round.report.stop == Stop::Interrupted || close {
                rounds.report.stop = if close { Stop::Converged } else { round.report.stop };
                break;
            }
            w = round.w;
            sigma *= 0.5;
        }
        rounds.finish()
    })
}

/// The best point of the rounds so far, and the report.
struct Rounds<'p, 'a> {
    problem: &'p ListProblem<'a>,
    lambda: f64,
    w: Vec<f64>,
    report: SolveReport,
    began: Instant,
}

impl<'p, 'a> Rounds<'p, 'a> {
    fn new(problem: &'p ListProblem<'a>, lambda: f64) -> Self {
        let began = Instant::now();
        let start = problem.ridge(lambda).at(problem.start());
        let (stop, objective, steps) = (Stop::IterationLimit, start.value, Vec::new());
        let report =
            SolveReport { stop, iterations: 0, objective, gap: objective, steps, eigenfunctions: Vec::new() };
        Self { problem, lambda, w: start.w, report, began }
    }

    /// Adds a round. Returns the original objective of its solution.
    fn record(&mut self, round: &Solution) -> f64 {
        let point = self.problem.ridge(self.lambda).at(round.w.clone());
        if point.value < self.report.objective {
            (self.w, self.report.objective) = (point.w, point.value);
        }
        self.report.iterations += round.report.iterations;
        self.report.gap = round.report.gap;
        let (objective, gap) = (self.report.objective, self.report.gap);
        self.report.steps.push(Step { objective, gap, seconds: self.began.elapsed().as_secs_f64() });
        point.value
    }

    fn finish(self) -> Solution {
        Solution { w: self.w, report: self.report }
    }
}

/// Twice the standard deviation of the scores minus their means in the query; 1 if all are equal.
fn first_sigma(problem: &ListProblem<'_>, w: &[f64]) -> f64 {
    let scores = problem.image(w);
    let squares = problem.map_losses(&scores, |_, scores| {
        let mean = scores.iter().sum::<f64>() / scores.len() as f64;
        scores.iter().map(|score| (score - mean) * (score - mean)).sum::<f64>()
    });
    let deviation = (squares.iter().sum::<f64>() / scores.len().max(1) as f64).sqrt();
    if deviation > 0.0 { FIRST_SIGMA * deviation } else { 1.0 }
}
