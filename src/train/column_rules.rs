//! The rules for the columns of a training source: what a column becomes, why, and what looks wrong with it.

use std::cell::OnceCell;
use std::collections::{BTreeSet, HashSet};

use serde::Serialize;
use serde_json::{Value, json};

use crate::base::{ColumnAdvice, quote, shorten};
use crate::data::{
    Category, ColumnFacts, Dataset, Facts, Form, Id, Outcome, QueryValue, ReadReport, SHARE_OF_FORM,
    SHARE_OF_LISTED, Seen, Unread, facts_of_feature, is_like_id, is_part, is_row_number,
};
use crate::train::column_texts::{
    conversion, frequent_texts, json_in_text, quantities_among_texts, read_as, spelling,
};
use crate::train::feature_checks::SMALLEST_ID;

/// The warning about a column without a role that may have the counts of pairs.
pub fn left_out_count(name: &str, facts: &ColumnFacts, advice: ColumnAdvice<'_>) -> Option<String> {
    let may_be_count = facts.kinds().eq(["numbers"])
        && facts.range.0 >= 0.0
        && !is_time(facts.range.0)
        && !is_row_number_or_split(name)
        && !is_like_id(name);
    may_be_count.then(|| {
        format!(
            "the numeric column \"{name}\" is left out, so each row counts 1; if it has the counts of the pairs, use the options {}",
            advice.role("relevance", json!(name))
        )
    })
}

/// Whether a smallest number looks like seconds or milliseconds since 1970, from the year 2000 on.
fn is_time(low: f64) -> bool {
    (9.4e8..2.3e9).contains(&low) || (9.4e11..2.3e12).contains(&low)
}

/// Whether the name of a column says that its texts are no values of documents: the number of a row, or a part of the data.
pub fn is_row_number_or_split(name: &str) -> bool {
    is_row_number(name) || is_part(name)
}

/// A column, as the reader of the rows used it.
#[derive(Debug)]
pub struct ReadColumn<'a> {
    pub name: &'a str,
    /// What it was used for.
    pub usage: Usage,
    /// What was found in a column that is no feature, if it was looked at.
    pub observed: Option<&'a ColumnFacts>,
}

/// What a column is used for.
#[derive(Debug, Clone, Copy)]
pub enum Usage {
    /// A role, as the key of the option that gives it.
    Role(&'static str),
    /// A slot that only matching uses.
    UnusedSlot,
    /// The keys are features.
    Keys,
    /// None, for this reason.
    LeftOut(&'static str),
    /// A feature, a category, or none: its values tell.
    Open {
        /// Whether the option `columns` lists it as a category.
        is_category: bool,
        /// The role that it is named like.
        like_role: Option<&'static str>,
    },
}

/// What became of a column.
#[derive(Debug, Clone, Serialize)]
pub struct ReportedColumn {
    pub(super) name: String,
    /// "role", "feature", "category", "id" or "left_out".
    pub(super) usage: &'static str,
    /// Which role, why it is a category, or why it is left out.
    pub(super) reason: Option<String>,
    /// The form of its texts, if they are read as numbers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) form: Option<String>,
    /// What was found in it, if it was looked at.
    pub(super) facts: Option<Facts>,
    /// What looks wrong, and how to mend it. An empty text means that the warning of another column also names this column.
    #[serde(skip)]
    pub(super) warning: Option<String>,
}

/// The facts of a role that is kept in the data set. `query_feature`: the position of a query feature.
fn role_facts(role: &str, data: &Dataset, query_feature: Option<usize>) -> Option<Facts> {
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
                _ => match &data.query_features[(query, query_feature?)] {
                    QueryValue::Missing => Seen::Missing,
                    QueryValue::Number(value) => Seen::Number(*value),
                    QueryValue::Text(text) => Seen::Text(text.as_bytes()),
                },
            };
            facts.add(query, value);
        }
    }
    Some(facts.facts())
}

/// A warning about a query feature without differences.
fn constant(name: &str, facts: &Facts) -> Option<String> {
    (facts.distinct == Some(1) && facts.missing == 0).then(|| {
        format!("the query feature \"{name}\" has the same value in every query, so it has no effect")
    })
}

/// Whether the log of clicks leaves most judgments open. `mean`: of the column `determined`.
pub fn is_undetermined(mean: f64) -> bool {
    mean < 0.5
}

