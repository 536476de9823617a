//! The solver by cutting planes.

use super::differences;
use crate::cost::loss::Shape;
use crate::learn::solve::{ListMethod, SolverDef};
use crate::math::optim::cutting_planes::minimize_path;

/// The definition.
pub const BUNDLE: SolverDef = SolverDef {
    name: "bundle",
    summary: "cutting planes with a line search, for convex listwise losses and, in rounds, for differences of convex ones",
    pair: None,
    list: Some(ListMethod {
        shapes: &[Shape::Quadratic, Shape::Smooth, Shape::Convex, Shape::Difference],
        path: |problem, lambdas, rule, control| match problem.shape() {
            Shape::Difference => differences::path(problem, lambdas, rule, control),
            _ => minimize_path(problem, problem.center(), &problem.start(), lambdas, rule, control),
        },
    }),
};
