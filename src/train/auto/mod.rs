//! `auto`: cross-validates scalings, kernels and trees, and averages the best.

mod baseline;
mod candidates;
mod documents;
mod effort;
mod folds;
mod prepared;
mod refit;
mod report;
mod sample;
mod spec;
mod training;
mod trees;
mod trial;

pub use spec::AutoSpec;
pub use training::DEF;
