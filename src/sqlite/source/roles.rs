//! Roles: which column of a source is the query, the document, the relevance, a feature, ...
//!
//! Rules (docs/reference/rules.md, 2):
//! * 2.1, 2.2: Columns get roles by name, case-insensitively; the option `columns` overrides.
//! * 2.3: Two columns that could fill one role are an error that asks for `columns`.
//! * 2.5: Features are one column `features`, otherwise the columns that `columns` lists, or every remaining numeric one.
//! * 2.6: Query features are one column `query_features`, otherwise the columns `q_*` without another role.
//! * 2.10: The report lists every role and every ignored column.

use serde_json::{Map, Value, json};

use super::Source;
use crate::arrange::ListConstraint;
use crate::error::{Error, Result};
use crate::param::Params;

/// Default names of each role.
const NAMES: &[(&str, &[&str])] = &[
    ("query", &["query_id", "qid", "query", "user_id", "user"]),
    ("doc", &["doc_id", "docid", "document_id", "document", "item_id", "item"]),
    ("relevance", &["relevance", "label", "rel", "grade", "rating"]),
    ("features", &["features"]),
    ("query_features", &["query_features"]),
    ("weight", &["weight"]),
    ("slot", &["slot"]),
];

/// Keys of the option `columns`.
const KEYS: &[&str] =
    &["query", "doc", "relevance", "features", "query_features", "weight", "slot", "ignore"];

/// Where features come from; column numbers.
#[derive(Debug, Clone, PartialEq)]
pub enum FeatureColumns {
    /// One column of vectors.
    Vector(usize),
    /// One column per feature.
    Wide(Vec<usize>),
}

impl FeatureColumns {
    fn all(&self) -> &[usize] {
        match self {
            Self::Vector(column) => std::slice::from_ref(column),
            Self::Wide(columns) => columns,
        }
    }
}

/// The roles of a source's columns.
#[derive(Debug, Clone, PartialEq)]
pub struct Roles {
    /// Names of all columns.
    pub names: Vec<String>,
    /// The query id.
    pub query: Option<usize>,
    /// The document id.
    pub doc: Option<usize>,
    /// The relevance.
    pub relevance: Option<usize>,
    /// The query's weight.
    pub weight: Option<usize>,
    /// The diversity value or slot, if the constraint has one.
    pub group: Option<usize>,
    constraint: ListConstraint,
    /// Document features.
    pub features: FeatureColumns,
    /// Query features, if there are any.
    pub query_features: Option<FeatureColumns>,
    /// Columns that the caller ignores, and those that nothing uses.
    pub ignored: Vec<usize>,
}

/// The error about a role without a column, with names that a column could have (rule 2.4).
pub fn absent(source: &Source, columns: &[String], role: &str, names: &str) -> Error {
    let columns = columns.join(", ");
    source.error(format!(
        "no {role} column among {columns}; name {names}, or use the option \"columns\": {{\"{role}\": \"...\"}}"
    ))
}

/// The names in the value of a key: one, or an array.
fn listed_names(value: &Value) -> Vec<&str> {
    match value {
        Value::String(name) => vec![name],
        Value::Array(list) => list.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    }
}

impl Roles {
    /// Finds the roles of columns with these names.
    ///
    /// # Errors
    /// Rule 2.3; a name in an option that is no column of the source; no slot although the constraint needs it.
    pub fn find(
        source: &Source,
        names: Vec<String>,
        constraint: ListConstraint,
        options: &Params,
    ) -> Result<Self> {
        let columns = options.get("columns").and_then(Value::as_object);
        let overrides = ColumnOverrides { source, names: &names, columns };
        overrides.check_keys()?;
        overrides.check_claims()?;
        // 1. Roles of one column.
        let one = |role: &str| overrides.one(role);
        let (query, doc, relevance) = (one("query")?, one("doc")?, one("relevance")?);
        let (weight, slot) = (one("weight")?, one("slot")?);
        let group = overrides.group(constraint, slot, options.text("diversify_by"))?;
        let mut ignored = overrides.listed("ignore")?.unwrap_or_default();
        // A slot is never a feature (rule 2.8).
        ignored.extend(slot.filter(|_| constraint != ListConstraint::Slots));
        // 2. Query features and features: columns without another role (rules 2.5, 2.6).
        let mut taken: Vec<usize> = [query, doc, relevance, weight, group].into_iter().flatten().collect();
        taken.extend(&ignored);
        let query_features = match overrides.vector_or_list("query_features")? {
            None => overrides.prefixed(&taken),
            columns => columns,
        };
        taken.extend(query_features.iter().flat_map(FeatureColumns::all));
        let features = overrides.vector_or_list("features")?.unwrap_or_else(|| {
            FeatureColumns::Wide((0..names.len()).filter(|column| !taken.contains(column)).collect())
        });
        // 3. Everything else is ignored, and reported.
        let used = |column: &usize| taken.contains(column) || features.all().contains(column);
        ignored.extend((0..names.len()).filter(|column| !used(column)));
        Ok(Self {
            names,
            query,
            doc,
            relevance,
            weight,
            group,
            constraint,
            features,
            query_features,
            ignored,
        })
    }

