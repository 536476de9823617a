//! Roles: which column of a source is the query, the document, the relevance, a feature, ...
//!
//! Rules (docs/reference/rules.md, 2):
//! * 2.5: Features are one column `features`, otherwise the columns that `columns` lists, or every remaining numeric one.
//! * 2.6: Query features are one column `query_features`, otherwise the columns `q_*` without another role.
//! * 2.10: The report lists every role and every ignored column.
//! * 2.12: A column named like an id is not a feature unless the option `columns` lists it.
//! * 2.13: A model uses the same columns as in training.

use serde_json::{Map, Value, json};

use super::Source;
use super::column_choice::{ColumnChoice, LikeIds};
use super::read_spec::{CategoryColumns, FeatureColumns, FeatureSet, Judgments, ReadSpec};
use crate::base::{ColumnAdvice, Origin, Params, Result, columns_text};
use crate::data::{Categories, Dataset, ListConstraint, Quantities, ReadReport, ids_written_in_two_ways};
use crate::model::TrainingColumns;
use crate::train::column_report::ColumnReport;
use crate::train::column_rules::{ONLY_IDS, ReadColumn, Usage, is_row_number_or_split, left_out_count};
use crate::train::options::diversify_by;

/// The names of columns and of features that are keys of JSON objects, each with its column and key. A column with the
/// name of such a feature is that feature.
fn with_keys(mut names: Vec<String>, spec: ReadSpec<'_>) -> (Vec<String>, Vec<(usize, String)>) {
    let column = |name: &str| names.iter().position(|known| known.eq_ignore_ascii_case(name));
    let pairs = spec
        .known_derived()
        .into_iter()
        .flat_map(Quantities::keys)
        .filter(|(name, ..)| column(name).is_none());
    let pairs: Vec<_> =
        pairs.filter_map(|(name, of, key)| Some((name.to_owned(), (column(of)?, key.to_owned())))).collect();
    let (added, keys): (Vec<_>, Vec<_>) = pairs.into_iter().unzip();
    names.extend(added);
    (names, keys)
}

/// Replaces JSON object columns among the features by their keys, which are the last columns in `names`, and returns them.
fn read_by_keys(
    features: &mut FeatureColumns,
    names: usize,
    keys: &[(usize, String)],
    taken: &[usize],
) -> Vec<usize> {
    let FeatureColumns::Wide(columns) = features else { return Vec::new() };
    let first = names - keys.len();
    let of = |column: usize| (first..names).filter(move |at| keys[at - first].0 == column);
    let is_ignored = |column: &usize| *column >= first && taken.contains(&keys[column - first].0);
    let listed: Vec<usize> = columns.iter().copied().filter(|column| !is_ignored(column)).collect();
    let is_free = |column: &usize| !listed.contains(column) && !taken.contains(column);
    let replaced = |column: usize| match of(column).next() {
        None => vec![column],
        Some(_) => of(column).filter(is_free).collect(),
    };
    *columns = listed.iter().flat_map(|column| replaced(*column)).collect();
    let has_key = |column: &usize| of(*column).any(|key| columns.contains(&key));
    (0..first).filter(has_key).collect()
}

