//! What became of each column of a training source.
//!
//! Rules (docs/reference/rules.md, 2):
//! * 2.16: Each column is a role, a feature, an id, or left out with a reason. The report says which.
//! * 2.17: A column that is left out, but looks as if it was meant, is a warning. One that the option `columns` ignores is none.

use std::cell::OnceCell;
use std::collections::HashSet;

use serde::Serialize;
use serde_json::{Value, json};

use super::column_choice::is_like_id;
use super::read_spec::FeatureColumns;
use super::roles::Roles;
use crate::base::{ColumnAdvice, Params};
use crate::data::{
    ColumnFacts, Dataset, Facts, Id, ReadReport, Seen, facts_of_feature, is_date, is_like_date,
    is_like_number,
};
use crate::learn::fit::QueryDependence;
use crate::train::algorithm::AlgorithmDef;
use crate::train::feature_checks::{SMALLEST_ID, is_row_number};
use crate::train::report::Finished;

/// Names of columns that say to which part of the data a row belongs.
const PARTS: [&str; 5] = ["fold", "split", "part", "partition", "set"];

/// Whether the name of a column says that its texts are no values of documents: an id, the number of a row, or a part of the data.
pub(super) fn is_named_otherwise(name: &str) -> bool {
    is_like_id(name) || is_row_number(name) || is_part(name)
}

fn is_part(name: &str) -> bool {
    PARTS.iter().any(|part| part.eq_ignore_ascii_case(name))
}

/// What became of a column.
#[derive(Debug, Clone, Serialize)]
pub struct ColumnFate {
    name: String,
    /// "role", "feature", "category", "id" or "left_out".
    fate: &'static str,
    /// Which role, why it is a category, or why it is left out.
    reason: Option<String>,
    /// What was found in it, if it was looked at.
    facts: Option<Facts>,
    #[serde(skip)]
    warning: Option<String>,
}

/// What became of all columns, in their order.
pub struct Fates(Vec<ColumnFate>);

impl Fates {
    /// For the report.
    pub fn report(&self) -> Value {
        json!(self.0)
    }

    /// About columns that look as if they were meant, one for each.
    pub fn warnings(&self) -> impl Iterator<Item = String> {
        self.0.iter().filter_map(|column| column.warning.clone())
    }

    /// Tells if the source has query features that the model does not use. Trees try them; the option `query_features` is a choice.
    pub fn check_query_features(
        &mut self,
        algorithm: &AlgorithmDef,
        finished: &Finished,
        (options, advice): (&Params, ColumnAdvice<'_>),
    ) {
        let is_chosen = (algorithm.reads)("query_columns") || options.has("query_features");
        if is_chosen || !finished.model.ranker.named_query_features().is_empty() {
            return;
        }
        let algorithm = algorithm.name;
        let is_query_feature = |column: &&mut ColumnFate| column.reason.as_deref() == Some("query_features");
        let mut unused: Vec<&mut ColumnFate> = self.0.iter_mut().filter(is_query_feature).collect();
        let names: Vec<String> = unused.iter().map(|column| column.name.clone()).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        for column in &mut unused {
            column.reason = Some(format!("query_features, which {algorithm} does not use"));
        }
        // No warning if the queries were compared and do not differ.
        let differ = finished.dependence.filter(QueryDependence::differ);
        let first = unused.first_mut().filter(|_| finished.dependence.is_none() || differ.is_some());
        if let Some(first) = first {
            let although = differ.map(|found| format!(", although they tell what queries prefer ({found})"));
            first.warning = Some(format!(
                "{algorithm} does not use the query features \"{}\"{}; use an algorithm such as q_svm or boosted_trees, or {}",
                names.join("\", \""),
                although.unwrap_or_default(),
                advice.ignore(&names)
            ));
        }
    }
}

impl Roles {
    /// What became of each column, with facts about the rows that were read.
    pub fn fates(&self, data: &Dataset, read: &ReadReport, advice: ColumnAdvice<'_>) -> Fates {
        let source = LeftOut { roles: self, data, advice, documents: OnceCell::new() };
        let fate = |column: usize| {
            let name = self.names[column].clone();
            let (fate, reason, facts, warning) = if let Some(role) = self.role_of(column) {
                let facts = role_facts(role, data);
                let missing = facts.as_ref().map_or(0, |facts| facts.missing);
                let warning = (role == "doc" && missing > 0).then(|| {
                    format!("the column \"{name}\" is NULL in {missing} rows, whose documents have no id; give each document an id")
                });
                ("role", Some(role.to_owned()), facts, warning)
            } else if let Some(index) =
                data.names.iter().position(|feature| *feature == name && self.is_wide())
            {
                ("feature", None, Some(facts_of_feature(data, index, read.missing.of(index))), None)
            } else if let Some((_, facts)) = read.category_facts.iter().find(|(known, _)| *known == name) {
                let reason = self.category_reason(&name, data, advice);
                ("category", Some(reason), Some(facts.facts()), None)
            } else if let Some(facts) = self.facts(column, read) {
                let (fate, reason, warning) = source.fate(&name, facts);
                (fate, Some(reason), Some(facts.facts()), warning)
            } else {
                let (reason, warning) = source.unread(column, &name);
                ("left_out", Some(reason), None, warning)
            };
            ColumnFate { name, fate, reason, facts, warning }
        };
        Fates((0..self.names.len()).map(fate).collect())
    }

