//! Training rows in shards of whole queries: residuals, weights and leaves.
//!
//! Shards depend only on the data, and sums over shards are added in order. So results do not depend on the number of
//! threads.
//!
//! The loss of a query is the weighted sum of (r_j - mean of r)^2 over its documents, for residuals r: only differences
//! within queries matter.

use std::ops::Range;

use super::objective::QueryObjective;
use super::score_layout::MAX_DEPTH;
use crate::base::checkpoint;
use crate::cost::loss::{Loss, Shape};
use crate::math::Random;

/// A shard ends with the query that reaches this number of rows.
const SHARD: usize = 1 << 13;

/// Bytes per row in all vectors of a shard.
pub const ROW_BYTES: usize = 6 * 8 + 8 + 4 + 2;

/// Bytes per row for losses other than least squares.
pub const LOSS_BYTES: usize = 8 * 8;

/// Number of different random weights.
const WEIGHTS: usize = 1 << 10;

/// The largest number below 1/2.
const BELOW_HALF: f64 = 0.5 - f64::EPSILON / 4.0;

/// Histograms round weights to multiples of the largest weight divided by this.
const WEIGHT_STEPS: f64 = 255.0;

/// Training documents and the targets of their scores.
#[derive(Debug, Clone, Copy)]
pub struct Targets<'a> {
    /// Rows of query i are `offsets[i]..offsets[i + 1]`.
    pub offsets: &'a [usize],
    /// The grade of each row.
    pub grades: &'a [f64],
    /// The weight of each query.
    pub query_weights: &'a [f64],
    /// The weight of each row; empty if all are 1.
    pub row_weights: &'a [f64],
    /// The score of each row before the first tree; empty if all are 0.
    pub start: &'a [f64],
    /// The loss; `None` is least squares of the residuals minus their means within queries.
    pub loss: Option<&'a Loss>,
}

/// Consecutive queries with their rows.
pub struct Shard {
    /// Index of the first row.
    pub start: usize,
    /// Rows of the shard's query i are `offsets[i]..offsets[i + 1]`, from 0.
    pub offsets: Vec<usize>,
    /// Row weights as given.
    base_weights: Vec<f64>,
    query_weights: Vec<f64>,
    /// The loss of each query; empty for least squares.
    objectives: Vec<QueryObjective>,
    /// Weights for the current tree.
    pub weights: Vec<f64>,
    grades: Vec<f64>,
    /// The initial score plus the sum of the trees so far.
    pub scores: Vec<f64>,
    /// weight * (residual - mean residual of the query), half the negative gradient; for other losses the negative
    /// gradient.
    pub gradients: Vec<f64>,
    /// The packed gradient and weight of each row, which histograms sum.
    pub packed: Vec<i64>,
    /// The leaf of each row.
    pub leaves: Vec<u8>,
    /// The rows that the next histograms read.
    pub listed: Listed,
}

/// Rows for histograms: the first `count` entries of vectors with room for all rows.
#[derive(Debug)]
pub struct Listed {
    /// Row numbers in the shard.
    pub rows: Vec<u32>,
    /// The leaf of each row.
    pub leaves: Vec<u8>,
    /// The packed gradient and weight of each row.
    pub packed: Vec<i64>,
    pub count: usize,
}

/// How sums of gradients and weights are packed into one integer: the gradient times `gradient_scale` in the upper bits, the
/// weight times `weight_scale` in the lower ones. Integer sums do not depend on the order of rows.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Packing {
    /// Number of lower bits.
    pub bits: u32,
    pub weight_scale: f64,
    pub gradient_scale: f64,
}

/// Splits the documents into shards.
pub fn shards(targets: Targets<'_>) -> Vec<Shard> {
    let mut shards = Vec::new();
    let queries = targets.offsets.len().saturating_sub(1);
    let mut first = 0;
    for query in 0..queries {
        let rows = targets.offsets[query + 1] - targets.offsets[first];
        if rows >= SHARD || query + 1 == queries {
            shards.push(Shard::new(targets, first..query + 1));
            first = query + 1;
        }
    }
    shards
}

