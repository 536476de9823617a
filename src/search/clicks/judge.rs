//! Judgments from clicks: attractiveness with an interval, grades, and comparison of models on held-out impressions.

use super::counts::{Counted, Finder, TakesImpressions, is_held_out};
use super::estimate::{Estimate, PRIOR, fit};
use super::{Cell, ClickModel, Examination, Fitted, Seen, Shown};
use crate::base::Result;
use crate::data::Id;
use crate::math::{normal, sort_ascending};

/// Probabilities of held-out clicks are kept this far from 0 and 1.
const MARGIN: f64 = 1e-6;

/// z of an interval of 95 %.
fn z() -> f64 {
    normal::quantile(0.975)
}

/// Number of examined rows at which a judgment has half the weight.
const HALF_WEIGHT: f64 = 10.0;

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Judgment {
    /// Attractiveness, times satisfaction if the model has it.
    pub attractiveness: f64,
    /// Bounds of its 95% interval.
    pub interval: [f64; 2],
    /// Weight of the document in training: e / (e + 10) for e examined rows.
    pub doc_weight: f64,
    /// How well the log separates it from the positions where the document was shown, from 0 to 1.
    pub determined: f64,
    /// Whether it gets the lowest grade regardless of the estimate.
    is_lowest: bool,
}

/// Each pair's judgment: attractiveness from click weights, with the interval from clicks in the same unit.
pub fn judgments(fitted: &Fitted) -> Vec<Judgment> {
    let of = |((relevance, weighted), examined): ((&Estimate, &f64), &f64)| {
        let Estimate { value, error } = *relevance;
        let factor = weighted / value;
        // On the scale of log-odds, where bounds stay within 0 and 1.
        let odds = libm::log(value / (1.0 - value));
        let half = z() * error / (value * (1.0 - value));
        let bound = |odds: f64| (factor / (1.0 + libm::exp(-odds))).min(1.0);
        Judgment {
            attractiveness: *weighted,
            interval: [bound(odds - half), bound(odds + half)],
            doc_weight: examined / (examined + HALF_WEIGHT),
            determined: 1.0,
            is_lowest: false,
        }
    };
    fitted.relevance.iter().zip(&fitted.weighted).zip(&fitted.examined).map(of).collect()
}

/// The judgments of a log that determines each one to this degree t. In the weight, the number of rows replaces the
/// number of examined rows to the extent that the log does not determine examination, and undetermined weight
/// counts half: w = (1 + t) / 2 * x / (x + 10), x = t e + (1 - t) n. A document without a click gets the lowest
/// grade if it is not determined or was hardly ever examined, because its estimate would be near the mean of all documents.
pub fn qualified(fitted: &Fitted, determined: &[f64], seen: &[Seen]) -> Vec<Judgment> {
    let of = |(index, judgment): (usize, Judgment)| {
        let (t, rows) = (determined[index], seen[index].rows as f64);
        let examined = t * fitted.examined[index] + (1.0 - t) * rows;
        Judgment {
            doc_weight: 0.5 * (1.0 + t) * examined / (examined + HALF_WEIGHT),
            determined: t,
            is_lowest: seen[index].clicks == 0 && (t < DETERMINED || examined < LEAST_EXAMINED),
            ..judgment
        }
    };
    judgments(fitted).into_iter().enumerate().map(of).collect()
}

/// Below this x, a document without a click gets the lowest grade. With propensities from 200 lists in one order,
/// NDCG@10 of new queries was .05 above that order with this bound, and .23 below it without; with 2,000 lists it does
/// not matter (six simulated logs).
const LEAST_EXAMINED: f64 = 0.25;

/// From this degree on, the log counts as determining a judgment.
pub const DETERMINED: f64 = 0.5;

/// How attractiveness becomes relevance.
#[derive(Debug, Clone, PartialEq)]
pub enum Grading {
    /// The number of thresholds not above it.
    Thresholds(Vec<f64>),
    /// The number of quantiles (over all pairs) that it reaches. If a quantile lies within a group of equal values,
    /// such as documents without a click, these do not reach it.
    Quantiles(Vec<f64>),
}

/// The relevance of each judgment.
pub fn grade(judgments: &[Judgment], grading: &Grading) -> Vec<usize> {
    let count = |bounds: &[f64], is_reached: fn(f64, f64) -> bool| {
        let of = |judgment: &Judgment| {
            let reached = bounds.iter().filter(|bound| is_reached(judgment.attractiveness, **bound)).count();
            if judgment.is_lowest { 0 } else { reached }
        };
        judgments.iter().map(of).collect()
    };
    match grading {
        Grading::Thresholds(thresholds) => count(thresholds, |value, bound| bound <= value),
        Grading::Quantiles(quantiles) => {
            let mut sorted: Vec<f64> = judgments.iter().map(|judgment| judgment.attractiveness).collect();
            sort_ascending(&mut sorted);
            // The value that must be exceeded for each quantile.
            let last = sorted.len().saturating_sub(1) as f64;
            let below = |quantile: &f64| ((last * quantile).round() as usize).checked_sub(1);
            let bounds: Vec<f64> =
                quantiles.iter().map(|quantile| below(quantile).map_or(0.0, |index| sorted[index])).collect();
            count(&bounds, |value, bound| bound < value)
        }
    }
}

/// Fits model number `number` to its counts. `all`: to all impressions, otherwise without held-out ones.
pub fn fitted(counted: &Counted, number: usize, all: bool) -> Fitted {
    let (cells, pairs) = (counted.cells(number, all), counted.pairs.len());
    // Fits to compare only use the prior, which predicts well whatever it says about positions.
    if all && cells.iter().any(|cell| cell.context != cells[0].context) {
        return fitted_by(counted, &cells, &Examination::of(&cells, pairs));
    }
    let mut estimate = fit(&cells, pairs, PRIOR);
    if all {
        estimate.weigh(&cells, counted.mean_weight());
    }
    if counted.models[number].has_satisfaction {
        estimate.with_satisfaction(&counted.last_clicks(all))
    } else {
        estimate
    }
}

/// Estimates for a given examination. `cells`: of all impressions, for a model without satisfaction.
pub fn fitted_by(counted: &Counted, cells: &[Cell], examination: &Examination) -> Fitted {
    let mut estimate = examination.fitted(cells, counted.pairs.len());
    estimate.weigh(cells, counted.mean_weight());
    estimate
}

/// How well models predict held-out impressions, each fitted to the remaining ones.
pub struct HeldOut<'a> {
    models: &'a [&'static ClickModel],
    finder: Finder<'a>,
    fitted: Vec<Fitted>,
    /// By model.
    pub predictions: Vec<Prediction>,
}

/// How well a model predicts held-out impressions.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Prediction {
    /// Sum over rows of the log-probability of the observation, given the clicks above.
    pub log_likelihood: f64,
    /// The same, without conditioning on the clicks above.
    log_overall: f64,
    /// Number of rows.
    pub rows: u64,
}

impl Prediction {
    /// exp of the mean negative log-probability of the observations: 1 is perfect, 2 is a coin flip. Over all positions
    /// together (Chuklin, Markov & de Rijke 2015, equation 5.2).
    pub fn perplexity(&self) -> f64 {
        libm::exp(-self.log_overall / self.rows.max(1) as f64)
    }
}

impl<'a> HeldOut<'a> {
    /// Starts without impressions. `fitted`: the models, fitted to the log without held-out impressions.
    pub fn new(counted: &'a Counted, fitted: Vec<Fitted>) -> Self {
        let predictions = vec![Prediction::default(); fitted.len()];
        Self { models: &counted.models, finder: Finder::new(counted), fitted, predictions }
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
