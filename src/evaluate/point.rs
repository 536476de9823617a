//! Scores of single documents, as fast as one dot product allows.

use std::sync::Arc;

use crate::error::{Error, Result};
use crate::math::dense::{Element, dot_by};
use crate::model::Model;
use crate::ranker::Function;

/// What is said of scores that are not finite.
pub(super) const BEYOND: &str =
    "a score is beyond the range of numbers; features are too large for this model";

/// A pointwise model with the function of one query, ready to score.
#[derive(Debug, Clone)]
pub struct PointScorer {
    model: Arc<Model>,
    function: Arc<Function>,
}

impl PointScorer {
    /// A scorer.
    ///
    /// # Errors
    /// A model that does not score documents one by one.
    pub fn new(model: Arc<Model>, function: Arc<Function>) -> Result<Self> {
        if model.capabilities().pointwise {
            return Ok(Self { model, function });
        }
        let scale = model.scaling.name();
        Err(Error::Unsupported(format!(
            "the model's scaling \"{scale}\" needs the whole query; use ltr_rank"
        )))
    }

    /// Score of a document of `n` features, given one by one in the type of their source.
    ///
    /// The scaled features are rounded to that type, as they are where whole queries are ranked.
    ///
    /// # Errors
    /// Another number of features than in training; features or a score that are not finite.
    pub fn score<T: Element>(&self, n: usize, feature: impl Fn(usize) -> T) -> Result<f64> {
        let expected = self.model.card.features.len();
        if n != expected {
            return Err(Error::Shape { what: "number of features".to_owned(), found: n, expected });
        }
        // A quantile would make a number of anything.
        if let Some(place) = (0..n).find(|place| !feature(*place).to_f64().is_finite()) {
            let got = format!("{} as value {}", feature(place).to_f64(), place + 1);
            return Err(Error::value("argument 'features'", got, "finite numbers"));
        }
        let scaling = &self.model.scaling;
        let score = dot_by(&self.function.weights, |place| {
            T::from_f64(scaling.value(place, feature(place).to_f64())).to_f64()
        });
        if score.is_finite() { Ok(score) } else { Err(Error::Data(BEYOND.to_owned())) }
    }
}
