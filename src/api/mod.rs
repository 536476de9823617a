//! The Rust API: data from arrays or rows, training, ranking, measuring. Everything here is re-exported at the crate root.

mod answer;
mod dataset;
mod explain;
mod features;
mod handle;
mod model;
mod recommend;
mod trainer;

pub use crate::apply::FeatureWeight;
pub use answer::Answer;
pub use dataset::{Dataset, Document};
pub use explain::{Contribution, Importance};
pub use features::Features;
pub use handle::Control;
pub use model::{Evaluation, Model, ModelInfo, RankOptions, Ranked};
pub use recommend::{RecommendOptions, Recommended};
pub use trainer::{AlgorithmInfo, FoldScore, Trainer, algorithms};
