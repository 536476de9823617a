//! Training in buckets: one linear function for all queries, fitted from sums over buckets.
//!
//! | task | questions | result |
//! |---|---|---|
//! | statistics | counts and feature sums, then sums for the scaling | means, scaling |
//! | Gram matrices (quadratic losses) | least-squares sums, per fold if validation chooses lambda | the same sums |
//! | fits (other losses) | value, gradient and Hessian at a point, for each fold and lambda | a solution |
//! | values | metric of each fold's held-out queries for every lambda | metric sums |
//!
//! A bucket's fold is its number modulo [`FOLDS`](crate::buckets::replay::FOLDS).
//!
//! | file | contents |
//! |---|---|
//! | `check` | points of the grid that train in buckets |
//! | `statistics` | counts, means and the scaling: the first rounds |
//! | `train`, `asked_risk` | lambda and the function; risks whose rows are in buckets |
//! | `answers` | what a bucket answers |

mod answers;
mod asked_risk;
mod check;
mod statistics;
mod train;

pub use check::check;
pub use statistics::{Count, DataStatistics, First, STATISTICS, wrong_length};
