//! Using a model on data: scores of whole queries, measures of them, and what a score is made of.

mod arrange;
mod cache;
mod explain;
mod measure;
mod point;
mod score;

pub use arrange::{arranged, shown};
pub use cache::FitCache;
pub use explain::{Fit, Part, function_for, function_weights, parts};
pub use measure::{Evaluation, evaluate};
pub use point::PointScorer;
pub use score::{Progress, Scored, Scoring};
