//! Scores of rows as they are read, for functions that are evaluated about as fast as rows are read: their features are never
//! all in memory.

use std::sync::Arc;

use super::score::ScoringJob;
use crate::base::control::Control;
use crate::base::error::Result;
use crate::data::{Dataset, Scaling};
use crate::learn::space::Function;
use crate::model::Model;
use crate::trees::Forest;

/// Operations of about a nanosecond for a document. Slower functions are evaluated on all threads.
const FAST: usize = 4000;

/// A function that scores documents of any query alone.
#[derive(Debug)]
pub struct RowScorer<'a> {
    model: &'a Model,
    function: &'a Arc<Function>,
    /// None for a weighted sum of the scaled features.
    forest: Option<&'a Forest>,
}

impl<'a> RowScorer<'a> {
    /// The scorer of a model; `None` for a function that is slow, depends on the query, or needs all documents of a query.
    pub fn of(model: &'a Model) -> Option<Self> {
        let function = model.ranker.global_function()?;
        let scorer = model.scorer().ok().filter(|scorer| scorer.pointwise() && model.scaling.pointwise())?;
        let forest = scorer.trees().filter(|_| matches!(model.scaling, Scaling::None));
        let is_fast = ScoringJob::operations_of_document(model) <= FAST;
        (is_fast && (scorer.is_linear() || forest.is_some())).then_some(Self { model, function, forest })
    }

    /// Appends the scores of documents of this width, row-major.
    ///
    /// # Errors
    /// A number of features that differs from the training.
    pub fn add_scores(&self, documents: &[f32], width: usize, scores: &mut Vec<f64>) -> Result<()> {
        self.model.check_width(width)?;
        let weights = &self.function.weights;
        if let Some(forest) = self.forest {
            scores.extend(forest.scores_of(documents, width, weights, &Control::default())?);
        } else {
            self.model.scaling.add_weighted_sums(documents, weights, scores);
        }
        Ok(())
    }
}

/// Refuses scores of the documents of a data set that are not finite. Returns the warnings of a ranking by them.
///
/// # Errors
/// A score that is not finite.
pub fn check_scores(data: &Dataset, scores: &[f64]) -> Result<Vec<String>> {
    super::score::check_finite(data, scores, super::score::TOO_LARGE)?;
    Ok(data.repeated_rows().into_iter().collect())
}
