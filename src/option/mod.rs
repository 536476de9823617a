//! Options: the JSON text that is the last argument of most SQL functions.
//!
//! [`table::OPTIONS`] defines every key once (rule, default, meaning, where it is accepted). [`Options::parse`] checks a
//! text against it: an unknown key names the nearest known one, a wrong type or range names the key, what was
//! given and what is allowed, a key given twice is an error. After that the getters cannot fail.

mod json;
mod rule;
mod table;

use serde_json::{Map, Value};

use crate::error::{Error, Result, shorten};

use self::json::Entries;

pub use rule::Rule;
pub use table::{OPTIONS, OptionDef, Use};

/// Checked options of one call.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Options {
    given: Map<String, Value>,
}

impl Options {
    /// Parses and checks an options text for calls of the kind `used`; an absent text means no options.
    ///
    /// # Errors
    /// Text that is no JSON object, a key that is unknown, not accepted here or given twice, a value against its rule.
    pub fn parse(text: Option<&str>, used: Use) -> Result<Self> {
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
            let def = find(&key, used)?;
            if !def.rule.accepts(&value) {
                let what = format!("option '{key}'");
                return Err(Error::value(what, shorten(&value.to_string()), def.rule.to_string()));
            }
            if given.insert(key.clone(), value).is_some() {
                return Err(Error::value(format!("option '{key}'"), "it twice", "each key once"));
            }
        }
        Ok(Self { given })
    }

    /// True where the caller gave this key.
    pub fn has(&self, key: &str) -> bool {
        self.given.contains_key(key)
    }

    /// The value the caller gave for `key`, if any.
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.given.get(key)
    }

    /// A number, if given as one.
    pub fn number(&self, key: &str) -> Option<f64> {
        self.get(key).and_then(Value::as_f64)
    }

    /// A whole number that is not negative, if given.
    pub fn count(&self, key: &str) -> Option<usize> {
        self.get(key).and_then(Value::as_u64).and_then(|value| usize::try_from(value).ok())
    }

    /// A text, if given as one.
    pub fn text(&self, key: &str) -> Option<&str> {
        self.get(key).and_then(Value::as_str)
    }

    /// A switch; false unless given.
    pub fn flag(&self, key: &str) -> bool {
        self.get(key).and_then(Value::as_bool).unwrap_or(false)
    }

    /// The given keys and values, for reports.
    pub fn given(&self) -> &Map<String, Value> {
        &self.given
    }
}

fn find(key: &str, used: Use) -> Result<&'static OptionDef> {
    if used == Use::Update && OPTIONS.iter().any(|def| def.key == key && def.used_by == [Use::Train]) {
        let reason = "a model goes on with the choices of its training; train it again to change them";
        return Err(Error::Unsupported(format!("option '{key}': {reason}")));
    }
    match OPTIONS.iter().find(|def| def.key == key) {
        Some(def) if def.used_by.contains(&used) => Ok(def),
        Some(def) => {
            let others: Vec<&str> = def.used_by.iter().map(|used| used.functions()).collect();
            Err(Error::Unsupported(format!("option '{key}': it belongs to {}", others.join(", "))))
        }
        None => {
            let accepted = OPTIONS.iter().filter(|def| def.used_by.contains(&used));
            Err(Error::unknown("option", key, accepted.map(|def| def.key)))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(text: &str) -> String {
        Options::parse(Some(text), Use::Train).expect_err("must be refused").to_string()
    }

    #[test]
    fn an_unknown_key_names_the_nearest_known_one() {
        assert!(message(r#"{"lamda": 1}"#).starts_with("unknown option 'lamda', did you mean 'lambda'?"));
    }

    #[test]
    fn a_wrong_value_names_key_value_and_what_is_allowed() {
        assert_eq!(
            message(r#"{"neighbors": 0}"#),
            "option 'neighbors': got 0, allowed is a whole number from 1 to 1000000000"
        );
        assert_eq!(
            message(r#"{"missing": "drop"}"#),
            "option 'missing': got \"drop\", allowed is one of \"error\", \"zero\", \"mean\""
        );
    }

    #[test]
    fn an_option_of_another_function_says_whose_it_is() {
        assert_eq!(
            message(r#"{"max_per_value": 1}"#),
            "option 'max_per_value': it belongs to ltr_rank, ltr_evaluate"
        );
    }

    #[test]
    fn a_key_given_twice_is_refused() {
        assert_eq!(
            message(r#"{"seed": 1, "seed": 2}"#),
            "option 'seed': got it twice, allowed is each key once"
        );
        assert!(message(r#"{"columns": {"doc": "a", "doc": "b"}}"#).contains("\"doc\" stands twice"));
    }

    #[test]
    fn text_that_is_no_object_is_refused() {
        for text in ["", "[]", "{", "7", r#"{"seed": 1e999}"#, "{} x", "{\"columns\": [[}]}"] {
            assert!(message(text).starts_with("options: got '"), "{text}");
        }
    }

    #[test]
    fn every_default_obeys_its_own_rule_and_no_key_stands_twice() {
        for (index, def) in OPTIONS.iter().enumerate() {
            let default: Value = serde_json::from_str(def.default).expect("defaults are JSON");
            assert!(default.is_null() || def.rule.accepts(&default), "{}", def.key);
            assert!(OPTIONS[..index].iter().all(|earlier| earlier.key != def.key), "{} twice", def.key);
        }
    }
}
