//! Models that other libraries trained.
//!
//! A model is trees of any shape or a linear function. Scores are raw: before the function that an objective puts on top,
//! such as the logistic one. What a library does that this form does not have is refused by name.

use super::format::Format;
use crate::base::{Control, Error, Reservation, Result, shorten};
use crate::data::CategoryValue;
use crate::trees::general::GeneralForest;
use serde_json::Value;
use std::collections::HashMap;

/// A model of another library.
#[derive(Debug)]
pub struct ImportedModel {
    /// Where it comes from.
    pub source: Source,
    /// The features, in the order of the values of a document.
    pub features: Vec<Feature>,
    /// What gives the scores.
    pub function: Function,
}

impl ImportedModel {
    /// Checks what all formats have in common.
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

/// Most features of a model.
const MOST_FEATURES: usize = 100_000;

/// Bytes that a feature takes while a text is read: its name, here and in a table of names.
const FEATURE_BYTES: u64 = 300;

/// What the caller can do about a text that takes too much memory.
pub const SMALLER: &str = "import a smaller model";

/// Where a model comes from.
#[derive(Debug, Clone, PartialEq)]
pub struct Source {
    /// The format of the text.
    pub format: Format,
    /// Version of the library or of its format; empty if the text has none.
    pub version: String,
    /// The objective of the training; empty if the text has none.
    pub objective: String,
    /// The best round of a training that stopped early, from 0, where the text still has all rounds. The functions of the
    /// library differ: some predict with the rounds up to this one, some with all.
    pub best_round: Option<usize>,
    /// Trees of a round.
    pub trees_per_round: usize,
}

/// A feature.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Feature {
    /// The name in the text, or the one that its library gives to features without names.
    pub name: String,
    /// Whether splits compare it with sets of categories.
    pub is_category: bool,
    /// The texts of the categories, by code. Empty: the values are the codes.
    pub categories: Vec<String>,
}

/// What gives the scores.
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

impl Feature {
    /// A feature of numbers.
    pub(crate) fn number(name: impl Into<String>) -> Self {
        Self { name: name.into(), ..Self::default() }
    }
}

/// Names of features that a text mentions, numbered as they come.
#[derive(Default)]
pub(super) struct Names {
    pub(super) numbers: HashMap<String, usize>,
    pub(super) features: Vec<Feature>,
    /// Counts them.
    memory: Reservation,
}

impl Names {
    pub(super) fn new(control: &Control) -> Self {
        Self { memory: control.memory().nothing(), ..Self::default() }
    }

    /// The number of a name.
    pub(super) fn number(&mut self, name: &str) -> Result<usize> {
        if let Some(number) = self.numbers.get(name) {
            return Ok(*number);
        }
        let number = self.features.len();
        check_width(number + 1, &mut self.memory)?;
        self.features.push(Feature::number(name));
        self.numbers.insert(name.to_owned(), number);
        Ok(number)
    }
}

/// Checks the number of features, and counts their memory.
pub(super) fn check_width(width: usize, memory: &mut Reservation) -> Result<usize> {
    if width > MOST_FEATURES {
        return Err(Error::Unsupported(format!("a model of {width} features; at most {MOST_FEATURES}")));
    }
    memory.resize(FEATURE_BYTES * width as u64, format_args!("{width} features"), SMALLER)?;
    Ok(width)
}

/// The text of a category, which a number has in SQL (rule 2.20). A truth value is `true` or `false`.
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
        Error::Corrupt(format!("the category {value} is no text, number or truth value"))
    };
    text.map(std::borrow::Cow::into_owned).ok_or_else(wrong)
}

// Linear models.

/// A weighted sum of features. Missing features count as 0 before they are scaled, as in the search engines.
#[derive(Debug, Clone, PartialEq)]
pub struct LinearModel {
    /// The score of a document whose scaled features are all 0.
    pub bias: f64,
    /// The features.
    pub terms: Vec<Term>,
}

/// A feature with a weight: it adds `weight * (x - center) * factor`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Term {
    /// Number of the feature, from 0.
    pub feature: usize,
    /// Weight of the scaled feature.
    pub weight: f64,
    /// What is subtracted from the feature.
    pub center: f64,
    /// What it is multiplied with then.
    pub factor: f64,
}

impl Term {
    /// A feature that is not scaled.
    pub(super) fn plain(feature: usize, weight: f64) -> Self {
        Self { feature, weight, center: 0.0, factor: 1.0 }
    }
}

impl LinearModel {
    /// Checks the numbers.
    pub(super) fn checked(self) -> Result<Self> {
        let is_finite = |term: &Term| {
            (term.weight * term.factor).is_finite() && (term.weight * term.factor * term.center).is_finite()
        };
        if !self.bias.is_finite() || !self.terms.iter().all(is_finite) {
            return Err(Error::Corrupt("a weight or a scaling is not finite".to_owned()));
        }
        Ok(self)
    }
}
