//! Metrics of scored queries and their means.

use rayon::prelude::*;

use crate::control::Control;
use crate::data::Dataset;
use crate::error::Result;
use crate::metric::{Mean, Metric, Undefined};

/// Metrics of the queries of a data set.
#[derive(Debug, Clone, PartialEq)]
pub struct Evaluation {
    /// For each query, in order, the value of each metric; `None` if undefined.
    pub values: Vec<Vec<Option<f64>>>,
    /// The mean of each metric; `None` if it is undefined for all queries.
    pub means: Vec<Option<f64>>,
}

/// Evaluates scores (one per document) by metrics, queries in parallel.
///
/// # Errors
/// [`crate::Error::Interrupted`] when canceled.
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
        Ok(metrics.iter().map(|metric| metric.value(data.labels(query), &scores[rows.clone()])).collect())
    };
    let values: Vec<Vec<Option<f64>>> =
        (0..data.n_queries()).into_par_iter().map(of_query).collect::<Result<_>>()?;
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
