//! Roles: which column of a source is the query, the document, the relevance, a feature, ...
//!
//! Contract (roles):
//! 1. Roles are found by name, case-insensitively; the option `columns` sets them.
//! 2. Two columns that could fill one role are an error that asks for `columns`.
//! 3. Features are one column `features`, otherwise every remaining column that turns out to be numeric.
//! 4. Query features are one column `query_features`, otherwise the columns named `q_*` that have no other role.
//! 5. Every inferred role and every ignored column is reported.

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
    /// The block or slot of the row, where it is asked for.
    pub group: Option<usize>,
    /// What the groups are.
    constraint: ListConstraint,
    /// Document features.
    pub features: FeatureColumns,
    /// Query features; absent where there are none.
    pub query_features: Option<FeatureColumns>,
    /// Columns with a role that nothing here uses, and those that the caller ignores.
    pub ignored: Vec<usize>,
}

/// An error for a role without a column, with what to name one.
pub fn absent(source: &Source, columns: &[String], role: &str, names: &str) -> Error {
    let columns = columns.join(", ");
    source.error(format!(
        "no {role} column among {columns}; name {names}, or use the option \"columns\": {{\"{role}\": \"...\"}}"
    ))
}

/// What the caller says about columns.
struct Given<'a> {
    source: &'a Source,
    names: &'a [String],
    columns: Option<&'a Map<String, Value>>,
}

