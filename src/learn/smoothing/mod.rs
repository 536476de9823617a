//! Smoothing: how much each training query counts for a target query, and the nearest queries.
//!
//! | file | contents |
//! |---|---|
//! | `weights` | the formulas of the weights, bandwidths, and which neighbors count, with ties |
//! | `query_rows` | the search for the nearest queries |

mod query_rows;
mod weights;

pub use query_rows::{BATCH, COMPARISON, Near, QueryRole, QueryRows};
pub use weights::{Bandwidth, Smoothing, SmoothingKind, Target, bandwidth_rate, lambda_rate};
