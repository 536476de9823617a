//! Boosting (Friedman 2001, algorithms 1 and 2). Each tree is fitted to the current residuals, with exponential
//! random row weights (Rubin 1981) and a random subset of the features (Breiman 2001), and added with the factor
//! `learning_rate`.

use std::sync::Arc;

use super::bins::{BinColumn, BinEdges, Binned};
use super::forest::{Forest, Split};
use super::histogram::{Cut, Histograms, Level};
use super::learning_rate::default_rate;
use super::rows::{LOSS_BYTES, Packing, ROW_BYTES, RandomWeights, Shard, Targets, shards};
use super::{leaves, monotone, objective};
use crate::base::{Control, Error, Reservation, Result, bytes_of, grown_bytes, named, parallel};
use crate::cost::loss::Shape;
use crate::data::Matrix;
use crate::math::Random;

/// Added to the weight of each leaf, in rows of mean weight.
const RIDGE: f64 = 10.0;

/// The same for second derivatives, as multiples of their mean in the first tree (docs/adr/0029-lambda-rank.md).
const NEWTON_RIDGE: f64 = 50.0;

/// Smallest number of documents with which a tree may split all features by default. On real sets of about 10,000
/// documents all features were up to .007 worse than half of them, on 60,000 simulated documents .010 better.
const MANY_DOCUMENTS: usize = 30_000;

/// Fraction of the features for fewer documents.
const FRACTION_OF_FEW: f64 = 0.5;

/// Least number of features for fewer documents.
const FEW_FEATURES: usize = 24;

/// Advice for too much memory.
pub(super) const WAY_OUT: &str = "use fewer rows or features, fewer bins, or a smaller depth";

/// How the trees of an ensemble weight rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RowWeights {
    /// Each tree multiplies the row weights by random numbers with an exponential distribution of mean 1 (the Bayesian
    /// bootstrap, Rubin 1981).
    Exponential,
    /// All trees have the given weights.
    Equal,
}

named!(RowWeights { Exponential = "exponential", Equal = "equal" });

/// The choices of a training.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TreeOptions {
    /// Splits of a tree, from 1 to [`super::MAX_DEPTH`].
    pub depth: usize,
    /// The factor of a tree, above 0 and at most 1; by default chosen from the number of documents and trees.
    pub learning_rate: Option<f64>,
    /// Number of trees that the default of the learning rate is meant for, at least 1.
    pub trees: usize,
    /// Fraction of the features that a tree may split, above 0 and at most 1; by default all features for 30,000 documents or
    /// more; for fewer half, at least 24.
    pub feature_fraction: Option<f64>,
    /// Largest number of bins of a feature, from 2 to [`super::bins::MAX_BINS`].
    pub bins: usize,
    /// How trees weight rows.
    pub row_weights: RowWeights,
    /// Seed of the random choices; any number.
    pub seed: u64,
}

impl TreeOptions {
    /// The factor of a tree.
    pub fn learning_rate(&self, documents: usize) -> f64 {
        self.learning_rate.unwrap_or_else(|| default_rate(documents, self.trees))
    }
}

/// Trees with the values of their leaves.
#[derive(Debug)]
pub struct Fitted {
    pub forest: Forest,
    /// Leaf values, tree by tree.
    pub values: Vec<f64>,
}

/// How far a tree goes before the learning rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Steps {
    /// To the minimum of least squares.
    Exact,
    /// By second derivatives.
    Newton,
    /// A line search finds it.
    Searched,
}

/// A training under way.
pub struct Boosting<'a> {
    options: TreeOptions,
    learning_rate: f64,
    /// Number of features that a tree may split.
    sampled: usize,
    edges: &'a BinEdges,
    /// As [`Prepared::signs`].
    signs: &'a [i8],
    histograms: Histograms<'a>,
    shards: Vec<Shard>,
    /// Features with more than one bin.
    features: Vec<usize>,
    /// Added to the weight of each leaf: `RIDGE` times the mean weight of rows; with second derivatives `NEWTON_RIDGE`
    /// times the first tree's mean.
    ridge: f64,
    equal_weights: bool,
    /// How to find the step along a tree.
    steps: Steps,
    table: RandomWeights,
    random: Random,
    splits: Vec<Split>,
    values: Vec<f64>,
    /// Memory for the trees.
    kept: Reservation,
    _memory: Reservation,
}

