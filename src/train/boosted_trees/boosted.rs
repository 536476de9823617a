//! Fitted ensembles, before they become a model.

use super::early::ChosenTrees;
use super::spec::Joined;
use crate::train::baseline::Baseline;
use crate::trees::Fitted;

/// A fitted ensemble, and what its training found.
pub struct Boosted {
    pub(super) fitted: Fitted,
    /// Half the mean squared error of the training documents, minus query means.
    pub(super) objective: f64,
    pub(super) learning_rate: f64,
    /// The validation result, if validation chose the number of trees.
    pub(super) found: Option<ChosenTrees>,
    pub(super) joined: Option<Joined>,
    /// The first score.
    pub(super) baseline: Option<Baseline>,
    /// Number of features of documents.
    pub(super) width: usize,
}
