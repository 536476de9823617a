//! Declaration of a solver, and its options.

use super::list::ListProblem;
use super::pair::PairProblem;
use crate::base::Control;
use crate::cost::loss::{Loss, PairLoss, Shape};
use crate::math::optim::{Solution, StopRule};

/// A solver of problems with pairwise losses, with listwise losses, or with both.
#[derive(Debug)]
pub struct SolverDef {
    /// The value of the option `solver`.
    pub name: &'static str,
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
    /// Whether it sorts the documents of a long query for the hinge, instead of looking at all pairs.
    pub sorts_hinge: bool,
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
    /// Upper bound of the bytes that it allocates, besides the prepared queries and the weight and score vectors.
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
}

/// The solver and its stop rule.
#[derive(Debug, Clone, Copy)]
pub struct SolveOptions {
    pub solver: &'static SolverDef,
    /// Requested gap, relative to the objective.
    pub tolerance: f64,
    /// Largest number of iterations.
    pub max_iterations: u32,
}

impl SolveOptions {
    pub fn rule(&self) -> StopRule {
        StopRule { tolerance: self.tolerance, max_iterations: self.max_iterations }
    }
}
