//! The table of solvers.

use super::solver::{ListMethod, PairMethod, SolveOptions, SolverDef};
use crate::base::{Error, Result, names_of};
use crate::cost::loss::{ListLoss, Loss, PairLoss, PairWeights};

/// Chooses by the loss and the size of the problem.
pub(super) const AUTO: SolverDef = SolverDef {
    name: "auto",
    pair: Some(super::pair::NEWTON_ON_PAIRS),
    list: Some(super::list::AUTO_ON_LISTS),
};

/// All solvers. The first is the default.
pub const SOLVERS: &[&SolverDef] = &[
    &AUTO,
    &super::pair::NEWTON,
    &super::pair::ADMM,
    &super::list::LBFGS,
    &super::list::BUNDLE,
    &super::list::LEAST_SQUARES,
    &super::list::STOCHASTIC,
    &super::list::CONSTRAINT_GENERATION,
];

/// Names of all solvers, in the order of [`SOLVERS`].
pub const NAMES: &[&str] = names_of!(SOLVERS);

/// The solver of this name.
///
/// # Errors
/// An unknown name.
pub fn find(name: &str) -> Result<&'static SolverDef> {
    let known = SOLVERS.iter().find(|solver| solver.name == name).copied();
    known.ok_or_else(|| Error::unknown("solver", name, NAMES.iter().copied()))
}

/// The solver's method for this pair loss.
///
/// # Errors
/// A loss that the solver does not support, with the solvers that support it.
pub fn pair_method(solver: &SolverDef, loss: PairLoss) -> Result<PairMethod> {
    let loss = Loss::Pair(loss, PairWeights::Equal);
    solver.pair.filter(|_| solver.takes(&loss)).ok_or_else(|| unsupported(solver, &loss))
}

/// The solver's method for this list loss.
///
/// # Errors
/// See [`pair_method`].
pub fn list_method(solver: &SolverDef, loss: &ListLoss) -> Result<ListMethod> {
    let loss = Loss::List(loss.clone());
    solver.list.filter(|_| solver.takes(&loss)).ok_or_else(|| unsupported(solver, &loss))
}

fn unsupported(solver: &SolverDef, loss: &Loss) -> Error {
    let supporting: Vec<&str> =
        SOLVERS.iter().filter(|solver| solver.takes(loss)).map(|solver| solver.name).collect();
    Error::Unsupported(format!(
        "solver '{}' does not support the loss '{}'; use {}",
        solver.name,
        loss.def().name,
        supporting.join(" or ")
    ))
}

impl SolveOptions {
    /// With the first solver and at most 1000 iterations.
    pub fn new(tolerance: f64) -> Self {
        Self { solver: SOLVERS[0], tolerance, max_iterations: 1000 }
    }
}
