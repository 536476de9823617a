//! Boosted oblivious trees: features in bins, histograms, exact values of leaves, boosting, and scores.
//!
//! Boosting adds trees that are fitted to the residuals of those before (Friedman 2001). A tree is oblivious: all nodes of
//! a level have the same split (Kohavi & Li 1995; Prokhorenkova et al. 2018), so a leaf is the number whose bits are the
//! outcomes of the splits. The leaves of all trees are a finite map of documents, and the score is linear in it.

mod bins;
mod boost;
mod columns;
mod forest;
mod histogram;
mod leaves;
mod objective;
mod parts;
mod rows;
mod scores;
#[cfg(test)]
mod tests;

pub use bins::{Binned, MAX_BINS};
pub use boost::{Boosting, Fitted, Prepared, RowWeights, TreeOptions};
pub use forest::{Forest, Split};
pub use leaves::MAX_DEPTH;
pub use parts::{BinnedParts, BorderSample};
pub use rows::Judged;
