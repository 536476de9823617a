//! The mean of a metric over queries.

use super::MetricDef;
use crate::base::named;

/// Value used in the mean for a query whose metric is undefined.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Undefined {
    /// Nothing: the query is omitted.
    Skip,
    /// The value 0.
    Zero,
    /// The value 1.
    One,
}

named!(Undefined { Skip = "skip", Zero = "zero", One = "one" });

impl Undefined {
    /// A value under this rule; `None` if the query is omitted.
    pub fn resolve(self, value: Option<f64>) -> Option<f64> {
        value.or(match self {
            Self::Skip => None,
            Self::Zero => Some(0.0),
            Self::One => Some(1.0),
        })
    }
}

/// Forms the mean of a metric over queries, weighted with the number of pairs if the metric is pooled.
///
/// The sum is in the order in which the queries are added, so callers add them in the canonical order.
#[derive(Debug, Clone)]
pub struct Mean {
    undefined: Undefined,
    weight: Option<fn(&[f64]) -> f64>,
    weighted_sum: f64,
    sum_of_weights: f64,
}

impl Mean {
    /// A mean of no queries.
    pub fn new(def: &MetricDef, undefined: Undefined) -> Self {
        Self { undefined, weight: def.weight, weighted_sum: 0.0, sum_of_weights: 0.0 }
    }

    /// The weight of a query with grades `relevance`.
    pub fn weight(&self, relevance: &[f64]) -> f64 {
        self.weight.map_or(1.0, |weight| weight(relevance))
    }

    /// The value and the weight of one query with grades `relevance`; `None` if it is omitted.
    pub fn weighted(&self, value: Option<f64>, relevance: &[f64]) -> Option<(f64, f64)> {
        self.undefined.resolve(value).map(|value| (value, self.weight(relevance)))
    }

    /// Adds the value of one query with grades `relevance`.
    pub fn add(&mut self, value: Option<f64>, relevance: &[f64]) {
        if let Some((value, weight)) = self.weighted(value, relevance) {
            self.weighted_sum += weight * value;
            self.sum_of_weights += weight;
        }
    }

    /// Adds the queries of another mean of the same metric.
    pub fn merge(&mut self, other: &Self) {
        self.weighted_sum += other.weighted_sum;
        self.sum_of_weights += other.sum_of_weights;
    }

    /// The sum of the weighted values, and the sum of the weights.
    pub fn sums(&self) -> [f64; 2] {
        [self.weighted_sum, self.sum_of_weights]
    }

    /// The mean so far; `None` if no query counted.
    pub fn value(&self) -> Option<f64> {
        (self.sum_of_weights > 0.0).then(|| self.weighted_sum / self.sum_of_weights)
    }
}

/// The standard error of a metric's mean over queries.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StandardError {
    /// The error, of queries that are independent.
    pub error: f64,
    /// Inflation factor because functions share training queries; 1 for a single function.
    pub factor: f64,
    /// Number of queries, at least 2.
    pub queries: usize,
}

impl StandardError {
    /// The standard error of the mean m of n values with weights: sqrt(n / (n - 1) sum w_i^2 (x_i - m)^2) / sum w_i,
    /// the error of a ratio of sums. Queries are independent. `None` for fewer than 2.
    pub fn of(values: &[(f64, f64)]) -> Option<Self> {
        let n = values.len() as f64;
        let weights: f64 = values.iter().map(|(_, weight)| weight).sum();
        if values.len() < 2 || weights <= 0.0 {
            return None;
        }
        let mean = values.iter().map(|(value, weight)| value * weight).sum::<f64>() / weights;
        let squares: f64 = values.iter().map(|(value, weight)| (weight * (value - mean)).powi(2)).sum();
        Some(Self { error: (n / (n - 1.0) * squares).sqrt() / weights, factor: 1.0, queries: values.len() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cost::metric::ndcg::NDCG;
    use crate::cost::metric::pairs::MRE_POOLED;

    fn mean(def: &MetricDef, undefined: Undefined) -> Option<f64> {
        let mut mean = Mean::new(def, undefined);
        mean.add(Some(0.25), &[0.0; 2]);
        mean.add(Some(0.75), &[0.0; 3]);
        mean.add(None, &[0.0; 1]);
        mean.value()
    }

    #[test]
    fn an_undefined_query_counts_as_the_rule_says() {
        assert_eq!(mean(&NDCG, Undefined::Skip), Some(0.5));
        assert_eq!(mean(&NDCG, Undefined::Zero), Some(1.0 / 3.0));
        assert_eq!(mean(&NDCG, Undefined::One), Some(2.0 / 3.0));
        assert_eq!(Mean::new(&NDCG, Undefined::One).value(), None);
    }

    #[test]
    fn a_pooled_metric_weighs_queries_with_their_pairs() {
        assert_eq!(mean(&MRE_POOLED, Undefined::Skip), Some(0.625));
    }

    #[test]
    fn the_standard_error_is_of_a_mean_or_a_ratio() {
        let error = |values: &[(f64, f64)]| StandardError::of(values).map(|error| error.error);
        // Values 1, 2, 3, 4: variance 5/3.
        let equal = error(&[(1.0, 2.0), (2.0, 2.0), (3.0, 2.0), (4.0, 2.0)]).unwrap();
        assert!((equal - (5.0f64 / 12.0).sqrt()).abs() < 1e-15);
        // Mean 0.75; residuals 1 * -0.75 and 3 * 0.25.
        assert!((error(&[(0.0, 1.0), (1.0, 3.0)]).unwrap() - 1.5 / 4.0).abs() < 1e-15);
        assert_eq!((error(&[(0.5, 1.0)]), error(&[])), (None, None));
    }

    #[test]
    fn names_and_values_correspond() {
        for name in Undefined::NAMES {
            assert_eq!(Undefined::parse(name).map(Undefined::name), Some(*name));
        }
    }
}
