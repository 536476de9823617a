//! Data sets in buckets: which bucket a query has, the bytes of a bucket's rows, sums over buckets, and trainings that
//! ask for such sums round by round.
//!
//! Buckets are the parts of a data set that engines move. A training needs no two of them in one place: each answers the
//! questions of a round, and answers are added (`docs/adr/0020-buckets.md`).

mod algorithms;
mod bytes;
mod grid;
pub mod pack;
mod replay;
pub mod rounds;
mod sums;
#[cfg(test)]
mod tests;
mod training;
#[cfg(feature = "trees")]
mod trees;

pub use algorithms::training;
pub use bytes::Kind;
pub use sums::Answer;
