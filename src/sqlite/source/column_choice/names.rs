//! Column names: the default names of roles, and the names in the option `columns`.

use serde_json::{Map, Value};

use crate::base::{Error, Result};
use crate::sqlite::source::Source;

/// Default names of each role, most specific first. `python/sqlite_ltr/_call.py` and `_engine.py` repeat the first three.
pub(super) const NAMES: &[(&str, &[&str])] = &[
    ("query", &["query_id", "qid", "query", "user_id", "user"]),
    ("doc", &["doc_id", "docid", "document_id", "document", "doc", "item_id", "item"]),
    ("relevance", &["relevance", "label", "rel", "grade", "rating", "judgment", "judgement"]),
    ("features", &["features"]),
    ("query_features", &["query_features"]),
    ("weight", &["weight"]),
    ("doc_weight", &["doc_weight"]),
    ("determined", &["determined"]),
    ("query_time", &["query_time"]),
    ("slot", &["slot"]),
];

/// A role's default names.
pub(super) fn default_names(role: &str) -> &'static [&'static str] {
    NAMES.iter().find(|(known, _)| *known == role).map_or(&[], |(_, names)| names)
}

/// Whether a role takes a column with this name without the option `columns`.
pub fn is_default_name(role: &str, name: &str) -> bool {
    default_names(role).iter().any(|known| known.eq_ignore_ascii_case(name))
}

/// Whether a column with this name gets a role without the option `columns`.
pub fn is_role_name(name: &str) -> bool {
    NAMES.iter().any(|(role, _)| is_default_name(role, name)) || is_of_queries(name)
}

/// Whether a name begins like the name of a query feature.
pub(super) fn is_of_queries(name: &str) -> bool {
    name.get(..2).is_some_and(|start| start.eq_ignore_ascii_case("q_"))
}

/// Roles whose key may be null, so that no column gets them by name.
pub(super) const NO_COLUMN: [&str; 6] = ["doc", "weight", "doc_weight", "determined", "query_time", "slot"];

/// The key of the option `columns` that does not name columns.
pub(super) const FEATURE_NAMES: &str = "feature_names";
/// The key that names columns with another role as well.
pub(super) const QUANTITIES: &str = "quantities";

pub(super) type OptionColumns<'a> = Option<&'a Map<String, Value>>;

/// The keys of the option `columns` that assign roles to columns, with their values.
pub(super) fn of_columns(columns: OptionColumns<'_>) -> impl Iterator<Item = (&String, &Value)> {
    columns.into_iter().flatten().filter(|(key, _)| ![FEATURE_NAMES, QUANTITIES].contains(&key.as_str()))
}

/// The names in the value of a key: one, or an array.
pub(super) fn listed_names(value: &Value) -> Vec<&str> {
    match value {
        Value::String(name) => vec![name],
        Value::Array(list) => list.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    }
}

/// Refuses other keys of the option `columns`.
pub(super) fn check_keys(columns: OptionColumns<'_>, keys: &[&'static str]) -> Result<()> {
    match columns.into_iter().flat_map(Map::keys).find(|key| !keys.contains(&key.as_str())) {
        Some(key) => Err(Error::unknown_in("key", key, " in the option 'columns'", keys.iter().copied())),
        None => Ok(()),
    }
}

/// The error for a role in the option `columns` whose value is not a name.
pub(super) fn not_a_name(role: &str, value: &Value) -> Error {
    Error::value(format!("option 'columns', key '{role}'"), value.to_string(), "the name of a column")
}

/// The column with this name.
pub(super) fn find(source: &Source, names: &[String], name: &str) -> Result<Option<usize>> {
    let mut columns = (0..names.len()).filter(|column| names[*column].eq_ignore_ascii_case(name));
    match (columns.next(), columns.next()) {
        (column, None) => Ok(column),
        _ => Err(source.error(format!("two columns are named \"{name}\"; give one another name with AS"))),
    }
}

/// The column that an option names.
pub(super) fn lookup(source: &Source, names: &[String], option: &str, name: &str) -> Result<usize> {
    find(source, names, name)?.ok_or_else(|| {
        source.error(format!(
            "option '{option}' names the column \"{name}\", which does not exist; the columns are {}",
            names.join(", ")
        ))
    })
}
