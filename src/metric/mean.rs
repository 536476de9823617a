//! The mean of a metric over queries.

use super::def::MetricDef;
use crate::param::named;

/// What a query for which the metric is undefined counts in the mean.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Undefined {
    /// Nothing: the query is left out.
    #[default]
    Skip,
    /// The value 0.
    Zero,
    /// The value 1.
    One,
}

named!(Undefined { Skip = "skip", Zero = "zero", One = "one" });

impl Undefined {
    /// A value under this rule; `None` if the query is left out.
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

    /// Adds the value of one query with grades `relevance`.
    pub fn add(&mut self, value: Option<f64>, relevance: &[f64]) {
        if let Some(value) = self.undefined.resolve(value) {
            let weight = self.weight.map_or(1.0, |weight| weight(relevance));
            self.weighted_sum += weight * value;
            self.sum_of_weights += weight;
        }
    }

    /// Adds the queries of another mean of the same metric.
    #[cfg(feature = "plots")]
    pub fn merge(&mut self, other: &Self) {
        self.weighted_sum += other.weighted_sum;
        self.sum_of_weights += other.sum_of_weights;
    }

    /// The mean so far; `None` if no query counted.
    pub fn value(&self) -> Option<f64> {
        (self.sum_of_weights > 0.0).then(|| self.weighted_sum / self.sum_of_weights)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metric::mre::MRE_POOLED;
    use crate::metric::ndcg::NDCG;

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
    fn names_and_values_correspond() {
        for name in Undefined::NAMES {
            assert_eq!(Undefined::parse(name).map(Undefined::name), Some(*name));
        }
    }
}
