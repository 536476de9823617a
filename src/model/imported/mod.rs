//! Models that other libraries trained.
//!
//! A model is trees of any shape or a linear function. Scores are raw: before the function that an objective puts on top,
//! such as the logistic one. What a library does that this form does not have is refused by name.

mod catboost;
mod engines;
mod lightgbm;
mod ranklib;
mod read;
mod xgboost;

use std::collections::HashMap;

use serde::de::DeserializeOwned;

use crate::base::{Error, Result};
use crate::data::CategoryValue;
use crate::trees::general::GeneralForest;

pub(crate) use engines::SOLR_SLACK;
pub use read::{read, recognize};

/// A format of models.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// LightGBM: the text of `save_model`, or the JSON of `dump_model`.
    LightGbm,
    /// XGBoost: the JSON of `save_model`, or that of `get_dump`.
    XgBoost,
    /// CatBoost: JSON.
    CatBoost,
    /// The plugin for Elasticsearch and OpenSearch: `model/linear` and `model/xgboost+json`.
    Elasticsearch,
    /// Solr: `LinearModel` and `MultipleAdditiveTreesModel`.
    Solr,
    /// RankLib: trees in XML, and linear models.
    RankLib,
}

impl Format {
    /// The formats and their names. The first name of a format is its own.
    pub const ALL: [(&str, Self); 7] = [
        ("lightgbm", Self::LightGbm),
        ("xgboost", Self::XgBoost),
        ("catboost", Self::CatBoost),
        ("elasticsearch", Self::Elasticsearch),
        ("opensearch", Self::Elasticsearch),
        ("solr", Self::Solr),
        ("ranklib", Self::RankLib),
    ];

    /// The format of a name.
    ///
    /// # Errors
    /// [`Error::Unknown`] with the names.
    pub fn parse(name: &str) -> Result<Self> {
        let found = Self::ALL.iter().find(|(known, _)| *known == name);
        let names = || Self::ALL.iter().map(|(known, _)| *known);
        found.map(|(_, format)| *format).ok_or_else(|| Error::unknown("format", name, names()))
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(_, format)| *format == self).map_or("", |(name, _)| *name)
    }
}

/// Most features of a model.
const MOST_FEATURES: usize = 1_000_000;

/// A model of another library.
#[derive(Debug, Clone)]
pub struct ImportedModel {
    /// Where it comes from.
    pub source: Source,
    /// The features, in the order of the values of a document.
    pub features: Vec<Feature>,
    /// What gives the scores.
    pub function: Function,
}

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
    fn new(format: Format, version: impl Into<String>, objective: impl Into<String>) -> Self {
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

impl ImportedModel {
    /// Checks what all formats have in common.
    fn checked(self) -> Result<Self> {
        if self.features.is_empty() {
            return Err(Error::Corrupt("the model has no features".to_owned()));
        }
        let mut names = HashMap::with_capacity(self.features.len());
        for (number, feature) in self.features.iter().enumerate() {
            if let Some(other) = names.insert(feature.name.as_str(), number) {
                let name = crate::base::error::shorten(&feature.name);
                return Err(Error::Corrupt(format!("features {other} and {number} have the name '{name}'")));
            }
        }
        Ok(self)
    }
}

/// Names of features that a text mentions, numbered as they come.
#[derive(Default)]
struct Names {
    numbers: HashMap<String, usize>,
    features: Vec<Feature>,
}

impl Names {
    /// The number of a name.
    fn number(&mut self, name: &str) -> usize {
        if let Some(number) = self.numbers.get(name) {
            return *number;
        }
        self.features.push(Feature::number(name));
        self.numbers.insert(name.to_owned(), self.features.len() - 1);
        self.features.len() - 1
    }
}

/// The value of a JSON text.
///
/// # Errors
/// [`Error::Corrupt`] with the place.
fn parse_json<T: DeserializeOwned>(text: &str) -> Result<T> {
    serde_json::from_str(text).map_err(|error| {
        let way_out = if error.to_string().starts_with("recursion limit") {
            "; trees as nested JSON can be 120 (XGBoost's get_dump: 60) levels deep: use the text or JSON of save_model"
        } else {
            ""
        };
        Error::Corrupt(format!("{error}{way_out}"))
    })
}

/// Checks the number of features.
fn check_width(width: usize) -> Result<usize> {
    if width > MOST_FEATURES {
        return Err(Error::Unsupported(format!("a model of {width} features; at most {MOST_FEATURES}")));
    }
    Ok(width)
}

/// The text of a category, which a number and a truth value have in SQL (rule 2.20).
fn category_text(value: &serde_json::Value) -> String {
    let number = match value {
        serde_json::Value::Bool(is_true) => Some(f64::from(u8::from(*is_true))),
        value => value.as_f64(),
    };
    let text = match (number, value.as_str()) {
        (Some(number), _) => CategoryValue::Real(number).text(),
        (None, Some(text)) => CategoryValue::Text(text).text(),
        (None, None) => None,
    };
    text.map_or_else(|| value.to_string(), std::borrow::Cow::into_owned)
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
