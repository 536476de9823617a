//! Weighted pairwise losses with a linear kernel:
//!
//! ```text
//! min_w P(w) = sum_g c_g sum over pairs (a, b) of query g, y_a > y_b, of L(s_a - s_b) + v.w + lambda |w - w0|^2
//!
//! L      the loss of a pair, by default the hinge max(0, 1 - (s_a - s_b)); v and w0 are 0 unless asked for
//! s = X w                scores of the m documents; b features
//! z = x_a - x_b          a pair; T pairs
//! u = 1 - (s_a - s_b)    its violation
//! ```
//!
//! Problem (3.7) of Dai and Wang (2019) has `c_g = 2 pi_g / (n N_g (N_g - 1))`; rank-SVM has equal `pi_g`. The dual of
//! the hinge is
//!
//! ```text
//! max D(alpha) = sum of alpha + lambda |w0|^2 - |X'g + t|^2 / (4 lambda)    over 0 <= alpha <= c
//!
//! g_j = (sum of alpha over the pairs in which j is the better document)
//!     - (sum of alpha over the pairs in which it is the worse one),    so that X'g = sum of alpha z
//! ```
//!
//! and every answer carries P - D of an explicit alpha:
//!
//! ```text
//! P(w) - D(alpha) = [sum of c max(u, 0) - sum of alpha u] + |2 lambda w - X'g - t|^2 / (4 lambda),
//! t = 2 lambda w0 - v
//! ```
//!
//! `newton` is Newton's method in score space: a pass over all pairs touches no feature and stores nothing per pair.
//! `dual` holds the solvers that keep numbers per pair. Whatever the solver, `reduce` turns
//! the problem when it has fewer documents than features, and `psi` makes a loss that is not convex from hinges.

mod block;
mod certificate;
mod dual;
mod newton;
mod psi;
mod reduce;

pub use block::PairBlock;
pub use certificate::certificate;
pub use dual::{ADMM, DUAL_DESCENT};
pub use newton::{NEWTON, NEWTON_WORK};

use super::{SolveOptions, SolveReport, Stop};
use crate::error::{Error, Result};
use crate::loss::{Loss, PairLoss};

/// More features are refused: a fit needs several matrices of 8 b^2 bytes and an iteration takes b^3 / 3
/// multiplications, so it would end for want of memory or not at all.
const MOST_FEATURES: usize = 10_000;

/// A weighted sum of queries with a penalty.
#[derive(Debug, Clone)]
pub struct PairProblem<'a> {
    dim: usize,
    blocks: Vec<(&'a PairBlock, f64)>,
    lambda: f64,
    loss: PairLoss,
    center: Option<Vec<f64>>,
    tilt: Option<Vec<f64>>,
    start: Option<Vec<f64>>,
}

