//! Linear models of other libraries.

use crate::base::{Error, Result};

/// A weighted sum of features. Missing features count as 0 before they are scaled, as in the search engines.
#[derive(Debug, Clone, PartialEq)]
pub struct LinearModel {
    /// The score of a document whose scaled features are all 0.
    pub bias: f64,
    /// The features.
    pub terms: Vec<LinearTerm>,
}

/// A feature with a weight: it adds `weight * (x - center) * factor`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LinearTerm {
    /// Number of the feature, from 0.
    pub feature: usize,
    /// Weight of the scaled feature.
    pub weight: f64,
    /// Subtracted from the feature.
    pub center: f64,
    /// Factor of the difference.
    pub factor: f64,
}

impl LinearTerm {
    /// A feature that is not scaled.
    pub(super) fn plain(feature: usize, weight: f64) -> Self {
        Self { feature, weight, center: 0.0, factor: 1.0 }
    }
}

impl LinearModel {
    /// Checks the numbers.
    pub(super) fn checked(self) -> Result<Self> {
        let is_finite = |term: &LinearTerm| {
            (term.weight * term.factor).is_finite() && (term.weight * term.factor * term.center).is_finite()
        };
        if !self.bias.is_finite() || !self.terms.iter().all(is_finite) {
            return Err(Error::Corrupt("a weight or a scaling is not finite".to_owned()));
        }
        Ok(self)
    }
}
