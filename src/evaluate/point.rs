//! Scores of single documents, as fast as one dot product allows.

use std::sync::Arc;

use crate::control::Control;
use crate::data::{Documents, Matrix, Scaling, shaped};
use crate::error::{Error, Result};
use crate::math::dense::{Element, dot, dot_by};
use crate::model::Model;
use crate::space::Function;

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
        let (found, expected) = (features.len(), self.model.card.features.len());
        if found != expected {
            return Err(Error::Shape { what: "number of features".to_owned(), found, expected });
        }
        let is_linear = self.model.ranker.space().is_linear();
        // NaN and infinities make a score that is neither, but a quantile and a kernel make a number of anything.
        let hidden = !is_linear || matches!(self.model.scaling, Scaling::Quantile(_));
        let score = if is_linear { self.weighted_sum(features) } else { self.by_kernel(features)? };
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

    /// The score of a function that is not linear in the features.
    fn by_kernel<T: Element>(&self, features: &[T]) -> Result<f64> {
        let scaled =
            |(place, x): (usize, &T)| T::from_f64(self.model.scaling.value(place, x.to_f64())).to_f64();
        let scaled: Vec<f64> = features.iter().enumerate().map(scaled).collect();
        let document = Matrix::F64(shaped(1, scaled.len(), scaled));
        let documents = Documents { features: &document, start: 0, end: 1 };
        let function = std::iter::once(&self.function.weights[..]);
        let scores = self.model.ranker.space().scores(&documents, function, &Control::default())?;
        Ok(scores.concat().iter().sum())
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
            Scaling::Quantile(quantiles) | Scaling::QuantileMinmax(quantiles) => {
                let quantiles = &quantiles[..features.len()];
                dot_by(weights, |place| rounded(quantiles[place].normal_score(features[place].to_f64())))
            }
            Scaling::None | Scaling::QueryMinmax => dot(features, weights),
        }
    }
}
