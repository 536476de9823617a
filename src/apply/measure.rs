//! Metrics of scored queries and their means.

use std::fmt;

use crate::base::{Control, Error, Result, parallel};
use crate::cost::metric::{Mean, Metric, Undefined};
use crate::data::{Dataset, ListConstraint, arrange, push_down};
use crate::math::{compare, sort_indices};

/// Operations of about a nanosecond for a document and metric.
pub const METRIC_COST: usize = 500;

/// Metrics of the queries of a data set.
#[derive(Debug, Clone, PartialEq)]
pub struct Evaluation {
    /// For each query, in order, the value of each metric; `None` if undefined.
    pub values: Vec<Vec<Option<f64>>>,
    /// The mean of each metric; `None` if it is undefined for all queries.
    pub means: Vec<Option<f64>>,
}

/// A warning if no document is relevant. `source`: where they come from.
pub fn without_relevant(data: &Dataset, source: impl fmt::Display) -> Option<String> {
    data.relevance.iter().all(|relevance| *relevance <= 0.0).then(|| {
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

// List constraints on scored data sets: which rows of each query are selected.

/// The rows selected for one query (indices in the data set), best first. Rows with equal scores are ordered by document id.
///
/// # Errors
/// Slots that cannot be filled.
pub fn selected_rows(
    data: &Dataset,
    query: usize,
    scores: &[f64],
    constraint: ListConstraint,
    max_per_value: usize,
) -> Result<Vec<usize>> {
    let start = data.offsets[query];
    let rows =
        arrange::selected(constraint, data.row_groups(query), &scores[data.rows(query)], max_per_value)
            .map_err(|problem| Error::Data(format!("query {}: {problem}", data.query_ids[query])))?;
    let mut rows: Vec<usize> = rows.into_iter().map(|row| start + row as usize).collect();
    sort_indices(&mut rows, &|a, b| {
        compare(scores[b], scores[a]).then_with(|| data.doc_ids[a].cmp(&data.doc_ids[b]))
    });
    Ok(rows)
}

/// Scores with the rows of each query that are not selected below those that are.
///
/// # Errors
/// As [`selected_rows`].
pub fn constrained_scores(
    data: &Dataset,
    scores: Vec<f64>,
    constraint: ListConstraint,
    max_per_value: usize,
) -> Result<Vec<f64>> {
    if constraint == ListConstraint::None {
        return Ok(scores);
    }
    let of_query = |query: usize| {
        let rows = data.rows(query);
        let selected = selected_rows(data, query, &scores, constraint, max_per_value)?;
        let selected: Vec<u32> = selected.into_iter().map(|row| (row - rows.start) as u32).collect();
        Ok(push_down(scores[rows].to_vec(), &selected))
    };
    let queries: Vec<Vec<f64>> = (0..data.n_queries()).map(of_query).collect::<Result<_>>()?;
    Ok(queries.concat())
}