impl Shard {
    fn new(targets: Targets<'_>, queries: Range<usize>) -> Self {
        let (start, end) = (targets.offsets[queries.start], targets.offsets[queries.end]);
        let n = end - start;
        let (mut base_weights, mut objectives) = (Vec::with_capacity(n), Vec::new());
        for query in queries.clone() {
            let weight = targets.query_weights[query];
            let rows = targets.offsets[query]..targets.offsets[query + 1];
            let given = targets.row_weights.get(rows.clone()).unwrap_or_default();
            let of_row = |row: usize| given.get(row).copied().unwrap_or(1.0);
            if let Some(loss) = targets.loss {
                objectives.push(QueryObjective::new(loss, &targets.grades[rows.clone()], given));
                // The loss applies document weights. A document of weight 0 can be the worse one of a pair, but is not in lists.
                let is_pairs = matches!(loss, Loss::Pair(..));
                let is_newton = loss.shape() == Shape::Gradients;
                let weight = if is_newton { weight } else { weight / rows.len() as f64 };
                let counts = |row| is_pairs || of_row(row) > 0.0;
                base_weights.extend((0..rows.len()).map(|row| if counts(row) { weight } else { 0.0 }));
            } else {
                base_weights.extend((0..rows.len()).map(|row| weight * of_row(row)));
            }
        }
        Self {
            start,
            offsets: targets.offsets[queries.start..=queries.end]
                .iter()
                .map(|offset| offset - start)
                .collect(),
            weights: base_weights.clone(),
            base_weights,
            query_weights: targets.query_weights[queries.clone()].to_vec(),
            objectives,
            grades: targets.grades[start..end].to_vec(),
            scores: if targets.start.is_empty() { vec![0.0; n] } else { targets.start[start..end].to_vec() },
            gradients: vec![0.0; n],
            packed: vec![0; n],
            leaves: vec![0; n],
            listed: Listed { rows: vec![0; n], leaves: vec![0; n], packed: vec![0; n], count: 0 },
        }
    }

    pub fn len(&self) -> usize {
        self.scores.len()
    }

    /// The largest given weight.
    pub fn largest_weight(&self) -> f64 {
        self.base_weights.iter().fold(0.0, |largest: f64, weight| largest.max(*weight))
    }

    /// Divides the given weights by a number.
    pub fn divide_weights(&mut self, by: f64) {
        self.base_weights.iter_mut().for_each(|weight| *weight /= by);
        self.weights.clone_from(&self.base_weights);
    }

    /// Multiplies the given weights by random weights.
    pub fn draw_weights(&mut self, table: &RandomWeights, seed: u64) {
        let mut random = Random::new(seed);
        for (weight, base) in self.weights.iter_mut().zip(&self.base_weights) {
            *weight = base * table.0[random.bits() as usize % WEIGHTS];
        }
    }

    /// Restores the given weights.
    pub fn reset_weights(&mut self) {
        self.weights.clone_from(&self.base_weights);
    }

    /// Computes gradients. Second derivatives multiply the weights. Returns the sums of absolute gradients and of weights.
    pub fn find_gradients(&mut self) -> (f64, f64) {
        let mut sums = (0.0, 0.0);
        if !self.objectives.is_empty() {
            self.gradients_of_losses();
            let weighted = self.gradients.iter().zip(&self.weights);
            return weighted.fold(sums, |sums, (g, w)| (sums.0 + g.abs(), sums.1 + w));
        }
        for query in self.offsets.windows(2) {
            checkpoint();
            let rows = query[0]..query[1];
            let mean = mean_residual(
                &self.weights[rows.clone()],
                &self.grades[rows.clone()],
                &self.scores[rows.clone()],
            );
            for row in rows {
                let weight = self.weights[row];
                self.gradients[row] = weight * (self.grades[row] - self.scores[row] - mean);
                sums.0 += self.gradients[row].abs();
                sums.1 += weight;
            }
        }
        sums
    }

