//! The cost of a ranking: metrics measure it, and trainings minimize losses.

pub mod loss;
pub mod metric;
