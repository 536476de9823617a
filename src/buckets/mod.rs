//! Data sets in buckets: the bucket of a query, a bucket's rows as bytes, sums over buckets, and trainings that
//! ask for such sums round by round.
//!
//! Buckets are the parts of a data set that engines move. Training never needs two of them together: each answers the
//! questions of a round, and the answers are added (`docs/adr/0020-buckets.md`).
//!
//! | file | contents |
//! |---|---|
//! | `../data/query_bucket` | the bucket of a query; how many there may be |
//! | `pack`, `bytes` | rows of a bucket as bytes; the format of packs, answers and states |
//! | `state`, `round` | what `ltr_begin` and `ltr_step` return; the round that an answer belongs to |
//! | `sums` | answers, and their sums over the tree of buckets |
//! | `replay`, `training` | trainings that ask questions, run again each round; the trait of such trainings |
//! | `algorithms` | which algorithm trains how |
//! | `grid/` | one linear function, in rounds |
//! | `trees`, `judgments` | boosted trees from packs in one process |

mod algorithms;
mod bytes;
mod grid;
mod judgments;
pub mod pack;
mod replay;
mod round;
pub mod state;
mod sums;
#[cfg(test)]
mod tests;
mod training;
mod trees;

pub use algorithms::training;
pub use bytes::Kind;
pub use sums::Answer;
