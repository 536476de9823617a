//! Judgments from clicks: attractiveness with its interval, grades, and the comparison of models on held-out impressions.

use super::counts::{Counted, Finder, Seen, TakesImpressions, is_held_out};
use super::estimate::{Estimate, PRIOR};
use super::{ClickModel, Fitted, Shown, fit};
use crate::base::error::Result;
use crate::data::Id;
use crate::math::normal;
use crate::math::order::sort_ascending;

/// Probabilities of held-out clicks are kept this far from 0 and 1.
const MARGIN: f64 = 1e-6;

/// z of an interval of 95 %.
fn z() -> f64 {
    normal::quantile(0.975)
}

/// Rows whose examination gives a judgment half of its weight.
const HALF_WEIGHT: f64 = 10.0;

/// A judgment.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Judgment {
    /// Attractiveness; times satisfaction for models that have it.
    pub attractiveness: f64,
    /// Bounds of the interval of 95 %, of the same.
    pub interval: [f64; 2],
    /// Weight of the document in a training: e / (e + 10) for e examined rows.
    pub doc_weight: f64,
}

/// The judgment of each pair. With clicks of different weights, attractiveness is multiplied by the mean weight of the clicks on
/// the pair, relative to the largest weight of the log.
pub fn judgments(fitted: &Fitted, counted: &Counted) -> Vec<Judgment> {
    let of = |((relevance, examined), seen): ((&Estimate, &f64), &Seen)| {
        let mean = if seen.clicks == 0 { counted.largest_weight } else { seen.weight / seen.clicks as f64 };
        let factor = if counted.largest_weight > 0.0 { mean / counted.largest_weight } else { 1.0 };
        let Estimate { value, error } = *relevance;
        // On the scale of log-odds, where bounds stay within 0 and 1.
        let odds = libm::log(value / (1.0 - value));
        let half = z() * error / (value * (1.0 - value));
        let bound = |odds: f64| 1.0 / (1.0 + libm::exp(-odds));
        Judgment {
            attractiveness: factor * value,
            interval: [factor * bound(odds - half), factor * bound(odds + half)],
            doc_weight: examined / (examined + HALF_WEIGHT),
        }
    };
    fitted.relevance.iter().zip(&fitted.examined).zip(&counted.seen).map(of).collect()
}

/// How attractiveness becomes relevance.
#[derive(Debug, Clone, PartialEq)]
pub enum Grading {
    /// The number of thresholds that are not above it.
    Thresholds(Vec<f64>),
    /// The number of these quantiles of all pairs that it reaches. Equal values, such as those of documents without a click, do
    /// not reach a quantile that lies among them.
    Quantiles(Vec<f64>),
}

/// The relevance of each judgment.
pub fn grade(judgments: &[Judgment], grading: &Grading) -> Vec<usize> {
    let values: Vec<f64> = judgments.iter().map(|judgment| judgment.attractiveness).collect();
    match grading {
        Grading::Thresholds(thresholds) => {
            let reached = |value: &f64| thresholds.iter().filter(|threshold| **threshold <= *value).count();
            values.iter().map(reached).collect()
        }
        Grading::Quantiles(quantiles) => {
            let mut sorted = values.clone();
            sort_ascending(&mut sorted);
            // By quantile: the value that must be exceeded.
            let last = sorted.len().saturating_sub(1) as f64;
            let below = |quantile: &f64| ((last * quantile).round() as usize).checked_sub(1);
            let bounds: Vec<f64> =
                quantiles.iter().map(|quantile| below(quantile).map_or(0.0, |index| sorted[index])).collect();
            values.iter().map(|value| bounds.iter().filter(|bound| **bound < *value).count()).collect()
        }
    }
}

/// Fits model number `number` to its counts. `all`: to all impressions, otherwise without those that are held out. A model
/// that takes passes begins with these estimates.
pub fn fitted(counted: &Counted, number: usize, all: bool) -> Fitted {
    let found = fit(&counted.cells(number, all), counted.pairs.len(), PRIOR);
    if counted.models[number].has_satisfaction {
        found.with_satisfaction(&counted.last_clicks(all))
    } else {
        found
    }
}

/// How well models predict held-out impressions, each fitted to the others.
#[derive(Debug)]
pub struct HeldOut<'a> {
    models: &'a [&'static ClickModel],
    finder: Finder<'a>,
    fitted: Vec<Fitted>,
    /// By model.
    predictions: Vec<Prediction>,
}

/// How well a model predicts held-out impressions.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Prediction {
    /// Sum over rows of the log-probability of what was seen, given the clicks above.
    pub log_likelihood: f64,
    /// The same whatever the clicks above.
    log_overall: f64,
    /// Number of rows.
    pub rows: u64,
}

impl Prediction {
    /// exp of the mean negative log-probability of what was seen: 1 is perfect, 2 is a coin. Of all positions together
    /// (Chuklin, Markov & de Rijke 2015, equation 5.2).
    pub fn perplexity(&self) -> f64 {
        libm::exp(-self.log_overall / self.rows.max(1) as f64)
    }
}

impl<'a> HeldOut<'a> {
    /// No impression yet. `fitted`: the models of the log, without the impressions that are held out.
    pub fn new(counted: &'a Counted, fitted: Vec<Fitted>) -> Self {
        let predictions = vec![Prediction::default(); fitted.len()];
        Self { models: &counted.models, finder: Finder::new(counted), fitted, predictions }
    }

    /// By model.
    pub fn predictions(&self) -> &[Prediction] {
        &self.predictions
    }
}

impl TakesImpressions for HeldOut<'_> {
    fn takes(&self, id: &Id) -> bool {
        is_held_out(id)
    }

    fn pair(&mut self, query: Id, doc: Id) -> Result<u32> {
        self.finder.pair(query, &doc)
    }

    fn impression(&mut self, _: &Id, rows: &[Shown]) -> Result<()> {
        let log = |(probability, row): (&f64, &Shown)| {
            let probability = probability.clamp(MARGIN, 1.0 - MARGIN);
            libm::log(if row.clicked { probability } else { 1.0 - probability })
        };
        let sum = |probabilities: Vec<f64>| probabilities.iter().zip(rows).map(log).sum::<f64>();
        let models = self.models.iter().zip(&self.fitted);
        for ((model, fitted), prediction) in models.zip(&mut self.predictions) {
            prediction.log_likelihood += sum((model.given_above)(fitted, rows));
            prediction.log_overall += sum((model.overall)(fitted, rows));
            prediction.rows += rows.len() as u64;
        }
        Ok(())
    }
}