/// Features in bins, with the bytes that they take.
pub struct Prepared {
    /// The bin edges.
    pub edges: BinEdges,
    pub binned: Binned,
    /// For each feature 1 or -1 if the score must not fall or rise with it, otherwise 0; those after the last are 0.
    pub signs: Vec<i8>,
    memory: Vec<Reservation>,
}

impl Prepared {
    /// Bytes of documents in bins.
    pub fn bytes_of(features: &Matrix) -> u64 {
        BinEdges::bytes_needed(features.rows(), features.columns())
    }

    /// Puts the features of documents into at most `bins` bins, from 2 to [`super::bins::MAX_BINS`]. `seed`: for samples.
    ///
    /// # Errors
    /// Too little memory; an interrupt.
    pub fn new(features: &Matrix, bins: usize, seed: u64, control: &Control) -> Result<Self> {
        let bytes = Self::bytes_of(features);
        let what = format_args!("{} documents in bins", features.rows());
        let memory = control.reserve(bytes, what, WAY_OUT)?;
        let edges = BinEdges::find(features, bins, seed, control)?;
        let binned = edges.bin(features, control)?;
        Ok(Self { edges, binned, signs: Vec::new(), memory: vec![memory] })
    }

    /// Documents in bins, with the bytes that they take.
    pub(super) fn of_bins(edges: BinEdges, binned: Binned, memory: Reservation) -> Self {
        Self { edges, binned, signs: Vec::new(), memory: vec![memory] }
    }

    /// Appends the features of `other`, for the same documents.
    pub fn append(&mut self, other: Self) {
        self.edges.append(other.edges);
        self.binned.columns.extend(other.binned.columns);
        self.memory.extend(other.memory);
    }

    /// The same with other values of some features, in the same bins. The other features are shared.
    ///
    /// # Errors
    /// Too little memory.
    pub fn with_features(&self, others: &[(usize, Vec<f64>)], control: &Control) -> Result<Self> {
        let bytes = others.iter().map(|(_, values)| bytes_of::<u8>(values.len())).sum();
        let memory = control.reserve(bytes, "documents in bins without held-out rows", WAY_OUT)?;
        let mut columns = self.binned.columns.clone();
        for (feature, values) in others {
            let edges = self.edges.of(*feature);
            let bins = values.iter().map(|value| edges.bin(*value)).collect();
            columns[*feature] = BinColumn::Memory(Arc::new(bins));
        }
        let signs = self.signs.clone();
        Ok(Self { signs, ..Self::of_bins(self.edges.clone(), Binned { columns }, memory) })
    }

    /// Removes all but the first features.
    pub fn truncate(&mut self, features: usize) {
        self.edges.truncate(features);
        self.binned.columns.truncate(features);
    }
}

/// A tree that was just added, in bins.
pub struct Tree<'a> {
    cuts: Vec<Cut>,
    /// Leaf values.
    values: &'a [f64],
}

impl Tree<'_> {
    /// Leaf values for all binned documents.
    ///
    /// # Errors
    /// As [`BinColumn::bins`](super::bins::BinColumn::bins).
    pub fn scores(&self, binned: &Binned, rows: usize, control: &Control) -> Result<Vec<f64>> {
        let mut leaves = vec![0u8; rows];
        for (level, cut) in self.cuts.iter().enumerate() {
            for (leaf, bin) in leaves.iter_mut().zip(&*binned.columns[cut.feature].bins(control)?) {
                *leaf |= u8::from(cut.is_above(*bin)) << level;
            }
        }
        Ok(leaves.into_iter().map(|leaf| self.values[usize::from(leaf)]).collect())
    }
}