/// A warning about judgments that the log of their clicks does not determine. `mean`: of the column.
pub fn undetermined(name: &str, mean: f64, has_baseline: bool) -> Option<String> {
    let baseline =
        if has_baseline { "" } else { "name the column of that order with the option 'baseline', " };
    is_undetermined(mean).then(|| {
        format!(
            "the column \"{name}\" is {mean:.2} on average: in this log, relevance and position cannot be separated for most \
             documents, so the model may be no better than the order that was shown; {baseline}show some lists in another order \
             and compare both with ltr_interleave, or give ltr_judgments the option 'propensities'"
        )
    })
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

/// The rules for the columns of a source.
pub(super) struct ColumnRules<'a> {
    pub(super) data: &'a Dataset,
    pub(super) advice: ColumnAdvice<'a>,
    pub(super) takes_categories: bool,
    /// Different documents.
    pub(super) documents: OnceCell<usize>,
}

/// Usage, reason and warning.
type Decision = (&'static str, String, Option<String>);

/// Why a column is left out if the algorithm reads no features.
pub const ONLY_IDS: &str = "the algorithm learns from ids and relevance";

fn left_out(reason: impl Into<String>, warning: Option<String>) -> Decision {
    ("left_out", reason.into(), warning)
}

impl ColumnRules<'_> {
    /// What became of a column.
    pub(super) fn usage_of(&self, column: &ReadColumn<'_>, read: &ReadReport) -> ReportedColumn {
        let name = column.name;
        let ((usage, reason, warning), facts) = match column.usage {
            Usage::Role(role) => self.role(name, role, read),
            Usage::UnusedSlot => {
                let warning = format!(
                    "the column \"{name}\" is left out because only matching uses slots; use matching"
                );
                (left_out("slot, which only matching uses", Some(warning)), None)
            }
            Usage::Keys => {
                (("feature", "JSON objects, each key of which is a feature".to_owned(), None), None)
            }
            Usage::LeftOut(reason) => (left_out(reason, None), None),
            Usage::Open { is_category, like_role } => self.open(column, is_category, like_role, read),
        };
        let form = self.data.quantities.of(name).map(Form::name);
        let reason = Some(reason).filter(|reason| !reason.is_empty());
        ReportedColumn { name: name.to_owned(), usage, reason, form, facts, warning }
    }

    fn role(&self, name: &str, role: &str, read: &ReadReport) -> (Decision, Option<Facts>) {
        let data = self.data;
        let is_name = |known: &String| known.eq_ignore_ascii_case(name);
        let of_queries = data.query_names.iter().position(|known| role == "query_features" && is_name(known));
        let facts = role_facts(role, data, of_queries);
        let missing = facts.as_ref().map_or(0, |facts| facts.missing);
        let same = facts.as_ref().filter(|_| data.n_queries() > 1).and_then(|facts| constant(name, facts));
        let warning = match role {
            "doc" if missing > 0 => Some(format!(
                "the column \"{name}\" is NULL in {missing} rows, whose documents have no id; give each document an id"
            )),
            "query_time" if data.quantities.time_of_query().is_none() => Some(format!(
                "the column \"{name}\" is the time of the query, and there are no dates that it is compared with; to read it as \
                 other columns, use the options {}",
                self.advice.role("query_time", Value::Null)
            )),
            "determined" => read.determined.and_then(|mean| undetermined(name, mean, read.has_baseline)),
            _ => of_queries.and_then(|column| {
                let texts = quantities_among_texts(name, data, column);
                same.or(texts).or_else(|| spelling(name, frequent_texts(data, column).into_iter()))
            }),
        };
        (("role", role.to_owned(), warning), facts)
    }

    /// What became of a column without a role.
    fn open(
        &self,
        column: &ReadColumn<'_>,
        is_category: bool,
        like_role: Option<&str>,
        read: &ReadReport,
    ) -> (Decision, Option<Facts>) {
        let (name, data) = (column.name, self.data);
        let is_name = |known: &String| known.eq_ignore_ascii_case(name);
        let feature = || data.names.iter().position(is_name).filter(|_| self.advice.vector.is_none());
        let ignored = || read.ignored_facts.get(read.ignored.iter().position(is_name)?);
        let of_category =
            read.category_facts.iter().find(|(known, _)| is_name(known)).map(|(_, facts)| facts);
        if let Some(index) = feature() {
            let warning = like_role.map(|role| {
                format!(
                    "the feature \"{name}\" is named like the role {role}; if it is a property of the document, list all features \
                     under \"features\" in \"columns\", those of text under \"categories\""
                )
            });
            let reason = data.quantities.of(name).map(|form| read_as(name, form)).unwrap_or_default();
            (("feature", reason, warning), Some(facts_of_feature(data, index, read.missing.of(index))))
        } else if is_category || of_category.is_some() {
            let category = data.categories.iter().find(|category| category.name == name);
            let reason = self.category_reason(name, category, is_category);
            let values = category.iter().flat_map(|category| &category.values).map(String::as_str);
            // Categories of a model have no facts.
            let found = of_category.filter(|_| !is_category);
            let mixed = found.and_then(|facts| self.quantities_in_category(name, facts));
            let warning = mixed.or_else(|| spelling(name, values));
            (("category", reason, warning), of_category.map(ColumnFacts::facts))
        } else if let Some(facts) = ignored().or(column.observed) {
            (self.usage(name, facts), Some(facts.facts()))
        } else {
            (left_out("no feature", None), None)
        }
    }

    /// Why a column is a category, and how to change it.
    fn category_reason(&self, name: &str, category: Option<&Category>, is_listed: bool) -> String {
        let why = if is_listed { "listed as a category" } else { "text with few values" };
        let values = category.map_or(0, |category| category.values.len());
        let ignore = self.advice.ignore(&[name]);
        format!(
            "{why}; {values} values have a feature each, the others have one together; to leave it out, {ignore}"
        )
    }

    /// Different documents; rows, if they have no ids.
    fn documents(&self) -> u64 {
        let count = || match self.advice.doc {
            Some(_) => self.data.doc_ids.iter().collect::<HashSet<_>>().len(),
            None => self.data.n_docs(),
        };
        *self.documents.get_or_init(count) as u64
    }

    /// How a column is used, from what its values showed.
    fn usage(&self, name: &str, facts: &ColumnFacts) -> Decision {
        let found = facts.facts();
        // 1. Columns without differences, parts of the data, and ids.
        if found.kind == "null" {
            let warning =
                format!("the column \"{name}\" is left out because it is NULL in every row; fill it");
            return left_out("NULL in every row", Some(warning));
        }
        if found.distinct == Some(1) && found.missing == 0 {
            let is_empty = found.kind == "text" && !facts.texts.has_text();
            let warning =
                || format!("the column \"{name}\" is left out because it is the empty text '' in every row");
            return left_out("one value in all rows", is_empty.then(warning));
        } else if is_part(name) {
            return left_out("named like a part of the data", None);
        }
        // Texts that rows of a query share may be values, such as those of brand_id.
        let are_shared = !found.constant_within_query && !facts.is_unique_within_query(self.data.n_queries());
        let are_few_texts = || found.kind == "text" && are_few(&found, facts.rows.min(self.documents()));
        if is_row_number(name) || is_like_id(name) && !(are_shared && are_few_texts()) {
            return self.id(name, facts, "named like an id");
        }
        // 2. By the kind of the values.
        match found.kind {
            "number" => self.number(name, facts, &found),
            "text" => self.text(name, facts, &found),
            "blob" => self.blob(name, facts),
            _ => {
                let kinds: Vec<&str> = facts.kinds().collect();
                let warning =
                    format!("the column \"{name}\" is left out because it has {}", kinds.join(", "));
                left_out("values of several types", Some(warning))
            }
        }
    }

    /// An id. Without a column of the documents it may be theirs.
    fn id(&self, name: &str, facts: &ColumnFacts, reason: &str) -> Decision {
        let may_be_doc = self.advice.doc.is_none() && facts.is_unique_within_query(self.data.n_queries());
        let warning = may_be_doc.then(|| {
            format!(
                "there is no column of the documents, so doc_id is the number of the row within its query; the column \"{name}\" \
                 differs in every row of a query; if it names the documents, use the options {}",
                self.advice.role("doc", json!(name)),
            )
        });
        ("id", reason.to_owned(), warning)
    }

    fn number(&self, name: &str, facts: &ColumnFacts, found: &Facts) -> Decision {
        let (low, high) = facts.range;
        let differs = found.distinct.is_none_or(|distinct| distinct == facts.rows);
        let is_dense = high - low < 4.0 * facts.rows as f64;
        let is_long = low >= SMALLEST_ID && high < 10.0 * low;
        let is_date = is_time(low);
        if facts.is_whole() && facts.rows >= 8 && differs && (is_dense || is_long && !is_date) {
            return self.id(name, facts, "whole numbers that differ in every row");
        }
        let Some(vector) = self.advice.vector else {
            // Pairs without counts.
            let warning = left_out_count(name, facts, self.advice);
            return left_out("the algorithm learns from pairs of ids and their counts", warning);
        };
        if found.constant_within_query {
            return self.of_queries(name, found);
        }
        let warning = format!(
            "the numeric column \"{name}\" is left out because the features are the vectors in \"{vector}\"; append it in the source, \
             as in ltr_vec(\"{vector}\", \"{name}\") AS \"{vector}\""
        );
        left_out(format!("the features are the vectors in \"{vector}\""), Some(warning))
    }

    /// A column that differs between queries only.
    fn of_queries(&self, name: &str, found: &Facts) -> Decision {
        let warning = format!(
            "the {} column \"{name}\" is left out because it differs between queries only; to use it as a query feature of an \
             algorithm such as q_svm or boosted_trees, use the options {}",
            if found.kind == "number" { "numeric" } else { found.kind },
            self.advice.listed("query_features", name),
        );
        left_out("it differs between queries only", Some(warning))
    }

    /// The options that make a column a category, if the next call takes them.
    fn category_options(&self, name: &str, facts: &ColumnFacts) -> Option<String> {
        let may_be = self.takes_categories
            && facts.text_problem().is_none()
            && facts.has_frequent_value(self.data.n_queries());
        may_be.then(|| self.advice.listed("categories", name))
    }

    /// Whether the training chooses the texts that it reads as numbers.
    fn reads_texts(&self) -> bool {
        self.takes_categories && self.advice.vector.is_none() && !self.advice.gives("quantities")
    }

    /// The end of a sentence with the options that read a column although some texts have another form.
    fn reading_options(&self, name: &str, facts: &ColumnFacts) -> Option<String> {
        let reads = |share| matches!(facts.readings.outcome(share), Outcome::Form(_)) && self.reads_texts();
        if reads(SHARE_OF_FORM) {
            return Some(", or use the option \"missing\", which makes them missing".to_owned());
        }
        // The list excludes columns that it does not name.
        let read = self.data.quantities.iter().map(|(known, form)| match form {
            Form::Key { column, .. } => column,
            _ => known,
        });
        let names: BTreeSet<&str> = read.chain([name]).collect();
        let options = self.advice.role("quantities", json!(names));
        reads(SHARE_OF_LISTED).then(|| {
            format!(", or use the option \"missing\" and the options {options}, which make them missing")
        })
    }

    /// A warning about a category most of whose texts are quantities.
    fn quantities_in_category(&self, name: &str, facts: &ColumnFacts) -> Option<String> {
        let outcome = facts.readings.outcome(1.0);
        let Outcome::Unread { kind: Unread::Others, example, .. } = &outcome else { return None };
        let texts = &facts.texts;
        let how = conversion(&outcome, &quote(name), texts.is_whole(), || texts.all());
        Some(format!(
            "the column \"{name}\" is a category because some of its texts are no {} (such as '{}'); {how}{}; to keep it a \
             category, use the options {}",
            outcome.what(),
            shorten(example),
            self.reading_options(name, facts).unwrap_or_default(),
            self.advice.listed("categories", name),
        ))
    }

    /// What becomes of texts that numbers would say better. `is_small`: whether there are few values.
    fn converted(&self, name: &str, facts: &ColumnFacts, is_small: bool) -> Option<Decision> {
        let (texts, quoted) = (&facts.texts, quote(name));
        // 1. JSON.
        if let Some(kind) = texts.json_kind() {
            let lacks = self.reads_texts() && facts.lacks_keys();
            let vector = || self.advice.role("features", json!(name));
            let (what, how) = json_in_text(kind, facts, &quoted, lacks, vector);
            let warning = format!(
                "the column \"{name}\" is left out because it has {what} as text (such as '{}'); {how}",
                shorten(texts.example()),
            );
            return Some(left_out(format!("{what} as text"), Some(warning)));
        }
        // 2. Quantities that are not read.
        let outcome = facts.readings.outcome(1.0);
        let (example, problem) = match &outcome {
            Outcome::Text => return None,
            Outcome::Unread { .. } if is_small && !outcome.is_quantity() => return None,
            Outcome::Form(_) => (texts.example(), String::new()),
            Outcome::Unread { kind, example, .. } => {
                (example.as_str(), format!(" that cannot be read: {kind}"))
            }
        };
        let what = outcome.what();
        let mut how = conversion(&outcome, &quoted, texts.is_whole(), || texts.all());
        if matches!(outcome, Outcome::Unread { kind: Unread::Others, .. }) {
            how.extend(self.reading_options(name, facts));
        } else if matches!(outcome, Outcome::Form(_)) && facts.facts().missing > 0 {
            how = format!("it is NULL in some rows: use the option \"missing\" to read it, or {how}");
        }
        if let Some(options) = self.category_options(name, facts).filter(|_| is_small) {
            how = format!("{how}, or use its values as features with the options {options}");
        }
        let warning = format!(
            "the column \"{name}\" is left out because it has {what} as text (such as '{}'){problem}; {how}",
            shorten(example),
        );
        Some(left_out(format!("{what} as text{problem}"), Some(warning)))
    }

    fn text(&self, name: &str, facts: &ColumnFacts, found: &Facts) -> Decision {
        let quoted = quote(name);
        if self.data.features.columns() == 0 {
            return left_out(ONLY_IDS, None);
        }
        let is_small = are_few(found, facts.rows.min(self.documents()));
        // 1. What can be converted.
        if let Some(decision) = self.converted(name, facts, is_small) {
            return decision;
        }
        // 2. Few values, ids, and texts.
        let queries = self.data.n_queries() as u64;
        let is_unique = facts.is_unique_within_query(self.data.n_queries());
        if found.constant_within_query && !is_unique {
            if are_few(found, queries) {
                return self.of_queries(name, found);
            }
            return ("id", "it names the query".to_owned(), None);
        } else if is_unique && (self.advice.doc.is_none() || !is_small) {
            return self.id(name, facts, "it differs in every row of a query");
        } else if !is_small {
            return left_out("text with many values", None);
        }
        let how = match (facts.text_problem(), self.category_options(name, facts)) {
            _ if !self.takes_categories => format!(
                "this training takes numbers only; make one of each value in the source, as in {quoted} = '...'"
            ),
            (Some(problem), _) => format!("{problem}, so it cannot be a category; change it in the source"),
            (None, Some(options)) => format!("to use its values as features, use the options {options}"),
            (None, None) => {
                "no value has 3 rows in 2 queries, so nothing can be learned of it; group its values in the source".to_owned()
            }
        };
        let values = found.distinct.unwrap_or(0);
        let warning = format!("the text column \"{name}\" is left out ({values} different values); {how}");
        left_out("text with few values", Some(warning))
    }

    fn blob(&self, name: &str, facts: &ColumnFacts) -> Decision {
        let is_vector = facts.are_vectors();
        if !is_vector && !facts.facts().constant_within_query && are_few(&facts.facts(), facts.rows) {
            let quoted = quote(name);
            let warning = format!(
                "the column \"{name}\" of BLOBs is left out; if they are texts, use CAST({quoted} AS TEXT) AS {quoted} in the source"
            );
            return left_out("BLOBs", Some(warning));
        }
        let warning = is_vector.then(|| match self.advice.vector {
            Some(vector) => format!(
                "the column \"{name}\" of BLOBs is left out because the features are the vectors in \"{vector}\"; append its vectors in \
                 the source, as in ltr_vec(\"{vector}\", \"{name}\") AS \"{vector}\""
            ),
            None => format!(
                "the column \"{name}\" of BLOBs is left out; if they are vectors of features, use the options {}, or make one vector of \
                 all features with ltr_vec",
                self.advice.role("features", json!(name))
            ),
        });
        left_out("BLOBs", warning)
    }
}

/// Whether there are few different values: at most half of `of` values.
fn are_few(facts: &Facts, of: u64) -> bool {
    facts.distinct.is_some_and(|distinct| 2 * distinct <= of)
}
