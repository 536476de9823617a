//! Contributions of features to scores.

mod explain;
mod explanation;
mod shapley;
#[cfg(test)]
mod tests;

pub use explain::{DocumentOf, ExplainedRows, explain, explain_document};
pub use explanation::{Contribution, Explanation};
pub use shapley::Sampling;