impl<'a> Boosting<'a> {
    /// Prepares a training on documents in bins.
    ///
    /// # Errors
    /// Too little memory; features that are all constant.
    pub fn new(
        prepared: &'a Prepared,
        targets: Targets<'_>,
        options: TreeOptions,
        control: &Control,
    ) -> Result<Self> {
        let Prepared { edges, binned, signs, .. } = prepared;
        let features = edges.varying();
        if features.is_empty() {
            return Err(Error::Data(
                "every feature has the same value in all rows, so there is nothing to split".to_owned(),
            ));
        }
        // 1. Memory.
        let rows = targets.grades.len();
        let sampled = sampled(features.len(), rows, &options);
        let numbers = Histograms::numbers(edges, options.depth).saturating_mul(sampled);
        let numbers = numbers.saturating_add(leaves::numbers(1 << options.depth));
        let loss_bytes = if targets.loss.is_some() { bytes_of::<[u8; LOSS_BYTES]>(rows) } else { 0 };
        let bytes = bytes_of::<f64>(numbers)
            .saturating_add(bytes_of::<[u8; ROW_BYTES]>(rows))
            .saturating_add(Histograms::buffers(binned, rows))
            .saturating_add(loss_bytes);
        let memory = control.reserve(bytes, format_args!("boosting trees on {rows} documents"), WAY_OUT)?;
        // 2. Weights in units of the largest.
        let mut shards = shards(targets);
        let largest = shards.iter().fold(0.0, |largest: f64, shard| largest.max(shard.largest_weight()));
        let divisor = if largest > 0.0 { largest } else { 1.0 };
        shards.iter_mut().for_each(|shard| shard.divide_weights(divisor));
        let weights = || shards.iter().flat_map(|shard| &shard.weights).filter(|weight| **weight > 0.0);
        let mean = weights().sum::<f64>() / weights().count().max(1) as f64;
        let equal = weights().all(|weight| *weight >= 1.0);
        Ok(Self {
            options,
            learning_rate: options.learning_rate(rows),
            sampled,
            edges,
            signs,
            histograms: Histograms::new(binned, edges, sampled, options.depth),
            features,
            ridge: RIDGE * mean,
            equal_weights: equal,
            steps: match targets.loss {
                None => Steps::Exact,
                Some(loss) if loss.shape() == Shape::Gradients => Steps::Newton,
                Some(_) => Steps::Searched,
            },
            shards,
            table: RandomWeights::exponential(),
            random: Random::new(options.seed),
            splits: Vec::new(),
            values: Vec::new(),
            kept: control.memory().nothing(),
            _memory: memory,
        })
    }

