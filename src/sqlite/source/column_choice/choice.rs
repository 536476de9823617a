//! How a role gets its column: by the option `columns`, by the model's training, or by the column name.
//!
//! Rules (docs/reference/rules.md, 2):
//! * 2.1, 2.2: Columns get roles by name, case-insensitively; the option `columns` overrides.
//! * 2.3: Two columns that could fill one role are an error that asks for `columns`.
//! * 2.9: A model trained with a document column needs one again, unless the option `columns` has `"doc": null`.
//! * 2.13: With a model, a role has the same column as in training. A feature of the model cannot have another role.

use super::super::Source;
use super::super::read_spec::{CategoryColumns, FeatureColumns, FeatureSet, Judgments, ReadSpec};
use super::names::{
    FEATURE_NAMES, NAMES, NO_COLUMN, OptionColumns, QUANTITIES, check_keys, default_names, find,
    is_of_queries, listed_names, lookup, not_a_name, of_columns,
};
use crate::base::{Error, Result, shorten};
use crate::data::{ListConstraint, Quantities, position_names};
use crate::train::options::COLUMN_KEYS as KEYS;
use serde_json::Value;
use std::collections::{HashMap, HashSet};

/// The columns of a source, and everything that determines their roles.
pub struct ColumnChoice<'a> {
    pub(super) source: &'a Source,
    pub(super) names: &'a [String],
    pub(super) columns: OptionColumns<'a>,
    pub(super) spec: ReadSpec<'a>,
}

impl<'a> ColumnChoice<'a> {
    /// Checks the option `columns`.
    ///
    /// # Errors
    /// An unknown key; a column with two roles.
    pub fn new(
        source: &'a Source,
        names: &'a [String],
        columns: OptionColumns<'a>,
        spec: ReadSpec<'a>,
    ) -> Result<Self> {
        let choice = Self { source, names, columns, spec };
        check_keys(columns, KEYS)?;
        choice.check_claims()?;
        choice.check_ignored()?;
        Ok(choice)
    }

    /// Refuses columns with two roles. A document feature may also be a query feature (rule 2.2).
    fn check_claims(&self) -> Result<()> {
        let mut claims: HashMap<String, Vec<&str>> = HashMap::new();
        for (key, value) in of_columns(self.columns) {
            for name in listed_names(value) {
                let both_features = |other: &str| key.ends_with("features") && other.ends_with("features");
                let keys = claims.entry(name.to_ascii_lowercase()).or_default();
                if let Some(other) = keys.iter().find(|other| *other == key || !both_features(other)) {
                    let problem = if other == key {
                        format!("option 'columns' names the column \"{name}\" twice for '{key}'")
                    } else {
                        format!("option 'columns' gives the column \"{name}\" to both '{other}' and '{key}'")
                    };
                    return Err(self.source.error(problem));
                }
                keys.push(key);
            }
        }
        Ok(())
    }

    /// Refuses options that ignore features of the model (rule 2.13).
    fn check_ignored(&self) -> Result<()> {
        let ignored = self.columns.and_then(|columns| columns.get("ignore")).map(listed_names);
        for name in ignored.into_iter().flatten() {
            if self.find(name)?.is_some_and(|column| self.is_feature(column)) {
                let problem =
                    format!("option 'columns' ignores \"{name}\", but it is a feature of the model");
                return Err(self.source.error(format!("{problem}; train a model without it")));
            }
        }
        Ok(())
    }

    fn find(&self, name: &str) -> Result<Option<usize>> {
        find(self.source, self.names, name)
    }

    fn exists(&self, name: &str) -> bool {
        self.names.iter().any(|known| known.eq_ignore_ascii_case(name))
    }

    fn lookup(&self, option: &str, name: &str) -> Result<usize> {
        lookup(self.source, self.names, option, name)
    }

