//! Solvers of smooth losses: L-BFGS and Newton's method with conjugate gradients.

use super::{rounds, warm_path};
use crate::loss::Shape;
use crate::optim::{lbfgs, newton_cg};
use crate::solve::{ListWork, SolverDef};

/// The definition.
pub const LBFGS: SolverDef = SolverDef {
    name: "lbfgs",
    summary: "limited-memory BFGS for smooth listwise losses and, by annealing, for their limits",
    pair: None,
    list: Some(ListWork {
        shapes: &[Shape::Quadratic, Shape::Smooth, Shape::Annealed],
        path: |problem, lambdas, rule, control| match problem.shape() {
            Shape::Annealed => rounds::anneal_path(problem, lambdas, rule, control),
            _ => warm_path(problem, lambdas, |p, w| lbfgs::minimize(&p, w, rule, control)),
        },
    }),
};

/// The work of the solver `newton` on lists.
pub const NEWTON: ListWork = ListWork {
    shapes: &[Shape::Quadratic, Shape::Smooth],
    path: |problem, lambdas, rule, control| {
        warm_path(problem, lambdas, |p, w| newton_cg::minimize(&p, w, rule, control))
    },
};
