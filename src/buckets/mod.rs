//! Data sets in buckets: which bucket a query has, the bytes of a bucket's rows, sums over buckets, and trainings that
//! ask for such sums round by round.
//!
//! Buckets are the parts of a data set that engines move. A training needs no two of them in one place: each answers the
//! questions of a round, and answers are added (`docs/adr/0020-buckets.md`).

mod bytes;
mod number;
pub mod pack;
mod replay;
mod sample;
mod sums;

pub use bytes::{Kind, Reader, Writer, check_bytes};
pub use number::{bucket_of, check_buckets};
pub use replay::{Asking, Decoded, FOLDS, Part, Question, Replay};
pub use sample::{Sample, Unit};
pub use sums::{Answer, Round, Sums};

#[cfg(test)]
mod tests;
