//! Click models: from a log of impressions and clicks to the attractiveness of documents and the examination of positions.
//!
//! An impression is a list of documents that a user saw for a query. All models count rows by (query, document) pair and by
//! *context*, and a row of pair i in context r has a click with the probability gamma_r alpha_i:
//!
//! * alpha_i: attractiveness, the probability of a click on a document that is examined
//! * gamma_r: examination, the probability that a user examines a document in this context
//!
//! A model decides what a context is. Its file in `models` has formula and source. One model, `dbn`, needs more than counts:
//! it begins with them, and reads the log again.

mod counts;
mod dbn;
mod estimate;
mod information;
mod judge;
pub mod models;
mod offline;
#[cfg(test)]
mod tests;

pub use counts::{Cell, Counted, Finder, Impression, Log, LogRow, Seen, TakesImpressions};
pub use dbn::Network;
pub use estimate::{Fitted, fit};
pub use information::Influence;
pub use judge::{Grading, HeldOut, Prediction, fitted, grade, judgments};
pub use judge::{Method, Propensity, by_likelihood, harvested};
pub use models::{CLICK_MODEL_NAMES, CLICK_MODELS, ClickModel, find};
pub use offline::{Changes, GROUPS, OfflineValue, Sums, Weights, group_of};

/// A row of an impression.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Shown {
    /// Number of the (query, document) pair.
    pub pair: u32,
    /// From 1.
    pub position: u32,
    /// Whether it was clicked.
    pub clicked: bool,
    /// Weight of the click, such as 5 for a purchase; 0 without one.
    pub weight: f64,
}

/// Largest position. Contexts of a model are numbers below its square.
pub const MOST_POSITIONS: u32 = 1000;
