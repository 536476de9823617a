//! The table of solvers.

use super::solver::SolverDef;
use crate::base::{Error, Result, names_of};

/// Chooses by the loss and the size of the problem.
pub(super) const AUTO: SolverDef = SolverDef {
    name: "auto",
    summary: "pairs: newton; lists: by the shape of the loss",
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

/// Name of a solver that was removed.
const REMOVED: &str = "dual_descent";

/// Names of all solvers, in the order of [`SOLVERS`].
pub const NAMES: &[&str] = names_of!(SOLVERS);

/// The solver that a stored model names. `dual_descent`, which was removed, is the default (docs/adr/0023-dual-descent.md).
///
/// # Errors
/// An unknown name.
pub fn find_stored(name: &str) -> Result<&'static SolverDef> {
    if name == REMOVED { Ok(SOLVERS[0]) } else { find(name) }
}

/// The solver of this name.
///
/// # Errors
/// An unknown name.
pub fn find(name: &str) -> Result<&'static SolverDef> {
    let known = SOLVERS.iter().find(|solver| solver.name == name).copied();
    known.ok_or_else(|| Error::unknown("solver", name, NAMES.iter().copied()))
}
