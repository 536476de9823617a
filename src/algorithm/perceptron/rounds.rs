//! The rounds of Algorithm 1 (Chaudhuri & Tewari 2014): w_1 = 0; at query t with documents X and grades R, s = X w_t;
//! if RML = 1 - measure(s, R) is not 0, w_{t+1} = w_t - eta X' g, g a subgradient of SLAM at s.
//!
//! RML puts the less relevant of equal scores first. At w = 0 all scores are equal; in input order a file sorted by relevance
//! would never cause an update. Not 0 means above 1e-12.

use crate::control::Ticks;
use crate::data::{Documents, Matrix};
use crate::error::{Error, Result};
use crate::loss::QueryLoss;
use crate::loss::list::Slam;
use crate::math::dense::{Element, dot};
use crate::metric::{Metric, MetricOptions, Ties};
use crate::model::{OnlineRules, OnlineState};

/// Operations, for [`Ticks`], of a row beside those of its features.
const ROW_COST: usize = 16;

/// A loss up to this is rounding.
const NO_LOSS: f64 = 1e-12;

/// The algorithm between two rounds.
#[derive(Debug, Clone)]
pub struct Perceptron {
    measure: Metric,
    surrogate: Slam,
    rules: OnlineRules,
    progress: OnlineState,
}

/// What happened in a round.
#[derive(Debug, Clone, PartialEq)]
pub struct Round {
    /// RML, from 0 to 1.
    pub loss: f64,
    /// f_t(w_t), equation (13); 0 without a loss.
    pub surrogate: f64,
    /// Whether w was changed.
    pub updated: bool,
    /// The documents of the query that f_t has a term of; none without a loss.
    pub counted: Vec<usize>,
}

impl Perceptron {
    /// The algorithm after `progress`. `ties`: the order of equal scores in RML.
    ///
    /// # Errors
    /// A measure that SLAM does not bound.
    pub fn new(rules: OnlineRules, progress: OnlineState, ties: Ties) -> Result<Self> {
        let measure = rules.metric()?.with_options(MetricOptions { ties, ..MetricOptions::default() })?;
        Ok(Self { measure, surrogate: rules.surrogate()?, rules, progress })
    }

    /// What has been learned so far.
    pub fn progress(&self) -> &OnlineState {
        &self.progress
    }

    /// The rules and what has been learned.
    pub fn into_parts(self) -> (OnlineRules, OnlineState) {
        (self.rules, self.progress)
    }

    /// The surrogate of a round, with the margin.
    pub(super) fn surrogate(&self) -> &Slam {
        &self.surrogate
    }

    /// The rules.
    pub(super) fn rules(&self) -> &OnlineRules {
        &self.rules
    }

    /// One round: the documents of a query, as many features as w has weights, and their relevance.
    ///
    /// # Errors
    /// Numbers that are too large. The perceptron must not be used afterwards.
    pub fn round(&mut self, documents: &Documents<'_>, labels: &[f64]) -> Result<Round> {
        let w = &self.progress.weights;
        let mut ticks = Ticks::default();
        let mut score = |row: usize| {
            ticks.add(ROW_COST + w.len());
            documents.features.row_dot(row, w)
        };
        let scores: Vec<f64> = documents.range().map(&mut score).collect();
        if !scores.iter().all(|score| score.is_finite()) {
            return Err(too_large());
        }
        let round = self.step(documents, labels, &scores);
        let progress = &mut self.progress;
        progress.rounds += 1;
        progress.updates += u64::from(round.updated);
        progress.cumulative_loss += round.loss;
        progress.cumulative_surrogate += round.surrogate;
        progress.largest_norm = largest_norm(documents).max(progress.largest_norm);
        for (sum, weight) in progress.sum.iter_mut().zip(&progress.weights) {
            *sum += weight;
        }
        if progress.is_bounded() { Ok(round) } else { Err(too_large()) }
    }

    /// The loss of the scores and the update by it.
    fn step(&mut self, documents: &Documents<'_>, labels: &[f64], scores: &[f64]) -> Round {
        let loss = self.measure.value(labels, scores).map_or(0.0, |value| (1.0 - value).max(0.0));
        if loss <= NO_LOSS {
            return Round { loss, surrogate: 0.0, updated: false, counted: Vec::new() };
        }
        let query = self.surrogate.of(labels).with(self.rules.update_on);
        let mut slope = vec![0.0; scores.len()];
        let surrogate = query.value_and_subgradient(scores, &mut slope);
        let rivals = query.rivals(scores);
        let counted = |document: &usize| {
            query.weights()[*document] > 0.0
                && rivals[*document].is_some_and(|rival| query.is_active(*document, rival, scores))
        };
        self.update_bounds(query.weights());
        self.update_weights(documents, &slope);
        Round { loss, surrogate, updated: true, counted: (0..scores.len()).filter(counted).collect() }
    }

    /// w - eta X' g.
    fn update_weights(&mut self, documents: &Documents<'_>, slope: &[f64]) {
        let z = combination(documents, slope, self.progress.weights.len());
        self.progress.squared_steps += dot(&z, &z);
        for (weight, z) in self.progress.weights.iter_mut().zip(&z) {
            *weight -= self.rules.learning_rate * z;
        }
    }

    /// Updates m and v_max.
    fn update_bounds(&mut self, weights: &[f64]) {
        let positive = || weights.iter().copied().filter(|weight| *weight > 0.0);
        let (low, high) =
            positive().fold((f64::INFINITY, 0.0_f64), |(low, high), v| (low.min(v), high.max(v)));
        let progress = &mut self.progress;
        progress.most_weighted = progress.most_weighted.max(positive().count() as u64);
        progress.largest_ratio = progress.largest_ratio.max((high / low).min(f64::MAX));
    }
}

/// X' g.
fn combination(documents: &Documents<'_>, g: &[f64], width: usize) -> Vec<f64> {
    fn add<'a, T: Element>(sum: &mut [f64], row: impl Iterator<Item = &'a T>, factor: f64) {
        for (sum, value) in sum.iter_mut().zip(row) {
            *sum += factor * value.to_f64();
        }
    }
    let (mut sum, mut ticks) = (vec![0.0; width], Ticks::default());
    for (row, &factor) in documents.range().zip(g).filter(|(_, factor)| **factor != 0.0) {
        ticks.add(ROW_COST + width);
        match documents.features {
            Matrix::F32(array) => add(&mut sum, array.row(row).iter(), factor),
            Matrix::F64(array) => add(&mut sum, array.row(row).iter(), factor),
        }
    }
    sum
}

fn largest_norm(documents: &Documents<'_>) -> f64 {
    let mut ticks = Ticks::default();
    let norm = |row: usize| {
        ticks.add(ROW_COST + documents.features.columns());
        let row = documents.features.row_f64(row);
        dot(&row, &row).sqrt()
    };
    documents.range().map(norm).fold(0.0, f64::max)
}

fn too_large() -> Error {
    Error::Data(
        "weights are too large; use a smaller \"learning_rate\", or \"scale\": \"standard\"".to_owned(),
    )
}
