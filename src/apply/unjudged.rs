//! Partially judged rankings (rule 8.17).

use std::collections::BTreeSet;

use super::measure::{Evaluation, METRIC_COST, evaluate};
use super::ranked_rows::selected_rows;
use crate::base::{Control, Result, bytes_of};
use crate::cost::metric::{Metric, Undefined};
use crate::data::{Dataset, Id, ListConstraint};

/// Depth of `judged@k` for metrics without a cutoff.
const DEPTH: usize = 10;

/// Names and depths of the fractions of judged documents: `judged@k` for each cutoff k of the metrics.
pub struct Depths(BTreeSet<usize>);

impl Depths {
    /// The cutoffs of metrics.
    pub fn of(metrics: &[Metric]) -> Self {
        Self(metrics.iter().map(|metric| metric.cutoff().unwrap_or(DEPTH)).collect())
    }

    /// Names of the fractions.
    pub fn names(&self) -> impl Iterator<Item = String> {
        self.0.iter().map(|depth| format!("judged@{depth}"))
    }

    /// Operations per document.
    pub fn operations(&self) -> usize {
        self.0.len() * METRIC_COST
    }

    /// The judged fraction of the first k retrieved documents of these queries, for each k, and the means. The queries are
    /// in canonical order.
    ///
    /// # Errors
    /// An interrupt.
    pub fn shares(
        &self,
        queries: &[Id],
        (data, scores): (&Dataset, &[f64]),
        is_judged: impl Fn(&Id, usize) -> bool,
        control: &Control,
    ) -> Result<Evaluation> {
        let shares = |id: &Id| {
            control.check()?;
            let Ok(query) = data.query_ids.binary_search(id) else { return Ok(vec![None; self.0.len()]) };
            let mut ranked = selected_rows(data, query, scores, ListConstraint::None, 1)?;
            ranked.retain(|row| scores[*row] > f64::NEG_INFINITY);
            let share = |depth: &usize| {
                let first = &ranked[..(*depth).min(ranked.len())];
                let count = first.iter().filter(|row| is_judged(id, **row)).count();
                (!first.is_empty()).then(|| count as f64 / first.len() as f64)
            };
            Ok(self.0.iter().map(share).collect())
        };
        let values: Vec<Vec<Option<f64>>> = queries.iter().map(shares).collect::<Result<_>>()?;
        let mean = |depth: usize| {
            let fractions: Vec<f64> = values.iter().filter_map(|query| query[depth]).collect();
            (!fractions.is_empty()).then(|| fractions.iter().sum::<f64>() / fractions.len() as f64)
        };
        let means = (0..self.0.len()).map(mean).collect();
        Ok(Evaluation { values, means })
    }
}

/// Grades and scores of the documents that metrics count.
#[derive(Default)]
pub struct JudgedLists {
    data: Dataset,
    scores: Vec<f64>,
}

impl JudgedLists {
    /// Bytes for a number of documents.
    pub fn bytes(documents: usize) -> u64 {
        bytes_of::<[f64; 2]>(documents)
    }

    /// A data set's judged documents (NaN means unjudged), or all documents, with grade 0 for unjudged ones. Omits
    /// unjudged queries.
    pub fn of(data: &Dataset, scores: &[f64], counts_unjudged: bool) -> Self {
        let mut lists = Self::default();
        for (query, id) in data.query_ids.iter().enumerate() {
            let labels = data.labels(query);
            if labels.iter().all(|grade| grade.is_nan()) {
                continue;
            }
            let documents = labels.iter().copied().zip(scores[data.rows(query)].iter().copied());
            let counted = documents.filter(|(grade, _)| counts_unjudged || !grade.is_nan());
            lists.push(id, counted.map(|(grade, score)| (if grade.is_nan() { 0.0 } else { grade }, score)));
        }
        lists
    }

    /// Adds a query with the grades and scores of its documents. Queries are added in canonical order.
    pub fn push(&mut self, query: &Id, documents: impl Iterator<Item = (f64, f64)>) {
        let Self { data, scores } = self;
        if data.offsets.is_empty() {
            data.offsets.push(0);
        }
        for (grade, score) in documents {
            data.relevance.push(grade);
            scores.push(score);
        }
        data.offsets.push(scores.len());
        data.query_ids.push(query.clone());
    }

    pub fn queries(&self) -> &[Id] {
        &self.data.query_ids
    }

    /// As [`evaluate`].
    ///
    /// # Errors
    /// As [`evaluate`].
    pub fn evaluate(
        &self,
        metrics: &[Metric],
        undefined: Undefined,
        control: &Control,
    ) -> Result<Evaluation> {
        evaluate(&self.data, &self.scores, metrics, undefined, control)
    }

    /// The queries, without their documents.
    pub fn into_queries(self) -> Vec<Id> {
        self.data.query_ids
    }
}
