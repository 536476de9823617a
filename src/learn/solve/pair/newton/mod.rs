//! Newton's method on scores, for the hinge (`hinge`, smoothed) and for losses with a curvature (`smooth`).
//!
//! A query costs a pass over its pairs, which reads scores only (`pass`, `curve`), and products with its feature
//! matrix. Queries are grouped into chunks (`chunk`) that run in parallel (`space`). For the hinge the rows may be elsewhere (`asked`).

mod asked;
mod chunk;
mod curve;
mod few;
mod hessian;
mod hinge;
mod long;
mod pass;
mod smooth;
mod space;
mod start;
mod state;

use super::PairProblem;
use crate::base::control::Control;
use crate::cost::loss::PairLoss;
use crate::learn::solve::{PairMethod, Solution, SolverDef, StopRule};
use crate::math::optim::solve_path;

pub use asked::{
    AskHinge, hinge_origin, hinge_origin_len, hinge_sums, hinge_sums_len, hinge_sums_pairs, solve_hinge,
};
pub use few::product_bytes;
pub use space::largest_chunk_count;

use curve::{Curve, Logistic, SquaredHinge};
use hinge::Hinge;
use smooth::Smooth;
use space::Space;
use state::{Newton, State, run};

/// Newton's method for pairs, also used by `auto`.
pub const NEWTON_ON_PAIRS: PairMethod =
    PairMethod { losses: &[PairLoss::Hinge, PairLoss::SquaredHinge, PairLoss::Logistic], path };

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
    match problem.loss() {
        PairLoss::SquaredHinge => smooth(SquaredHinge::default(), state, lambdas),
        PairLoss::Logistic => smooth(Logistic, state, lambdas),
        PairLoss::Hinge | PairLoss::Psi => all(Hinge::new(state), lambdas),
    }
}