impl<'a> PairProblem<'a> {
    /// The problem with the given queries, each with its weight c >= 0, and lambda > 0.
    ///
    /// # Errors
    /// When a query has another number of features, there are too many, or a weight or lambda is out of range.
    pub fn new(dim: usize, blocks: Vec<(&'a PairBlock, f64)>, lambda: f64) -> Result<Self> {
        if dim > MOST_FEATURES {
            return Err(Error::Unsupported(format!(
                "{dim} scaled features are too many for this solver, which takes {MOST_FEATURES}"
            )));
        }
        if let Some((block, _)) = blocks.iter().find(|(block, _)| block.dim() != dim) {
            let what = "number of features of a query".to_owned();
            return Err(Error::Shape { what, found: block.dim(), expected: dim });
        }
        if let Some((_, weight)) = blocks.iter().find(|(_, weight)| !(weight.is_finite() && *weight >= 0.0)) {
            return Err(Error::value(
                "weight of a query",
                weight.to_string(),
                "a finite number of at least 0",
            ));
        }
        check_lambda(lambda)?;
        Ok(Self { dim, blocks, lambda, loss: PairLoss::Hinge, center: None, tilt: None, start: None })
    }

    /// The problem with another loss per pair than the hinge.
    #[must_use]
    pub fn with_loss(self, loss: PairLoss) -> Self {
        Self { loss, ..self }
    }

    /// The problem with the penalty lambda |w - w0|^2.
    ///
    /// # Errors
    /// When w0 has another number of features or a number that is not finite.
    pub fn with_center(self, center: Vec<f64>) -> Result<Self> {
        if center.len() != self.dim {
            let what = "number of features of the center".to_owned();
            return Err(Error::Shape { what, found: center.len(), expected: self.dim });
        }
        if !center.iter().all(|value| value.is_finite()) {
            return Err(Error::Data("the center of the penalty must be finite numbers".to_owned()));
        }
        Ok(Self { center: Some(center), ..self })
    }

    /// The problem with v.w added to its objective; v has `dim` numbers.
    fn with_tilt(self, tilt: Vec<f64>) -> Self {
        Self { tilt: Some(tilt), ..self }
    }

    /// The problem with a point from which a solver may start; w has `dim` numbers.
    fn with_start(self, w: Vec<f64>) -> Self {
        Self { start: Some(w), ..self }
    }

    /// Loss of a pair.
    pub fn loss(&self) -> PairLoss {
        self.loss
    }

    /// Center w0 of the penalty, where it is not 0.
    pub fn center(&self) -> Option<&[f64]> {
        self.center.as_deref()
    }

    /// t with 2 lambda w = X'g + t at the solution: t = 2 lambda w0 - v.
    pub(super) fn pull(&self, lambda: f64) -> Vec<f64> {
        let mut pull = vec![0.0; self.dim];
        if let Some(center) = &self.center {
            pull.iter_mut().zip(center).for_each(|(pull, w0)| *pull += 2.0 * lambda * w0);
        }
        if let Some(tilt) = &self.tilt {
            pull.iter_mut().zip(tilt).for_each(|(pull, v)| *pull -= v);
        }
        pull
    }

    /// Number of features.
    pub fn dim(&self) -> usize {
        self.dim
    }

    /// Queries and their weights c.
    pub fn blocks(&self) -> &[(&'a PairBlock, f64)] {
        &self.blocks
    }

    /// Factor of the penalty.
    pub fn lambda(&self) -> f64 {
        self.lambda
    }
}

pub(super) fn check_lambda(lambda: f64) -> Result<()> {
    if lambda.is_finite() && lambda > 0.0 {
        return Ok(());
    }
    Err(Error::value("lambda", lambda.to_string(), "a finite number above 0"))
}

/// A solution w with how it was reached.
type Report = (Vec<f64>, SolveReport);

/// Solves one problem with the solver of the options; answers w and how it was reached. `canceled` is asked before
/// every part of a pass; once true it must stay true. The solver must take the loss (`SolverDef::takes`).
pub fn solve(
    problem: &PairProblem<'_>,
    options: &SolveOptions,
    canceled: &(dyn Fn() -> bool + Sync),
) -> (Vec<f64>, SolveReport) {
    solve_all(problem, &[problem.lambda], options, canceled).pop().unwrap_or_else(|| {
        // A solver answers every lambda, interrupted or not.
        let (stop, steps) = (Stop::Stalled, Vec::new());
        let report = SolveReport { stop, iterations: 0, objective: f64::INFINITY, gap: f64::INFINITY, steps };
        (vec![0.0; problem.dim], report)
    })
}

/// Solves the problem for each of `lambdas`, best given from large to small, every fit starting from the one before.
/// The lambda of `problem` is not used. An interrupted path ends with the interrupted fit.
///
/// # Errors
/// When a lambda is out of range or the solver does not take the loss.
pub fn path(
    problem: &PairProblem<'_>,
    lambdas: &[f64],
    options: &SolveOptions,
    canceled: &(dyn Fn() -> bool + Sync),
) -> Result<Vec<(Vec<f64>, SolveReport)>> {
    lambdas.iter().try_for_each(|&lambda| check_lambda(lambda))?;
    options.solver.check(&Loss::Pair(problem.loss))?;
    Ok(solve_all(problem, lambdas, options, canceled))
}

/// The problem in its smallest coordinates.
fn solve_all(
    problem: &PairProblem<'_>,
    lambdas: &[f64],
    options: &SolveOptions,
    canceled: &(dyn Fn() -> bool + Sync),
) -> Vec<Report> {
    match reduce::Reduced::new(problem, canceled) {
        Some(reduced) => {
            let fits = solve_directly(&reduced.problem(), lambdas, options, canceled);
            reduced.lifted(lambdas, fits, options)
        }
        None => solve_directly(problem, lambdas, options, canceled),
    }
}

fn solve_directly(
    problem: &PairProblem<'_>,
    lambdas: &[f64],
    options: &SolveOptions,
    canceled: &(dyn Fn() -> bool + Sync),
) -> Vec<Report> {
    let solver = if problem.loss == PairLoss::Psi { psi::path } else { options.solver.pair_path() };
    solver(problem, lambdas, options, canceled)
}

#[cfg(test)]
mod tests;
