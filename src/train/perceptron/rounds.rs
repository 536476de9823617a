//! The updates of the perceptron, the rounds of Algorithm 1 (Chaudhuri & Tewari 2014): w_1 = 0; at query t with documents X and grades R, s = X w_t;
//! if RML = 1 - measure(s, R) is not 0, w_{t+1} = w_t - eta X' g, g a subgradient of SLAM at s.
//!
//! With a kernel, w is a function sum_j beta_j K(x_j, .) of support documents x_j. The documents of X' g become support
//! documents until their number is the option `budget`. After that, and for documents in the span of the support
//! documents, X' g is projected onto the span (Orabona, Keshet & Caputo 2008, the Projectron). For functions u of the
//! span <P z, u> = <z, u>, and |P z| <= |z|: the bounds of `bounds` hold for these u.
//!
//! RML puts the less relevant of equal scores first. At w = 0 all scores are equal; in input order a file sorted by relevance
//! would never cause an update. Not 0 means above 1e-12.

use crate::base::{Control, Error, Reservation, Result, Ticks, matrix_bytes};
use crate::cost::loss::QueryLoss;
use crate::cost::loss::list::Slam;
use crate::cost::metric::{Metric, MetricOptions, Ties};
use crate::data::{Documents, Matrix};
use crate::learn::kernel::{Basis, SpanFactor};
use crate::math::{Element, TILE, dot};
use crate::model::{OnlineRules, OnlineState, RoundRecord};

/// Operations, for [`Ticks`], of a row besides its features.
const ROW_COST: usize = 16;

/// Advice for support documents that take too much memory.
const SMALLER_BUDGET: &str = "use a smaller budget (option 'budget'), or a linear kernel";

/// A loss up to this is rounding.
const NO_LOSS: f64 = 1e-12;

/// The algorithm between two rounds.
#[derive(Debug, Clone)]
pub struct Perceptron {
    measure: Metric,
    /// The surrogate of a round, with the margin.
    pub(super) surrogate: Slam,
    pub(super) rules: OnlineRules,
    /// Learned state so far.
    pub progress: OnlineState,
    /// The factor of the support documents; empty for linear functions.
    factor: SpanFactor,
}

/// The outcome of a round.
#[derive(Debug, Clone, PartialEq)]
pub struct Round {
    /// RML, from 0 to 1.
    pub loss: f64,
    /// f_t(w_t), equation (13); 0 without a loss.
    pub surrogate: f64,
    /// Whether w was changed.
    pub updated: bool,
    /// The query's documents for which f_t has a term; empty without a loss.
    pub counted: Vec<usize>,
    /// How many of them have a term above 0: those that changed w.
    pub active: usize,
}

impl Perceptron {
    /// The algorithm after `progress`. `ties`: the order of equal scores in RML. The factor of r support documents takes
    /// r (r + 1) / 2 numbers; see [`reserve`].
    ///
    /// # Errors
    /// A measure that SLAM does not bound; a kernel that is not finite on the support documents.
    pub fn new(rules: OnlineRules, progress: OnlineState, ties: Ties) -> Result<Self> {
        if !progress.has_finite_summaries() {
            return Err(too_large());
        }
        let measure = rules.metric()?.with_options(MetricOptions { ties, ..MetricOptions::default() })?;
        let factor = progress.support.as_ref().map(SpanFactor::of).transpose()?.unwrap_or_default();
        Ok(Self { measure, surrogate: rules.surrogate()?, rules, progress, factor })
    }

    /// The rules and the learned state.
    pub fn into_parts(self) -> (OnlineRules, OnlineState) {
        (self.rules, self.progress)
    }

