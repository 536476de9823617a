//! The definition of Newton's method, and the method for each loss.

use super::super::PairProblem;
use super::curve::{Curve, Logistic, SquaredHinge};
use super::hinge::Hinge;
use super::largest_chunk_count;
use super::smooth::Smooth;
use super::space::Space;
use super::state::{Newton, State, run};
use super::woodbury::product_bytes;
use crate::base::{Control, matrix_bytes, parallel};
use crate::cost::loss::PairLoss;
use crate::learn::solve::{PairMethod, Solution, SolverDef, StopRule};
use crate::math::{LANES, SingleProducts, solve_path};

/// Newton's method for pairs, also used by `auto`.
pub const NEWTON_ON_PAIRS: PairMethod = PairMethod {
    losses: &[PairLoss::Hinge, PairLoss::SquaredHinge, PairLoss::Logistic],
    sorts_hinge: true,
    path,
    bytes,
};

/// Hessians of chunks, the product of a graph of pairs and the documents, products of documents, and curvatures of the pairs
/// of a query.
fn bytes(problem: &PairProblem<'_>, dim: usize) -> u64 {
    let sizes = || problem.blocks.iter().map(|(block, _)| block.n_docs());
    let (documents, longest) = (sizes().sum(), sizes().max().unwrap_or(0));
    let square = matrix_bytes(dim + LANES, dim + LANES);
    let hessians = square.saturating_mul(4 + largest_chunk_count(problem, dim));
    let threads = parallel::threads() as u64;
    let pair_bytes = match problem.loss {
        // The multipliers are reserved if they become necessary.
        PairLoss::Hinge | PairLoss::Psi => matrix_bytes(longest, 3 * (dim + 2 * LANES))
            .saturating_add(SingleProducts::bytes(dim + LANES).saturating_mul(threads))
            .saturating_add(product_bytes(documents, dim)),
        _ => matrix_bytes(longest, longest + LANES).saturating_mul(threads),
    };
    hessians.saturating_add(pair_bytes)
}

pub const NEWTON: SolverDef = SolverDef {
    name: "newton",
    pair: Some(NEWTON_ON_PAIRS),
    list: Some(crate::learn::solve::list::NEWTON_ON_LISTS),
};

fn path(problem: &PairProblem<'_>, lambdas: &[f64], rule: &StopRule, control: &Control) -> Vec<Solution> {
    fn all<'a>(mut method: impl Newton<'a>, lambdas: &[f64]) -> Vec<Solution> {
        solve_path(lambdas, |lambda, _| run(&mut method, lambda))
    }
    fn smooth(curve: impl Curve, state: State<'_, Space<'_>>, lambdas: &[f64]) -> Vec<Solution> {
        all(Smooth::new(curve, state), lambdas)
    }
    let state = State::new(problem, *rule, Space::new(problem, control), control);
    match problem.loss {
        PairLoss::SquaredHinge => smooth(SquaredHinge::default(), state, lambdas),
        PairLoss::Logistic => smooth(Logistic, state, lambdas),
        PairLoss::Hinge | PairLoss::Psi => all(Hinge::new(state, lambdas.len() > 1), lambdas),
    }
}
