//! Solvers of learning problems. Each module states its problem and returns a solution, a certified duality gap and a stop
//! reason. The methods are those of `optim`.

mod check;
mod factor;
mod list;
mod pair;
mod workspace;

use crate::base::control::Control;
use crate::base::error::{Error, Result};
use crate::cost::loss::{Loss, PairLoss, Shape};

pub use check::lambda as check_lambda;

pub use crate::math::optim::{Solution, SolveReport, Step, Stop, StopRule};

pub use factor::{
    Factorization, Factors, HalfStep, KEPT_EVALUATIONS, Side, UserLoss, WeightedSquares, gather, kept_planes,
    no_solution,
};
pub use list::{
    Cut, Gram, ListBlock, ListProblem, Rows, STOCHASTIC, Slabs, ball_path, eigenpairs, fits_single_precision,
    l1_path, largest_l1_lambda, least_squares_of_sums, path as list_path, spectral_of_sums, spectral_path,
    sphere_path,
};
pub use workspace::{l1_bytes, least_squares_bytes, list_bytes, pair_bytes, spectral_bytes};

pub use pair::{
    AskHinge, hinge_origin, hinge_origin_len, hinge_sums, hinge_sums_len, hinge_sums_pairs, solve_hinge,
};
pub use pair::{PairBlock, PairProblem, PairWeighting, certificate, path as pair_path, solve};

/// A solver of problems with pairwise losses, with listwise losses, or with both.
#[derive(Debug)]
pub struct SolverDef {
    /// The value of the option `solver`.
    pub name: &'static str,
    /// One line for the reference tables.
    pub summary: &'static str,
    /// Solves a [`PairProblem`].
    pub pair: Option<PairMethod>,
    /// Solves a [`ListProblem`].
    pub list: Option<ListMethod>,
}

/// A method for a [`PairProblem`].
#[derive(Debug, Clone, Copy)]
pub struct PairMethod {
    /// Supported losses. Psi is supported if the hinge is ([`SolverDef::takes`]).
    pub losses: &'static [PairLoss],
    /// Solves the problem for each lambda.
    pub path: PairPath,
}

/// A method for a [`ListProblem`].
#[derive(Debug, Clone, Copy)]
pub struct ListMethod {
    /// Shapes of supported losses.
    pub shapes: &'static [Shape],
    /// Solves the problem for each lambda.
    pub path: ListPath,
}

/// Solves a pairwise problem for each lambda, best ordered from large to small. An interrupted path ends with the
/// interrupted solution.
pub type PairPath = fn(&PairProblem<'_>, &[f64], &StopRule, &Control) -> Vec<Solution>;

/// As [`PairPath`], for listwise problems.
pub type ListPath = fn(&ListProblem<'_>, &[f64], &StopRule, &Control) -> Vec<Solution>;

impl SolverDef {
    /// Whether the solver supports the loss. Psi is solved by a sequence of hinge problems.
    pub fn takes(&self, loss: &Loss) -> bool {
        match loss {
            Loss::Pair(PairLoss::Psi, weights) => self.takes(&Loss::Pair(PairLoss::Hinge, *weights)),
            Loss::Pair(loss, _) => self.pair.is_some_and(|method| method.losses.contains(loss)),
            Loss::List(loss) => self.list.is_some_and(|method| method.shapes.contains(&loss.shape())),
        }
    }

    /// Refuses a loss that the solver does not support.
    ///
    /// # Errors
    /// Names the solvers that support it.
    pub fn check(&self, loss: &Loss) -> Result<()> {
        if self.takes(loss) {
            return Ok(());
        }
        let supporting: Vec<&str> =
            SOLVERS.iter().filter(|solver| solver.takes(loss)).map(|solver| solver.name).collect();
        Err(Error::Unsupported(format!(
            "the solver '{}' does not take the loss '{}', which is taken by: {}",
            self.name,
            loss.def().name,
            supporting.join(", ")
        )))
    }

    /// Its method for pairwise problems. [`Self::check`] refuses a solver that has none; the default is not used.
    fn pair_path(&self) -> PairPath {
        self.pair.map_or(pair::NEWTON_ON_PAIRS.path, |method| method.path)
    }

    /// Whether it sorts the documents of a long query for the hinge, in place of looking at all pairs.
    pub fn sorts_pairs(&self) -> bool {
        [AUTO.name, pair::NEWTON.name].contains(&self.name)
    }

    /// Its method for listwise problems. [`Self::check`] refuses a solver that has none; the default is not used.
    fn list_path(&self) -> ListPath {
        self.list.map_or(list::AUTO_ON_LISTS.path, |method| method.path)
    }
}

/// One query, prepared for a loss.
#[derive(Debug)]
pub enum QueryBlock {
    /// For a pairwise loss.
    Pair(PairBlock),
    /// For a listwise loss.
    List(ListBlock),
}

impl QueryBlock {
    /// The same query with the first `dim` features.
    #[must_use]
    pub fn leading(&self, dim: usize) -> Self {
        match self {
            Self::Pair(block) => Self::Pair(block.leading(dim)),
            Self::List(block) => Self::List(block.leading(dim)),
        }
    }

    /// Number of documents.
    pub fn n_docs(&self) -> usize {
        match self {
            Self::Pair(block) => block.n_docs(),
            Self::List(block) => block.n_docs(),
        }
    }
}

/// Chooses by the loss and the size of the problem.
const AUTO: SolverDef = SolverDef {
    name: "auto",
    summary: "pairs: newton; lists: by the shape of the loss",
    pair: Some(pair::NEWTON_ON_PAIRS),
    list: Some(list::AUTO_ON_LISTS),
};

/// All solvers. The first is the default.
pub const SOLVERS: &[&SolverDef] = &[
    &AUTO,
    &pair::NEWTON,
    &pair::ADMM,
    &list::LBFGS,
    &list::BUNDLE,
    &list::LEAST_SQUARES,
    &list::STOCHASTIC,
    &list::CONSTRAINT_GENERATION,
];

/// Name of a solver that was removed.
const REMOVED: &str = "dual_descent";

/// Names of all solvers, in the order of [`SOLVERS`].
pub const NAMES: &[&str] = &{
    let mut names = [""; SOLVERS.len()];
    let mut index = 0;
    while index < names.len() {
        names[index] = SOLVERS[index].name;
        index += 1;
    }
    names
};

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

/// The solver and its stop rule.
#[derive(Debug, Clone, Copy)]
pub struct SolveOptions {
    /// The solver.
    pub solver: &'static SolverDef,
    /// Requested gap, relative to the objective.
    pub tolerance: f64,
    /// Largest number of iterations.
    pub max_iterations: u32,
}

impl SolveOptions {
    /// The stop rule.
    pub fn rule(&self) -> StopRule {
        StopRule { tolerance: self.tolerance, max_iterations: self.max_iterations }
    }
}

impl Default for SolveOptions {
    fn default() -> Self {
        Self { solver: SOLVERS[0], tolerance: 1e-6, max_iterations: 1000 }
    }
}
