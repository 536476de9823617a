//! The terms of a score.

use crate::base::{Error, Result};
use crate::data::Scaling;
use crate::learn::space::{Space, Summand, WeightsOf};
use crate::model::{Model, Ranker};

/// One summand of a model's scores.
pub(super) struct Term<'a> {
    /// The scaling of the documents.
    pub(super) scaling: &'a Scaling,
    /// The space of the function.
    pub(super) space: &'a Space,
    /// The weights of the function.
    pub(super) weights: &'a [f64],
}

impl Term<'_> {
    pub(super) fn is_trees(&self) -> bool {
        matches!(self.space.weights_of(), WeightsOf::Leaves(_))
    }
}

/// The summands of the scores.
pub(super) fn terms(model: &Model) -> Result<Vec<Term<'_>>> {
    let Some(linear) = model.ranker.as_linear() else {
        let algorithm = &model.card.algorithm;
        let (what, way_out) = if matches!(model.ranker, Ranker::Interactions(_)) {
            ("has a function for each query", "train it with \"interaction\": \"none\", or")
        } else if model.capabilities().has_features {
            ("has a function for each query", "export a model of rank_svm, or")
        } else {
            ("has factors of users and items", "read them with ltr_factors, or")
        };
        return Err(Error::Unsupported(format!(
            "a model of '{algorithm}' {what} and has no text form; {way_out} copy the row of ltr_models"
        )));
    };
    let summands = linear.scorer().summands(&linear.function.weights);
    let term = |Summand { scaling, space, weights }| Term {
        scaling: scaling.unwrap_or(&model.scaling),
        space,
        weights,
    };
    Ok(summands.into_iter().map(term).collect())
}
