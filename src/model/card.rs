//! A model's description: settings, columns, results.

use super::codec::TrainingColumns;
use super::{CandidateView, Probability};
use crate::data::{Categories, Missing, Quantities};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The algorithm name of models trained by another library.
pub const IMPORTED: &str = "imported";

/// Describes a model, apart from its ranker. What `ltr_info` shows of it is in `src/sqlite/functions/inspect.rs`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Card {
    /// Name of the algorithm.
    pub algorithm: String,
    /// Names of the document features, in the order of a vector: numbers, then the features of categories.
    pub features: Vec<String>,
    /// The categories, a section of the bytes.
    #[serde(skip)]
    pub categories: Categories,
    /// The columns whose texts are numbers, dates or durations, a section of the bytes.
    #[serde(skip)]
    pub quantities: Quantities,
    /// The view that candidates come from, a section of the bytes.
    #[serde(skip)]
    pub candidates: Option<CandidateView>,
    /// Map from scores to grade probabilities, a section of the bytes.
    #[serde(skip)]
    pub probability: Option<Probability>,
    /// The columns that training read.
    pub columns: TrainingColumns,
    /// How missing features are filled by default.
    pub missing: Missing,
    /// Mean of each feature over the training documents.
    pub means: Vec<f64>,
    /// Whether its documents are matched to slots.
    pub slots: bool,
    /// The training settings, a JSON object.
    #[serde(with = "super::codec::json_text")]
    pub settings: Value,
    /// The training results, a JSON object.
    #[serde(with = "super::codec::json_text")]
    pub summary: Value,
    /// Objective and gap at each step of the training log.
    pub log: Vec<(f64, f64)>,
}

impl Card {
    /// Number of features outside categories. These come first.
    pub fn numbers(&self) -> usize {
        self.categories.numbers(self.features.len())
    }

    /// Names of the feature columns: numbers, then categories.
    pub fn input_names(&self) -> Vec<String> {
        self.categories.input_names(&self.features)
    }
}
