//! Scores of single documents, as fast as one dot product allows.

use std::sync::Arc;

use crate::data::Scaling;
use crate::error::{Error, Result};
use crate::math::dense::{Element, dot, dot_by};
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
        model.check_pointwise()?;
        Ok(Self { model, function })
    }

    /// Score of a document in the type of its source.
    ///
    /// Scaled features are rounded to that type, as they are where whole queries are ranked.
    ///
    /// # Errors
    /// Another number of features than in training; features or a score that are not finite.
    pub fn score<T: Element>(&self, features: &[T]) -> Result<f64> {
        let (found, expected) = (features.len(), self.function.weights.len());
        if found != expected {
            return Err(Error::Shape { what: "number of features".to_owned(), found, expected });
        }
        let score = self.weighted_sum(features);
        // NaN and infinities make a score that is neither, but a quantile makes a number of anything.
        let hidden = matches!(self.model.scaling, Scaling::Quantile(_));
        if !score.is_finite() || hidden {
            Self::check_finite(features)?;
        }
        if score.is_finite() { Ok(score) } else { Err(Error::Data(BEYOND.to_owned())) }
    }

    fn check_finite<T: Element>(features: &[T]) -> Result<()> {
        match features.iter().position(|value| !value.to_f64().is_finite()) {
            None => Ok(()),
            Some(place) => {
                let got = format!("{} as value {}", features[place].to_f64(), place + 1);
                Err(Error::value("argument 'features'", got, "finite numbers"))
            }
        }
    }

    fn weighted_sum<T: Element>(&self, features: &[T]) -> f64 {
        let weights = &self.function.weights[..features.len()];
        let rounded = |value: f64| T::from_f64(value).to_f64();
        match &self.model.scaling {
            Scaling::Standard(moments) => {
                let moments = &moments[..features.len()];
                dot_by(weights, |place| {
                    rounded((features[place].to_f64() - moments[place].0) * moments[place].1)
                })
            }
            Scaling::Quantile(quantiles) | Scaling::Both(quantiles) => {
                let quantiles = &quantiles[..features.len()];
                dot_by(weights, |place| rounded(quantiles[place].normal_score(features[place].to_f64())))
            }
            Scaling::None | Scaling::QueryMinmax => dot(features, weights),
        }
    }
}
