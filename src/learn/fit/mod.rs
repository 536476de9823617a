//! Fitting functions: which training queries are used, with which weights, and how the problem is solved.
//!
//! | file | contents |
//! |---|---|
//! | `choices`, `conflicts` | choices besides loss, kernel and solver; which work together |
//! | `blocks`, `judgments` | judgments of training queries, prepared; their bytes |
//! | `neighborhood`, `problem` | queries and weights of a fit; the fit of one function |
//! | `streamed`, `kept_sums` | least squares over very many documents; sums for the next fit |
//! | `query_dependence` | whether queries differ |
//! | `column_weights`, `number_weights` | learned weights of query features |

mod blocks;
mod choices;
mod column_weights;
mod conflicts;
mod judgments;
mod kept_sums;
mod neighborhood;
mod number_weights;
mod problem;
mod query_dependence;
mod streamed;

pub use blocks::{BATCH, BlockFormat, Loading, TrainingBlocks};
pub use choices::{FitAt, HeldOut, Interaction, LambdaBy, LambdaScope, Penalty, PenaltyKind, Prior};
pub use column_weights::column_weights;
pub use conflicts::Combination;
pub use neighborhood::{Neighbor, Neighborhood};
pub use number_weights::number_weights;
pub use problem::{CENTER_ALONE, FitSpec, SolverParameter};
pub use query_dependence::QueryDependence;
pub use streamed::streamed_scores;
