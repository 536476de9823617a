//! Fitting functions: which training queries are used, with which weights, and how the problem is solved.

mod blocks;
pub mod compat;
mod judgments;
mod neighborhood;
mod problem;

pub use blocks::{Loading, TrainingBlocks};
pub use compat::{Combination, FitAt, HeldOut, LambdaScope, Prior};
pub use neighborhood::{Neighbor, Neighborhood};
pub use problem::{FitSpec, Penalty, PenaltyKind};
