//! Judgments of documents whose features come from a view of candidates.
//!
//! A reader of the view gets all judged columns from here. It looks up rows by query and document, and skips unjudged
//! rows. An INTEGER document id on one side and the same number as TEXT on the other are the same document, as when SQL
//! compares such columns.

use std::collections::BTreeMap;
use std::sync::Mutex;

use rusqlite::types::ValueRef;
use serde_json::{Map, Value, json};

use super::Source;
use crate::base::parallel::lock;
use crate::base::{Control, Error, Reservation, Result};
use crate::cost::metric::{Mean, Metric, Undefined};
use crate::data::{Dataset, Id, ReadReport};
use crate::sqlite::glue::id_value;

pub(super) enum JudgedColumn {
    Relevance,
    Weight,
    DocWeight,
    /// The query's position in the order of `split_by`.
    Split,
    /// The group of the query by `group_by`.
    Group,
}

/// Names of the judgment columns.
pub(super) struct JudgedNames {
    /// Query, document and relevance.
    pub ids: [String; 3],
    /// The column `determined`, if it exists.
    pub determined: String,
    /// The columns without a role.
    pub ignored: Vec<String>,
}

/// Judged documents, and which of them a view of candidates returned.
pub struct JudgedDocuments {
    /// The judgments, without features.
    pub data: Dataset,
    /// Mean of the column `determined`, if it exists.
    pub determined: Option<(String, f64)>,
    /// The columns of query, document and relevance.
    pub ids: [String; 3],
    /// Source columns without a role.
    pub ignored: Vec<String>,
    /// Each query's parameters for `ltr_query`; empty if no query has parameters.
    pub params: Vec<Option<String>>,
    /// Number of queries in which the relevance of every document is NULL.
    pub unjudged_queries: usize,
    columns: Vec<(String, JudgedColumn)>,
    returned: Mutex<Returned>,
    memory: Reservation,
}

/// Counts of the candidates returned by a view.
#[derive(Clone, Default)]
struct Returned {
    /// Whether it returned each judged document.
    found: Vec<bool>,
    /// Whether it returned candidates for each query.
    answered: Vec<bool>,
    /// Unjudged candidates.
    unjudged: usize,
    /// An unjudged candidate, for messages.
    example: Option<Id>,
    /// For each feature column, how many of these are NULL.
    nulls: BTreeMap<String, usize>,
}

impl JudgedDocuments {
    /// Judged documents without candidates yet. `columns`: the judged columns that a reader of the view gets from here.
    pub(super) fn new(
        data: Dataset,
        report: ReadReport,
        columns: Vec<(String, JudgedColumn)>,
        (names, params, unjudged_queries): (JudgedNames, Vec<Option<String>>, usize),
    ) -> Self {
        let JudgedNames { ids, determined, ignored } = names;
        let (determined, memory) = (report.determined.map(|mean| (determined, mean)), report.memory);
        let returned = Mutex::default();
        let judged =
            Self { data, determined, ids, ignored, params, unjudged_queries, columns, returned, memory };
        judged.begin();
        judged
    }

    /// Each judged document's score as a candidate; negative infinity if it is not a candidate.
    ///
    /// # Errors
    /// A candidate of another query; an interrupt.
    pub fn scores(&self, candidates: &Dataset, scores: &[f64], control: &Control) -> Result<Vec<f64>> {
        let mut judged_scores = vec![f64::NEG_INFINITY; self.data.n_docs()];
        for (query, id) in candidates.query_ids.iter().enumerate() {
            for row in candidates.rows(query) {
                if row.is_multiple_of(4096) {
                    control.check()?;
                }
                let judgments = self.of(Some(id), Some(&candidates.doc_ids[row]));
                let (_, judgments) = judgments.map_err(Error::Data)?;
                judgments.into_iter().for_each(|judgment| judged_scores[judgment] = scores[row]);
            }
        }
        Ok(judged_scores)
    }

    /// Scores for the best order of the returned documents: their grades, and negative infinity for other documents.
    pub fn best_scores(&self) -> Vec<f64> {
        let place = |(grade, found): (&f64, &bool)| if *found { *grade } else { f64::NEG_INFINITY };
        self.data.relevance.iter().zip(&lock(&self.returned).found).map(place).collect()
    }

