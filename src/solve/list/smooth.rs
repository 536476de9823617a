//! Solvers of smooth losses: L-BFGS and Newton's method with conjugate gradients.

use super::{ListProblem, rounds};
use crate::control::Control;
use crate::loss::Shape;
use crate::optim::{Ridge, Solution, StopRule, lbfgs, newton_cg, solve_path};
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
            _ => warm_path(problem, lambdas, rule, control, lbfgs::minimize),
        },
    }),
};

/// The work of the solver `newton` on lists.
pub const NEWTON: ListWork = ListWork {
    shapes: &[Shape::Quadratic, Shape::Smooth],
    path: |problem, lambdas, rule, control| warm_path(problem, lambdas, rule, control, newton_cg::minimize),
};

/// Minimizes P from a point.
type Minimize = fn(&Ridge<'_>, Vec<f64>, &StopRule, &Control) -> Solution;

/// Solves for each lambda from the previous solution.
fn warm_path(
    problem: &ListProblem<'_>,
    lambdas: &[f64],
    rule: &StopRule,
    control: &Control,
    minimize: Minimize,
) -> Vec<Solution> {
    solve_path(lambdas, |lambda, previous| {
        let start = previous.map_or_else(|| problem.start(), |solution| solution.w.clone());
        minimize(&problem.ridge(lambda), start, rule, control)
    })
}