    /// Why a column is a category, and how to change it.
    fn category_reason(&self, name: &str, data: &Dataset, advice: ColumnAdvice<'_>) -> String {
        let is_listed = self.categories.iter().any(|column| self.names[*column] == name);
        let why = if is_listed { "listed by the option columns" } else { "text with few values" };
        let category = data.categories.iter().find(|category| category.name() == name);
        let values = category.map_or(0, |category| category.values().len());
        let ignore = advice.ignore(&[name]);
        format!(
            "{why}; {values} values have a feature each, the others have one together; to leave it out, {ignore}"
        )
    }

    fn is_wide(&self) -> bool {
        matches!(self.features, FeatureColumns::Wide(_))
    }

    /// The role of a column, as the key of the option that gives it.
    fn role_of(&self, column: usize) -> Option<&'static str> {
        let one = [
            ("query", self.query),
            ("doc", self.doc),
            ("relevance", self.relevance),
            ("weight", self.weight),
            ("doc_weight", self.doc_weight),
            (self.group_role(), self.group),
            ("split_by", self.split),
        ];
        let is_query_feature =
            self.query_features.as_ref().is_some_and(|columns| columns.all().contains(&column));
        let found = one.into_iter().find(|(_, of_role)| *of_role == Some(column)).map(|(role, _)| role);
        let vector = || (self.features == FeatureColumns::Vector(column)).then_some("features");
        found.or_else(vector).or_else(|| is_query_feature.then_some("query_features"))
    }

    /// The facts of a column that is left out, if its values were read.
    fn facts<'a>(&self, column: usize, read: &'a ReadReport) -> Option<&'a ColumnFacts> {
        let as_text = read.ignored.iter().position(|name| *name == self.names[column]);
        let observed = || self.observed.iter().position(|observed| *observed == column);
        as_text.and_then(|index| read.ignored_facts.get(index)).or_else(|| read.observed.get(observed()?))
    }
}

/// The facts of a role that is kept in the data set.
fn role_facts(role: &str, data: &Dataset) -> Option<Facts> {
    let mut facts = ColumnFacts::default();
    for query in 0..data.n_queries() {
        for row in data.rows(query) {
            let number = |value: Option<&f64>| value.map_or(Seen::Missing, |value| Seen::Number(*value));
            let value = match role {
                "query" => seen_id(&data.query_ids[query]),
                "doc" => seen_id(&data.doc_ids[row]),
                "relevance" => number(data.relevance.get(row)),
                "weight" => number(data.weights.get(query)),
                "doc_weight" => number(data.doc_weights.get(row).or(Some(&1.0))),
                _ => return None,
            };
            facts.add(query, value);
        }
    }
    Some(facts.facts())
}

fn seen_id(id: &Id) -> Seen<'_> {
    match id {
        Id::Null => Seen::Missing,
        Id::Integer(value) => Seen::Number(*value as f64),
        Id::Real(value) => Seen::Number(*value),
        Id::Text(bytes) => Seen::Text(bytes),
        Id::Blob(bytes) => Seen::Blob(bytes),
    }
}

/// The columns of a source that are left out.
struct LeftOut<'a> {
    roles: &'a Roles,
    data: &'a Dataset,
    advice: ColumnAdvice<'a>,
    /// Different documents.
    documents: OnceCell<usize>,
}

