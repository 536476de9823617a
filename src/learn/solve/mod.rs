//! Solvers of learning problems. Each module states its problem and returns a solution, a certified duality gap and a
//! stop reason. The methods are in `optim`.
//!
//! | file | contents |
//! |---|---|
//! | `solver`, `table` | declaration and options of a solver; the table of all |
//! | `query_block`, `checks`, `memory` | a prepared query; checks of numbers; bytes |
//! | `pair/`, `list/`, `factor/` | problems of pairwise losses, listwise losses, and ratings |

mod checks;
mod factor;
pub mod list;
mod memory;
pub mod pair;
mod query_block;
mod solver;
mod table;

pub use crate::math::optim::{Solution, SolveReport, Step, Stop, StopRule};
pub use checks::{check_lambda, check_weight, point};
pub use factor::{
    Factorization, Factors, HalfStep, KEPT_EVALUATIONS, Side, UserLoss, WeightedSquares, gather, kept_planes,
    no_solution,
};
pub use list::{
    Cut, Gram, ListBlock, ListProblem, Rows, STOCHASTIC, Slabs, ball_path, fits_single_precision, l1_path,
    largest_l1_lambda, least_squares_of_sums, path as list_path, spectral_of_sums, spectral_path,
    sphere_path,
};
pub use memory::{l1_bytes, least_squares_bytes, list_bytes, pair_bytes, plane_bytes, spectral_bytes};
pub use pair::{
    AskHinge, PairBlock, PairProblem, PairRisk, PairWeighting, RemoteProblem, hinge_origin, hinge_origin_len,
    hinge_sums, hinge_sums_len, hinge_sums_pairs, objective_by_definition, path as pair_path, solve,
    solve_hinge,
};
pub use query_block::QueryBlock;
pub use solver::{ListMethod, ListPath, PairMethod, PairPath, SolveOptions, SolverDef};
pub use table::{NAMES, SOLVERS, find};
