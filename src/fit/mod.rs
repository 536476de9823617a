//! Fitting functions: which training queries are used, with which weights, and how the problem is solved.

mod blocks;
mod judgments;
mod neighborhood;
mod problem;

pub use blocks::{Loading, TrainingBlocks};
pub use neighborhood::{Neighbor, Neighborhood};
pub use problem::{FitSpec, Penalty};
