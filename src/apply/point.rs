//! Scores of single documents, at the cost of one dot product, and preferences between two documents.

use std::sync::Arc;

use crate::base::{Control, Error, Result};
use crate::data::{Documents, Matrix, Missing, Scaling, shaped};
use crate::learn::space::{Function, Scorer};
use crate::math::{Element, simd};
use crate::model::Model;

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

    pub fn model(&self) -> &Model {
        &self.model
    }

    /// Score of a document, given in the type of its source.
    ///
    /// Scaled features are rounded to that type, as in rankings.
    ///
    /// # Errors
    /// A number of features that differs from training; features or a score that are not finite.
    pub fn score<T: Element>(&self, features: &[T]) -> Result<f64> {
        self.score_of("argument 'features'", features)
    }

    fn score_of<T: Element>(&self, argument: &str, features: &[T]) -> Result<f64> {
        self.model.check_width(features.len())?;
        let scorer = self.model.scorer()?;
        let score = if scorer.is_linear() {
            self.model.scaling.weighted_sum(features, &self.function.weights)
        } else if let Some(trees) = self.model.ranker.as_general_trees() {
            trees.score(features)
        } else if let (Some(forest), Scaling::None) = (scorer.trees(), &self.model.scaling) {
            forest.score_of(features, &self.function.weights)
        } else {
            self.by_kernel(scorer, features)?
        };
        // A weighted sum of NaN or infinity is not finite. Kernels and trees can map them to finite numbers.
        if !scorer.is_linear() || !score.is_finite() {
            check_features(argument, features, &self.model)?;
        }
        if score.is_finite() { Ok(score) } else { Err(too_large(features)) }
    }

    /// The score of a function that is not linear in the features.
    fn by_kernel<T: Element>(&self, scorer: &dyn Scorer, features: &[T]) -> Result<f64> {
        let scaled = self.scaled(features);
        // Members of a sum scale once more, in the type of the source.
        let document = Matrix::of(1, scaled.len(), scaled, size_of::<T>() == 8);
        let documents = Documents { features: &document, start: 0, end: 1 };
        let scores = scorer.scores(&documents, &self.function.weights, &Control::default())?;
        Ok(scores.iter().sum())
    }

    /// Scaled features, rounded to the type of the source.
    fn scaled<T: Element>(&self, features: &[T]) -> Vec<f64> {
        let scaled = |(index, x): (usize, &T)| {
            let x = x.to_f64();
            if x.is_nan() { x } else { T::from_f64(self.model.scaling.value(index, x)).to_f64() }
        };
        features.iter().enumerate().map(scaled).collect()
    }
}

/// The preference between two documents of a query under the query's function: f(x, x') for the form `ranking` (Dai & Wang
/// 2019, section 3.2), otherwise the difference of their scores. Above 0 the first document is better. Swapping the
/// documents only changes the sign.
#[derive(Debug, Clone)]
pub struct PairScorer(PointScorer);

impl PairScorer {
    /// A scorer of pairs.
    ///
    /// # Errors
    /// A model that needs all documents of a query.
    pub fn new(model: Arc<Model>, function: Arc<Function>) -> Result<Self> {
        model.check_pairwise()?;
        Ok(Self(PointScorer { model, function }))
    }

    pub fn model(&self) -> &Model {
        &self.0.model
    }

    /// The preference for a over b.
    ///
    /// # Errors
    /// A number of features that differs from training; features or a preference that are not finite.
    pub fn preference<A: Element, B: Element>(&self, a: &[A], b: &[B]) -> Result<f64> {
        const ARGUMENTS: [&str; 2] = ["argument 'features_a'", "argument 'features_b'"];
        let scorer = self.0.model.scorer()?;
        let preference = if scorer.pointwise() {
            self.0.score_of(ARGUMENTS[0], a)? - self.0.score_of(ARGUMENTS[1], b)?
        } else {
            for length in [a.len(), b.len()] {
                self.0.model.check_width(length)?;
            }
            check_finite(ARGUMENTS[0], a, false)?;
            check_finite(ARGUMENTS[1], b, false)?;
            // The scores of two documents are f(x, x') / 2 and -f(x, x') / 2.
            let rows = Matrix::F64(shaped(2, a.len(), [self.0.scaled(a), self.0.scaled(b)].concat()));
            let documents = Documents { features: &rows, start: 0, end: 2 };
            let scores = scorer.scores(&documents, &self.0.function.weights, &Control::default())?;
            scores[0] - scores[1]
        };
        if preference.is_finite() {
            return Ok(preference);
        }
        let larger = |x: f64, y: f64| x.abs().max(y.abs());
        let size = larger(
            a.iter().map(|x| x.to_f64()).fold(0.0, larger),
            b.iter().map(|x| x.to_f64()).fold(0.0, larger),
        );
        Err(Error::Data(format!(
            "the preference is beyond the range of numbers; features are too large for this model (up to {size:e})"
        )))
    }
}

/// Refuses infinite features in an argument. NaN is a missing value, which some models allow.
pub(super) fn check_features<T: Element>(argument: &str, features: &[T], model: &Model) -> Result<()> {
    check_finite(argument, features, model.card.missing == Missing::Branch)
}

/// Refuses infinite features in an argument. `may_miss`: whether NaN is allowed.
fn check_finite<T: Element>(argument: &str, features: &[T], may_miss: bool) -> Result<()> {
    // Fast path: most documents have no missing values.
    let finite = are_finite(features);
    let is_wrong = |value: f64| if may_miss { value.is_infinite() } else { !value.is_finite() };
    match features.iter().position(|value| !finite && is_wrong(value.to_f64())) {
        None => Ok(()),
        Some(index) => Err(Error::not_finite(argument, features[index].to_f64(), index, may_miss)),
    }
}

simd! {
    /// No early exit, so that the loop vectorizes.
    fn are_finite<'a; T: Element>(features: &'a [T]) -> bool {
        features.iter().fold(true, |finite, value| finite & value.to_f64().is_finite())
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
