//! The contributions of one document.

use super::super::score::ScoringJob;
use crate::learn::space::Scorer;
use crate::model::{Model, Ranker};

/// Up to this number of players, all coalitions are evaluated.
pub(super) const MOST_ENUMERATED: usize = 12;

/// The contribution of one feature.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Contribution {
    /// The feature's contribution.
    pub value: f64,
    /// Standard error of `value`; 0 if it is exact.
    pub standard_error: f64,
}

/// Explains a document's score.
#[derive(Debug, Clone, PartialEq)]
pub struct Explanation {
    /// The score of the base. Base and contributions add up to the score.
    pub base: f64,
    /// One per column, a number or a category; for a model without features, the bias and then the factors.
    pub contributions: Vec<Contribution>,
}

impl Explanation {
    /// Names of the contributions.
    pub fn names(model: &Model) -> Vec<String> {
        match &model.ranker {
            Ranker::Factored(_) => vec!["(bias)".to_owned(), "(factors)".to_owned()],
            _ => model.card.input_names(),
        }
    }

    /// Number of operations of about a nanosecond in an explanation among `documents` documents.
    pub fn operations(model: &Model, documents: usize) -> usize {
        let is_linear = model.scorer().is_ok_and(Scorer::is_linear);
        let columns = model.card.categories.inputs(model.card.features.len()).len();
        let coalitions = match model.ranker {
            _ if is_linear => 1,
            // Paths from the roots to all leaves.
            Ranker::GeneralTrees(_) => 64,
            _ => 1 << columns.min(MOST_ENUMERATED),
        };
        ScoringJob::operations_of_document(model).saturating_mul(documents.saturating_add(coalitions))
    }
}