/// The roles of a source's columns.
#[derive(Debug, Clone, PartialEq)]
pub struct Roles {
    /// Names of all columns, followed by features that are keys of JSON objects.
    pub names: Vec<String>,
    /// The column and key of each such feature.
    pub keys: Vec<(usize, String)>,
    /// The query id.
    pub query: Option<usize>,
    /// The document id.
    pub doc: Option<usize>,
    pub relevance: Option<usize>,
    /// The query's weight.
    pub weight: Option<usize>,
    /// The document's weight.
    pub doc_weight: Option<usize>,
    /// How well a click log determines the relevance.
    pub determined: Option<usize>,
    pub query_time: Option<usize>,
    /// The diversity value or slot, if the constraint has one.
    pub group: Option<usize>,
    /// The column that orders the rows for cross-validation.
    pub split: Option<usize>,
    /// The column with the groups that validation keeps together.
    pub fold_group: Option<usize>,
    constraint: ListConstraint,
    /// Document features; with a model, its features, in order.
    pub features: FeatureColumns,
    /// Categories that the option `columns` lists, or the model's categories, in order.
    pub categories: Vec<usize>,
    /// The columns that the option `columns` lists as numbers, dates or durations in text.
    quantities: Option<Vec<usize>>,
    /// Whether columns may be categories.
    takes_categories: bool,
    /// Whether the columns come from a model.
    is_of_model: bool,
    /// Names of vector values, if given.
    pub feature_names: Option<Vec<String>>,
    /// Query features, if any; with a model, the ones that it needs.
    pub query_features: Option<FeatureColumns>,
    /// Columns of JSON objects whose keys are features.
    read_by_keys: Vec<usize>,
    /// Columns that the caller ignores, and unused columns.
    pub ignored: Vec<usize>,
    /// The columns that the option `columns` ignores.
    on_purpose: Vec<usize>,
    /// A slot column that the constraint does not need.
    unused_slot: Option<usize>,
    /// Unused columns that training could use, so their values are inspected.
    pub(super) observed: Vec<usize>,
    /// Features named like ids (rule 2.12).
    pub like_ids: Option<LikeIds>,
    /// Features named like a role, with the role (rule 2.11).
    role_named: Vec<(usize, &'static str)>,
}

impl Roles {
    /// Determines the roles of columns with these names.
    ///
    /// # Errors
    /// Rules 2.3, 2.4, 2.9 and 2.13; an option that names a missing column; no slot although a constraint needs it; missing
    /// features of the model.
    pub fn find(source: &Source, names: Vec<String>, spec: ReadSpec<'_>, options: &Params) -> Result<Self> {
        let columns = options.get("columns").and_then(Value::as_object);
        let constraint = spec.constraint;
        let (names, keys) = with_keys(names, spec);
        let choice = ColumnChoice::new(source, &names, columns, spec)?;
        // 1. Roles of one column.
        let query = choice.required("query", spec.query)?;
        let relevance = choice.required("relevance", spec.needs_relevance())?;
        let doc = choice.required("doc", spec.needs_doc_ids())?;
        let (weight, slot) = (choice.one("weight")?, choice.one("slot")?);
        let doc_weight = choice.one("doc_weight")?;
        if let Some((column, problem)) = doc_weight.zip(spec.doc_weights.problem()) {
            let name = &names[column];
            let ignored = columns_text(columns, None, &[name]);
            return Err(source.error(format!(
                "the column \"{name}\" has the role doc_weight, but {problem}, or ignore the column with the options {ignored}"
            )));
        }
        let (determined, query_time) = (choice.one("determined")?, choice.one("query_time")?);
        let group = choice.group(constraint, slot, diversify_by(options))?;
        let on_purpose = choice.listed("ignore")?.unwrap_or_default();
        let mut ignored = on_purpose.clone();
        // A slot is never a feature (rule 2.8).
        let unused_slot = slot.filter(|_| constraint != ListConstraint::Slots);
        ignored.extend(unused_slot);
        // 2. Query features and features: the model's, or columns without another role (rules 2.5, 2.6).
        let mut taken: Vec<usize> =
            [query, doc, relevance, weight, doc_weight, determined, query_time, group]
                .into_iter()
                .flatten()
                .collect();
        let of_folds = |option: &str| choice.of_folds(option, options.text(option));
        let (split, fold_group) = (of_folds("split_by")?, of_folds("group_by")?);
        let fold_columns = [split, fold_group].into_iter().flatten();
        ignored.extend(fold_columns.filter(|column| !taken.contains(column) && !choice.is_listed(*column)));
        taken.extend(&ignored);
        let query_features = choice.query_features(&taken)?;
        taken.extend(query_features.iter().flat_map(FeatureColumns::all));
        let categories = choice.categories()?;
        taken.extend(&categories);
        let quantities = choice.quantities()?;
        let mut features = choice.features(&taken)?;
        let read_by_keys = read_by_keys(&mut features, names.len(), &keys, &taken);
        let feature_names = choice.feature_names(&features)?;
        choice.check_doc(doc)?;
        // 3. Everything else is ignored and reported.
        let used =
            |column: &usize| [&taken, features.all(), &read_by_keys].iter().any(|all| all.contains(column));
        let unused: Vec<usize> = (0..names.len()).filter(|column| !used(column)).collect();
        ignored.extend(&unused);
        let is_training = spec.feature_set == FeatureSet::New && spec.learns();
        let is_meant = is_training && matches!(features, FeatureColumns::Vector(_));
        let role_named = choice.like_roles(&features);
        let like_ids = choice.like_ids(&features, query_features.as_ref(), doc);
        let roles = Self {
            names,
            keys,
            read_by_keys,
            query,
            doc,
            relevance,
            weight,
            doc_weight,
            determined,
            query_time,
            group,
            split,
            fold_group,
            constraint,
            features,
            categories,
            quantities,
            takes_categories: matches!(spec.categories, CategoryColumns::Learned),
            is_of_model: spec.model.is_some(),
            feature_names,
            query_features,
            ignored,
            on_purpose,
            unused_slot,
            observed: if is_meant { unused } else { Vec::new() },
            like_ids,
            role_named,
        };
        Ok(if spec.features { roles } else { roles.without_features(spec) })
    }

