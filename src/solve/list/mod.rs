//! Listwise losses in a space where functions are linear:
//!
//! ```text
//! min_w P(w) = sum_q c_q L_q(X_q w) + lambda |w - w0|^2
//!
//! L_q    the loss of query q, which sees its scores only; c_q >= 0 its weight
//! X_q    its documents (N_q, b); w0 is 0 unless asked for
//! R(w)   the sum, called the risk; a pass over all documents gives R(w) and a subgradient
//! ```
//!
//! P is strongly convex where the losses are convex: P(w) - min P <= |g|^2 / (4 lambda) for every subgradient g of P at
//! w, which certifies smooth losses; solvers of others carry a lower bound of their own.

mod annealed;
mod auto;
mod ball;
mod block;
mod bundle;
mod constraint_generation;
mod differences;
mod gram;
mod lbfgs;
mod least_squares;
mod newton;
mod pass;
mod problem;
mod product;
mod spectral;
mod stochastic;

pub use auto::AUTO;
pub use ball::path as ball_path;
pub use block::{ListBlock, Rows};
pub use bundle::BUNDLE;
pub(super) use bundle::Planes;
pub use constraint_generation::CONSTRAINT_GENERATION;
pub use gram::Gram;
pub use lbfgs::LBFGS;
pub use least_squares::LEAST_SQUARES;
pub use newton::NEWTON;
pub use problem::ListProblem;
pub use spectral::{Cut, eigenpairs, path as spectral_path};
pub use stochastic::STOCHASTIC;

use super::pair::check_lambda;
use super::{SolveOptions, SolveReport, Stop};
use crate::error::Result;
use crate::loss::Loss;

/// A solution w with how it was reached.
type Report = (Vec<f64>, SolveReport);

/// Fits for each parameter of a path; `fit` is told the fit before. An interrupted path ends with the interrupted fit.
fn along(parameters: &[f64], mut fit: impl FnMut(f64, Option<&Report>) -> Report) -> Vec<Report> {
    let mut fits: Vec<Report> = Vec::with_capacity(parameters.len());
    for &parameter in parameters {
        let next = fit(parameter, fits.last());
        let interrupted = next.1.stop == Stop::Interrupted;
        fits.push(next);
        if interrupted {
            break;
        }
    }
    fits
}

/// Solves the problem for each of `lambdas`, best given from large to small, with the solver of the options; one w with
/// its report per lambda. `canceled` is asked between passes; once true it must stay true, and the path ends with the
/// interrupted fit.
///
/// # Errors
/// When a lambda is out of range or the solver does not take the loss.
pub fn path(
    problem: &ListProblem<'_>,
    lambdas: &[f64],
    options: &SolveOptions,
    canceled: &(dyn Fn() -> bool + Sync),
) -> Result<Vec<Report>> {
    lambdas.iter().try_for_each(|&lambda| check_lambda(lambda))?;
    options.solver.check(&Loss::List(problem.loss().clone()))?;
    Ok(options.solver.list_path()(problem, lambdas, options, canceled))
}

#[cfg(test)]
mod tests;