    /// Scores of documents by the function with these weights.
    ///
    /// # Errors
    /// A different number of features; an interrupt.
    pub(super) fn scores(
        &self,
        documents: &Documents<'_>,
        weights: &[f64],
        control: &Control,
    ) -> Result<Vec<f64>> {
        if let Some(support) = &self.progress.support {
            return support.scores(documents.features, documents.range(), weights, control);
        }
        let mut ticks = Ticks::default();
        let score = |row: usize| {
            ticks.add(ROW_COST + weights.len());
            documents.features.row_dot(row, weights)
        };
        Ok(documents.range().map(score).collect())
    }

    /// u.u, u.w and w.w of two functions with these weights.
    pub(super) fn inner_products(&self, u: &[f64], w: &[f64]) -> [f64; 3] {
        if self.progress.support.is_none() {
            return [dot(u, u), dot(u, w), dot(w, w)];
        }
        let (u, w) = (self.factor.coordinates(u), self.factor.coordinates(w));
        [dot(&u, &u), dot(&u, &w), dot(&w, &w)]
    }

    /// |f|^2 of the function with these weights.
    fn square_norm(&self, weights: &[f64]) -> f64 {
        if self.progress.support.is_some() { self.factor.square_norm(weights) } else { dot(weights, weights) }
    }

    /// One round: the documents of a query, with the features of the training, and their relevance.
    ///
    /// # Errors
    /// Numbers that are too large; an interrupt. The perceptron must not be used afterwards.
    pub fn round(&mut self, documents: &Documents<'_>, labels: &[f64], control: &Control) -> Result<Round> {
        let scores = self.scores(documents, &self.progress.weights, control)?;
        if !scores.iter().all(|score| score.is_finite()) {
            return Err(too_large());
        }
        let round = self.step(documents, labels, &scores, control)?;
        let progress = &mut self.progress;
        progress.add_record(RoundRecord {
            loss: round.loss,
            surrogate: round.surrogate,
            active_documents: u32::try_from(round.active).unwrap_or(u32::MAX),
        });
        progress.rounds += 1;
        progress.updates += u64::from(round.updated);
        progress.cumulative_loss += round.loss;
        progress.cumulative_surrogate += round.surrogate;
        progress.largest_norm = largest_norm(documents, progress.support.as_ref()).max(progress.largest_norm);
        for (sum, weight) in progress.sum.iter_mut().zip(&progress.weights) {
            *sum += weight;
        }
        // Earlier rounds were checked when they were added.
        if round.surrogate.is_finite() && progress.has_bounded_sums() { Ok(round) } else { Err(too_large()) }
    }

