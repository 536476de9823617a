//! Rules that pick a candidate by the metric of held-out queries.

use super::report::{Curve, Gain, Selection, Split};
use super::validation::ValidationSpec;
use super::{argmax, argmax_smoothed, one_standard_error};
use crate::cost::metric::{Mean, StandardError};

/// Which candidate is chosen. The first one is the most conservative.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SelectionRule {
    /// The best value.
    Best,
    /// The best mean over neighboring candidates.
    Smoothed,
    /// The first within one standard error of the best mean over neighboring candidates.
    OneStandardError,
    /// The first, unless the best value is more than one standard error better.
    FirstUnlessClearlyWorse,
    /// The first, a baseline, unless the best mean over neighboring candidates is shown to be better ([`Gain::is_shown`]).
    /// Then the first after it within one standard error of that.
    BaselineUnlessBetter {
        /// Whether the judgments contradict the order of the baseline.
        are_contradicting: bool,
    },
}

/// The metric of held-out queries with each candidate.
pub struct Values<'a> {
    validation: &'a ValidationSpec,
    candidates: &'a [f64],
    /// See [`StandardError`].
    error_factor: f64,
    /// Each query's values with all candidates, undefined ones resolved; and its weight.
    queries: Vec<(Vec<Option<f64>>, f64)>,
}

impl<'a> Values<'a> {
    /// No queries.
    pub fn new(validation: &'a ValidationSpec, candidates: &'a [f64]) -> Self {
        Self { validation, candidates, error_factor: 1.0, queries: Vec::new() }
    }

    /// The same with this factor of errors ([`StandardError`]).
    #[must_use]
    pub fn with_error_factor(self, error_factor: f64) -> Self {
        Self { error_factor, ..self }
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
    pub fn best(&self, rule: SelectionRule) -> Option<usize> {
        let (curve, better) = (self.curve(), self.validation.metric.def().better);
        let near = |best: usize| one_standard_error(&self.paired(), best, better);
        match rule {
            SelectionRule::BaselineUnlessBetter { are_contradicting } => {
                let best = argmax_smoothed(&curve, better)?;
                let is_shown = self.gain(best).is_some_and(|gain| gain.is_shown(are_contradicting));
                Some(if is_shown { near(best).max(1) } else { 0 })
            }
            SelectionRule::Smoothed => argmax_smoothed(&curve, better),
            SelectionRule::OneStandardError => argmax_smoothed(&curve, better).map(near),
            SelectionRule::Best | SelectionRule::FirstUnlessClearlyWorse => {
                let values: Vec<Option<f64>> = curve.into_iter().map(|(_, value)| value).collect();
                let best = argmax(&values, better)?;
                Some(if rule == SelectionRule::FirstUnlessClearlyWorse && near(best) == 0 { 0 } else { best })
            }
        }
    }

    /// Gain of a candidate over the first one.
    pub fn gain(&self, candidate: usize) -> Option<Gain> {
        let sign = self.validation.metric.def().better.sign();
        let pair = |(values, weight): &(Vec<Option<f64>>, f64)| {
            Some((sign * (values[candidate]? - values[0]?), *weight))
        };
        Gain::of(&self.queries.iter().filter_map(pair).collect::<Vec<_>>(), self.error_factor)
    }

    /// Gain of the chosen candidate over the first one; of the best other candidate if the first is chosen.
    pub(super) fn best_gain(&self, chosen: Option<usize>) -> Option<Gain> {
        let (curve, better) = (self.curve(), self.validation.metric.def().better);
        let other = || argmax_smoothed(&curve[1..], better).map(|other| other + 1);
        let compared = chosen.filter(|chosen| *chosen > 0).or_else(other)?;
        self.gain(compared)
    }

    /// The report of a choice.
    pub fn selection(&self, split: Split, chosen: Option<usize>) -> Selection {
        let values = |chosen: usize| {
            let value = |(values, weight): &(Vec<Option<f64>>, f64)| Some((values[chosen]?, *weight));
            self.queries.iter().filter_map(value).collect()
        };
        let selection =
            Selection::new(&self.validation.metric, split, self.curve(), chosen).with_error(values);
        let end_error =
            chosen.zip(selection.near_end()).and_then(|(one, other)| self.error_of_difference(one, other));
        let values = chosen
            .map_or_else(Vec::new, |chosen| self.queries.iter().map(|(values, _)| values[chosen]).collect());
        Selection { end_error, values, ..selection }
    }

    /// Standard error of the paired difference between two candidates.
    fn error_of_difference(&self, one: usize, other: usize) -> Option<f64> {
        let difference =
            |(values, weight): &(Vec<Option<f64>>, f64)| Some((values[one]? - values[other]?, *weight));
        let differences: Vec<(f64, f64)> = self.queries.iter().filter_map(difference).collect();
        StandardError::of(&differences).map(|error| error.error)
    }

    /// The queries' values, for queries that have a value with every candidate.
    fn paired(&self) -> Vec<Vec<f64>> {
        self.queries.iter().filter_map(|(values, _)| values.iter().copied().collect()).collect()
    }
}
