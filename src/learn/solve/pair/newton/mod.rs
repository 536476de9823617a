//! Newton's method on scores, for the hinge (`hinge`, smoothed) and for losses with a curvature (`smooth`).
//!
//! A query costs a pass over its pairs, which reads scores only (`pass`, `curve`), and products with its feature
//! matrix. Queries are grouped into chunks (`chunk`) that run in parallel (`space`). For the hinge the rows may be elsewhere (`remote_rows`).

mod chunk;
mod curve;
mod hessian;
mod hinge;
mod pass;
mod remote_rows;
mod smooth;
mod sorted_pass;
mod space;
mod state;
mod woodbury;

use super::PairProblem;
use crate::base::{Control, matrix_bytes, parallel};
use crate::cost::loss::PairLoss;
use crate::learn::solve::{PairMethod, Solution, SolverDef, StopRule};
use crate::math::{LANES, SingleProducts, solve_path};

pub use remote_rows::{
    AskHinge, RemoteProblem, hinge_origin, hinge_origin_len, hinge_sums, hinge_sums_len, hinge_sums_pairs,
    solve_hinge,
};
pub use space::largest_chunk_count;
pub use woodbury::product_bytes;

use curve::{Curve, Logistic, SquaredHinge};
use hinge::Hinge;
use smooth::Smooth;
use space::Space;
use state::{Newton, State, run};

/// Newton's method for pairs, also used by `auto`.
pub const NEWTON_ON_PAIRS: PairMethod =
    PairMethod { losses: &[PairLoss::Hinge, PairLoss::SquaredHinge, PairLoss::Logistic], path, bytes };

/// Hessians of chunks, the product of a graph of pairs and the documents, products of documents, and curvatures of the pairs
/// of a query.
fn bytes(problem: &PairProblem<'_>, dim: usize) -> u64 {
    let sizes = || problem.blocks.iter().map(|(block, _)| block.n_docs());
    let (documents, longest) = (sizes().sum(), sizes().max().unwrap_or(0));
    let square = matrix_bytes(dim + LANES, dim + LANES);
    let hessians = square.saturating_mul(4 + largest_chunk_count(problem, dim));
    let threads = parallel::threads() as u64;
    let of_pairs = match problem.loss {
        // Its multipliers are reserved if they become necessary.
        PairLoss::Hinge | PairLoss::Psi => matrix_bytes(longest, 3 * (dim + 2 * LANES))
            .saturating_add(SingleProducts::bytes(dim + LANES).saturating_mul(threads))
            .saturating_add(product_bytes(documents, dim)),
        _ => matrix_bytes(longest, longest + LANES).saturating_mul(threads),
    };
    hessians.saturating_add(of_pairs)
}

/// The definition.
pub const NEWTON: SolverDef = SolverDef {
    name: "newton",
    summary: "Newton in score space; the hinge is smoothed, with multipliers at the end",
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
        PairLoss::Hinge | PairLoss::Psi => all(Hinge::new(state), lambdas),
    }
}
