//! Chooses a solver by the shape of the loss.

use super::bundle::BUNDLE;
use super::lbfgs::LBFGS;
use super::least_squares::LEAST_SQUARES;
use super::{ListProblem, Report};
use crate::loss::Shape;
use crate::solve::{ListWork, SolveOptions, SolverDef};

/// Its work.
pub const AUTO: ListWork = ListWork {
    shapes: &[Shape::Quadratic, Shape::Smooth, Shape::Convex, Shape::Difference, Shape::Annealed],
    path,
};

/// The matrix of more features (or documents, where they are fewer) takes longer than the passes of L-BFGS.
const LARGEST_MATRIX: usize = 3000;

fn path(
    problem: &ListProblem<'_>,
    lambdas: &[f64],
    options: &SolveOptions,
    canceled: &(dyn Fn() -> bool + Sync),
) -> Vec<Report> {
    choice(problem).list_path()(problem, lambdas, options, canceled)
}

fn choice(problem: &ListProblem<'_>) -> &'static SolverDef {
    match problem.shape() {
        Shape::Quadratic => {
            let documents: usize = problem.blocks().iter().map(|(block, _)| block.n_docs()).sum();
            if problem.dim().min(documents) <= LARGEST_MATRIX { &LEAST_SQUARES } else { &LBFGS }
        }
        Shape::Smooth | Shape::Annealed => &LBFGS,
        Shape::Convex | Shape::Difference => &BUNDLE,
    }
}
