//! Losses that are differences of convex functions, by convex rounds (Le, Smola, Chapelle & Teo, algorithm 2; Yuille &
//! Rangarajan 2003).
//!
//! The loss of every query is replaced by a convex one that is nowhere below it and equal to it at the scores of the
//! point at hand, and the convex problem is solved by cutting planes to a tenth of the tolerance. Its solution is the
//! next point, so the objective never rises. The rounds end when it falls by no more than the gap allowed, or after
//! [`MOST_ROUNDS`]. The first point is the center, else the start of the problem, else 0.
//!
//! **What the report says.** The objective is that of the loss itself. The gap is that of the last convex problem: it
//! certifies a point at which the rounds rest, not the optimum, which is hard to find. `steps` has one entry per round
//! and `iterations` counts the planes of all of them.

use std::time::Instant;

use super::bundle;
use super::{ListProblem, Report, along};
use crate::loss::Shape;
use crate::solve::{Canceled, SolveOptions, SolveReport, Step, Stop};

/// Most convex problems.
const MOST_ROUNDS: usize = 50;
/// Tolerance of the convex problems as a share of that asked for.
const INNER: f64 = 0.1;

/// Solves the problem for each lambda from the same point, since a path would make the answers depend on its order.
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
    let inner = SolveOptions { tolerance: INNER * options.tolerance, ..*options };
    let mut w = problem.beginning();
    let mut unused = vec![0.0; problem.dim()];
    let first = problem.objective(lambda, &w, &mut unused);
    let mut report = SolveReport {
        stop: Stop::IterationLimit,
        iterations: 0,
        objective: first,
        gap: first,
        steps: Vec::new(),
    };
    for _ in 0..MOST_ROUNDS {
        let convex = majorant(problem, &w);
        let Some((next, round)) = bundle::solve_from(&convex, &w, &[lambda], &inner, canceled).pop() else {
            break;
        };
        report.iterations += round.iterations;
        report.gap = round.gap;
        let objective = problem.objective(lambda, &next, &mut unused);
        let fall = report.objective - objective;
        if fall > 0.0 {
            (w, report.objective) = (next, objective);
        }
        let seconds = began.elapsed().as_secs_f64();
        report.steps.push(Step { objective: report.objective, gap: round.gap, seconds });
        if round.stop == Stop::Interrupted || fall <= options.allowed_gap(report.objective, first) {
            report.stop = round.stop;
            break;
        }
    }
    (w, report)
}

/// The convex problem that touches this one at w.
fn majorant<'a>(problem: &ListProblem<'a>, w: &[f64]) -> ListProblem<'a> {
    let losses = problem.each_query(&problem.scores(w), |loss, scores| loss.majorant(scores));
    problem.with_losses(losses, Shape::Convex)
}
