//! Numbers in JSON objects, such as features that a search engine logged: each key is a feature.

use std::collections::{BTreeMap, HashMap};

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
    /// Features as logged by the Elasticsearch and OpenSearch plugins. A feature without a value is missing.
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
    /// For each key, the rows that have a number.
    counts: BTreeMap<String, usize>,
}

impl Keys {
    /// Adds the text of a row, or NULL. Returns false if the column has other texts or too many keys.
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
    /// The features of JSON object columns. If a key is also the name of a column, of a role or of a key in another of
    /// these columns, the column name is put before it. Columns whose keys still have no unique names get no features.
    /// `allows_missing`: whether a key may be missing in some rows. `is_taken`: names that features must not get.
    pub fn of_keys<'a>(
        columns: &'a [(String, Keys)],
        allows_missing: bool,
        is_taken: impl Fn(&str) -> bool,
    ) -> Self {
        let is_read = |(_, keys): &&(String, Keys)| {
            allows_missing || keys.counts.values().all(|count| *count == keys.rows)
        };
        let read = || columns.iter().filter(is_read);
        let pairs_of = |(column, keys): &'a (String, Keys)| {
            let keys = keys.counts.iter().filter(|(_, count)| **count > 0);
            keys.map(move |(key, _)| (column, key)).collect::<Vec<_>>()
        };
        let count = |names: &mut dyn Iterator<Item = String>| {
            let mut counts: HashMap<String, usize> = HashMap::new();
            names.for_each(|name| *counts.entry(name.to_ascii_lowercase()).or_default() += 1);
            counts
        };
        let is_free = |name: &str| !is_taken(name) && !name.trim().is_empty() && !name.contains('\0');
        // 1. The key alone, or prefixed with the column.
        let keys = count(&mut read().flat_map(pairs_of).map(|(_, key)| key.clone()));
        let name = |(column, key): (&String, &String)| {
            let is_own = is_free(key) && keys[&key.to_ascii_lowercase()] == 1;
            if is_own { key.clone() } else { format!("{column}.{key}") }
        };
        // 2. Columns in which every key has a name.
        let names = count(&mut read().flat_map(pairs_of).map(name));
        let is_named = |pair| {
            let name = name(pair);
            is_free(&name) && names[&name.to_ascii_lowercase()] == 1
        };
        let named = read().map(pairs_of).filter(|pairs| pairs.iter().all(|pair| is_named(*pair)));
        let features = named.flatten().map(|(column, key)| {
            (name((column, key)), Form::Key { column: column.clone(), key: key.clone() })
        });
        features.collect()
    }

    /// The features that are keys of JSON objects, each with its name, column and key.
    pub fn keys(&self) -> impl Iterator<Item = (&str, &str, &str)> {
        self.iter().filter_map(|(name, form)| match form {
            Form::Key { column, key } => Some((name, column.as_str(), key.as_str())),
            _ => None,
        })
    }
}
