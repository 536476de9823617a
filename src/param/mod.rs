//! Parameters: named values from a JSON object, each checked against a rule.
//!
//! [`Params::parse`] refuses an unknown key with the nearest known one, a value against its rule with what is allowed,
//! and a key that appears twice. The getters then return typed values.

mod json;
mod rule;

use serde_json::{Map, Value};

use self::json::Entries;
use crate::error::{Error, Result, shorten};

pub use rule::Rule;

/// Checked parameters.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Params {
    given: Map<String, Value>,
}

impl Params {
    /// Parses and checks a JSON object. No text means no parameters. `rule_of` returns the rule of a key.
    ///
    /// # Errors
    /// Text that is no JSON object, a key that `rule_of` refuses or that appears twice, a value against its rule.
    pub fn parse(text: Option<&str>, rule_of: impl Fn(&str) -> Result<Rule>) -> Result<Self> {
        let Some(text) = text else { return Ok(Self::default()) };
        let Entries(entries) = serde_json::from_str(text).map_err(|problem| {
            Error::value(
                "options",
                format!("'{}'", shorten(text)),
                format!("a JSON object such as {{\"k\": 10}} ({problem})"),
            )
        })?;
        let mut given = Map::new();
        for (key, value) in entries {
            let rule = rule_of(&key)?;
            if !rule.accepts(&value) {
                let what = format!("option '{key}'");
                return Err(Error::value(what, shorten(&value.to_string()), rule.to_string()));
            }
            if given.insert(key.clone(), value).is_some() {
                return Err(Error::value(format!("option '{key}'"), "it twice", "each key once"));
            }
        }
        Ok(Self { given })
    }

    /// True if the caller gave this key.
    pub fn has(&self, key: &str) -> bool {
        self.given.contains_key(key)
    }

    /// The value of a key, if given.
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.given.get(key)
    }

    /// A number, if given as one.
    pub fn number(&self, key: &str) -> Option<f64> {
        self.get(key).and_then(Value::as_f64)
    }

    /// A non-negative integer, if given.
    pub fn count(&self, key: &str) -> Option<usize> {
        self.get(key).and_then(Value::as_u64).and_then(|value| usize::try_from(value).ok())
    }

    /// A text, if given as one.
    pub fn text(&self, key: &str) -> Option<&str> {
        self.get(key).and_then(Value::as_str)
    }

    /// A switch; false by default.
    pub fn flag(&self, key: &str) -> bool {
        self.get(key).and_then(Value::as_bool).unwrap_or(false)
    }

    /// The given keys and values.
    pub fn given(&self) -> &Map<String, Value> {
        &self.given
    }
}

impl From<Map<String, Value>> for Params {
    /// Values that are known to obey their rules.
    fn from(given: Map<String, Value>) -> Self {
        Self { given }
    }
}
