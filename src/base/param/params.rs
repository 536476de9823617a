//! Parameters: named values from a JSON object, each checked against a rule.
//!
//! [`Params::parse`] refuses an unknown key with the nearest known one, a value against its rule with what is allowed,
//! and a key that appears twice. The getters then return typed values.

use super::json::{Entries, json_problem, long_integer};
use super::rule::{MAX_VALUES, Named, Rule};
use crate::base::{Error, Result, shorten};
use serde_json::{Map, Value};

/// Longest text of parameters in bytes. Parsing is not interrupted, and takes about 50 times the memory of the text.
const MAX_BYTES: usize = 256 << 10;

/// Default values of parameters that are names: pairs of key and name.
pub type Defaults = &'static [(&'static str, &'static str)];

/// Checked parameters.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Params {
    given: Map<String, Value>,
    defaults: Defaults,
}

impl Params {
    /// Parses and checks a JSON object. No text means no parameters. `rule_of` returns the rule of a key, and whether an array
    /// of values is allowed too.
    ///
    /// # Errors
    /// Text that is no JSON object, a key that `rule_of` refuses or that appears twice, a value against its rule.
    pub fn parse(text: Option<&str>, rule_of: impl Fn(&str) -> Result<(Rule, bool)>) -> Result<Self> {
        let Some(text) = text else { return Ok(Self::default()) };
        if text.len() > MAX_BYTES {
            let allowed =
                format!("at most {MAX_BYTES} bytes; put long lists into a table and read them as a source");
            return Err(Error::value("options", format!("{} bytes", text.len()), allowed));
        }
        let Entries(entries) = serde_json::from_str(text).map_err(|problem| {
            Error::value(
                "options",
                format!("'{}'", shorten(text)),
                format!("a JSON object such as {{\"k\": 10}} ({})", json_problem(&problem)),
            )
        })?;
        let mut given = Map::new();
        for (key, value) in entries {
            let (rule, searchable) = rule_of(&key)?;
            if !(rule.accepts(&value) || searchable && rule.accepts_all(&value)) {
                let allowed = rule.allowed_for(&value);
                let allowed = match value {
                    Value::Array(_) if searchable => {
                        format!("{allowed}, or an array of 1 to {MAX_VALUES} such values")
                    }
                    _ => allowed,
                };
                return Err(Error::value(format!("option '{key}'"), shorten(&value.to_string()), allowed));
            }
            if rule.takes_values()
                && let Some(long) = long_integer(text)
            {
                let allowed =
                    "whole numbers of 64 bits; write a longer id as a text, and another number as 1e20";
                return Err(Error::value(format!("option '{key}'"), long, allowed));
            }
            if given.insert(key.clone(), rule.with_integers(value)).is_some() {
                return Err(Error::value(format!("option '{key}'"), "it twice", "each key once"));
            }
        }
        Ok(Self::from(given))
    }

    /// The same parameters with these defaults.
    #[must_use]
    pub fn with_defaults(mut self, defaults: Defaults) -> Self {
        self.defaults = defaults;
        self
    }

    /// The same parameters with another value of one key.
    #[must_use]
    pub fn with(mut self, key: &str, value: Value) -> Self {
        self.given.insert(key.to_owned(), value);
        self
    }

    /// The same parameters with these keys alone.
    #[must_use]
    pub fn only(mut self, keys: &[&str]) -> Self {
        self.given.retain(|key, _| keys.contains(&key.as_str()));
        self
    }

    /// The same parameters without these keys.
    #[must_use]
    pub fn without(mut self, keys: &[&str]) -> Self {
        self.given.retain(|key, _| !keys.contains(&key.as_str()));
        self
    }

    /// True if the caller gave this key.
    pub fn has(&self, key: &str) -> bool {
        self.given.contains_key(key)
    }

    /// The value of a key, if the caller gave one.
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

    /// The option `seed`; 0 by default.
    pub fn seed(&self) -> u64 {
        self.get("seed").and_then(Value::as_u64).unwrap_or(0)
    }

    /// A text, if given as one, or the default of the key.
    pub fn text(&self, key: &str) -> Option<&str> {
        let default = || self.defaults.iter().find(|(known, _)| *known == key).map(|(_, name)| *name);
        self.get(key).map_or_else(default, Value::as_str)
    }

    /// One of the names of an enum, if given or a default.
    ///
    /// # Errors
    /// A name that the enum does not have.
    pub fn choice<T: Named>(&self, key: &str) -> Result<Option<T>> {
        self.text(key).map(|name| self.named(key, name)).transpose()
    }

    /// The variant of an enum with this name.
    ///
    /// # Errors
    /// A name that the enum does not have; `key` is the option.
    pub fn named<T: Named>(&self, key: &str, name: &str) -> Result<T> {
        let allowed = || Rule::OneOf(T::NAMES).to_string();
        T::from_name(name).ok_or_else(|| Error::value(format!("option '{key}'"), shorten(name), allowed()))
    }

    /// True or false, if given.
    pub fn switch(&self, key: &str) -> Option<bool> {
        self.get(key).and_then(Value::as_bool)
    }

    /// True if the key is given as true.
    pub fn flag(&self, key: &str) -> bool {
        self.switch(key).unwrap_or(false)
    }

    /// The given keys and values.
    pub fn given(&self) -> &Map<String, Value> {
        &self.given
    }
}

impl From<Map<String, Value>> for Params {
    /// Values that are known to obey their rules.
    fn from(given: Map<String, Value>) -> Self {
        Self { given, defaults: &[] }
    }
}