    /// Columns of ids, vectors and slots that the model in `spec` needs but that are not among these names. A column
    /// that the option `columns` or a default name replaces is not missing.
    ///
    /// # Errors
    /// Errors of [`Self::find`] about names and about the option `columns`.
    pub fn absent(
        source: &Source,
        names: &[String],
        spec: ReadSpec<'_>,
        options: &Params,
    ) -> Result<Vec<String>> {
        let columns = options.get("columns").and_then(Value::as_object);
        let choice = ColumnChoice::new(source, names, columns, spec)?;
        let mut absent = Vec::new();
        for role in ["query", "doc", "features", "query_features", "slot"] {
            let trained = spec.model.and_then(|model| model.card.columns.of(role));
            let is_given = columns.is_some_and(|columns| columns.contains_key(role));
            if let Some(name) = trained.filter(|_| !is_given)
                && choice.one(role)?.is_none()
            {
                absent.push(name.to_owned());
            }
        }
        Ok(absent)
    }

    /// Whether the option `columns` lists the features, so that all of them are needed.
    pub fn lists_features(options: &Params) -> bool {
        options.get("columns").and_then(|columns| columns.get("features")).is_some_and(Value::is_array)
    }

    /// The same roles without features, whose columns are ignored. One of them may have the counts of pairs.
    fn without_features(mut self, spec: ReadSpec<'_>) -> Self {
        let query_features = self.query_features.take();
        let features = std::mem::replace(&mut self.features, FeatureColumns::Wide(Vec::new()));
        let columns = query_features.iter().chain([&features]).flat_map(FeatureColumns::all);
        let columns: Vec<usize> = columns.copied().collect();
        // Such a model reads no feature columns.
        let unused =
            self.ignored.iter().filter(|column| self.is_of_model && !self.on_purpose.contains(column));
        self.observed = columns.iter().chain(unused).copied().collect();
        self.ignored.extend(columns);
        self.ignored.sort_unstable();
        if spec.judgments != Judgments::Count || self.relevance.is_some() {
            self.observed.clear();
        }
        self.categories.clear();
        self.like_ids = None;
        self.role_named.clear();
        self
    }

    /// Name of the document column.
    pub fn doc_name(&self) -> Option<&str> {
        self.doc.map(|column| self.names[column].as_str())
    }

    /// The role that groups the rows.
    fn group_role(&self) -> &'static str {
        if self.constraint == ListConstraint::Slots { "slot" } else { "diversify_by" }
    }

    /// Whether the texts of a column may be read as numbers, dates or durations (rule 3.9).
    pub fn may_be_quantity(&self, column: usize) -> bool {
        let is_listed = self.quantities.as_ref().map(|listed| listed.contains(&column));
        is_listed.unwrap_or_else(|| !is_row_number_or_split(&self.names[column]))
    }

    /// Advice for messages about these columns. `columns`: the call's option.
    pub fn advice<'a>(&'a self, options: &'a Params) -> ColumnAdvice<'a> {
        let columns = options.get("columns").and_then(Value::as_object);
        let vector = match self.features {
            FeatureColumns::Vector(column) => Some(self.names[column].as_str()),
            FeatureColumns::Wide(_) => None,
        };
        ColumnAdvice { origin: Origin::Source(columns), doc: self.doc_name(), vector }
    }

    /// The role of each column, with facts about the rows read.
    pub fn column_report(&self, data: &Dataset, read: &ReadReport, advice: ColumnAdvice<'_>) -> ColumnReport {
        let column = |column: usize| ReadColumn {
            name: &self.names[column],
            usage: self.usage(column),
            observed: (self.observed.iter().position(|observed| *observed == column))
                .and_then(|index| read.observed.get(index)),
        };
        let columns: Vec<ReadColumn<'_>> = (0..self.names.len()).map(column).collect();
        ColumnReport::of(&columns, data, read, self.takes_categories, advice)
    }

    /// Warnings about unused columns that may have the counts of pairs (rule 2.17).
    pub fn left_out_counts(&self, read: &ReadReport, options: &Params) -> Vec<String> {
        let advice = self.advice(options);
        let facts = self.observed.iter().zip(&read.observed);
        facts.filter_map(|(column, facts)| left_out_count(&self.names[*column], facts, advice)).collect()
    }

    /// A warning about query ids with two spellings (rule 2.26).
    pub fn queries_in_two_ways(&self, data: &Dataset) -> Option<String> {
        let name = &self.names[self.query?];
        ids_written_in_two_ways(data.query_ids.iter(), (name, "queries", true))
    }