    /// The column of a role: from the option, then the training column, then by default names.
    pub fn one(&self, role: &str) -> Result<Option<usize>> {
        match self.columns.and_then(|columns| columns.get(role)) {
            Some(Value::String(name)) => return self.given(role, name).map(Some),
            Some(Value::Null) if NO_COLUMN.contains(&role) => return Ok(None),
            Some(Value::Array(_)) if matches!(role, "features" | "query_features") => return Ok(None),
            Some(other) => return Err(not_a_name(role, other)),
            None => {}
        }
        let needed = match role {
            "relevance" => Judgments::RelevanceIfAny,
            "weight" | "doc_weight" | "determined" => Judgments::RelevanceAndWeight,
            _ => Judgments::Unread,
        };
        if self.spec.judgments < needed {
            return Ok(None);
        }
        match self.trained(role)? {
            Some(column) => Ok(Some(column)),
            None => self.by_default_name(role),
        }
    }

    /// The column that the option `columns` gives to a role. A feature of the model is refused (rule 2.13).
    fn given(&self, role: &str, name: &str) -> Result<usize> {
        let column = self.lookup("columns", name)?;
        if role.ends_with("features") || !self.is_feature(column) {
            return Ok(column);
        }
        let way_out = match (self.trained_name(role), self.trained(role)?) {
            (_, Some(trained)) => {
                format!("leave out '{role}': the model finds \"{}\" automatically", self.names[trained])
            }
            (Some(trained), None) => format!("the training read it from \"{trained}\""),
            (None, None) => format!("name another column, or leave out '{role}'"),
        };
        Err(self.source.error(format!(
            "option 'columns' gives the column \"{name}\" to '{role}', but it is a feature of the model; {way_out}"
        )))
    }