impl Roles {
    /// Finds the roles of columns with these names.
    ///
    /// # Errors
    /// Contract 2; a name in `columns` or `diversify_by` that is no column of the source; no slot where slots are asked for.
    pub fn find(
        source: &Source,
        names: Vec<String>,
        constraint: ListConstraint,
        options: &Params,
    ) -> Result<Self> {
        let columns = options.get("columns").and_then(Value::as_object);
        let given = Given { source, names: &names, columns };
        given.check_keys()?;
        given.check_claims()?;
        let one = |role: &str| given.one(role);
        let (query, doc, relevance) = (one("query")?, one("doc")?, one("relevance")?);
        let (weight, slot) = (one("weight")?, one("slot")?);
        let mut ignored = given.listed("ignore")?.unwrap_or_default();
        let group = match constraint {
            ListConstraint::None => None,
            ListConstraint::Diversity => {
                options.text("diversify_by").map(|name| given.block(name)).transpose()?
            }
            ListConstraint::Slots => Some(slot.ok_or_else(|| given.absent("slot", "it slot"))?),
        };
        ignored.extend(slot.filter(|_| constraint != ListConstraint::Slots));
        let taken = [query, doc, relevance, weight, group.filter(|_| constraint == ListConstraint::Slots)];
        let mut taken: Vec<usize> = taken.into_iter().flatten().collect();
        // A block has a role of its own unless it is another role's column too, such as the document.
        taken.extend(group.filter(|column| !taken.contains(column)));
        taken.extend(&ignored);
        let query_features = match given.listed("query_features")? {
            Some(list) => Some(FeatureColumns::Wide(list)),
            None => match one("query_features")? {
                Some(column) => Some(FeatureColumns::Vector(column)),
                None => given.prefixed(&taken),
            },
        };
        match &query_features {
            Some(FeatureColumns::Vector(column)) => taken.push(*column),
            Some(FeatureColumns::Wide(columns)) => taken.extend(columns),
            None => {}
        }
        let features = match (given.listed("features")?, one("features")?) {
            (Some(list), _) => FeatureColumns::Wide(list),
            (None, Some(column)) => FeatureColumns::Vector(column),
            (None, None) => {
                FeatureColumns::Wide((0..names.len()).filter(|column| !taken.contains(column)).collect())
            }
        };
        let used = |column: &usize| match &features {
            FeatureColumns::Vector(vector) => column == vector,
            FeatureColumns::Wide(wide) => wide.contains(column),
        };
        ignored.extend((0..names.len()).filter(|column| !taken.contains(column) && !used(column)));
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

    /// The same roles where no features are read: their columns are ignored.
    pub fn without_features(mut self) -> Self {
        let query_features = self.query_features.take();
        let features = std::mem::replace(&mut self.features, FeatureColumns::Wide(Vec::new()));
        for columns in [Some(features), query_features].into_iter().flatten() {
            match columns {
                FeatureColumns::Vector(column) => self.ignored.push(column),
                FeatureColumns::Wide(columns) => self.ignored.extend(columns),
            }
        }
        self.ignored.sort_unstable();
        self
    }

    /// The number of the column with this name, case-insensitively.
    pub fn column(&self, name: &str) -> Option<usize> {
        self.names.iter().position(|known| known.eq_ignore_ascii_case(name))
    }

    /// The roles as JSON, for reports.
    pub fn report(&self, ignored_too: &[String]) -> Value {
        let name = |column: Option<usize>| column.map(|column| self.names[column].clone());
        let list = |columns: &FeatureColumns| match columns {
            FeatureColumns::Vector(column) => json!(self.names[*column]),
            FeatureColumns::Wide(columns) => {
                let names = columns.iter().map(|column| self.names[*column].as_str());
                json!(names.filter(|name| !ignored_too.iter().any(|other| other == name)).collect::<Vec<_>>())
            }
        };
        let ignored: Vec<&str> = self
            .ignored
            .iter()
            .map(|column| self.names[*column].as_str())
            .chain(ignored_too.iter().map(String::as_str))
            .collect();
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

impl Given<'_> {
    fn check_keys(&self) -> Result<()> {
        for key in self.columns.into_iter().flat_map(Map::keys) {
            if !KEYS.contains(&key.as_str()) {
                return Err(Error::unknown("key in the option 'columns'", key, KEYS.iter().copied()));
            }
        }
        Ok(())
    }

    /// No column may have two roles, but that a document feature may be a query feature too.
    fn check_claims(&self) -> Result<()> {
        let mut claims: Vec<(&str, &str)> = Vec::new();
        for (key, value) in self.columns.into_iter().flatten() {
            let names = match value {
                Value::String(name) => vec![name.as_str()],
                Value::Array(list) => list.iter().filter_map(Value::as_str).collect(),
                _ => Vec::new(),
            };
            for name in names {
                let both =
                    |other: &str| [key.as_str(), other].map(|key| key.ends_with("features")) == [true; 2];
                let same = claims.iter().find(|(other, claimed)| {
                    claimed.eq_ignore_ascii_case(name) && (*other == key || !both(other))
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

    fn lookup(&self, name: &str) -> Result<usize> {
        self.names.iter().position(|known| known.eq_ignore_ascii_case(name)).ok_or_else(|| {
            self.source.error(format!(
                "option 'columns' names the column \"{name}\", which is not there; the columns are {}",
                self.names.join(", ")
            ))
        })
    }

    /// The column that the option `diversify_by` names.
    fn block(&self, name: &str) -> Result<usize> {
        self.names.iter().position(|known| known.eq_ignore_ascii_case(name)).ok_or_else(|| {
            self.source.error(format!(
                "option 'diversify_by' names the column \"{name}\", which is not there; the columns are {}",
                self.names.join(", ")
            ))
        })
    }

    /// An error for a role without a column, with what to name one.
    fn absent(&self, role: &str, names: &str) -> Error {
        absent(self.source, self.names, role, names)
    }

    /// The one column of a role: as the caller says, else by its default names.
    fn one(&self, role: &str) -> Result<Option<usize>> {
        match self.columns.and_then(|columns| columns.get(role)) {
            Some(Value::String(name)) => return self.lookup(name).map(Some),
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
                    "the columns {} could each be the {role}; say which with the option \"columns\": {{\"{role}\": \"{}\"}}",
                    names.join(", "),
                    names[0]
                )))
            }
        }
    }

    /// Columns that the caller gives to other roles.
    fn claimed(&self, role: &str) -> Vec<usize> {
        let others = self.columns.into_iter().flatten().filter(|(key, _)| *key != role && *key != "ignore");
        let names = others.flat_map(|(_, value)| match value {
            Value::String(name) => vec![name.as_str()],
            Value::Array(list) => list.iter().filter_map(Value::as_str).collect(),
            _ => Vec::new(),
        });
        names.filter_map(|name| self.lookup(name).ok()).collect()
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
                let lookup =
                    |name: &Value| name.as_str().ok_or_else(refuse).and_then(|name| self.lookup(name));
                list.iter().map(lookup).collect::<Result<Vec<_>>>().map(Some)
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