    /// Whether the option `columns` lists the features, so that each of them is needed.
    pub fn lists_features(options: &Params) -> bool {
        options.get("columns").and_then(|columns| columns.get("features")).is_some_and(Value::is_array)
    }

    /// The same roles without features: their columns are ignored.
    pub fn without_features(mut self) -> Self {
        let query_features = self.query_features.take();
        let features = std::mem::replace(&mut self.features, FeatureColumns::Wide(Vec::new()));
        self.ignored.extend(query_features.iter().chain([&features]).flat_map(FeatureColumns::all));
        self.ignored.sort_unstable();
        self
    }

    /// The number of the column with this name, case-insensitively.
    pub fn column(&self, name: &str) -> Option<usize> {
        self.names.iter().position(|known| known.eq_ignore_ascii_case(name))
    }

    /// The roles as JSON, for reports; `not_numeric` are further columns that were ignored.
    pub fn report(&self, not_numeric: &[String]) -> Value {
        let name = |column: Option<usize>| column.map(|column| self.names[column].clone());
        let list = |columns: &FeatureColumns| match columns {
            FeatureColumns::Vector(column) => json!(self.names[*column]),
            FeatureColumns::Wide(columns) => {
                let names = columns.iter().map(|column| &self.names[*column]);
                json!(names.filter(|name| !not_numeric.contains(name)).collect::<Vec<_>>())
            }
        };
        let ignored: Vec<&String> =
            self.ignored.iter().map(|column| &self.names[*column]).chain(not_numeric).collect();
        let mut report = json!({
            "query": name(self.query),
            "doc": name(self.doc),
            "relevance": name(self.relevance),
            "weight": name(self.weight),
            "features": list(&self.features),
            "query_features": self.query_features.as_ref().map(list),
            "ignored": ignored,
        });
        match self.constraint {
            ListConstraint::None => {}
            ListConstraint::Diversity => report["diversify_by"] = json!(name(self.group)),
            ListConstraint::Slots => report["slot"] = json!(name(self.group)),
        }
        report
    }
}

/// The option `columns`, and the columns that it refers to.
struct ColumnOverrides<'a> {
    source: &'a Source,
    names: &'a [String],
    columns: Option<&'a Map<String, Value>>,
}