    /// Whether a document was judged for a query.
    pub fn has(&self, query: &Id, doc: &Id) -> bool {
        self.query(query).is_some_and(|query| !self.rows(query, doc).is_empty())
    }

    /// The query ids, and the memory of the judgments.
    pub fn into_queries(self) -> (Vec<Id>, Reservation) {
        (self.data.query_ids, self.memory)
    }

    /// Names of the judged columns.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.columns.iter().map(|(name, _)| &**name)
    }

    /// Value of a judged column, by index.
    pub(super) fn value(&self, column: usize, (query, row): (usize, usize)) -> ValueRef<'_> {
        match &self.columns[column].1 {
            JudgedColumn::Relevance => ValueRef::Real(self.data.relevance[row]),
            JudgedColumn::Weight => ValueRef::Real(self.data.weights[query]),
            JudgedColumn::DocWeight => ValueRef::Real(self.data.doc_weights.get(row).copied().unwrap_or(1.0)),
            JudgedColumn::Split => id_value(&self.data.fold_keys.order[query]),
            JudgedColumn::Group => id_value(&self.data.fold_keys.groups[query]),
        }
    }

    /// Forgets what the view returned, because it is read again.
    pub(super) fn begin(&self) {
        let returned = vec![false; self.data.n_docs()];
        *lock(&self.returned) =
            Returned { found: returned, answered: vec![false; self.data.n_queries()], ..Returned::default() };
    }

    /// A candidate's judgments: the query and the rows. Usually one row; empty if unjudged.
    ///
    /// # Errors
    /// A missing query, or one that was not asked for.
    pub(super) fn of(&self, query: Option<&Id>, doc: Option<&Id>) -> Result<(usize, Vec<usize>), String> {
        let asked = || self.data.query_ids.first().map_or_else(String::new, Id::to_string);
        let Some(query) = query else {
            return Err("no column of queries; select q.query AS query_id from ltr_query AS q".to_owned());
        };
        let Some(number) = self.query(query) else {
            return Err(format!(
                "a candidate of the query {query}, which is not in the judgments (such as {}); select q.query AS query_id from ltr_query AS q",
                asked()
            ));
        };
        let rows = doc.map(|doc| self.rows(number, doc)).unwrap_or_default();
        let mut returned = lock(&self.returned);
        returned.answered[number] = true;
        rows.iter().for_each(|row| returned.found[*row] = true);
        if rows.is_empty() {
            returned.unjudged += 1;
            returned.example.get_or_insert_with(|| doc.cloned().unwrap_or_default());
        }
        Ok((number, rows))
    }

    /// Counts NULL in a feature column of an unjudged candidate.
    pub(super) fn count_null(&self, column: &str) {
        *lock(&self.returned).nulls.entry(column.to_owned()).or_default() += 1;
    }

    /// Warnings about features that are NULL only in unjudged candidates, which searches rank.
    pub fn null_warnings(&self, view: &Source, features: &[String]) -> Vec<String> {
        let Returned { nulls, unjudged, .. } = lock(&self.returned).clone();
        let is_feature = |(name, _): &(String, usize)| features.contains(name);
        let warning = |(name, count)| {
            format!(
                "candidates {}: \"{name}\" is NULL in {count} of {unjudged} unjudged candidates, and searches that rank one fail; \
                 use the option 'missing', or coalesce in the view",
                view.shown
            )
        };
        nulls.into_iter().filter(is_feature).map(warning).collect()
    }

    /// A document whose id occurs as INTEGER and as TEXT in one query, so a candidate could be either.
    pub(super) fn in_two_types(&self) -> Option<(&Id, &Id)> {
        (0..self.data.n_queries()).find_map(|query| {
            let ids = &self.data.doc_ids[self.data.rows(query)];
            // Ids are ordered by type.
            if ids.first()?.type_name() == ids.last()?.type_name() {
                return None;
            }
            let has_other =
                |doc: &&Id| doc.in_other_type().is_some_and(|other| ids.binary_search(&other).is_ok());
            ids.iter().find(has_other).map(|doc| (&self.data.query_ids[query], doc))
        })
    }

    fn query(&self, id: &Id) -> Option<usize> {
        self.data.query_ids.binary_search(id).ok()
    }

    /// The rows of a document in a query. Rows are ordered by id.
    fn rows(&self, query: usize, doc: &Id) -> Vec<usize> {
        let rows = self.data.rows(query);
        let ids = &self.data.doc_ids[rows.clone()];
        let equal = |doc: &Id| -> Vec<usize> {
            let first = ids.partition_point(|id| id < doc);
            let count = ids[first..].iter().take_while(|id| *id == doc).count();
            (rows.start + first..rows.start + first + count).collect()
        };
        match equal(doc) {
            none if none.is_empty() => doc.in_other_type().map(|other| equal(&other)).unwrap_or_default(),
            exact => exact,
        }
    }

    /// The number of judgments that the view returned.
    pub fn n_found(&self) -> usize {
        lock(&self.returned).found.iter().filter(|found| **found).count()
    }

    /// Coverage by the view, as JSON: counts, judged documents that it did not return by grade, and the mean metric of the
    /// best order of the returned documents.
    pub fn coverage(&self, metric: &Metric) -> Map<String, Value> {
        let Returned { found, answered, unjudged, .. } = lock(&self.returned).clone();
        let mut missing: Map<String, Value> = Map::new();
        for (relevance, _) in self.data.relevance.iter().zip(&found).filter(|(_, found)| !**found) {
            let grade = missing.entry(relevance.to_string()).or_insert(json!(0));
            *grade = json!(grade.as_u64().unwrap_or(0) + 1);
        }
        Map::from_iter([
            ("judged".to_owned(), json!(found.len())),
            ("found".to_owned(), json!(self.n_found())),
            ("missing".to_owned(), Value::Object(missing)),
            ("unjudged".to_owned(), json!(unjudged)),
            ("ignored".to_owned(), json!(self.ignored)),
            ("queries_without".to_owned(), json!(answered.iter().filter(|answered| !**answered).count())),
            ("best".to_owned(), json!({ metric.name(): self.best(metric) })),
        ])
    }

    /// A warning if the view did not return a twentieth or more of the relevant documents (a grade above 0).
    pub fn warning(&self, view: &Source, metric: &Metric) -> Option<String> {
        let returned = lock(&self.returned).found.clone();
        let relevant =
            || self.data.relevance.iter().zip(&returned).filter(|(relevance, _)| **relevance > 0.0);
        let (all, missing) = (relevant().count(), relevant().filter(|(_, returned)| !**returned).count());
        if missing * 20 < all.max(1) {
            return None;
        }
        let best = self.best(metric)?;
        Some(format!(
            "candidates {}: {missing} of {all} relevant documents are not among the candidates, so {} cannot exceed {best:.3}; \
             let the view return more documents first",
            view.shown,
            metric.name()
        ))
    }

    /// The mean metric of the best order of the returned documents, relative to all judged documents.
    fn best(&self, metric: &Metric) -> Option<f64> {
        let scores = self.best_scores();
        let mut mean = Mean::new(metric.def(), Undefined::Skip);
        for query in 0..self.data.n_queries() {
            let labels = self.data.labels(query);
            mean.add(metric.value(labels, &scores[self.data.rows(query)]), labels);
        }
        mean.value()
    }

    /// An error if the view returned no judged document.
    ///
    /// # Errors
    /// With an id of each side.
    pub fn check_found(&self, error: impl FnOnce(String) -> Error) -> Result<()> {
        if self.n_found() > 0 {
            return Ok(());
        }
        let judged = &self.data.doc_ids[0];
        Err(error(match &lock(&self.returned).example {
            None => format!(
                "no candidates for the {} queries of the judgments, such as {}",
                self.data.n_queries(),
                self.data.query_ids[0]
            ),
            Some(candidate) => format!(
                "none of its candidates was judged; one candidate is the document {candidate} ({}), a judged document {judged} ({})",
                candidate.type_name(),
                judged.type_name()
            ),
        }))
    }
}
