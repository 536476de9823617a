//! `auto`: cross-validates scalings, kernels and trees, and averages the best.

mod documents;
mod effort;
mod folds;
mod prepared;
mod refit;
mod report;
mod spec;
#[cfg(feature = "trees")]
mod trees;
mod trial;

pub use spec::{AutoSpec, DEF};
