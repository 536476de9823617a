//! Data sets in buckets: which bucket a query has, the bytes of a bucket's rows, sums over buckets, and trainings that
//! ask for such sums round by round.
//!
//! Buckets are the parts of a data set that engines move. A training needs no two of them in one place: each answers the
//! questions of a round, and answers are added (`docs/adr/0020-buckets.md`).

mod auto;
mod bytes;
mod grid;
pub mod pack;
mod replay;
pub mod rounds;
mod sample;
mod sums;
#[cfg(test)]
mod tests;
mod training;
mod tree_rows;
mod trees;

pub use bytes::{Kind, Reader, Writer, check_bytes};

pub use replay::{Asking, Decoded, FOLDS, Part, Question, Replay};
pub use sample::{Sample, Unit};
pub use sums::{Answer, Round, Sums};
pub use training::{in_process, in_rounds};
