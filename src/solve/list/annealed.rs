//! Losses that are limits of smooth ones, by annealing (Le, Smola, Chapelle & Teo, algorithm 4).
//!
//! The loss of every query is replaced by its smooth form of width sigma, whose problem L-BFGS solves from the point at
//! hand; sigma is then halved. The first sigma is twice the standard deviation of the scores within their queries at the
//! first point, which is the center, else the start of the problem, else 0. The rounds end when the smooth risk and
//! the risk differ by less than 0.001, or after [`MOST_ROUNDS`]. The answer is the point with the least objective of
//! the loss itself, which the paper does not smooth.
//!
//! **What the report says.** The objective is that of the loss itself. The gap is |g|^2 / (4 lambda) of the last smooth
//! problem: it says how near its last point is to a stationary one, and certifies no optimum of either problem.
//! `steps` has one entry per round and `iterations` counts those of all of them. It has
//! converged when the risks have met.

use std::time::Instant;

use super::lbfgs;
use super::pass::PerDocument;
use super::{ListProblem, Report, along};
use crate::loss::Shape;
use crate::solve::{Canceled, SolveOptions, SolveReport, Step, Stop};

/// Most rounds.
const MOST_ROUNDS: usize = 10;
/// Difference of the smooth risk from the risk, as a share of the weights of all queries, that ends the rounds.
const NEAR: f64 = 1e-3;
/// Most L-BFGS iterations of a round; what they lack is made up in the next one.
const MOST_ITERATIONS: u32 = 30;
/// First sigma, in standard deviations of the scores.
const FIRST: f64 = 2.0;

/// Solves the problem for each lambda from the same point.
pub(super) fn path(
    problem: &ListProblem<'_>,
    lambdas: &[f64],
    options: &SolveOptions,
    canceled: Canceled<'_>,
) -> Vec<Report> {
    along(lambdas, |lambda, _| solve(problem, lambda, options, canceled))
}

fn solve(problem: &ListProblem<'_>, lambda: f64, options: &SolveOptions, canceled: Canceled<'_>) -> Report {
    let began = Instant::now();
    let weight: f64 = problem.blocks().iter().map(|(_, weight)| weight).sum();
    let mut unused = vec![0.0; problem.dim()];
    let mut w = problem.beginning();
    let objective = problem.objective(lambda, &w, &mut unused);
    let mut best = w.clone();
    let mut report = SolveReport {
        stop: Stop::IterationLimit,
        iterations: 0,
        objective,
        gap: objective,
        steps: Vec::new(),
    };
    let mut sigma = first_sigma(problem, &w);
    let inner = SolveOptions { max_iterations: options.max_iterations.min(MOST_ITERATIONS), ..*options };
    for _ in 0..MOST_ROUNDS {
        let losses = problem.each_query(&problem.scores(&w), |loss, _| loss.smoothed(sigma));
        let smooth = problem.with_losses(losses, Shape::Smooth);
        let Some((next, round)) = lbfgs::solve_from(&smooth, w, &[lambda], &inner, canceled).pop() else {
            break;
        };
        w = next;
        let objective = problem.objective(lambda, &w, &mut unused);
        if objective < report.objective {
            (best, report.objective) = (w.clone(), objective);
        }
        report.iterations += round.iterations;
        report.gap = round.gap;
        let seconds = began.elapsed().as_secs_f64();
        report.steps.push(Step { objective: report.objective, gap: round.gap, seconds });
        // Both objectives have the same penalty.
        let near = (round.objective - objective).abs() < NEAR * weight;
        if round.stop == Stop::Interrupted || near {
            report.stop = if near { Stop::Converged } else { round.stop };
            break;
        }
        sigma *= 0.5;
    }
    (best, report)
}

/// Twice the standard deviation of the scores less their means in the query; 1 where all are equal.
fn first_sigma(problem: &ListProblem<'_>, w: &[f64]) -> f64 {
    let scores: PerDocument = problem.scores(w);
    let squares = problem.each_query(&scores, |_, scores| {
        let mean = scores.iter().sum::<f64>() / scores.len() as f64;
        scores.iter().map(|score| (score - mean) * (score - mean)).sum::<f64>()
    });
    let documents: usize = scores.iter().map(Vec::len).sum();
    let deviation = (squares.iter().sum::<f64>() / documents.max(1) as f64).sqrt();
    if deviation > 0.0 { FIRST * deviation } else { 1.0 }
}