/// Fate, reason and warning.
type Decision = (&'static str, String, Option<String>);

impl LeftOut<'_> {
    /// Why a column was not looked at.
    fn unread(&self, column: usize, name: &str) -> (String, Option<String>) {
        let roles = self.roles;
        if roles.unused_slot == Some(column) {
            let ignore = self.advice.ignore(&[name]);
            let warning = format!(
                "the column \"{name}\" is left out because only matching uses slots; use matching, or {ignore}"
            );
            return ("slot, which only matching uses".to_owned(), Some(warning));
        }
        let reason = match () {
            () if roles.on_purpose.contains(&column) => "ignored by the option columns",
            () if self.data.features.columns() == 0 => "the algorithm learns from ids and relevance",
            () => "not among the features that the option columns lists",
        };
        (reason.to_owned(), None)
    }

    /// Different documents; rows, if they have no ids.
    fn documents(&self) -> u64 {
        let count = || match self.roles.doc {
            Some(_) => self.data.doc_ids.iter().collect::<HashSet<_>>().len(),
            None => self.data.n_docs(),
        };
        *self.documents.get_or_init(count) as u64
    }

    /// The fate of a column that was looked at.
    fn fate(&self, name: &str, facts: &ColumnFacts) -> Decision {
        let found = facts.facts();
        let left_out = |reason: &str, warning: Option<String>| ("left_out", reason.to_owned(), warning);
        let ignore = self.advice.ignore(&[name]);
        // 1. Columns without differences, parts of the data, and ids.
        if found.kind == "null" {
            let warning = format!(
                "the column \"{name}\" is left out because it is NULL in every row; fill it, or {ignore}"
            );
            return left_out("NULL in every row", Some(warning));
        }
        if found.distinct == Some(1) && found.missing == 0 {
            let is_empty = found.kind == "text" && facts.first_text().is_empty();
            let warning = || {
                format!(
                    "the column \"{name}\" is left out because it is the empty text '' in every row; {ignore}"
                )
            };
            return left_out("one value in all rows", is_empty.then(warning));
        } else if is_part(name) {
            return left_out("named like a part of the data", None);
        } else if is_like_id(name) || is_row_number(name) {
            return self.id(name, facts, "named like an id");
        }
        // 2. By the kind of the values.
        match found.kind {
            "number" => self.number(name, facts, &found),
            "text" => self.text(name, facts, &found),
            "blob" => self.blob(name, facts),
            _ => {
                let warning = format!(
                    "the column \"{name}\" is left out because it has numbers, texts and BLOBs; {ignore}"
                );
                left_out("values of several types", Some(warning))
            }
        }
    }

    /// An id. Without a column of the documents it may be theirs.
    fn id(&self, name: &str, facts: &ColumnFacts, reason: &str) -> Decision {
        let may_be_doc = self.roles.doc.is_none() && facts.is_unique_within_query(self.data.n_queries());
        let warning = may_be_doc.then(|| {
            format!(
                "there is no column of the documents, so doc_id is the number of the row within its query; the column \"{name}\" \
                 differs in every row of a query: if it names the documents, use the options {}, otherwise {}",
                self.advice.role("doc", json!(name)),
                self.advice.ignore(&[name])
            )
        });
        ("id", reason.to_owned(), warning)
    }

    fn number(&self, name: &str, facts: &ColumnFacts, found: &Facts) -> Decision {
        let ignore = self.advice.ignore(&[name]);
        let (low, high) = facts.range();
        let differs = found.distinct.is_none_or(|distinct| distinct == facts.rows());
        let is_dense = high - low < 4.0 * facts.rows() as f64;
        let is_long = low >= SMALLEST_ID && high < 10.0 * low;
        let is_date = (9.4e8..2.3e9).contains(&low) || (9.4e11..2.3e12).contains(&low);
        if facts.is_whole() && facts.rows() >= 8 && differs && (is_dense || is_long && !is_date) {
            return self.id(name, facts, "whole numbers that differ in every row");
        }
        let Some(vector) = self.advice.vector else {
            // Pairs without counts.
            let warning = (low >= 0.0 && !is_date).then(|| {
                format!(
                    "the numeric column \"{name}\" is left out, so each row counts 1; if it has the counts of the pairs, use the \
                     options {}, otherwise {ignore}",
                    self.advice.role("relevance", json!(name))
                )
            });
            return (
                "left_out",
                "the algorithm learns from pairs of ids and their counts".to_owned(),
                warning,
            );
        };
        if found.constant_within_query {
            return self.of_queries(name, found);
        }
        let warning = format!(
            "the numeric column \"{name}\" is left out because the features are the vectors in \"{vector}\"; append it in the source, \
             as in ltr_vec(\"{vector}\", \"{name}\") AS \"{vector}\", or {ignore}"
        );
        ("left_out", format!("the features are the vectors in \"{vector}\""), Some(warning))
    }

    /// A column that differs between queries only.
    fn of_queries(&self, name: &str, found: &Facts) -> Decision {
        let warning = format!(
            "the {} column \"{name}\" is left out because it differs between queries only; to use it as a query feature of an \
             algorithm such as q_svm, use the options {}, otherwise {}",
            if found.kind == "number" { "numeric" } else { found.kind },
            self.advice.role("query_features", json!([name])),
            self.advice.ignore(&[name])
        );
        ("left_out", "it differs between queries only".to_owned(), Some(warning))
    }

    fn text(&self, name: &str, facts: &ColumnFacts, found: &Facts) -> Decision {
        let (ignore, first) = (self.advice.ignore(&[name]), facts.first_text());
        let quoted = format!("\"{}\"", name.replace('"', "\"\""));
        if self.data.features.columns() == 0 {
            return ("left_out", "the algorithm learns from ids and relevance".to_owned(), None);
        }
        let convert = |what: &str, how: String| {
            let warning = format!(
                "the column \"{name}\" is left out because it has {what} as text (the first is '{first}'); {how}, or {ignore}"
            );
            ("left_out", format!("{what} as text"), Some(warning))
        };
        // 1. What can be converted.
        if is_date(first) {
            let days = format!("julianday({quoted}) - julianday('2024-01-01')");
            return convert("dates", format!("give the days since a fixed date in the source, as in {days}"));
        } else if is_like_date(first) {
            let days = format!(
                "make dates of the form YYYY-MM-DD of it with substr({quoted}, ...), and numbers with julianday"
            );
            return convert("dates", days);
        } else if let Some(values) = first.strip_prefix('[') {
            let has = format!("EXISTS (SELECT 1 FROM json_each({quoted}) WHERE value = '...')");
            let is_vector = values.trim_start().starts_with(|c: char| c.is_ascii_digit() || c == '-');
            let how = if is_vector {
                let vector = self.advice.role("features", json!(name));
                format!(
                    "if they are vectors of features, use the options {vector}; make numbers of lists, as in {has}"
                )
            } else {
                format!("make numbers of them in the source, as in {has}")
            };
            return convert("JSON arrays", how);
        } else if is_like_number(first) {
            return convert("numbers", "convert it in the source with replace and CAST".to_owned());
        }
        // 2. Few values, ids, and texts.
        let queries = self.data.n_queries() as u64;
        let is_unique = facts.is_unique_within_query(self.data.n_queries());
        let is_small = are_few(found, facts.rows().min(self.documents()));
        if found.constant_within_query && !is_unique {
            if are_few(found, queries) {
                return self.of_queries(name, found);
            }
            return ("id", "it names the query".to_owned(), None);
        } else if is_unique && (self.roles.doc.is_none() || !is_small) {
            return self.id(name, facts, "it differs in every row of a query");
        } else if !is_small {
            return ("left_out", "text with many values".to_owned(), None);
        }
        let how = if self.roles.takes_categories {
            format!("to use its values as features, use the options {}", self.advice.category(name))
        } else {
            format!(
                "this training takes numbers only; make one of each value in the source, as in {quoted} = '...'"
            )
        };
        let values = found.distinct.unwrap_or(0);
        let warning =
            format!("the text column \"{name}\" is left out ({values} different values); {how}, or {ignore}");
        ("left_out", "text with few values".to_owned(), Some(warning))
    }

    fn blob(&self, name: &str, facts: &ColumnFacts) -> Decision {
        let ignore = self.advice.ignore(&[name]);
        let is_vector = facts.blob_bytes().is_some_and(|bytes| bytes > 0 && bytes.is_multiple_of(4));
        let warning = is_vector.then(|| match self.advice.vector {
            Some(vector) => format!(
                "the column \"{name}\" of BLOBs is left out because the features are the vectors in \"{vector}\"; append its vectors in \
                 the source, as in ltr_vec(\"{vector}\", \"{name}\") AS \"{vector}\", or {ignore}"
            ),
            None => format!(
                "the column \"{name}\" of BLOBs is left out; if they are vectors of features, use the options {}, or make one vector of \
                 all features with ltr_vec; otherwise {ignore}",
                self.advice.role("features", json!(name))
            ),
        });
        ("left_out", "BLOBs".to_owned(), warning)
    }
}

/// Whether there are few different values: at most half of `of` values.
fn are_few(facts: &Facts, of: u64) -> bool {
    facts.distinct.is_some_and(|distinct| 2 * distinct <= of)
}
