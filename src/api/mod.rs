//! The Rust API: data from arrays or rows, training, ranking, evaluation. Everything here is re-exported at the crate root.
//!
//! | file | contents |
//! |---|---|
//! | `dataset` | the data set of a caller, grouped by query |
//! | `features`, `categories` | feature values; columns encoded as one feature per value |
//! | `read_request` | selects and orders rows for a computation |
//! | `trainer` | training by algorithm and options |
//! | `model` | ranking, scoring, evaluation, bytes |
//! | `explain`, `recommend` | contributions and importance; recommendations |
//! | `answer`, `control` | rows with warnings; stopping and progress |

#![warn(missing_docs)]

mod answer;
mod categories;
mod control;
mod dataset;
mod explain;
mod features;
mod model;
mod read_request;
mod recommend;
mod trainer;

pub use crate::apply::FeatureWeight;
pub use answer::Answer;
pub use control::Control;
pub use dataset::{Dataset, Document};
pub use explain::{Contribution, Importance};
pub use features::Features;
pub use model::{Evaluation, ImportOptions, Model, ModelInfo, RankOptions, Ranked};
pub use recommend::{RecommendOptions, Recommended};
pub use trainer::{AlgorithmInfo, FoldScore, Trainer, algorithms};
