//! Metrics of scored queries and their means.

use std::fmt;

use crate::base::{Control, Error, Result, parallel};
use crate::cost::metric::{Mean, Metric, Undefined};
use crate::data::Dataset;

/// Operations of about a nanosecond for a document and metric.
pub const METRIC_COST: usize = 500;

/// Per-query metrics of a data set.
#[derive(Debug, Clone, PartialEq)]
pub struct Evaluation {
    /// For each query, in order, the value of each metric; `None` if undefined.
    pub values: Vec<Vec<Option<f64>>>,
    /// The mean of each metric; `None` if it is undefined for all queries.
    pub means: Vec<Option<f64>>,
}

impl Evaluation {
    /// Adds the metrics of another evaluation of the same queries.
    pub fn append(&mut self, other: Self) {
        for (values, others) in self.values.iter_mut().zip(other.values) {
            values.extend(others);
        }
        self.means.extend(other.means);
    }

    /// Removes metrics, given their indices.
    pub fn remove(&mut self, metrics: std::ops::Range<usize>) {
        for values in &mut self.values {
            values.drain(metrics.clone());
        }
        self.means.drain(metrics);
    }
}

/// A warning if no document is relevant. `source`: where the documents come from.
pub fn without_relevant(data: &Dataset, source: impl fmt::Display) -> Option<String> {
    (!data.relevance.iter().any(|relevance| *relevance > 0.0)).then(|| {
        format!(
            "no query of {source} has a relevant document (a grade above 0), so metrics such as ndcg and map have no value"
        )
    })
}

/// Evaluates scores (one per document) by metrics, queries in parallel.
///
/// # Errors
/// [`Error::Interrupted`] when canceled; grades that are too large for a metric.
pub fn evaluate(
    data: &Dataset,
    scores: &[f64],
    metrics: &[Metric],
    undefined: Undefined,
    control: &Control,
) -> Result<Evaluation> {
    let of_query = |query: usize| {
        control.check()?;
        let rows = data.rows(query);
        let value = |metric: &Metric| metric.finite_value(data.labels(query), &scores[rows.clone()]);
        metrics.iter().map(value).collect::<Result<_>>().map_err(|error| match error {
            Error::Data(problem) => Error::Data(format!("query {}: {problem}", data.query_ids[query])),
            other => other,
        })
    };
    let values: Vec<Vec<Option<f64>>> = parallel::try_map(data.n_queries(), of_query)?;
    let mean = |(number, metric): (usize, &Metric)| {
        let mut mean = Mean::new(metric.def(), undefined);
        for (query, values) in values.iter().enumerate() {
            mean.add(values[number], data.labels(query));
        }
        mean.value()
    };
    let means = metrics.iter().enumerate().map(mean).collect();
    Ok(Evaluation { values, means })
}
