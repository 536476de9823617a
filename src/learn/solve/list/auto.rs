//! The choice of a solver by the shape of the loss.

use super::{BUNDLE, LBFGS, LEAST_SQUARES, ListProblem};
use crate::cost::loss::Shape;
use crate::learn::solve::{ListMethod, SolverDef};

/// The method of the solver `auto` for lists.
pub const AUTO_ON_LISTS: ListMethod = ListMethod {
    shapes: &[Shape::Quadratic, Shape::Smooth, Shape::Convex, Shape::Difference, Shape::Annealed],
    path: |problem, lambdas, rule, control| choose(problem).list_path()(problem, lambdas, rule, control),
};

/// A larger linear system takes longer than the passes of L-BFGS.
const LARGEST_SYSTEM: usize = 3000;

fn choose(problem: &ListProblem<'_>) -> &'static SolverDef {
    match problem.shape() {
        Shape::Quadratic if problem.dim().min(problem.documents()) <= LARGEST_SYSTEM => &LEAST_SQUARES,
        Shape::Quadratic | Shape::Smooth | Shape::Annealed => &LBFGS,
        Shape::Convex | Shape::Difference => &BUNDLE,
    }
}