    /// Adds a tree.
    ///
    /// # Errors
    /// An interrupt; numbers that are too large.
    pub fn step(&mut self, control: &Control) -> Result<Tree<'_>> {
        // 1. Random weights and features.
        let features = self.draw_features();
        let packing = self.find_gradients();
        // 2. Splits, level by level.
        let cuts = self.grow(&features, packing, control)?;
        // 3. Values.
        let leaves = 1 << self.options.depth;
        let mut values = leaves::values(&self.shards, leaves, self.ridge, control)?;
        self.keep_order(&cuts, &mut values);
        let step = if self.steps == Steps::Searched { self.step_along(&values, control)? } else { 1.0 };
        values.iter_mut().for_each(|value| *value *= step * self.learning_rate);
        let shards = self.shards.iter_mut().collect();
        parallel::each_of(shards, |_, shard: &mut Shard| shard.add(&values));
        self.reserve_tree(cuts.len(), values.len())?;
        self.splits.extend(cuts.iter().map(|cut| cut.split(self.edges)));
        let first = self.values.len();
        self.values.extend(values);
        Ok(Tree { cuts, values: &self.values[first..] })
    }

    /// Moves leaf values to the nearest ones that keep the order of the features with a sign.
    fn keep_order(&self, cuts: &[Cut], values: &mut [f64]) {
        let sign = |cut: &Cut| self.signs.get(cut.feature).copied().unwrap_or(0);
        let bits: Vec<(usize, i8)> =
            cuts.iter().map(sign).enumerate().filter(|(_, sign)| *sign != 0).collect();
        if bits.is_empty() {
            return;
        }
        // A leaf without rows has almost no weight.
        let mut weights = vec![1e-6 * self.ridge; values.len()];
        let rows = self.shards.iter().flat_map(|shard| shard.leaves.iter().zip(&shard.weights));
        rows.for_each(|(leaf, weight)| weights[usize::from(*leaf)] += weight);
        monotone::project(values, &weights, &bits);
    }

    /// Reserves the bytes of another tree, twice: the mean of ensembles has a copy.
    fn reserve_tree(&mut self, splits: usize, values: usize) -> Result<()> {
        let bytes = grown_bytes(&self.splits, splits).saturating_add(grown_bytes(&self.values, values));
        let what = format_args!("trees of {values} leaves");
        self.kept.resize(bytes.saturating_mul(2), what, "use fewer trees, or a smaller depth")
    }

    /// The step along a tree that minimizes the loss.
    fn step_along(&self, values: &[f64], control: &Control) -> Result<f64> {
        let derivative = |step: f64| {
            if control.is_canceled() {
                return 0.0;
            }
            let of_shard = |number: usize| self.shards[number].slope(values, step);
            parallel::map(self.shards.len(), of_shard).into_iter().sum()
        };
        let step = objective::step(derivative);
        control.check()?;
        Ok(step)
    }

    /// The features that a tree may split, ascending.
    fn draw_features(&mut self) -> Vec<usize> {
        let mut features = self.features.clone();
        if self.sampled < features.len() {
            self.random.shuffle(&mut features);
            features.truncate(self.sampled);
            features.sort_unstable();
        }
        features
    }

    fn find_gradients(&mut self) -> Packing {
        let seed = self.random.bits();
        let (row_weights, table) = (self.options.row_weights, &self.table);
        let find = |number: usize, shard: &mut Shard| {
            if row_weights == RowWeights::Exponential {
                shard.draw_weights(table, seed ^ (number as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15));
            } else {
                shard.reset_weights();
            }
            shard.find_gradients()
        };
        let sums = parallel::map_of(self.shards.iter_mut().collect(), find);
        let (gradients, weights) =
            sums.into_iter().fold((0.0, 0.0), |sum, part: (f64, f64)| (sum.0 + part.0, sum.1 + part.1));
        let rows = self.shards.iter().map(Shard::len).sum();
        let mean = if weights > 0.0 { weights / rows as f64 } else { 1.0 };
        if self.steps == Steps::Newton && self.splits.is_empty() {
            self.ridge = NEWTON_RIDGE * mean;
        }
        let (largest, equal) = match row_weights {
            // Second derivatives are unbounded, so they are scaled by their mean.
            _ if self.steps == Steps::Newton => (mean, false),
            RowWeights::Exponential => (table.largest(), false),
            RowWeights::Equal => (1.0, self.equal_weights),
        };
        let packing = Packing::new(rows, largest, gradients, weights, equal);
        parallel::each_of(self.shards.iter_mut().collect(), |_, shard: &mut Shard| shard.pack(packing));
        packing
    }

    fn grow(&mut self, features: &[usize], packing: Packing, control: &Control) -> Result<Vec<Cut>> {
        let Self { options, histograms, shards, ridge, signs, .. } = self;
        let ridge = *ridge * packing.weight_scale;
        let mut smaller_above = Vec::new();
        let mut cuts = Vec::with_capacity(options.depth);
        for number in 0..options.depth {
            let level = Level { number, features, packing, ridge, smaller_above: &smaller_above, signs };
            let cut = histograms.best(shards, level, control)?;
            cuts.push(cut);
            // The rows of smaller halves come next.
            let is_last = number + 1 == options.depth;
            let smaller = if is_last { Vec::new() } else { histograms.smaller_above(cut, level) };
            let bins = histograms.column(cut.feature, control)?;
            let divide = |_, shard: &mut Shard| {
                shard.divide(&bins, |bin| cut.is_above(bin), number, &smaller);
            };
            parallel::each_of(shards.iter_mut().collect(), divide);
            smaller_above = smaller;
        }
        Ok(cuts)
    }

    /// The score of each row.
    pub fn scores(&self) -> Vec<f64> {
        self.shards.iter().flat_map(|shard| &shard.scores).copied().collect()
    }

    /// Each row's mean score over trainings on the same rows.
    pub fn mean_scores(trainings: &[Self]) -> Vec<f64> {
        let rows = |first: &Self| first.shards.iter().map(Shard::len).sum();
        let mut sums = vec![0.0; trainings.first().map_or(0, rows)];
        for training in trainings {
            sums.iter_mut().zip(training.scores()).for_each(|(sum, score)| *sum += score);
        }
        sums.iter_mut().for_each(|sum| *sum /= trainings.len() as f64);
        sums
    }

    /// The weighted mean loss of the trainings' mean function: for least squares over rows half the squared residual,
    /// minus its mean in the query; for other losses over queries.
    pub fn objective(trainings: &[Self]) -> f64 {
        let scores = Self::mean_scores(trainings);
        let shards = trainings.first().map_or(&[][..], |first| &first.shards);
        let sums = shards.iter().map(|shard| shard.losses(&scores[shard.start..shard.start + shard.len()]));
        let (losses, weights) = sums.fold((0.0, 0.0), |sum, part| (sum.0 + part.0, sum.1 + part.1));
        if weights > 0.0 { losses / weights } else { 0.0 }
    }

    /// Leaves out the trees after the first `trees`. The scores of rows keep all trees.
    pub fn truncate(&mut self, trees: usize) {
        self.splits.truncate(trees * self.options.depth);
        self.values.truncate(trees << self.options.depth);
    }

    /// The mean function of at least one training, with equal depths and bins.
    pub fn mean(trainings: Vec<Self>) -> Fitted {
        let (depth, factor) =
            (trainings.first().map_or(1, |first| first.options.depth), 1.0 / trainings.len() as f64);
        let (mut splits, mut values) = (Vec::new(), Vec::new());
        for training in trainings {
            splits.extend(training.splits);
            values.extend(training.values.iter().map(|value| value * factor));
        }
        Fitted { forest: Forest::new(depth, &splits), values }
    }
}

/// Number of features that a tree may split: a fraction, but enough for a feature per level.
fn sampled(features: usize, documents: usize, options: &TreeOptions) -> usize {
    let (fraction, least) = match options.feature_fraction {
        Some(fraction) => (fraction, options.depth),
        None if documents >= MANY_DOCUMENTS => (1.0, 0),
        None => (FRACTION_OF_FEW, FEW_FEATURES),
    };
    let count = (features as f64 * fraction).ceil() as usize;
    count.clamp(least.min(features), features)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trees_may_split_all_features_of_many_documents() {
        let options = |feature_fraction| TreeOptions {
            depth: 6,
            learning_rate: None,
            trees: 1,
            feature_fraction,
            bins: 64,
            row_weights: RowWeights::Equal,
            seed: 0,
        };
        let counts = |documents: usize, fraction: Option<f64>| {
            [3, 24, 47, 136].map(|features| sampled(features, documents, &options(fraction)))
        };
        assert_eq!(counts(29_999, None), [3, 24, 24, 68]);
        assert_eq!(counts(30_000, None), [3, 24, 47, 136]);
        assert_eq!(counts(30_000, Some(0.1)), [3, 6, 6, 14]);
    }
}
