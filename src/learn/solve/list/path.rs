//! Solutions of a listwise problem for several lambdas, by any solver.

use super::ListProblem;
use crate::base::{Control, Result};
use crate::learn::solve::{Solution, SolveOptions, check_lambda, table};

/// Solves the problem for each of `lambdas`, best ordered from large to small. An interrupted path ends with the
/// interrupted solution.
///
/// # Errors
/// A lambda out of range; a solver that does not support the loss.
pub fn path(
    problem: &ListProblem<'_>,
    lambdas: &[f64],
    options: &SolveOptions,
    control: &Control,
) -> Result<Vec<Solution>> {
    lambdas.iter().try_for_each(|&lambda| check_lambda(lambda))?;
    let method = table::list_method(options.solver, problem.loss)?;
    Ok((method.path)(problem, lambdas, &options.rule(), control))
}
