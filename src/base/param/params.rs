//! Parameters: named values from a JSON object, each checked against a rule.
//!
//! [`Params::parse`] refuses unknown keys (suggesting the nearest known one), values that violate their rule (saying what
//! is allowed) and duplicate keys. The getters then return typed values.

use super::json::{Entries, json_problem, long_integer};
use super::rule::{MAX_VALUES, Named, Rule};
use crate::base::{Error, Result, shorten};
use serde_json::{Map, Value};

/// Largest JSON text in bytes. Parsing cannot be interrupted, and takes about 50 times the memory of the text.
const MAX_BYTES: usize = 256 << 10;

/// Defaults of parameters whose values are names: (key, name) pairs.
pub type Defaults = &'static [(&'static str, &'static str)];

/// Checked parameters.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Params {
    given: Map<String, Value>,
    defaults: Defaults,
}

impl Params {
    /// Parses and checks a JSON object; `None` means no parameters. `rule_of` returns a key's rule, and whether an array of
    /// values is also allowed.
    ///
    /// # Errors
    /// Text that is not a JSON object; a duplicate key, or one that `rule_of` refuses; a value that violates its rule.
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
                let allowed = "64-bit integers; write a longer id as text, and other large numbers as 1e20";
                return Err(Error::value(format!("option '{key}'"), long, allowed));
            }
            if given.insert(key.clone(), rule.with_integers(value)).is_some() {
                return Err(Error::value(format!("option '{key}'"), "the key twice", "once"));
            }
        }
        Ok(Self::from(given))
    }

    /// Sets the defaults.
    #[must_use]
    pub fn with_defaults(mut self, defaults: Defaults) -> Self {
        self.defaults = defaults;
        self
    }

    /// Sets one key.
    #[must_use]
    pub fn with(mut self, key: &str, value: Value) -> Self {
        self.given.insert(key.to_owned(), value);
        self
    }

    /// Keeps only these keys.
    #[must_use]
    pub fn only(mut self, keys: &[&str]) -> Self {
        self.given.retain(|key, _| keys.contains(&key.as_str()));
        self
    }

    /// Removes these keys.
    #[must_use]
    pub fn without(mut self, keys: &[&str]) -> Self {
        self.given.retain(|key, _| !keys.contains(&key.as_str()));
        self
    }

    /// Whether the caller set this key.
    pub fn has(&self, key: &str) -> bool {
        self.given.contains_key(key)
    }

    /// The value of a key, if the caller set it.
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.given.get(key)
    }

    /// The value, if it is a number.
    pub fn number(&self, key: &str) -> Option<f64> {
        self.get(key).and_then(Value::as_f64)
    }

    /// The value, if it is a non-negative integer.
    pub fn count(&self, key: &str) -> Option<usize> {
        self.get(key).and_then(Value::as_u64).and_then(|value| usize::try_from(value).ok())
    }

    /// The option `seed`; 0 by default.
    pub fn seed(&self) -> u64 {
        self.get("seed").and_then(Value::as_u64).unwrap_or(0)
    }

    /// The value, if it is text; the default if the key is not set.
    pub fn text(&self, key: &str) -> Option<&str> {
        let default = || self.defaults.iter().find(|(known, _)| *known == key).map(|(_, name)| *name);
        self.get(key).map_or_else(default, Value::as_str)
    }

    /// The variant that the value, or the default, names.
    ///
    /// # Errors
    /// An unknown name.
    pub fn choice<T: Named>(&self, key: &str) -> Result<Option<T>> {
        self.text(key).map(|name| self.named(key, name)).transpose()
    }

    /// The variant with this name; errors mention the option `key`.
    ///
    /// # Errors
    /// An unknown name.
    pub fn named<T: Named>(&self, key: &str, name: &str) -> Result<T> {
        let allowed = || Rule::OneOf(T::NAMES).to_string();
        T::from_name(name).ok_or_else(|| Error::value(format!("option '{key}'"), shorten(name), allowed()))
    }

    /// The value, if it is a boolean.
    pub fn switch(&self, key: &str) -> Option<bool> {
        self.get(key).and_then(Value::as_bool)
    }

    /// Whether the key is set to true.
    pub fn flag(&self, key: &str) -> bool {
        self.switch(key).unwrap_or(false)
    }

    /// The keys and values that the caller set.
    pub fn given(&self) -> &Map<String, Value> {
        &self.given
    }
}

impl From<Map<String, Value>> for Params {
    /// Wraps values that have already been checked.
    fn from(given: Map<String, Value>) -> Self {
        Self { given, defaults: &[] }
    }
}
