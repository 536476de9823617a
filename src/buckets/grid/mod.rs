//! Training in buckets: one linear function of all queries, from sums over buckets.
//!
//! | task | questions | result |
//! |---|---|---|
//! | facts | counts and sums of features; of the scaling | means, scaling |
//! | Gram matrices, of quadratic losses | the sums of least squares, of each fold if validation chooses lambda | those sums |
//! | fits, of other losses | value, gradient and Hessian at a point, for each fold and lambda | a solution |
//! | values | the metric of the held-out queries of a fold with every lambda | its sums |
//!
//! Folds are the buckets with the same number modulo 5.

mod answers;
mod check;
mod facts;
mod train;

pub use check::check;
#[cfg(feature = "trees")]
pub use facts::{Count, FACTS, Facts, First, wrong_length};