    fn gradients_of_losses(&mut self) {
        let mut curvature = Vec::new();
        for ((query, objective), query_weight) in
            self.offsets.windows(2).zip(&self.objectives).zip(&self.query_weights)
        {
            checkpoint();
            let rows = query[0]..query[1];
            let (gradients, weights) = (&mut self.gradients[rows.clone()], &mut self.weights[rows.clone()]);
            if *query_weight <= 0.0 {
                gradients.fill(0.0);
                continue;
            }
            // Trees fit -n times the derivative, or the Newton step.
            let (grades, scores) = (&self.grades[rows.clone()], &self.scores[rows.clone()]);
            curvature.resize(rows.len(), 0.0);
            if objective.newton(scores, gradients, &mut curvature) {
                for ((gradient, weight), curvature) in gradients.iter_mut().zip(&mut *weights).zip(&curvature)
                {
                    *gradient *= -*weight;
                    *weight *= curvature;
                }
            } else {
                objective.value_and_gradient(grades, scores, gradients);
                let n = rows.len() as f64;
                gradients.iter_mut().zip(&*weights).for_each(|(gradient, weight)| *gradient *= -n * weight);
            }
            // Only differences within the query matter.
            let total: f64 = weights.iter().sum();
            let mean = if total > 0.0 { gradients.iter().sum::<f64>() / total } else { 0.0 };
            gradients.iter_mut().zip(weights).for_each(|(gradient, weight)| *gradient -= mean * *weight);
        }
    }

    /// Derivative of the weighted loss at a step along a tree with these leaf values.
    pub fn slope(&self, values: &[f64], step: f64) -> f64 {
        let mut sum = 0.0;
        let (mut scores, mut gradient) = (Vec::new(), Vec::new());
        for ((query, objective), weight) in
            self.offsets.windows(2).zip(&self.objectives).zip(&self.query_weights)
        {
            if *weight <= 0.0 {
                continue;
            }
            let rows = query[0]..query[1];
            let leaves = &self.leaves[rows.clone()];
            let value = |leaf: &u8| values[usize::from(*leaf)];
            scores.clear();
            scores.extend(
                self.scores[rows.clone()].iter().zip(leaves).map(|(score, leaf)| score + step * value(leaf)),
            );
            gradient.resize(rows.len(), 0.0);
            objective.value_and_gradient(&self.grades[rows], &scores, &mut gradient);
            sum += weight * gradient.iter().zip(leaves).map(|(g, leaf)| g * value(leaf)).sum::<f64>();
        }
        sum
    }

    /// The sum of losses at these scores, weighted by query, and the sum of the weights. Least squares sums half the squared
    /// residuals, minus their means within queries, weighted by row.
    pub fn losses(&self, scores: &[f64]) -> (f64, f64) {
        let mut sums = (0.0, 0.0);
        if !self.objectives.is_empty() {
            let mut unused = Vec::new();
            let queries = self.offsets.windows(2).zip(&self.objectives).zip(&self.query_weights);
            for ((query, objective), weight) in queries.filter(|(_, weight)| **weight > 0.0) {
                let rows = query[0]..query[1];
                unused.resize(rows.len(), 0.0);
                let (grades, scores) = (&self.grades[rows.clone()], &scores[rows]);
                sums.0 += weight * objective.value_and_gradient(grades, scores, &mut unused);
                sums.1 += weight;
            }
            return sums;
        }
        for query in self.offsets.windows(2) {
            let rows = query[0]..query[1];
            let weights = &self.base_weights[rows.clone()];
            let mean = mean_residual(weights, &self.grades[rows.clone()], &scores[rows.clone()]);
            for row in rows {
                let residual = self.grades[row] - scores[row] - mean;
                sums.0 += 0.5 * self.base_weights[row] * residual * residual;
                sums.1 += self.base_weights[row];
            }
        }
        sums
    }

    /// Packs gradients and weights, moves all rows to leaf 0, and lists rows with a weight.
    pub fn pack(&mut self, packing: Packing) {
        for ((packed, gradient), weight) in self.packed.iter_mut().zip(&self.gradients).zip(&self.weights) {
            *packed = packing.pack(*gradient, *weight);
        }
        self.leaves.fill(0);
        self.list(|_, _| true);
    }

