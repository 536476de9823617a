//! Click models estimate the attractiveness of documents and the examination of positions from a log of impressions and
//! clicks.
//!
//! An impression is a list of documents that a user saw for a query. All models count rows by (query, document) pair and by
//! *context*, and a row of pair i in context r has a click with the probability gamma_r alpha_i:
//!
//! * alpha_i: attractiveness, the probability of a click on a document that is examined
//! * gamma_r: examination, the probability that a user examines a document in this context
//!
//! Each model in the table `models` defines its contexts.
//!
//! | computation | files |
//! |---|---|
//! | the models; the choice of one for `auto` | `models`; `src/sqlite/functions/judgments.rs` by `DETERMINED` of `judge` |
//! | counts of rows and clicks in a log | `cells`, `counts` |
//! | attractiveness and examination from the counts | `estimate`, `examination` |
//! | how well the log determines each judgment (`determined`) | `examination` |
//! | judgments and grades of documents | `judge` |
//! | propensities of positions, and the influence of rows on them | `propensities`, `influence` |
//! | value of a ranking, from the log of another | `offline` |

mod cells;
mod counts;
mod estimate;
mod examination;
mod influence;
mod judge;
mod models;
mod offline;
mod propensities;
#[cfg(test)]
mod tests;

pub use cells::Cell;
pub use counts::{Counted, Finder, Impression, Log, LogRow, Seen, TakesImpressions};
pub use estimate::{Fitted, fit};
pub use examination::Examination;
pub use influence::Influence;
pub use judge::{
    DETERMINED, Grading, HeldOut, Judgment, Prediction, fitted, fitted_by, grade, judgments, qualified,
};
pub use models::{CLICK_MODEL_NAMES, CLICK_MODELS, ClickModel, Contexts, MOST_POSITIONS, Shown, find};
pub use offline::{Changes, ClickSums, GROUPS, OfflineValue, Weights, group_of};
pub use propensities::{Method, Propensity, by_likelihood, harvested};
