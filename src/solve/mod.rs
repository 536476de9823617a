//! Solvers. Each states its optimization problem first, returns a point with a certified gap and says why it stopped.

mod factor;
mod list;
mod pair;

use crate::error::{Error, Result};
use crate::loss::{Loss, PairLoss, Shape};

pub use crate::optim::{Solution, SolveReport, Step, Stop, StopRule};

pub use factor::{Factorization, Factors, HalfStep, UserLoss, gather};
pub use list::{
    Cut, Gram, ListBlock, ListProblem, Rows, ball_path, eigenpairs, path as list_path, spectral_path,
};
pub use pair::{PairBlock, PairProblem, certificate, path, solve};

/// One solver: what it does about pairwise losses, and what about listwise ones.
#[derive(Debug)]
pub struct SolverDef {
    /// The name in the option `solver`.
    pub name: &'static str,
    /// One line for people.
    pub summary: &'static str,
    /// Its work on a [`PairProblem`], where it takes one.
    pub pair: Option<PairWork>,
    /// Its work on a [`ListProblem`], where it takes one.
    pub list: Option<ListWork>,
}

/// One way to solve a [`PairProblem`].
#[derive(Debug, Clone, Copy)]
pub struct PairWork {
    /// Losses that it solves; psi comes with the hinge ([`SolverDef::takes`]).
    pub losses: &'static [PairLoss],
    /// Solves the problem for each lambda, best given from large to small; the last argument is asked whether to stop.
    /// One w with its report per lambda; an interrupted run ends with the interrupted fit.
    pub path: PairPath,
}

/// One way to solve a [`ListProblem`].
#[derive(Debug, Clone, Copy)]
pub struct ListWork {
    /// Shapes of losses that it solves.
    pub shapes: &'static [Shape],
    /// As [`PairWork::path`].
    pub path: ListPath,
}

impl SolverDef {
    /// Whether problems with this loss can be solved. Psi is solved by a sequence of hinge problems.
    pub fn takes(&self, loss: &Loss) -> bool {
        match loss {
            Loss::Pair(PairLoss::Psi) => self.takes(&Loss::Pair(PairLoss::Hinge)),
            Loss::Pair(loss) => self.pair.is_some_and(|work| work.losses.contains(loss)),
            Loss::List(loss) => self.list.is_some_and(|work| work.shapes.contains(&loss.shape())),
        }
    }

    /// Refuses a loss that the solver does not take.
    ///
    /// # Errors
    /// With the solvers that take it.
    pub fn check(&self, loss: &Loss) -> Result<()> {
        if self.takes(loss) {
            return Ok(());
        }
        let taking: Vec<&str> =
            SOLVERS.iter().filter(|solver| solver.takes(loss)).map(|solver| solver.name).collect();
        Err(Error::Unsupported(format!(
            "the solver '{}' does not take the loss '{}', which is taken by: {}",
            self.name,
            loss.def().name,
            taking.join(", ")
        )))
    }

    /// Its work on pairs; that of `auto` where it has none.
    fn pair_path(&self) -> PairPath {
        self.pair.map_or(pair::NEWTON_WORK.path, |work| work.path)
    }

    /// Its work on lists; that of `auto` where it has none.
    fn list_path(&self) -> ListPath {
        self.list.map_or(list::AUTO.path, |work| work.path)
    }
}

/// One query prepared for a loss.
#[derive(Debug)]
pub enum QueryBlock {
    /// For a pairwise one.
    Pair(PairBlock),
    /// For a listwise one.
    List(ListBlock),
}

/// Tells whether the work should stop; once true it stays true.
type Canceled<'a> = &'a (dyn Fn() -> bool + Sync);

/// The work of a solver on pairs.
pub type PairPath =
    fn(&PairProblem<'_>, &[f64], &SolveOptions, &(dyn Fn() -> bool + Sync)) -> Vec<(Vec<f64>, SolveReport)>;

/// The work of a solver on lists.
pub type ListPath =
    fn(&ListProblem<'_>, &[f64], &SolveOptions, &(dyn Fn() -> bool + Sync)) -> Vec<(Vec<f64>, SolveReport)>;

/// Chooses by the loss and the size of the problem.
const AUTO: SolverDef = SolverDef {
    name: "auto",
    summary: "pairs: newton; lists: by the shape of the loss",
    pair: Some(pair::NEWTON_WORK),
    list: Some(list::AUTO),
};

/// Every solver; the first is the default.
pub const SOLVERS: &[&SolverDef] = &[
    &AUTO,
    &pair::NEWTON,
    &pair::DUAL_DESCENT,
    &pair::ADMM,
    &list::LBFGS,
    &list::BUNDLE,
    &list::LEAST_SQUARES,
    &list::STOCHASTIC,
    &list::CONSTRAINT_GENERATION,
];

/// Names of all solvers, in the order of [`SOLVERS`].
pub const NAMES: &[&str] = &[
    AUTO.name,
    pair::NEWTON.name,
    pair::DUAL_DESCENT.name,
    pair::ADMM.name,
    list::LBFGS.name,
    list::BUNDLE.name,
    list::LEAST_SQUARES.name,
    list::STOCHASTIC.name,
    list::CONSTRAINT_GENERATION.name,
];

/// The solver of this name.
///
/// # Errors
/// An unknown name, with the known ones.
pub fn find(name: &str) -> Result<&'static SolverDef> {
    let known = SOLVERS.iter().find(|solver| solver.name == name).copied();
    known.ok_or_else(|| Error::unknown("solver", name, NAMES.iter().copied()))
}

/// Which solver runs, and when it may stop.
#[derive(Debug, Clone, Copy)]
pub struct SolveOptions {
    /// The solver.
    pub solver: &'static SolverDef,
    /// Gap to reach, relative to the objective.
    pub tolerance: f64,
    /// Largest number of iterations.
    pub max_iterations: u32,
}

impl SolveOptions {
    /// Without the solver.
    pub fn rule(&self) -> StopRule {
        StopRule { tolerance: self.tolerance, max_iterations: self.max_iterations }
    }

    fn allowed_gap(&self, objective: f64, scale: f64) -> f64 {
        self.rule().allowed_gap(objective, scale)
    }
}

impl Default for SolveOptions {
    fn default() -> Self {
        Self { solver: SOLVERS[0], tolerance: 1e-6, max_iterations: 1000 }
    }
}
