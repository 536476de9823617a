//! Chooses a solver by the shape of the loss.

use super::lbfgs::LBFGS;
use super::{ListProblem, Report};
use crate::loss::Shape;
use crate::solve::{ListWork, SolveOptions};

/// Its work.
pub const AUTO: ListWork = ListWork { shapes: &[Shape::Quadratic, Shape::Smooth], path };

fn path(
    problem: &ListProblem<'_>,
    lambdas: &[f64],
    options: &SolveOptions,
    cancelled: &(dyn Fn() -> bool + Sync),
) -> Vec<Report> {
    LBFGS.list_path()(problem, lambdas, options, cancelled)
}