    fn usage(&self, column: usize) -> Usage {
        let one = [
            ("query", self.query),
            ("doc", self.doc),
            ("relevance", self.relevance),
            ("weight", self.weight),
            ("doc_weight", self.doc_weight),
            ("determined", self.determined),
            ("query_time", self.query_time),
            (self.group_role(), self.group),
            ("split_by", self.split),
            ("group_by", self.fold_group),
        ];
        let of_queries = self.query_features.as_ref().map_or(&[][..], FeatureColumns::all);
        let is_category = self.categories.contains(&column);
        let like_role = self.role_named.iter().find(|(known, _)| *known == column).map(|(_, role)| *role);
        if let Some((role, _)) = one.into_iter().find(|(_, of_role)| *of_role == Some(column)) {
            return Usage::Role(role);
        }
        match () {
            () if self.features == FeatureColumns::Vector(column) => Usage::Role("features"),
            () if self.read_by_keys.contains(&column) => Usage::Keys,
            () if of_queries.contains(&column) => Usage::Role("query_features"),
            () if self.unused_slot == Some(column) => Usage::UnusedSlot,
            () if self.on_purpose.contains(&column) => Usage::LeftOut("ignored by the option columns"),
            () if is_category || !self.ignored.contains(&column) || self.observed.contains(&column) => {
                Usage::Open { is_category, like_role }
            }
            () if self.features == FeatureColumns::Wide(Vec::new()) => Usage::LeftOut(ONLY_IDS),
            () if self.is_of_model => Usage::LeftOut("no feature of the model"),
            () => Usage::LeftOut("not among the features that the option columns lists"),
        }
    }

    fn name(&self, column: Option<usize>) -> Option<String> {
        column.map(|column| self.names[column].clone())
    }

    /// The ignored columns; `not_numeric` are additional ones without numbers.
    fn ignored_names(&self, not_numeric: &[String]) -> Vec<String> {
        let ignored = self.ignored.iter().map(|column| self.names[*column].clone());
        ignored.chain(not_numeric.iter().cloned()).collect()
    }

    /// The roles in the form that a model stores; `not_numeric` are additional ignored columns.
    pub fn training_columns(&self, not_numeric: &[String]) -> TrainingColumns {
        let vector = |columns: &FeatureColumns| match columns {
            FeatureColumns::Vector(column) => self.name(Some(*column)),
            FeatureColumns::Wide(_) => None,
        };
        TrainingColumns {
            query: self.name(self.query),
            doc: self.name(self.doc),
            relevance: self.name(self.relevance),
            weight: self.name(self.weight),
            doc_weight: self.name(self.doc_weight),
            slot: self.name(self.group.filter(|_| self.constraint == ListConstraint::Slots)),
            features: vector(&self.features),
            query_features: self.query_features.as_ref().and_then(vector),
            ignored: self.ignored_names(not_numeric),
        }
    }

    /// The roles as JSON, for reports; `not_numeric` are additional ignored columns. `categories`: the model's.
    pub fn report(&self, not_numeric: &[String], categories: &Categories) -> Value {
        let categories = categories.names();
        let list = |columns: &FeatureColumns| match columns {
            FeatureColumns::Vector(column) => json!(self.names[*column]),
            FeatureColumns::Wide(columns) => {
                let names = columns.iter().map(|column| &self.names[*column]);
                let is_number = |name: &&String| !not_numeric.contains(name) && !categories.contains(name);
                json!(names.filter(is_number).collect::<Vec<_>>())
            }
        };
        let query_features = self.query_features.as_ref().map_or(Value::Null, list);
        let columns = self.training_columns(not_numeric);
        let mut report = as_json(&columns, list(&self.features), query_features, &categories);
        let optional = [("determined", self.determined), ("query_time", self.query_time)];
        let optional = optional.into_iter().filter_map(|(role, column)| Some((role, self.name(column)?)));
        report.extend(optional.map(|(role, name)| (role.to_owned(), json!(name))));
        if self.constraint == ListConstraint::Diversity {
            report.insert("diversify_by".to_owned(), json!(self.name(self.group)));
        }
        Value::Object(report)
    }
}

/// Roles as JSON, with the columns of features, query features and, if any, categories.
pub fn as_json(
    columns: &TrainingColumns,
    features: Value,
    query_features: Value,
    categories: &[String],
) -> Map<String, Value> {
    let entries = [
        ("query", json!(columns.query)),
        ("doc", json!(columns.doc)),
        ("relevance", json!(columns.relevance)),
        ("weight", json!(columns.weight)),
        ("features", features),
        ("query_features", query_features),
        ("ignored", json!(columns.ignored)),
    ];
    let optional = [("doc_weight", &columns.doc_weight), ("slot", &columns.slot)];
    let optional = optional.into_iter().filter_map(|(role, column)| Some((role, json!(column.as_ref()?))));
    let categories = (!categories.is_empty()).then(|| ("categories", json!(categories)));
    entries
        .into_iter()
        .chain(optional)
        .chain(categories)
        .map(|(key, value)| (key.to_owned(), value))
        .collect()
}
