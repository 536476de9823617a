//! Listwise losses in a space of linear functions:
//!
//! ```text
//! min_w P(w) = R(w) + lambda |w - w0|^2,     R(w) = sum_q c_q L_q(X_q w)
//!
//! L_q    the loss of query q, a function of its scores; c_q >= 0 its weight
//! X_q    its documents (N_q, b); w0 is 0 by default
//! ```
//!
//! P is strongly convex if the losses are convex. Then P(w) - min P <= |g|^2 / (4 lambda) for each subgradient g of P at
//! w. This certifies solutions of smooth losses. Solvers of other losses compute their own lower bounds.

mod annealing;
mod auto;
mod ball;
mod block;
mod bundle;
mod constraint_generation;
mod differences;
mod gram;
mod l1;
mod least_squares;
mod pass;
mod problem;
mod product;
mod slabs;
mod smooth;
mod spectral;
mod starts;
mod stochastic;

pub use auto::AUTO_ON_LISTS;
pub use ball::{path as ball_path, sphere_path};
pub use block::{ListBlock, Rows};
pub use bundle::BUNDLE;
pub use constraint_generation::CONSTRAINT_GENERATION;
pub use gram::Gram;
pub use l1::{largest_lambda as largest_l1_lambda, path as l1_path};
pub use least_squares::{LEAST_SQUARES, path_of_sums as least_squares_of_sums};
pub use problem::ListProblem;
pub use slabs::{Slabs, fits_single_precision};
pub use smooth::{LBFGS, NEWTON_ON_LISTS};
pub use spectral::{Cut, eigenpairs, path as spectral_path, path_of_sums as spectral_of_sums};
pub use stochastic::STOCHASTIC;

use super::{Solution, SolveOptions, check};
use crate::base::control::Control;
use crate::base::error::Result;
use crate::cost::loss::Loss;
use crate::math::optim::{Ridge, solve_path};

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
    lambdas.iter().try_for_each(|&lambda| check::lambda(lambda))?;
    options.solver.check(&Loss::List(problem.loss().clone()))?;
    Ok(options.solver.list_path()(problem, lambdas, &options.rule(), control))
}

/// Solves for each lambda with `solve`, which receives P and a start: first that of the problem, then the previous
/// solution.
fn warm_path<'p>(
    problem: &'p ListProblem<'_>,
    lambdas: &[f64],
    solve: impl Fn(Ridge<'p>, Vec<f64>) -> Solution,
) -> Vec<Solution> {
    solve_path(lambdas, |lambda, previous| {
        let start = previous.map_or_else(|| problem.start(), |solution| solution.w.clone());
        solve(problem.ridge(lambda), start)
    })
}

#[cfg(test)]
mod tests;
