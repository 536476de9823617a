//! The option `monotone`: features whose higher values never lower the score, or never raise it.
//!
//! Two documents are compared that differ in one such feature and have a value each. A missing value is not compared.
//! If features are scaled within queries, one document changes while the others stay.

use serde_json::{Map, Value, json};

use super::baseline::BaselineSpec;
use crate::base::{Error, Params, Result, shorten};
use crate::data::{Dataset, Scaling};

/// Key of the option and of the setting.
pub const KEY: &str = "monotone";

/// The features and their signs, 1 or -1.
#[derive(Debug, Clone, Default)]
pub struct Monotone(Vec<(String, i8)>);

impl Monotone {
    /// The option; nothing if it is not given.
    ///
    /// # Errors
    /// No feature, or another value than 1 and -1; a baseline whose order is against a sign.
    pub fn parse(params: &Params) -> Result<Self> {
        let Some(given) = params.get(KEY).and_then(Value::as_object) else { return Ok(Self::default()) };
        let sign = |(name, value): (&String, &Value)| match value.as_f64() {
            Some(1.0) => Ok((name.clone(), 1)),
            Some(-1.0) => Ok((name.clone(), -1)),
            _ => Err(Error::value(format!("option '{KEY}', key '{name}'"), value.to_string(), "1 or -1")),
        };
        let signs: Vec<(String, i8)> = given.iter().map(sign).collect::<Result<_>>()?;
        if signs.is_empty() {
            let allowed = "features with 1 or -1, as in {\"price\": -1}";
            return Err(Error::value(format!("option '{KEY}'"), "{}".to_owned(), allowed));
        }
        let baseline = BaselineSpec::parse(params).map(|baseline| baseline.text).unwrap_or_default();
        let is_against = |(name, sign): &&(String, i8)| {
            let against = if *sign > 0 { format!("-{name}") } else { name.clone() };
            baseline.eq_ignore_ascii_case(&against)
        };
        match signs.iter().find(is_against) {
            None => Ok(Self(signs)),
            Some((name, sign)) => Err(Error::Unsupported(format!(
                "option '{KEY}': \"{name}\": {sign} does not work with the option 'baseline', which is \"{baseline}\""
            ))),
        }
    }

    /// The option of a linear function, whose baseline has no sign.
    ///
    /// # Errors
    /// As [`Self::parse`]; a baseline.
    pub fn of_linear(params: &Params) -> Result<Self> {
        let monotone = Self::parse(params)?;
        if !monotone.is_empty() && BaselineSpec::parse(params).is_some() {
            let problem = "a linear function with a baseline cannot keep it; train boosted_trees or auto";
            return Err(Error::Unsupported(format!("option '{KEY}': {problem}")));
        }
        Ok(monotone)
    }

    /// Whether no feature is constrained.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds the option to the settings of a model.
    pub fn report(&self, settings: &mut Map<String, Value>) {
        if !self.is_empty() {
            let signs = self.0.iter().map(|(name, sign)| (name.clone(), json!(sign)));
            settings.insert(KEY.to_owned(), signs.collect());
        }
    }

    /// For each scaled feature its sign, or 0; empty without the option. A scaling that makes two of each feature keeps the order in
    /// both.
    ///
    /// # Errors
    /// A name that is not a feature, or is a category.
    pub fn signs(&self, data: &Dataset, scaling: &Scaling) -> Result<Vec<i8>> {
        let width = data.names.len();
        let mut signs = vec![0; if self.is_empty() { 0 } else { width }];
        let numbers = &data.names[..data.categories.numbers(data.names.len())];
        for (name, sign) in &self.0 {
            let Some(feature) = numbers.iter().position(|known| known.eq_ignore_ascii_case(name)) else {
                return Err(Error::Data(format!(
                    "option '{KEY}': \"{name}\" is not one of the numeric features: {}",
                    shorten(&numbers.join(", "))
                )));
            };
            signs[feature] = *sign;
        }
        Ok(signs.repeat(scaling.width(width) / width.max(1)))
    }
}
