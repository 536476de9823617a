//! The metric of held-out queries with each candidate, and the rules that pick one.

use super::report::{Curve, Selection, Split};
use super::validation::ValidationSpec;
use super::{argmax, argmax_smoothed, one_standard_error};
use crate::cost::metric::Mean;

/// Which candidate is chosen. The first one is the most conservative.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rule {
    /// The best value.
    Best,
    /// The best mean over neighboring candidates.
    Smoothed,
    /// The first within one standard error of the best mean over neighboring candidates.
    FirstNearBest,
    /// The first, unless the best value is more than one standard error better.
    FirstUnlessBetter,
}

/// The metric of held-out queries with each candidate.
#[derive(Debug)]
pub struct Values<'a> {
    validation: &'a ValidationSpec,
    candidates: &'a [f64],
    /// The values of each query with all candidates, those that are undefined resolved; and its weight.
    queries: Vec<(Vec<Option<f64>>, f64)>,
}

impl<'a> Values<'a> {
    /// No queries.
    pub fn new(validation: &'a ValidationSpec, candidates: &'a [f64]) -> Self {
        Self { validation, candidates, queries: Vec::new() }
    }

    /// Adds a query with its grades. `values`: one per candidate; `None` where the metric is undefined.
    pub fn add(&mut self, values: &[Option<f64>], grades: &[f64]) {
        let mean = Mean::new(self.validation.metric.def(), self.validation.undefined);
        let resolved = values.iter().map(|value| self.validation.undefined.resolve(*value)).collect();
        self.add_weighted(resolved, mean.weight(grades));
    }

    /// Adds a query whose undefined values are resolved, with its weight.
    pub fn add_weighted(&mut self, values: Vec<Option<f64>>, weight: f64) {
        self.queries.push((values, weight));
    }

    /// Replaces the value of a query with a candidate.
    pub fn set(&mut self, query: usize, candidate: usize, value: Option<f64>) {
        self.queries[query].0[candidate] = self.validation.undefined.resolve(value);
    }

    /// The mean with each candidate.
    pub fn curve(&self) -> Curve {
        let mean = |index: usize| {
            let (mut sum, mut weights) = (0.0, 0.0);
            for (values, weight) in &self.queries {
                if let Some(value) = values[index] {
                    sum += weight * value;
                    weights += weight;
                }
            }
            (weights > 0.0).then(|| sum / weights)
        };
        self.candidates.iter().enumerate().map(|(index, candidate)| (*candidate, mean(index))).collect()
    }

    /// The index of the candidate that a rule picks; `None` if no value is defined.
    pub fn best(&self, rule: Rule) -> Option<usize> {
        let (curve, better) = (self.curve(), self.validation.metric.def().better);
        let near = |best: usize| one_standard_error(&self.paired(), best, better);
        match rule {
            Rule::Smoothed => argmax_smoothed(&curve, better),
            Rule::FirstNearBest => argmax_smoothed(&curve, better).map(near),
            Rule::Best | Rule::FirstUnlessBetter => {
                let values: Vec<Option<f64>> = curve.into_iter().map(|(_, value)| value).collect();
                let best = argmax(&values, better)?;
                Some(if rule == Rule::FirstUnlessBetter && near(best) == 0 { 0 } else { best })
            }
        }
    }

    /// The report of a choice.
    pub fn selection(&self, split: Split, chosen: Option<usize>) -> Selection {
        let values = |chosen: usize| {
            let value = |(values, weight): &(Vec<Option<f64>>, f64)| Some((values[chosen]?, *weight));
            self.queries.iter().filter_map(value).collect()
        };
        Selection::new(self.validation, split, self.curve(), chosen).with_error(values)
    }

    /// The values of the queries that have one with every candidate.
    fn paired(&self) -> Vec<Vec<f64>> {
        self.queries.iter().filter_map(|(values, _)| values.iter().copied().collect()).collect()
    }
}
