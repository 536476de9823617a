//! Solutions of a pairwise problem for several lambdas, by any solver.

use super::reduce::Reduced;
use super::{PairProblem, psi};
use crate::base::{Control, Result};
use crate::cost::loss::PairLoss;
use crate::learn::solve::{Solution, SolveOptions, check_lambda, table};

/// Solves one problem; see [`path`].
///
/// # Errors
/// See [`path`].
pub fn solve(problem: &PairProblem<'_>, options: &SolveOptions, control: &Control) -> Result<Solution> {
    path(problem, &[problem.lambda], options, control).map(|mut solutions| solutions.swap_remove(0))
}

/// Solves the problem for each of `lambdas`, best ordered from large to small; each fit starts from the previous one.
/// The lambda of `problem` is ignored. An interrupted path ends with the interrupted solution.
///
/// # Errors
/// When a lambda is out of range or the solver does not support the loss.
pub fn path(
    problem: &PairProblem<'_>,
    lambdas: &[f64],
    options: &SolveOptions,
    control: &Control,
) -> Result<Vec<Solution>> {
    lambdas.iter().try_for_each(|&lambda| check_lambda(lambda))?;
    let solver = table::pair_method(options.solver, problem.loss)?.path;
    // The problem in its smallest coordinates.
    let reduced = Reduced::new(problem, control);
    let small = reduced.as_ref().map(Reduced::problem);
    let (given, rule) = (small.as_ref().unwrap_or(problem), options.rule());
    let solutions = if problem.loss == PairLoss::Psi {
        psi::path(given, lambdas, &rule, control, solver)
    } else {
        solver(given, lambdas, &rule, control)
    };
    Ok(match &reduced {
        Some(reduced) => reduced.lifted(lambdas, solutions, &rule),
        None => solutions,
    })
}
