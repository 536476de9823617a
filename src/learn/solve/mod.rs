//! Solvers of learning problems. Each module states its problem and returns a solution, a certified duality gap and a
//! stop reason. The methods are in `optim`.

mod factor;
pub mod list;
pub mod pair;

use crate::base::{Control, Error, Result, bytes_of, matrix_bytes, names_of};
use crate::cost::loss::{Loss, PairLoss, Shape};
use crate::math::LANES;

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
pub use pair::{
    AskHinge, PairBlock, PairProblem, PairWeighting, RemoteProblem, certificate, hinge_origin,
    hinge_origin_len, hinge_sums, hinge_sums_len, hinge_sums_pairs, path as pair_path, solve, solve_hinge,
};

use pair::reduced_dim;

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
    /// An upper bound of the bytes that it allocates for a problem with a given number of features, besides the
    /// prepared queries and the vectors of weights and scores.
    pub bytes: fn(&PairProblem<'_>, usize) -> u64,
}

/// A method for a [`ListProblem`].
#[derive(Debug, Clone, Copy)]
pub struct ListMethod {
    /// Shapes of supported losses.
    pub shapes: &'static [Shape],
    /// Solves the problem for each lambda.
    pub path: ListPath,
    /// An upper bound of the bytes that it allocates, besides the prepared queries and the vectors of weights and scores.
    pub bytes: fn(&ListProblem<'_>) -> u64,
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
    /// A loss that the solver does not support, with the solvers that support it.
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
    fn on_pairs(&self) -> PairMethod {
        self.pair.unwrap_or(pair::NEWTON_ON_PAIRS)
    }

    /// Whether it sorts the documents of a long query for the hinge, in place of looking at all pairs.
    pub fn sorts_pairs(&self) -> bool {
        [AUTO.name, pair::NEWTON.name].contains(&self.name)
    }

    /// Its method for listwise problems. [`Self::check`] refuses a solver that has none; the default is not used.
    fn on_lists(&self) -> ListMethod {
        self.list.unwrap_or(list::AUTO_ON_LISTS)
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

// Memory of solvers: upper bounds of the bytes that they allocate besides the prepared queries. They are reserved
// before a problem is solved.

/// Vectors of weights that iterative methods keep: 20 steps and gradients of L-BFGS and those of an iteration.
const WEIGHT_VECTORS: usize = 60;
/// Vectors of one number per document.
const SCORE_VECTORS: usize = 12;
/// Planes that cutting planes keep, about.
const PLANES: usize = 100;
/// Rows of documents that are copied at a time for least squares.
const COPIED_ROWS: usize = 2048;

/// Bytes of a solver of a pairwise problem.
pub fn pair_bytes(problem: &PairProblem<'_>, solver: &SolverDef) -> u64 {
    let documents: usize = problem.blocks.iter().map(|(block, _)| block.n_docs()).sum();
    // 1. A problem with more features than documents is copied with fewer.
    let dim = reduced_dim(problem, documents);
    let copied = if dim == problem.dim {
        0
    } else {
        let both = matrix_bytes(documents, problem.dim + LANES)
            .saturating_add(matrix_bytes(documents, documents + LANES));
        both.saturating_mul(2)
    };
    let vectors = vectors_bytes(documents, dim);
    // 2. Its method.
    let method = (solver.on_pairs().bytes)(problem, dim);
    copied.saturating_add(vectors).saturating_add(method)
}

/// Bytes of the vectors that iterative methods keep.
fn vectors_bytes(documents: usize, dim: usize) -> u64 {
    matrix_bytes(documents, SCORE_VECTORS).saturating_add(matrix_bytes(dim, WEIGHT_VECTORS))
}

/// Bytes of a solver of a listwise problem.
pub fn list_bytes(problem: &ListProblem<'_>, solver: &SolverDef) -> u64 {
    vectors_bytes(problem.documents(), problem.dim()).saturating_add((solver.on_lists().bytes)(problem))
}

/// Bytes of the planes of cutting planes.
pub fn plane_bytes(problem: &ListProblem<'_>) -> u64 {
    matrix_bytes(problem.dim() + PLANES, 3 * PLANES)
}

/// Bytes of a solver with an L1 penalty: a matrix over features twice, and planes or copied documents.
pub fn l1_bytes(problem: &ListProblem<'_>) -> u64 {
    let (dim, documents) = (problem.dim() + LANES, problem.documents());
    let copied = bytes_of::<f64>(3 * COPIED_ROWS.min(documents)).saturating_mul(dim as u64);
    let planes = matrix_bytes(dim, 3 * PLANES);
    let square = matrix_bytes(dim, dim).saturating_mul(3);
    vectors_bytes(documents, dim).saturating_add(square).saturating_add(copied).saturating_add(planes)
}

/// Bytes of the eigenpairs of a least-squares problem.
pub fn spectral_bytes(dim: usize) -> u64 {
    least_squares_bytes(dim, dim).saturating_add(matrix_bytes(dim, 4 * dim))
}

/// Bytes of the system over features, or over documents if they are fewer.
pub fn least_squares_bytes(dim: usize, documents: usize) -> u64 {
    let smaller = dim.min(documents) + 2 * LANES;
    let columns = if documents < dim { matrix_bytes(documents, 2 * dim) } else { 0 };
    let copied = bytes_of::<f64>(3 * COPIED_ROWS.min(documents)).saturating_mul(dim as u64 + 1);
    matrix_bytes(smaller, 2 * smaller).saturating_add(columns).saturating_add(copied)
}

// Checks of the numbers in a problem.

/// Refuses a lambda out of range.
///
/// # Errors
/// A lambda that is not finite and above 0.
pub fn check_lambda(lambda: f64) -> Result<()> {
    if lambda.is_finite() && lambda > 0.0 {
        return Ok(());
    }
    Err(Error::value("lambda", lambda.to_string(), "a finite number above 0"))
}

/// Refuses a weight c out of range.
///
/// # Errors
/// A weight that is not finite or below 0.
pub fn check_weight(weight: f64) -> Result<()> {
    if weight.is_finite() && weight >= 0.0 {
        return Ok(());
    }
    Err(Error::value("weight of a query", weight.to_string(), "a finite number of at least 0"))
}

/// Refuses a point with another number of features, or with numbers that are not finite.
///
/// # Errors
/// [`Error::Shape`] for another number, otherwise [`Error::Value`].
pub fn point(what: &str, point: &[f64], dim: usize) -> Result<()> {
    if point.len() != dim {
        let what = format!("number of features of {what}");
        return Err(Error::Shape { what, found: point.len(), expected: dim });
    }
    if point.iter().all(|value| value.is_finite()) {
        return Ok(());
    }
    Err(Error::Data(format!("{what} must be finite numbers")))
}