    /// Splits each leaf by adding a bit to its number, and lists the rows of each smaller half under the leaf that was split.
    /// `smaller_above`: for each leaf, whether the smaller half is the upper one; empty if no histograms follow.
    pub fn divide(
        &mut self,
        bins: &[u8],
        is_above: impl Fn(u8) -> bool,
        level: usize,
        smaller_above: &[bool],
    ) {
        let bins = &bins[self.start..self.start + self.len()];
        if smaller_above.is_empty() {
            for (leaf, bin) in self.leaves.iter_mut().zip(bins) {
                *leaf |= u8::from(is_above(*bin)) << level;
            }
            return;
        }
        let mut listed = [false; 1 << MAX_DEPTH];
        listed[..smaller_above.len()].copy_from_slice(smaller_above);
        self.list(|row, leaf| {
            let (of, above) = (usize::from(*leaf), is_above(bins[row]));
            *leaf |= u8::from(above) << level;
            above == listed[of]
        });
    }

    /// Lists rows with a weight under their leaf, which `is_listed` may then change.
    fn list(&mut self, mut is_listed: impl FnMut(usize, &mut u8) -> bool) {
        let Listed { rows, leaves, packed, count } = &mut self.listed;
        // Branchless, because no branch predictor can guess which rows are listed.
        *count = 0;
        for (row, (leaf, value)) in self.leaves.iter_mut().zip(&self.packed).enumerate() {
            rows[*count] = row as u32;
            leaves[*count] = *leaf;
            packed[*count] = *value;
            *count += usize::from(is_listed(row, leaf)) & usize::from(*value != 0);
        }
    }

    /// Adds to each row's score the value of its leaf.
    pub fn add(&mut self, values: &[f64]) {
        for (score, leaf) in self.scores.iter_mut().zip(&self.leaves) {
            *score += values[usize::from(*leaf)];
        }
    }
}

/// The weighted mean of grades minus scores; 0 if all weights are 0.
fn mean_residual(weights: &[f64], grades: &[f64], scores: &[f64]) -> f64 {
    let (mut sum, mut total) = (0.0, 0.0);
    for ((weight, grade), score) in weights.iter().zip(grades).zip(scores) {
        sum += weight * (grade - score);
        total += weight;
    }
    if total > 0.0 { sum / total } else { 0.0 }
}

impl Packing {
    /// A packing for `rows` rows with weights up to `largest`, given the sums of absolute gradients and of weights. No sum
    /// overflows.
    pub fn new(rows: usize, largest: f64, gradients: f64, weights: f64, equal: bool) -> Self {
        let weight_scale = if equal { 1.0 / largest } else { WEIGHT_STEPS / largest };
        // Rounding adds at most 1/2.
        let most = weights * weight_scale + rows as f64;
        let bits = most.log2().floor() as u32 + 1;
        let room = 2.0_f64.powi(62 - bits as i32) - rows as f64;
        let gradient_scale = if gradients > 0.0 { room.max(1.0) / gradients } else { 0.0 };
        Self { bits, weight_scale, gradient_scale }
    }

    fn pack(&self, gradient: f64, weight: f64) -> i64 {
        // Rounds half away from 0, like `f64::round`, which is a function call on processors without SSE4.
        let round = |value: f64| (value + BELOW_HALF.copysign(value)) as i64;
        (round(gradient * self.gradient_scale) << self.bits) + round(weight * self.weight_scale)
    }

    /// Sums of scaled gradients and weights.
    #[allow(clippy::inline_always)]
    #[inline(always)]
    pub fn unpack(&self, sum: i64) -> (f64, f64) {
        ((sum >> self.bits) as f64, (sum & ((1 << self.bits) - 1)) as f64)
    }
}

/// Exponentially distributed random weights with mean 1 (the Bayesian bootstrap, Rubin 1981).
pub struct RandomWeights(Vec<f64>);

impl RandomWeights {
    /// Quantiles of the exponential distribution.
    pub fn exponential() -> Self {
        Self((0..WEIGHTS).map(|k| -libm::log((k as f64 + 0.5) / WEIGHTS as f64)).collect())
    }

    pub fn largest(&self) -> f64 {
        self.0[0]
    }
}