    /// The loss of the scores and the update by it.
    fn step(
        &mut self,
        documents: &Documents<'_>,
        labels: &[f64],
        scores: &[f64],
        control: &Control,
    ) -> Result<Round> {
        let loss = self.measure.value(labels, scores).map_or(0.0, |value| (1.0 - value).clamp(0.0, 1.0));
        if loss <= NO_LOSS {
            return Ok(Round { loss, surrogate: 0.0, updated: false, counted: Vec::new(), active: 0 });
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
        self.update_weights(documents, &slope, control)?;
        let counted: Vec<usize> = (0..scores.len()).filter(counted).collect();
        let inner =
            |document: usize| rivals[document].map_or(0.0, |rival| 1.0 + scores[rival] - scores[document]);
        let active = counted.iter().filter(|document| inner(**document) > 0.0).count();
        Ok(Round { loss, surrogate, updated: true, counted, active })
    }

    /// w - eta X' g.
    fn update_weights(&mut self, documents: &Documents<'_>, slope: &[f64], control: &Control) -> Result<()> {
        let z = if self.progress.support.is_some() {
            self.projected_combination(documents, slope, control)?
        } else {
            combination(documents, slope, self.progress.weights.len())
        };
        self.progress.squared_steps += self.square_norm(&z);
        for (weight, z) in self.progress.weights.iter_mut().zip(&z) {
            *weight -= self.rules.learning_rate * z;
        }
        Ok(())
    }

    /// The projection of X' g onto the span of the support documents. Adds support documents first.
    fn projected_combination(
        &mut self,
        documents: &Documents<'_>,
        g: &[f64],
        control: &Control,
    ) -> Result<Vec<f64>> {
        let OnlineState { weights, sum, support, .. } = &mut self.progress;
        let (Some(support), Some(budget)) = (support, self.rules.budget) else { return Ok(Vec::new()) };
        // 1. Documents that become support documents keep their coefficient.
        let mut z = vec![0.0; weights.len()];
        let mut outside = Vec::new();
        for (row, &factor) in documents.range().zip(g).filter(|(_, factor)| **factor != 0.0) {
            let added = z.len() < budget && self.factor.add(support, &documents.features.row_f64(row))?;
            if added { z.push(factor) } else { outside.push((row, factor)) }
        }
        weights.resize(z.len(), 0.0);
        sum.resize(z.len(), 0.0);
        // 2. The others are projected together, by the values of their sum at the support documents.
        if !outside.is_empty() && !z.is_empty() {
            let rows: Vec<usize> = outside.iter().map(|(row, _)| *row).collect();
            let columns = support.columns(&documents.features.select_rows(&rows), 0..rows.len(), control)?;
            let mut values = vec![0.0; z.len()];
            for (column, (_, factor)) in columns.chunks_exact(z.len()).zip(&outside) {
                values.iter_mut().zip(column).for_each(|(sum, value)| *sum += factor * value);
            }
            let projected = self.factor.projected(values)?;
            z.iter_mut().zip(projected).for_each(|(z, more)| *z += more);
        }
        Ok(z)
    }

    /// Updates m and v_max.
    fn update_bounds(&mut self, weights: &[f64]) {
        let (count, ratio) = weight_range(weights);
        let progress = &mut self.progress;
        progress.most_weighted = progress.most_weighted.max(count);
        progress.largest_ratio = progress.largest_ratio.max(ratio);
    }
}

/// The number of positive weights, and the largest ratio of two of them; 0 without positive weights.
pub(super) fn weight_range(weights: &[f64]) -> (u64, f64) {
    let positive = || weights.iter().copied().filter(|weight| *weight > 0.0);
    let (low, high) = positive().fold((f64::INFINITY, 0.0_f64), |(low, high), v| (low.min(v), high.max(v)));
    (positive().count() as u64, (high / low).min(f64::MAX))
}

/// Reserves memory for a round with `documents` documents: the support documents, their factor and the kernel
/// values. Vectors that grow take up to twice their size. With 0 documents this is the memory of a perceptron
/// between two rounds.
///
/// # Errors
/// [`Error::Memory`].
pub(super) fn reserve(
    rules: &OnlineRules,
    progress: &OnlineState,
    documents: usize,
    memory: &mut Reservation,
) -> Result<()> {
    let (Some(support), Some(budget)) = (&progress.support, rules.budget) else { return Ok(()) };
    let (points, dim) = (&support.points, support.points.dim);
    let most = points.len().saturating_add(documents).min(budget.max(points.len()));
    let growing = matrix_bytes(most + TILE, dim + 4) + matrix_bytes(most, most.div_ceil(2) + 1);
    let bytes = 2 * growing + matrix_bytes(documents, most.saturating_add(2 * dim));
    memory.resize(bytes, format_args!("a perceptron with {most} support documents"), SMALLER_BUDGET)
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

fn largest_norm(documents: &Documents<'_>, support: Option<&Basis>) -> f64 {
    let mut ticks = Ticks::default();
    let norm = |row: usize| {
        ticks.add(ROW_COST + documents.features.columns());
        let row = documents.features.row_f64(row);
        support.map_or_else(|| dot(&row, &row).sqrt(), |support| support.norm(&row))
    };
    documents.range().map(norm).fold(0.0, f64::max)
}

fn too_large() -> Error {
    Error::Data(
        "weights are too large; use a smaller \"learning_rate\", or \"scale\": \"standard\"".to_owned(),
    )
}
