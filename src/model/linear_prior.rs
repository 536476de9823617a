//! The linear function of a model as the center of a penalty.

use super::{Model, Ranker};
use crate::base::{Error, Result, columns_text, shorten};
use crate::data::{Categories, Quantities, Scaling};

/// A linear function of scaled features.
#[derive(Debug, Clone)]
pub struct LinearPrior {
    features: Vec<String>,
    /// The categories that it was trained with.
    pub categories: Categories,
    /// Columns where numbers, dates or durations are written as text.
    pub quantities: Quantities,
    /// Scaling of the training documents.
    pub scaling: Scaling,
    weights: Vec<f64>,
}

impl Model {
    /// The linear function.
    ///
    /// # Errors
    /// A model with a kernel, with several functions, or with factors; a perceptron.
    pub fn linear_prior(&self) -> Result<LinearPrior> {
        let weights = if let Ranker::Linear(linear) = &self.ranker { linear.linear_weights() } else { None };
        let weights = weights.ok_or_else(|| {
            let algorithm = &self.card.algorithm;
            Error::Unsupported(format!(
                "a model of '{algorithm}' with these settings cannot be a prior; use a model with one linear function, such as \
                 one trained by rank_svm or list_net with kernel \"linear\" and interaction \"none\""
            ))
        })?;
        let features = self.card.features.clone();
        let (categories, quantities) = (self.card.categories.clone(), self.card.quantities.clone());
        let scaling = self.scaling.clone();
        Ok(LinearPrior { features, categories, quantities, scaling, weights: weights.to_vec() })
    }
}

impl LinearPrior {
    /// The scaling and the weights, rearranged for features with these names.
    ///
    /// # Errors
    /// Names of missing or unknown features.
    pub fn for_features(&self, names: &[String]) -> Result<(Scaling, Vec<f64>), String> {
        let lacks =
            |have: &[String], name: &String| !have.iter().any(|other| other.eq_ignore_ascii_case(name));
        let differing = |of: &[String], other: &[String]| -> Vec<String> {
            of.iter().filter(|name| lacks(other, name)).cloned().collect()
        };
        let (missing, unknown) = (differing(&self.features, names), differing(names, &self.features));
        let listed = |names: &[String]| shorten(&names.join(", "));
        let mut problems = Vec::new();
        if !missing.is_empty() {
            let listed = listed(&missing);
            problems.push(format!(
                "the source does not have the model's features {listed}; add them, or train the prior without them"
            ));
        }
        if !unknown.is_empty() {
            let names: Vec<&str> = unknown.iter().map(String::as_str).collect();
            let ignore = columns_text(None, None, &names);
            problems
                .push(format!("the model has no features {}; set the options {ignore}", listed(&unknown)));
        }
        if !problems.is_empty() {
            return Err(problems.join("; "));
        }
        if names.len() != self.features.len() {
            return Err("the source and the prior differ in the number of features".to_owned());
        }
        // Category values may differ only in case.
        let column = |name: &String| {
            let exact = self.features.iter().position(|other| other == name);
            exact.or_else(|| self.features.iter().position(|other| other.eq_ignore_ascii_case(name)))
        };
        let columns: Vec<usize> = names.iter().filter_map(column).collect();
        let n = columns.len();
        let parts = self.weights.len() / n.max(1);
        let weights =
            (0..parts).flat_map(|part| columns.iter().map(move |column| self.weights[part * n + column]));
        Ok((self.scaling.select(&columns), weights.collect()))
    }
}
