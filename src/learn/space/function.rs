//! A ranking function: weights and form.

use serde::{Deserialize, Serialize};

use crate::base::named;
use crate::base::param::list;
use crate::data::Matrix;
use crate::learn::kernel::Basis;
use crate::math::are_bounded;
use crate::trees::Forest;

/// The arguments of a function.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Form {
    /// One document: a scoring function s(x).
    Scoring,
    /// Two documents: an antisymmetric ranking function f(x, x').
    Ranking,
}

named!(Form { Scoring = "scoring", Ranking = "ranking" });

/// A ranking function: weights in a [`Space`](super::Space), which turns them into scores.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Function {
    /// The weights, one for each dimension of the space.
    #[serde(deserialize_with = "list::whole")]
    pub weights: Vec<f64>,
    /// Value of the objective at the weights.
    pub objective: f64,
    /// Certified distance of `objective` from the optimum.
    pub gap: f64,
}

impl Function {
    /// The function 0, for queries that none can be fitted for. `objective` and `gap` have no meaning.
    pub fn zero(dim: usize) -> Self {
        Self { weights: vec![0.0; dim], objective: 0.0, gap: 0.0 }
    }

    /// Whether its weights are within the bound of stored numbers, and objective and gap finite.
    pub fn is_bounded(&self) -> bool {
        are_bounded(&self.weights) && self.objective.is_finite() && self.gap.is_finite()
    }
}

/// The things that a function's weights belong to.
#[derive(Debug, Clone, Copy)]
pub enum WeightsOf<'a> {
    Features,
    /// The documents of a basis.
    Documents(&'a Basis),
    /// Pairs of documents.
    Pairs,
    /// The leaves of trees.
    Leaves(&'a Forest),
}

/// The weighted sum of a row's features. Features without weight may be missing.
pub(super) fn linear_score(features: &Matrix, row: usize, w: &[f64]) -> f64 {
    let score = features.row_dot(row, w);
    if !score.is_nan() {
        return score;
    }
    let used = w.iter().enumerate().filter(|(_, w)| w.abs() > 0.0);
    used.map(|(column, w)| w * features.at(row, column)).sum()
}

/// Scores minus their mean.
pub(super) fn centered(mut scores: Vec<f64>) -> Vec<f64> {
    let mean = scores.iter().sum::<f64>() / scores.len().max(1) as f64;
    for score in &mut scores {
        *score -= mean;
    }
    scores
}
