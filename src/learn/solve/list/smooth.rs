//! Solvers of smooth losses: L-BFGS and Newton's method with conjugate gradients.

use super::{annealing, warm_path};
use crate::cost::loss::Shape;
use crate::learn::solve::{ListMethod, SolverDef};
use crate::math::optim::{lbfgs, newton_cg};

/// The definition.
pub const LBFGS: SolverDef = SolverDef {
    name: "lbfgs",
    summary: "limited-memory BFGS for smooth listwise losses and, by annealing, for their limits",
    pair: None,
    list: Some(ListMethod {
        shapes: &[Shape::Quadratic, Shape::Smooth, Shape::Annealed],
        path: |problem, lambdas, rule, control| match problem.shape() {
            Shape::Annealed => annealing::path(problem, lambdas, rule, control),
            _ => warm_path(problem, lambdas, |p, w| lbfgs::minimize(&p, w, rule, control)),
        },
    }),
};

/// The method of the solver `newton` for lists.
pub const NEWTON_ON_LISTS: ListMethod = ListMethod {
    shapes: &[Shape::Quadratic, Shape::Smooth],
    path: |problem, lambdas, rule, control| {
        warm_path(problem, lambdas, |p, w| newton_cg::minimize(&p, w, rule, control))
    },
};
