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

use super::super::{Solution, SolveOptions, check_lambda, plane_bytes};
use super::least_squares::LEAST_SQUARES;
use super::problem::ListProblem;
use crate::base::{Control, Result};
use crate::cost::loss::{Loss, Shape};
use crate::learn::solve::{ListMethod, SolverDef};
use crate::math::optim::cutting_planes::minimize_path;
use crate::math::{Ridge, lbfgs, newton_cg, solve_path};

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
    options.solver.check(&Loss::List(problem.loss.clone()))?;
    Ok((options.solver.on_lists().path)(problem, lambdas, &options.rule(), control))
}

/// Solves for each lambda with `solve`, which receives P and a start: first that of the problem, then the previous
/// solution.
pub(super) fn warm_path<'p>(
    problem: &'p ListProblem<'_>,
    lambdas: &[f64],
    solve: impl Fn(Ridge<'p>, Vec<f64>) -> Solution,
) -> Vec<Solution> {
    solve_path(lambdas, |lambda, previous| {
        let start = previous.map_or_else(|| problem.start(), |solution| solution.w.clone());
        solve(problem.ridge(lambda), start)
    })
}

// Choice of a solver by the shape of the loss.

/// The method of the solver `auto` for lists.
pub const AUTO_ON_LISTS: ListMethod = ListMethod {
    shapes: &[Shape::Quadratic, Shape::Smooth, Shape::Convex, Shape::Difference, Shape::Annealed],
    path: |problem, lambdas, rule, control| {
        (choose(problem).on_lists().path)(problem, lambdas, rule, control)
    },
    bytes: |problem| (choose(problem).on_lists().bytes)(problem),
};

/// A larger linear system takes longer than the passes of L-BFGS.
const LARGEST_SYSTEM: usize = 3000;

fn choose(problem: &ListProblem<'_>) -> &'static SolverDef {
    match problem.shape() {
        Shape::Quadratic if problem.dim().min(problem.documents()) <= LARGEST_SYSTEM => &LEAST_SQUARES,
        Shape::Quadratic | Shape::Smooth | Shape::Annealed => &LBFGS,
        // Of losses with gradients alone conflicts refuse all solvers.
        Shape::Convex | Shape::Difference | Shape::Gradients => &BUNDLE,
    }
}

// Solvers of smooth losses: L-BFGS and Newton's method with conjugate gradients.

/// The definition.
pub const LBFGS: SolverDef = SolverDef {
    name: "lbfgs",
    summary: "limited-memory BFGS for smooth listwise losses and, by annealing, for their limits",
    pair: None,
    list: Some(ListMethod {
        shapes: &[Shape::Quadratic, Shape::Smooth, Shape::Annealed],
        path: |problem, lambdas, rule, control| match problem.shape() {
            Shape::Annealed => super::nonconvex::annealing_path(problem, lambdas, rule, control),
            _ => warm_path(problem, lambdas, |p, w| lbfgs::minimize(&p, w, rule, control)),
        },
        // Annealing keeps several starts.
        bytes: |problem| if problem.shape() == Shape::Annealed { plane_bytes(problem) } else { 0 },
    }),
};

/// The method of the solver `newton` for lists.
pub const NEWTON_ON_LISTS: ListMethod = ListMethod {
    shapes: &[Shape::Quadratic, Shape::Smooth],
    path: |problem, lambdas, rule, control| {
        warm_path(problem, lambdas, |p, w| newton_cg::minimize(&p, w, rule, control))
    },
    bytes: |_| 0,
};

// Solver by cutting planes.

/// The definition.
pub const BUNDLE: SolverDef = SolverDef {
    name: "bundle",
    summary: "cutting planes with a line search, for convex listwise losses and, in rounds, for differences of convex ones",
    pair: None,
    list: Some(ListMethod {
        shapes: &[Shape::Quadratic, Shape::Smooth, Shape::Convex, Shape::Difference],
        path: |problem, lambdas, rule, control| match problem.shape() {
            Shape::Difference => super::nonconvex::difference_path(problem, lambdas, rule, control),
            _ => minimize_path(problem, problem.center(), &problem.start(), lambdas, rule, control),
        },
        bytes: plane_bytes,
    }),
};
