//! Fitting functions: which judgments count for a function, how much, and how the problem that they make is solved.

mod blocks;
mod neighborhood;
mod numbers;
mod problem;

pub use blocks::{Loading, Neighbor, TrainingBlocks};
pub use neighborhood::Neighborhood;
pub use problem::{FitSpec, Penalty};
