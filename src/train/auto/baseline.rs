//! The baseline of the option `baseline` among the candidates of `auto`.
//!
//! Kernels and trees fit what the baseline leaves of the grades, so their scores are added to the baseline's in the units
//! of the grades. Candidates that are worse than the baseline are left out, and all of them unless the best one is shown to be
//! better.

use super::AutoSpec;
use super::spec::is_better;
use crate::base::{Control, Result, parallel};
use crate::cost::loss::pair_count;
use crate::cost::metric::Mean;
use crate::data::Dataset;
use crate::train::select::{Gain, Split};

/// Validation results for the baseline.
pub(super) struct OfBaseline {
    /// The mean over the held-out queries.
    pub value: Option<f64>,
    /// The value of each query (`n_queries`), negated if lower ones are better.
    values: Vec<Option<f64>>,
}

impl OfBaseline {
    /// The values of held-out queries. `scores`: of each row by the baseline.
    pub fn new(
        spec: &AutoSpec,
        data: &Dataset,
        scores: &[f64],
        held_out: &[usize],
        control: &Control,
    ) -> Result<Self> {
        let metric = &spec.validation.metric;
        let value = |number: usize| {
            control.check()?;
            let query = held_out[number];
            metric.finite_value(data.labels(query), &scores[data.rows(query)])
        };
        let query_values = parallel::try_map(held_out.len(), value)?;
        let mut mean = Mean::new(metric.def(), spec.validation.undefined);
        let mut values = vec![None; data.n_queries()];
        for (query, value) in held_out.iter().zip(query_values) {
            mean.add(value, data.labels(*query));
            values[*query] = spec.validation.undefined.resolve(value);
            values[*query] = values[*query].map(|value| metric.def().better.sign() * value);
        }
        Ok(Self { value: mean.value(), values })
    }

    /// What other values gain over these.
    pub fn gain(&self, values: &[Option<f64>], split: Split) -> Option<Gain> {
        let pairs = values.iter().zip(&self.values);
        let pairs = pairs.filter_map(|(own, baseline)| Some((own.as_ref()? - baseline.as_ref()?, 1.0)));
        Gain::of(&pairs.collect::<Vec<_>>(), split.error_factor())
    }

    /// Whether a validated value is better.
    pub fn is_below(&self, spec: &AutoSpec, value: Option<f64>) -> bool {
        is_better(spec, value, self.value)
    }
}

/// What scores leave of the grades, less their means in the query; 0 in queries without different grades, which would pull
/// functions away from the order of the baseline.
pub(super) fn residuals(data: &Dataset, scores: &[f64]) -> Vec<f64> {
    let of_query = |query: usize| {
        let learns = pair_count(data.labels(query)) > 0;
        data.rows(query).map(move |row| if learns { data.relevance[row] - scores[row] } else { 0.0 })
    };
    (0..data.n_queries()).flat_map(of_query).collect()
}
