//! The methods for losses of lists, and the choice between them by the shape of the loss.

use super::super::{Solution, plane_bytes};
use super::gram::Gram;
use super::least_squares;
use super::nonconvex::LambdaFit;
use super::problem::ListProblem;
use crate::cost::loss::Shape;
use crate::learn::solve::{ListMethod, SolverDef};
use crate::math::optim::cutting_planes::minimize_path;
use crate::math::{Ridge, lbfgs, newton_cg, solve_path};

/// Solves for each lambda with `solve`, which receives P and a start: first the start of the problem, then the
/// previous solution.
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
    path: |problem, lambdas, rule, control| (choose(problem).path)(problem, lambdas, rule, control),
    bytes: |problem| (choose(problem).bytes)(problem),
};

/// A larger linear system takes longer than the passes of L-BFGS.
const LARGEST_SYSTEM: usize = 3000;

fn choose(problem: &ListProblem<'_>) -> &'static ListMethod {
    match problem.shape() {
        Shape::Quadratic if problem.dim().min(problem.documents()) <= LARGEST_SYSTEM => {
            &least_squares::METHOD
        }
        Shape::Smooth if problem.dim() <= LARGEST_SYSTEM => &NEWTON_ON_LISTS,
        Shape::Quadratic | Shape::Smooth | Shape::Annealed => &LBFGS_METHOD,
        // Options with losses that only have gradients are refused before.
        Shape::Convex | Shape::Difference | Shape::Gradients => &BUNDLE_METHOD,
    }
}

// Solvers of smooth losses: L-BFGS and Newton's method with conjugate gradients.

const LBFGS_METHOD: ListMethod = ListMethod {
    shapes: &[Shape::Quadratic, Shape::Smooth, Shape::Annealed],
    path: |problem, lambdas, rule, control| match problem.shape() {
        Shape::Annealed => super::nonconvex::annealing_path(problem, lambdas, rule, control),
        _ => warm_path(problem, lambdas, |p, w| lbfgs::minimize(&p, w, rule, control)),
    },
    // Annealing keeps several starts.
    bytes: |problem| if problem.shape() == Shape::Annealed { plane_bytes(problem) } else { 0 },
};

pub const LBFGS: SolverDef = SolverDef { name: "lbfgs", pair: None, list: Some(LBFGS_METHOD) };

/// The method of the solver `newton` for lists.
pub const NEWTON_ON_LISTS: ListMethod = ListMethod {
    shapes: &[Shape::Quadratic, Shape::Smooth],
    path: |problem, lambdas, rule, control| {
        // The Hessian at 0 preconditions all lambdas.
        let is_small = problem.dim() <= LARGEST_SYSTEM;
        let hessian = is_small.then(|| Gram::of_hessian_at_0(problem).ok()).flatten();
        warm_path(problem, lambdas, |p, w| {
            let like = hessian.as_ref().and_then(|hessian| hessian.factor(p.lambda));
            newton_cg::minimize(&p, w, like.as_ref(), rule, control)
        })
    },
    bytes: |problem| match problem.dim() {
        dim if dim <= LARGEST_SYSTEM => Gram::bytes(problem),
        _ => 0,
    },
};

// Solver by cutting planes.

const BUNDLE_METHOD: ListMethod = ListMethod {
    shapes: &[Shape::Quadratic, Shape::Smooth, Shape::Convex, Shape::Difference],
    path: |problem, lambdas, rule, control| match problem.shape() {
        Shape::Difference => {
            solve_path(lambdas, |lambda, _| LambdaFit::new(problem, lambda, rule, control).run())
        }
        _ => minimize_path(problem, problem.center(), &problem.start(), lambdas, rule, control),
    },
    bytes: plane_bytes,
};

pub const BUNDLE: SolverDef = SolverDef { name: "bundle", pair: None, list: Some(BUNDLE_METHOD) };
