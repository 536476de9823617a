//! Boosted oblivious trees: features in bins, histograms, exact leaf values, boosting, and scores.
//!
//! Boosting adds trees that are fitted to the current residuals (Friedman 2001). A tree is oblivious: all nodes of
//! a level have the same split (Kohavi & Li 1995; Prokhorenkova et al. 2018), so a leaf is the number whose bits are the
//! outcomes of the splits. The leaves of all trees are a finite map of documents, and the score is linear in it.
//!
//! | file | contents |
//! |---|---|
//! | `bins`, `parts`, `columns` | features in bins; bins of packs; thresholds |
//! | `boost`, `learning_rate` | boosting; its default rate |
//! | `rows`, `histogram`, `leaves`, `objective` | training rows; best splits; values of leaves; losses |
//! | `monotone` | values of leaves in an order |
//! | `forest`, `scores`, `score_layout` | splits and Shapley values; scores; scores of one document |
//! | `general/` | trees of other libraries |

mod bins;
mod boost;
mod columns;
mod forest;
pub mod general;
mod histogram;
mod learning_rate;
mod leaves;
mod monotone;
mod objective;
mod parts;
mod rows;
mod score_layout;
mod scores;
#[cfg(test)]
mod tests;

pub use columns::Keyed;
pub use forest::{Forest, Split};
pub use {
    bins::{Binned, MAX_BINS},
    boost::{Boosting, Fitted, Prepared, RowWeights, TreeOptions},
    parts::{BinnedParts, EdgeSample},
    rows::Targets,
    score_layout::MAX_DEPTH,
};
