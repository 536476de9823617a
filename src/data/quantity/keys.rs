//! Numbers in JSON objects, such as features that a search engine logged: each key is a feature.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::form::Form;
use super::quantities::Quantities;

/// Most keys of a column.
const MOST_KEYS: usize = 1000;

/// The numbers of a text by their keys; null is a missing number.
pub type Numbers = BTreeMap<String, Option<f64>>;

/// JSON with numbers.
#[derive(Deserialize)]
#[serde(untagged)]
enum Written {
    Object(Numbers),
    /// As the plugins of Elasticsearch and OpenSearch log features; one without a value is missing.
    List(Vec<Entry>),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    name: String,
    value: Option<f64>,
}

/// The numbers of `{"bm25": 8.1, ...}` or `[{"name": "bm25", "value": 8.1}, ...]`; `None` for other text.
pub fn numbers_by_key(text: &[u8]) -> Option<Numbers> {
    if !matches!(text.trim_ascii_start().first(), Some(b'{' | b'[')) {
        return None;
    }
    Some(match serde_json::from_slice(text).ok()? {
        Written::Object(numbers) => numbers,
        Written::List(entries) => entries.into_iter().map(|entry| (entry.name, entry.value)).collect(),
    })
}

/// The keys of the rows of a column.
#[derive(Debug, Clone, Default)]
pub struct Keys {
    rows: usize,
    /// For each key the rows that have a number.
    counts: BTreeMap<String, usize>,
}

impl Keys {
    /// Adds the text of a row, or NULL. `false`: the column has other texts, or too many keys.
    pub fn add(&mut self, text: Option<&[u8]>) -> bool {
        self.rows += 1;
        let Some(numbers) = text.map_or_else(|| Some(Numbers::new()), numbers_by_key) else { return false };
        for (key, number) in numbers {
            *self.counts.entry(key).or_default() += usize::from(number.is_some());
        }
        self.counts.len() <= MOST_KEYS
    }
}

impl Quantities {
    /// The features of columns of JSON objects. A key that is the name of a column, of a role or of a key in another of these
    /// columns has the name of its column before it. A column whose keys don't get names of their own has none.
    /// `allows_missing`: whether rows may lack a key. `is_taken`: names that no feature gets.
    pub fn of_keys(
        columns: &[(String, Keys)],
        allows_missing: bool,
        is_taken: impl Fn(&str) -> bool,
    ) -> Self {
        let is_read = |(_, Keys { rows, counts }): &&(String, Keys)| {
            counts.values().all(|count| *count > 0 && (allows_missing || count == rows))
        };
        let read = || columns.iter().filter(is_read);
        let pairs = || read().flat_map(|(column, keys)| keys.counts.keys().map(move |key| (column, key)));
        let mut short: BTreeMap<String, usize> = BTreeMap::new();
        pairs().for_each(|(_, key)| *short.entry(key.to_ascii_lowercase()).or_default() += 1);
        let is_free = |name: &str| !is_taken(name) && !name.trim().is_empty() && !name.contains('\0');
        let name = |column: &String, key: &String| {
            let is_own = is_free(key) && short[&key.to_ascii_lowercase()] == 1;
            let long = format!("{column}.{key}");
            if is_own { key.clone() } else { long }
        };
        let mut names: BTreeMap<String, usize> = BTreeMap::new();
        pairs()
            .for_each(|(column, key)| *names.entry(name(column, key).to_ascii_lowercase()).or_default() += 1);
        let is_named = |column: &String, key: &String| {
            let name = name(column, key);
            is_free(&name) && names[&name.to_ascii_lowercase()] == 1
        };
        let named = read().filter(|(column, keys)| keys.counts.keys().all(|key| is_named(column, key)));
        let features = named.flat_map(|(column, keys)| {
            let form = |key: &String| Form::Key { column: column.clone(), key: key.clone() };
            keys.counts.keys().map(move |key| (name(column, key), form(key)))
        });
        features.collect()
    }

    /// The features that are keys of JSON objects: the name of each, its column and its key.
    pub fn keys(&self) -> impl Iterator<Item = (&str, &str, &str)> {
        self.iter().filter_map(|(name, form)| match form {
            Form::Key { column, key } => Some((name, column.as_str(), key.as_str())),
            _ => None,
        })
    }
}
