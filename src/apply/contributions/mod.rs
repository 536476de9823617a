//! Contributions of features to scores.
//!
//! | file | contents |
//! |---|---|
//! | `explain` | the contributions for each form of model |
//! | `explanation` | a document's contributions, which sum to its score |
//! | `shapley` | Shapley values by sampling |

mod explain;
mod explanation;
mod shapley;
#[cfg(test)]
mod tests;

pub use explain::{DocumentOf, ExplainedRows, explain, explain_document};
pub use explanation::{Contribution, Explanation};
pub use shapley::Sampling;