    /// The name of a role's column in the model's training.
    pub(super) fn trained_name(&self, role: &str) -> Option<&'a str> {
        match role {
            "query_time" => self.spec.known_quantities().and_then(Quantities::time_of_query),
            _ => self.spec.model.and_then(|model| model.card.columns.of(role)),
        }
    }

    /// The column that a role had in the model's training, unless the option `columns` uses it differently.
    fn trained(&self, role: &str) -> Result<Option<usize>> {
        let Some(name) = self.trained_name(role) else { return Ok(None) };
        let column = self.find(name)?;
        Ok(column.filter(|column| !self.claimed(role).contains(column)))
    }

    /// Whether a column is a document or query feature of the model. Features in vectors have no columns.
    pub(super) fn is_feature(&self, column: usize) -> bool {
        let Some(model) = self.spec.model else { return false };
        let card = &model.card;
        let (numbers, categories) = (self.numbers(), card.categories.names());
        let of_documents = numbers.iter().filter(|_| card.columns.features.is_none()).chain(&categories);
        let of_queries = self.named_query_features().iter().filter(|_| card.columns.query_features.is_none());
        of_documents.chain(of_queries).any(|name| name.eq_ignore_ascii_case(&self.names[column]))
    }

    /// The model's numeric features.
    fn numbers(&self) -> &'a [String] {
        self.spec.model.map_or(&[], |model| &model.card.features[..model.card.numbers()])
    }

    /// The query features that the model reads from the source.
    fn named_query_features(&self) -> &'a [String] {
        self.spec.model.map_or(&[], |model| model.ranker.named_query_features())
    }

    /// The column with a default name of a role (rules 2.1, 2.3).
    fn by_default_name(&self, role: &str) -> Result<Option<usize>> {
        let claimed = self.claimed(role);
        let others = KEYS.iter().filter(|other| **other != role).filter_map(|other| self.trained_name(other));
        let others: Vec<&str> = others.collect();
        let mut candidates = Vec::new();
        for name in default_names(role) {
            let elsewhere = |column: &usize| {
                claimed.contains(column)
                    || self.is_feature(*column)
                    || self.was_ignored(*column)
                    || others.iter().any(|other| other.eq_ignore_ascii_case(name))
            };
            candidates.extend(self.find(name)?.filter(|column| !elsewhere(column)));
        }
        // If documents have relevance, a rating may be one of their properties (rule 2.3).
        let is_named = |column: usize, name: &str| self.names[column].eq_ignore_ascii_case(name);
        if role == "relevance"
            && self.spec.features
            && let [first, ..] = candidates[..]
            && (is_named(first, "relevance") || is_named(first, "label"))
        {
            candidates.retain(|column| !is_named(*column, "rating"));
        }
        match candidates[..] {
            [] => Ok(None),
            [only] => Ok(Some(only)),
            _ => Err(self.ambiguous(role, &candidates)),
        }
    }

    /// Whether the model's training ignored a column with this name.
    pub(super) fn was_ignored(&self, column: usize) -> bool {
        let ignored = self.spec.model.map_or(&[][..], |model| &model.card.columns.ignored);
        ignored.iter().any(|name| name.eq_ignore_ascii_case(&self.names[column]))
    }

    /// The column of a role. A needed role must have one (rule 2.4).
    pub fn required(&self, role: &str, needed: bool) -> Result<Option<usize>> {
        match self.one(role)? {
            None if needed => Err(self.absent(role)),
            column => Ok(column),
        }
    }

    /// Requires a document column for a model that was trained with one, because row numbers are not its document ids
    /// (rule 2.9).
    pub fn check_doc(&self, doc: Option<usize>) -> Result<()> {
        let is_numbered = self.columns.is_some_and(|columns| columns.get("doc") == Some(&Value::Null));
        let ranks = self.spec.judgments < Judgments::RelevanceAndWeight;
        let had_column = self.trained_name("doc").is_some();
        if doc.is_none() && had_column && ranks && !is_numbered { Err(self.absent("doc")) } else { Ok(()) }
    }

    /// Training features with a default name of a role, and the role, unless the option `columns` lists the features.
    pub fn like_roles(&self, features: &FeatureColumns) -> Vec<(usize, &'static str)> {
        let FeatureColumns::Wide(columns) = features else { return Vec::new() };
        let is_listed = self.columns.is_some_and(|columns| columns.contains_key("features"));
        if is_listed || self.spec.feature_set == FeatureSet::Known {
            return Vec::new();
        }
        let role = |column: usize| {
            let same =
                |names: &[&str]| names.iter().any(|name| name.eq_ignore_ascii_case(&self.names[column]));
            let is_free =
                |role: &str| self.columns.is_some_and(|columns| columns.get(role) == Some(&Value::Null));
            // Columns of a view cannot have these roles, because the judgments have them.
            let is_free = |role: &str| self.spec.judged.is_none() && is_free(role);
            let synonym = NAMES.iter().find(|(role, names)| same(names) && !is_free(role));
            synonym.map(|(role, _)| (column, *role))
        };
        columns.iter().filter_map(|&column| role(column)).collect()
    }

    /// The column of the diversity value or of the slot.
    ///
    /// # Errors
    /// No slot; a missing column to diversify by.
    pub fn group(
        &self,
        constraint: ListConstraint,
        slot: Option<usize>,
        diversify_by: Option<&str>,
    ) -> Result<Option<usize>> {
        match constraint {
            ListConstraint::None => Ok(None),
            ListConstraint::Diversity | ListConstraint::Vectors => {
                diversify_by.map(|name| self.lookup("diversify_by", name)).transpose()
            }
            ListConstraint::Slots => slot.ok_or_else(|| self.absent("slot")).map(Some),
        }
    }

    /// In training, the column named by an option about folds.
    ///
    /// # Errors
    /// No column of this name.
    pub fn of_folds(&self, option: &str, name: Option<&str>) -> Result<Option<usize>> {
        let new = self.spec.feature_set == FeatureSet::New;
        name.filter(|_| new).map(|name| self.lookup(option, name)).transpose()
    }

    /// Whether the option `columns` names a column.
    pub fn is_listed(&self, column: usize) -> bool {
        self.claimed("").contains(&column)
    }

    /// Columns that the caller ignores or assigns to other roles.
    fn claimed(&self, role: &str) -> Vec<usize> {
        let others = of_columns(self.columns).filter(|(key, _)| *key != role);
        let names = others.flat_map(|(_, value)| listed_names(value));
        names.filter_map(|name| self.lookup("columns", name).ok()).collect()
    }

    /// Document features. `taken` are the columns of other roles.
    ///
    /// # Errors
    /// Rule 2.3; features of the model that are missing (rule 3.6).
    pub fn features(&self, taken: &[usize]) -> Result<FeatureColumns> {
        if self.spec.model.is_some() {
            return self.of_model("features", self.numbers());
        }
        let rest = || FeatureColumns::Wide((0..self.names.len()).filter(|c| !taken.contains(c)).collect());
        Ok(self.vector_or_list("features")?.unwrap_or_else(rest))
    }

    /// The categories of the model or of the training set, otherwise the columns that the option `columns` lists.
    ///
    /// # Errors
    /// A name that is not a column; missing categories of the model; a list that the training does not support.
    pub fn categories(&self) -> Result<Vec<usize>> {
        if let Some(known) = self.spec.known_categories() {
            return self.by_name("features", &known.names());
        }
        let listed = self.listed("categories")?.unwrap_or_default();
        let is_refused = matches!(self.spec.categories, CategoryColumns::Refused) || !self.spec.features;
        if is_refused && !listed.is_empty() {
            let names: Vec<&str> = listed.iter().map(|column| self.names[*column].as_str()).collect();
            let allowed =
                "no categories, because this training takes none (no buckets, no learning from ids alone)";
            let what = "option 'columns', key 'categories'";
            return Err(Error::value(what, shorten(&names.join(", ")), allowed));
        }
        Ok(listed)
    }

    /// Query features; with a model, the ones that it reads from the source. `taken` are the columns of other roles.
    ///
    /// # Errors
    /// As [`Self::features`].
    pub fn query_features(&self, taken: &[usize]) -> Result<Option<FeatureColumns>> {
        if self.spec.model.is_some() {
            let names = self.named_query_features();
            return (!names.is_empty()).then(|| self.of_model("query_features", names)).transpose();
        }
        match self.vector_or_list("query_features")? {
            None => Ok(self.prefixed(taken)),
            columns => Ok(columns),
        }
    }

    /// Features of a model: the vector column that `columns` names or that training had; otherwise columns with the
    /// names of the features; otherwise a vector column with the default name.
    fn of_model(&self, role: &str, features: &[String]) -> Result<FeatureColumns> {
        let given = self.columns.is_some_and(|columns| columns.contains_key(role));
        let wide = !given
            && self.trained_name(role).is_none()
            && features.iter().all(|feature| self.exists(feature));
        match if wide { None } else { self.one(role)? } {
            Some(column) => Ok(FeatureColumns::Vector(column)),
            None => self.by_name(role, features).map(FeatureColumns::Wide),
        }
    }

    /// The columns with these names, in this order (rule 3.6).
    fn by_name(&self, role: &str, names: &[String]) -> Result<Vec<usize>> {
        let columns: Vec<Option<usize>> = names.iter().map(|name| self.find(name)).collect::<Result<_>>()?;
        let missing: Vec<&str> = names
            .iter()
            .zip(&columns)
            .filter(|(_, column)| column.is_none())
            .map(|(name, _)| name.as_str())
            .collect();
        if missing.is_empty() {
            return Ok(columns.into_iter().flatten().collect());
        }
        let view = self.spec.model.and_then(|model| model.card.candidates.as_ref());
        let view = view.map_or_else(String::new, |view| {
            format!("; in the training they came from the view '{}'", shorten(&view.name))
        });
        // Vector features are named by position.
        let were_vectors = self.trained_name(role).is_some() || names == position_names(names.len());
        if were_vectors && missing.len() == names.len() {
            return Err(self.source.error(format!(
                "the model was trained on vectors of {} features; give one column \"{}\" (ltr_vec makes such vectors){view}",
                names.len(),
                self.trained_name(role).unwrap_or(role),
            )));
        }
        let what = if role == "features" { "feature" } else { "query feature" };
        Err(self.source.error(format!(
            "the model needs {what} columns that are missing: {}; the columns are {}{view}",
            missing.join(", "),
            self.names.join(", ")
        )))
    }

    /// Names of vector values, from the option `columns`; with a model, the model's names.
    ///
    /// # Errors
    /// Not an array of names; features in columns; names that differ from the model's.
    pub fn feature_names(&self, features: &FeatureColumns) -> Result<Option<Vec<String>>> {
        let model_names = self.spec.model.map(|_| self.numbers().to_vec());
        let is_vector = matches!(features, FeatureColumns::Vector(_));
        let Some(value) = self.columns.and_then(|columns| columns.get(FEATURE_NAMES)) else {
            return Ok(model_names.filter(|_| is_vector));
        };
        let what = format!("option 'columns', key '{FEATURE_NAMES}'");
        let refuse = |allowed: &str| Err(Error::value(what.clone(), shorten(&value.to_string()), allowed));
        let name = |name: &Value| name.as_str().map(str::to_owned);
        let Some(names) = value.as_array().and_then(|list| list.iter().map(name).collect::<Option<Vec<_>>>())
        else {
            return refuse(match value {
                Value::String(_) => "an array of names; json(...) converts text to one",
                _ => "an array of names, one for each value of the vectors",
            });
        };
        if names.iter().any(|name| name.contains('\0') || name.trim().is_empty()) {
            return refuse("names with a letter, and without zero bytes");
        }
        let mut known_names = HashSet::new();
        if let Some(name) = names.iter().find(|name| !known_names.insert(name.to_ascii_lowercase())) {
            return Err(Error::value(
                what.clone(),
                format!("\"{name}\" twice"),
                "names that differ in more than case",
            ));
        }
        if !is_vector {
            return refuse("nothing, because the features of this source are columns, which have names");
        }
        match model_names {
            Some(model_names) if model_names != names => refuse("the names in the model, or nothing"),
            _ => Ok(Some(names)),
        }
    }

    /// One vector column, or the columns that the option lists.
    fn vector_or_list(&self, role: &str) -> Result<Option<FeatureColumns>> {
        match self.listed(role)? {
            Some(list) => Ok(Some(FeatureColumns::Wide(list))),
            None => Ok(self.one(role)?.map(FeatureColumns::Vector)),
        }
    }

    /// The list of columns given for a key, if it is a list.
    ///
    /// # Errors
    /// A value that is not such a list; a name that is not a column.
    pub fn listed(&self, key: &str) -> Result<Option<Vec<usize>>> {
        let Some(value) = self.columns.and_then(|columns| columns.get(key)) else { return Ok(None) };
        let refuse = || {
            let what = format!("option 'columns', key '{key}'");
            Error::value(what, value.to_string(), "an array of names of columns")
        };
        match value {
            Value::String(_) if !matches!(key, "ignore" | "categories") => Ok(None),
            Value::Array(list) if !list.is_empty() || key == "ignore" => {
                let names: Vec<&str> =
                    list.iter().map(|name| name.as_str().ok_or_else(refuse)).collect::<Result<_>>()?;
                // A column that exists only in the training source is ignored there.
                let skipped = |name: &&str| {
                    key == "ignore" && self.spec.feature_set == FeatureSet::Known && !self.exists(name)
                };
                let names = names.into_iter().filter(|name| !skipped(name));
                names.map(|name| self.lookup("columns", name)).collect::<Result<_>>().map(Some)
            }
            _ => Err(refuse()),
        }
    }

    /// The columns whose texts may be numbers, dates or durations, if the caller lists them or says "none".
    ///
    /// # Errors
    /// As [`Self::listed`].
    pub fn quantities(&self) -> Result<Option<Vec<usize>>> {
        match self.columns.and_then(|columns| columns.get(QUANTITIES)) {
            _ if self.spec.feature_set == FeatureSet::Known => Ok(None),
            Some(Value::String(none)) if none == "none" => Ok(Some(Vec::new())),
            Some(other) if !other.is_array() => {
                let what = "option 'columns', key 'quantities'";
                Err(Error::value(what, other.to_string(), "\"none\" or an array of column names"))
            }
            _ => self.listed(QUANTITIES),
        }
    }

    /// The columns named `q_*` without another role.
    fn prefixed(&self, taken: &[usize]) -> Option<FeatureColumns> {
        let claimed = self.claimed("query_features");
        let free = |column: &usize| !taken.contains(column) && !claimed.contains(column);
        let columns: Vec<usize> =
            (0..self.names.len()).filter(free).filter(|column| is_of_queries(&self.names[*column])).collect();
        (!columns.is_empty()).then_some(FeatureColumns::Wide(columns))
    }
}
