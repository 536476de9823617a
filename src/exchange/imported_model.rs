//! Models trained by other libraries.
//!
//! A model is trees of any shape or a linear function. Scores are raw, before any function that the objective applies,
//! such as the logistic function. Anything that cannot be represented here is refused by name.

use super::{Format, LinearModel};
use crate::base::{Error, Result, shorten};
use crate::data::CategoryValue;
use crate::trees::general::{Feature, GeneralForest};
use serde_json::Value;
use std::collections::HashMap;

/// A model of another library.
#[derive(Debug)]
pub struct ImportedModel {
    /// Where it comes from.
    pub source: Source,
    /// The features, in the order of a document's values.
    pub features: Vec<Feature>,
    /// The scoring function.
    pub function: Function,
}

impl ImportedModel {
    /// Runs the checks common to all formats.
    pub(super) fn checked(self) -> Result<Self> {
        if self.features.is_empty() {
            return Err(Error::Corrupt("the model has no features".to_owned()));
        }
        let mut names = HashMap::with_capacity(self.features.len());
        for (number, feature) in self.features.iter().enumerate() {
            if let Some(other) = names.insert(feature.name.as_str(), number) {
                let name = shorten(&feature.name);
                return Err(Error::Corrupt(format!("features {other} and {number} have the name '{name}'")));
            }
        }
        Ok(self)
    }
}

/// Where a model comes from.
#[derive(Debug, Clone, PartialEq)]
pub struct Source {
    /// The format of the text.
    pub format: Format,
    /// Version of the library or of its format; empty if the text has no version.
    pub version: String,
    /// The training objective; empty if the text does not name it.
    pub objective: String,
    /// If training stopped early but the text has all rounds: the best round, from 0. Libraries differ: some functions
    /// predict with the rounds up to this one, others with all.
    pub best_round: Option<usize>,
    pub trees_per_round: usize,
}

/// The scoring function.
#[derive(Debug, Clone)]
pub enum Function {
    /// Trees of any shape.
    Trees(GeneralForest),
    /// A weighted sum.
    Linear(LinearModel),
}

impl Source {
    pub(super) fn new(format: Format, version: impl Into<String>, objective: impl Into<String>) -> Self {
        let (version, objective) = (version.into(), objective.into());
        Self { format, version, objective, best_round: None, trees_per_round: 1 }
    }
}

/// A category's text. Numbers are written as in SQL (rule 2.20), truth values as `true` or `false`.
pub(super) fn category_text(value: &Value) -> Result<String> {
    let text = match value {
        Value::String(text) => CategoryValue::Text(text).text(),
        // Whole numbers beyond 2^53 are exact.
        Value::Number(number) => match (number.as_i64(), number.as_f64()) {
            (Some(whole), _) => CategoryValue::Integer(whole).text(),
            (None, Some(real)) if number.is_f64() => CategoryValue::Real(real).text(),
            _ => Some(number.to_string().into()),
        },
        Value::Bool(_) => Some(value.to_string().into()),
        _ => None,
    };
    let wrong = || {
        let value = shorten(&value.to_string());
        Error::Corrupt(format!("the category {value} is not a text, number or truth value"))
    };
    text.map(std::borrow::Cow::into_owned).ok_or_else(wrong)
}
