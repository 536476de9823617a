//! Scores of single documents, at the cost of one dot product.

use std::sync::Arc;

use crate::control::Control;
use crate::data::{Documents, Matrix, Scaling, shaped};
use crate::error::{Error, Result};
use crate::math::dense::{Element, dot, dot_by};
use crate::model::Model;
use crate::space::{Function, Scorer};

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
    /// A model that is not pointwise.
    pub fn new(model: Arc<Model>, function: Arc<Function>) -> Result<Self> {
        model.check_pointwise()?;
        Ok(Self { model, function })
    }

    /// Score of a document, given in the type of its source.
    ///
    /// Scaled features are rounded to that type, as they are when a query is ranked.
    ///
    /// # Errors
    /// A number of features that differs from the training; features or a score that are not finite.
    pub fn score<T: Element>(&self, features: &[T]) -> Result<f64> {
        self.model.check_width(features.len())?;
        let scorer = self.model.scorer()?;
        let score =
            if scorer.is_linear() { self.weighted_sum(features) } else { self.by_kernel(scorer, features)? };
        // A weighted sum of NaN or infinity is not finite. Quantiles and kernels can map them to finite numbers.
        let can_hide = !scorer.is_linear() || matches!(self.model.scaling, Scaling::Quantile(_));
        if can_hide || !score.is_finite() {
            Self::check_finite(features)?;
        }
        if score.is_finite() { Ok(score) } else { Err(too_large(features)) }
    }

    fn check_finite<T: Element>(features: &[T]) -> Result<()> {
        match features.iter().position(|value| !value.to_f64().is_finite()) {
            None => Ok(()),
            Some(index) => {
                let got = format!("{} as value {}", features[index].to_f64(), index + 1);
                Err(Error::value("argument 'features'", got, "finite numbers"))
            }
        }
    }

    /// The score of a function that is not linear in the features.
    fn by_kernel<T: Element>(&self, scorer: &dyn Scorer, features: &[T]) -> Result<f64> {
        let scaled =
            |(index, x): (usize, &T)| T::from_f64(self.model.scaling.value(index, x.to_f64())).to_f64();
        let scaled: Vec<f64> = features.iter().enumerate().map(scaled).collect();
        let document = Matrix::F64(shaped(1, scaled.len(), scaled));
        let documents = Documents { features: &document, start: 0, end: 1 };
        let scores = scorer.scores(&documents, &self.function.weights, &Control::default())?;
        Ok(scores.iter().sum())
    }

    fn weighted_sum<T: Element>(&self, features: &[T]) -> f64 {
        let weights = &self.function.weights[..features.len()];
        let rounded = |value: f64| T::from_f64(value).to_f64();
        match &self.model.scaling {
            Scaling::Standard(moments) => {
                let moments = &moments[..features.len()];
                dot_by(weights, |index| {
                    rounded((features[index].to_f64() - moments[index].0) * moments[index].1)
                })
            }
            Scaling::Quantile(quantiles) | Scaling::QuantileMinmax(quantiles) => {
                let quantiles = &quantiles[..features.len()];
                dot_by(weights, |index| rounded(quantiles[index].normal_score(features[index].to_f64())))
            }
            Scaling::None | Scaling::QueryMinmax => dot(features, weights),
        }
    }
}

/// The error for a score that is not finite; it names the largest feature.
fn too_large<T: Element>(features: &[T]) -> Error {
    let sizes = features.iter().map(|value| value.to_f64().abs()).enumerate();
    let (index, size) = sizes.max_by(|a, b| a.1.total_cmp(&b.1)).unwrap_or_default();
    Error::Data(format!(
        "the score is beyond the range of numbers; features are too large for this model (value {} has the size {size:e})",
        index + 1
    ))
}
