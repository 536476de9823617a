//! Chooses a solver by the loss, the number of pairs and lambda, from measurements of all of them.
//!
//! Newton's method is the fastest or level with the fastest on all problems but tiny ones that hardly lambda decides:
//! there the solution is a vertex, smoothing brings nothing, and an interior point method takes a third to three
//! quarters of its time. On a path Newton gains from the solution before.

use super::dual::INTERIOR_POINT;
use super::newton::NEWTON;
use super::{PairProblem, Report};
use crate::loss::PairLoss;
use crate::solve::{PairWork, SolveOptions};

/// Problems with at most so many pairs are tiny.
const TINY: u64 = 128;
/// Lambda decides hardly anything below this share of the loss of w = 0.
const SMALL_LAMBDA: f64 = 1e-4;

/// Its work.
pub const AUTO: PairWork =
    PairWork { losses: &[PairLoss::Hinge, PairLoss::Logistic, PairLoss::SquaredHinge], path };

fn path(
    problem: &PairProblem<'_>,
    lambdas: &[f64],
    options: &SolveOptions,
    canceled: &(dyn Fn() -> bool + Sync),
) -> Vec<Report> {
    let solver = if is_tiny(problem, lambdas) { INTERIOR_POINT } else { NEWTON };
    (solver.pair_path())(problem, lambdas, options, canceled)
}

fn is_tiny(problem: &PairProblem<'_>, lambdas: &[f64]) -> bool {
    let [lambda] = lambdas else { return false };
    let pairs: u64 = problem.blocks().iter().map(|(block, _)| block.pairs()).sum();
    let loss_at_zero: f64 = problem.blocks().iter().map(|(block, c)| c * block.pairs() as f64).sum();
    problem.loss() == PairLoss::Hinge && pairs <= TINY && *lambda < SMALL_LAMBDA * loss_at_zero
}