impl ColumnOverrides<'_> {
    fn check_keys(&self) -> Result<()> {
        for key in self.columns.into_iter().flat_map(Map::keys) {
            if !KEYS.contains(&key.as_str()) {
                return Err(Error::unknown_in("key", key, " in the option 'columns'", KEYS.iter().copied()));
            }
        }
        Ok(())
    }

    /// Refuses columns with two roles. A document feature may also be a query feature (rule 2.2).
    fn check_claims(&self) -> Result<()> {
        let mut claims: Vec<(&str, &str)> = Vec::new();
        for (key, value) in self.columns.into_iter().flatten() {
            for name in listed_names(value) {
                let both_features = |other: &str| key.ends_with("features") && other.ends_with("features");
                let same = claims.iter().find(|(other, claimed)| {
                    claimed.eq_ignore_ascii_case(name) && (*other == key || !both_features(other))
                });
                if let Some((other, _)) = same {
                    let problem = if *other == key {
                        format!("option 'columns' names the column \"{name}\" twice for '{key}'")
                    } else {
                        format!("option 'columns' gives the column \"{name}\" to both '{other}' and '{key}'")
                    };
                    return Err(self.source.error(problem));
                }
                claims.push((key, name));
            }
        }
        Ok(())
    }

    /// The column that an option names.
    fn lookup(&self, option: &str, name: &str) -> Result<usize> {
        self.names.iter().position(|known| known.eq_ignore_ascii_case(name)).ok_or_else(|| {
            self.source.error(format!(
                "option '{option}' names the column \"{name}\", which does not exist; the columns are {}",
                self.names.join(", ")
            ))
        })
    }

    /// The column of a role: by the option, otherwise by its default names.
    fn one(&self, role: &str) -> Result<Option<usize>> {
        match self.columns.and_then(|columns| columns.get(role)) {
            Some(Value::String(name)) => return self.lookup("columns", name).map(Some),
            Some(Value::Array(_)) if matches!(role, "features" | "query_features") => return Ok(None),
            Some(other) => {
                let what = format!("option 'columns', key '{role}'");
                return Err(Error::value(what, other.to_string(), "the name of a column"));
            }
            None => {}
        }
        let defaults = NAMES.iter().find(|(known, _)| *known == role).map_or(&[][..], |(_, names)| names);
        let ignored = self.listed("ignore")?.unwrap_or_default();
        let claimed = self.claimed(role);
        let candidates: Vec<usize> = (0..self.names.len())
            .filter(|column| defaults.iter().any(|name| self.names[*column].eq_ignore_ascii_case(name)))
            .filter(|column| !ignored.contains(column) && !claimed.contains(column))
            .collect();
        match candidates[..] {
            [] => Ok(None),
            [only] => Ok(Some(only)),
            _ => {
                let names: Vec<&str> = candidates.iter().map(|column| self.names[*column].as_str()).collect();
                Err(self.source.error(format!(
                    "the columns {} could each be the {role}; choose one with the option \"columns\": {{\"{role}\": \"{}\"}}",
                    names.join(", "),
                    names[0]
                )))
            }
        }
    }

    /// The column of the diversity value or of the slot.
    fn group(
        &self,
        constraint: ListConstraint,
        slot: Option<usize>,
        diversify_by: Option<&str>,
    ) -> Result<Option<usize>> {
        match constraint {
            ListConstraint::None => Ok(None),
            ListConstraint::Diversity => {
                diversify_by.map(|name| self.lookup("diversify_by", name)).transpose()
            }
            ListConstraint::Slots => match slot {
                Some(_) => Ok(slot),
                None => Err(absent(self.source, self.names, "slot", "it slot")),
            },
        }
    }

    /// Columns that the caller gives to other roles.
    fn claimed(&self, role: &str) -> Vec<usize> {
        let others = self.columns.into_iter().flatten().filter(|(key, _)| *key != role && *key != "ignore");
        let names = others.flat_map(|(_, value)| listed_names(value));
        names.filter_map(|name| self.lookup("columns", name).ok()).collect()
    }

    /// One column of vectors, or the columns that the option lists.
    fn vector_or_list(&self, role: &str) -> Result<Option<FeatureColumns>> {
        match self.listed(role)? {
            Some(list) => Ok(Some(FeatureColumns::Wide(list))),
            None => Ok(self.one(role)?.map(FeatureColumns::Vector)),
        }
    }

    /// The list of columns that the caller gives for a key, if it is one.
    fn listed(&self, key: &str) -> Result<Option<Vec<usize>>> {
        let Some(value) = self.columns.and_then(|columns| columns.get(key)) else { return Ok(None) };
        let refuse = || {
            let what = format!("option 'columns', key '{key}'");
            Error::value(what, value.to_string(), "an array of names of columns")
        };
        match value {
            Value::String(_) if key != "ignore" => Ok(None),
            Value::Array(list) if !list.is_empty() || key == "ignore" => {
                let names = list.iter().map(|name| name.as_str().ok_or_else(refuse));
                names.map(|name| self.lookup("columns", name?)).collect::<Result<_>>().map(Some)
            }
            _ => Err(refuse()),
        }
    }

    /// The columns named `q_*` that have no other role.
    fn prefixed(&self, taken: &[usize]) -> Option<FeatureColumns> {
        let begins = |name: &str| name.get(..2).is_some_and(|start| start.eq_ignore_ascii_case("q_"));
        let claimed = self.claimed("query_features");
        let free = |column: &usize| !taken.contains(column) && !claimed.contains(column);
        let columns: Vec<usize> =
            (0..self.names.len()).filter(free).filter(|column| begins(&self.names[*column])).collect();
        (!columns.is_empty()).then_some(FeatureColumns::Wide(columns))
    }
}
