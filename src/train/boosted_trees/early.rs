//! The number of trees by validation: early stopping, and the metric of held-out queries by the number of trees.
//!
//! Held-out queries have the weight 0 in a training on all rows: they get scores, but do not affect trees.

use super::query_columns::QueryColumns;
use super::spec::DEFAULT_TREES;
use super::{TreeCount, TreesSpec};
use crate::base::{Control, Reservation, Result, bytes_of, parallel};
use crate::cost::metric::Mean;
use crate::data::{Dataset, ListConstraint, Scaling};
use crate::train::averaged::{normalizer, squares, weight};
use crate::train::select::{
    Baseline, Curve, FoldScores, Folds, Gain, Searched, Selection, Split, Validation, ValidationSpec, argmax,
    unjudged,
};
use crate::train::single_feature;
use crate::train::single_feature::Judge;
use crate::trees::{Binned, Boosting, Prepared};

/// Trees between two measurements.
const STEP: usize = 10;
/// Measurements without a better value after which the training stops.
const PATIENCE: usize = 10;
/// Largest number of trees.
pub const MOST_TREES: usize = 1000;

/// The number of trees chosen by validation.
pub(super) struct ChosenTrees {
    pub trees: usize,
    pub selection: Selection,
    pub warnings: Vec<String>,
    /// Value and weight of each held-out query that counts, with that number of trees.
    values: Vec<(f64, f64)>,
    /// The scores with that number of trees.
    scores: Scores,
    /// Scores from which probabilities are learned, also of queries that no fold holds out.
    pub fold_scores: Vec<FoldScores>,
}

impl ChosenTrees {
    /// Whether the mean value exceeds another search's on the same queries by more than one standard error of the
    /// difference. `sign`: -1 if lower values are better.
    pub fn is_better_than(&self, other: &Self, sign: f64) -> bool {
        let pairs = || self.values.iter().zip(&other.values).map(|((a, w), (b, _))| (sign * (a - b), *w));
        let total: f64 = pairs().map(|(_, weight)| weight).sum();
        let mean = pairs().map(|(difference, weight)| weight * difference).sum::<f64>() / total;
        let squares = pairs().map(|(difference, weight)| (weight * (difference - mean)).powi(2));
        // No held-out query: not a number.
        self.values.len() == other.values.len() && mean > squares.sum::<f64>().sqrt() / total
    }
}

/// The documents of a training, and how their features were scaled.
#[derive(Clone, Copy)]
pub struct ScaledRows<'a> {
    pub data: &'a Dataset,
    pub scaling: &'a Scaling,
    /// The score of each row before the first tree; empty if all are 0.
    pub start: &'a [f64],
    /// Whether the judgments contradict the baseline of these scores.
    pub are_contradicting: bool,
}

impl ScaledRows<'_> {
    /// The bins of a training without the held-out queries, if there are category means: these come from the other
    /// queries. `held_out`: true for held-out queries (`n_queries`).
    ///
    /// # Errors
    /// Too little memory; an interrupt.
    pub fn without(
        &self,
        held_out: &[bool],
        prepared: &Prepared,
        control: &Control,
    ) -> Result<Option<Prepared>> {
        let means = self.scaling.means_without(self.data, held_out, control)?;
        if means.is_empty() { Ok(None) } else { prepared.with_features(&means, control).map(Some) }
    }
}

/// A validation source with its documents in bins.
pub struct Held {
    data: Dataset,
    /// The scores before the first tree; empty if all are 0.
    start: Vec<f64>,
    binned: Binned,
    _memory: Reservation,
}

impl Held {
    /// Puts the documents of a source into the bins of the training.
    ///
    /// # Errors
    /// Too little memory; an interrupt.
    pub fn new(data: Dataset, start: Vec<f64>, prepared: &Prepared, control: &Control) -> Result<Self> {
        let bytes = Prepared::bytes_of(&data.features).saturating_add(bytes_of::<f64>(data.n_docs()));
        let memory = control.reserve(bytes, "validation documents in bins", "use fewer of them")?;
        let binned = prepared.edges.bin(&data.features, control)?;
        Ok(Self { data, start, binned, _memory: memory })
    }

    /// Adds the query features of its documents, in bins.
    ///
    /// # Errors
    /// As [`Self::new`].
    pub fn append(&mut self, columns: &QueryColumns, added: &Prepared, control: &Control) -> Result<()> {
        let Self { data, binned, .. } = self;
        let binned_queries = columns.with_matrix(data, control, |matrix| added.edges.bin(matrix, control))?;
        binned.columns.extend(binned_queries.columns);
        Ok(())
    }
}

/// Finds the number of trees.
///
/// # Errors
/// Errors of a training.
pub(super) fn find(
    spec: &TreesSpec,
    prepared: &Prepared,
    rows: ScaledRows<'_>,
    source: Option<&Held>,
    control: &Control,
) -> Result<ChosenTrees> {
    let data = rows.data;
    // 1. What is held out.
    let (measured, split, left_out) =
        held_out(spec, data, source.map(|held| &held.data), prepared.edges.len())?;
    if measured.is_empty() {
        let selection = selection(spec, Split::Nothing, Vec::new(), Best::default());
        let is_alone = spec.may_be_baseline();
        let searched = Searched::new("trees", DEFAULT_TREES as f64);
        return Ok(ChosenTrees {
            trees: if is_alone { 0 } else { DEFAULT_TREES },
            warnings: selection.warning(&searched).filter(|_| !is_alone).into_iter().collect(),
            selection,
            values: Vec::new(),
            scores: Vec::new(),
            fold_scores: Vec::new(),
        });
    }
    // 2. Trainings without it.
    let mut trainings = Vec::with_capacity(left_out.len() * spec.seeds);
    let own = left_out.iter().map(|left_out| rows.without(left_out, prepared, control));
    let own: Vec<Option<Prepared>> = own.collect::<Result<_>>()?;
    for (left_out, own) in left_out.iter().zip(&own) {
        let prepared = own.as_ref().unwrap_or(prepared);
        let weight = |(query, weight): (usize, &f64)| if left_out[query] { 0.0 } else { *weight };
        let mut weights: Vec<f64> = data.weights.iter().enumerate().map(weight).collect();
        trainings.extend(spec.trainings(prepared, spec.targets(data, rows.start, &mut weights), control)?);
    }
    // A given number of trees is measured once, at its end.
    let (most, interval) = match spec.trees {
        TreeCount::Fixed(trees) | TreeCount::OrNone(trees) => (trees, trees),
        TreeCount::Auto => (MOST_TREES, STEP),
    };
    let pace = Pace { most, interval, patience: PATIENCE, from_0: spec.may_be_baseline() };
    let source = source.map(|held| (&held.binned, &held.start[..]));
    let others = if source.is_none() { others(spec, data, &measured) } else { Vec::new() };
    let held_out = HeldOut { measured: &measured, others: &others, seeds: spec.seeds, source };
    let (curve, mut best) = measure(&spec.validation, &mut trainings, held_out, pace, control)?;
    let gain = if pace.from_0 {
        best.keep_baseline(&spec.validation, split, &curve, rows.are_contradicting)
    } else {
        None
    };
    // 3. The report.
    let values: Vec<(f64, f64)> = best.values.iter().flatten().copied().collect();
    let scores = std::mem::take(&mut best.scores);
    let fold_scores = if others.is_empty() {
        Vec::new()
    } else {
        let folds = measured.iter().zip(&others).zip(scores.iter().zip(&best.others));
        let of_fold =
            |((fold, others), (scores, more)): ((&Measured<'_>, &Measured<'_>), (&Vec<_>, &Vec<_>))| {
                FoldScores {
                    queries: [&fold.queries[..], &others.queries].concat(),
                    scores: [scores.concat(), more.concat()].concat(),
                }
            };
        folds.map(of_fold).collect()
    };
    let mut selection = Selection { gain, ..selection(spec, split, curve, best) };
    let default = if spec.may_be_baseline() { 0 } else { DEFAULT_TREES };
    let trees = selection.chosen.map_or(default, |chosen| selection.curve[chosen].0 as usize);
    let searched = Searched {
        advice: Some("give the option 'trees' a larger number"),
        limits: (STEP as f64, if spec.trees == TreeCount::Auto { f64::INFINITY } else { trees as f64 }),
        ..Searched::new("trees", trees as f64)
    };
    let judges: Vec<Judge<'_>> =
        measured.iter().map(|Measured { data, queries }| Judge { data, queries }).collect();
    selection.baseline =
        single_feature::baseline(&judges, &selection, &spec.validation, ListConstraint::None, control)?;
    let is_alone = spec.may_be_baseline() && trees == 0;
    let warnings = selection.warning(&searched).filter(|_| !is_alone).into_iter().collect();
    Ok(ChosenTrees { trees, selection, warnings, values, scores, fold_scores })
}

/// Queries whose documents have equal grades: a fraction of them for each fold, for probabilities.
fn others<'a>(spec: &TreesSpec, data: &'a Dataset, measured: &[Measured<'a>]) -> Vec<Measured<'a>> {
    if !spec.is_probability_wanted || spec.may_be_baseline() {
        return Vec::new();
    }
    let held = measured.iter().map(|fold| fold.queries.len()).sum();
    let folds = unjudged(data, &judged(data), held, measured.len(), spec.options.seed);
    folds.into_iter().map(|queries| Measured { data, queries }).collect()
}

/// Whether each query has documents of different relevance.
fn judged(data: &Dataset) -> Vec<bool> {
    (0..data.n_queries()).map(|query| crate::cost::loss::pair_count(data.labels(query)) > 0).collect()
}

/// Validation result for the sum of two ensembles with `trees` trees in all, and warnings for the caller.
///
/// # Errors
/// An interrupt.
pub(super) fn sum_selection(
    spec: &TreesSpec,
    data: &Dataset,
    validation: Option<&Dataset>,
    [first, second]: [ChosenTrees; 2],
    trees: usize,
    control: &Control,
) -> Result<(Option<Selection>, Vec<String>)> {
    let (measured, split, _) = held_out(spec, data, validation, data.features.columns())?;
    let mut warnings = first.warnings;
    warnings.extend(second.warnings);
    warnings.sort();
    warnings.dedup();
    if first.scores.len() != measured.len() || second.scores.len() != measured.len() {
        return Ok((Some(first.selection), warnings));
    }
    let scores = sum_of_scores(&measured, [&first.scores, &second.scores]);
    let (value, query_values) = values(&spec.validation, &measured, &scores, control)?;
    let at = value.map(|value| (0, value));
    let best = Best { at, values: query_values, ..Best::default() };
    let selection = selection(spec, split, vec![(trees as f64, value)], best);
    // The gain of the first ensemble.
    let baseline = first.selection.baseline.map(|baseline| Baseline { gain: None, ..baseline });
    Ok((Some(Selection { baseline, ..selection }), warnings))
}

/// Held-out queries of each fold, how they were held out, and for each fold whether its training omits a query.
type HeldQueries<'a> = (Vec<Measured<'a>>, Split, Vec<Vec<bool>>);

fn held_out<'a>(
    spec: &TreesSpec,
    data: &'a Dataset,
    validation: Option<&'a Dataset>,
    width: usize,
) -> Result<HeldQueries<'a>> {
    let Some(other) = validation else { return folds(spec, data, width) };
    let queries: Vec<usize> = (0..other.n_queries()).collect();
    let split = Split::SourceQueries(queries.len());
    Ok((vec![Measured { data: other, queries }], split, vec![vec![false; data.n_queries()]]))
}

/// The folds of the training set.
fn folds<'a>(spec: &TreesSpec, data: &'a Dataset, width: usize) -> Result<HeldQueries<'a>> {
    let Validation::Queries(fraction) = spec.validation.data else {
        return Ok((Vec::new(), Split::Nothing, Vec::new()));
    };
    let judged = judged(data);
    let numbers = data.n_docs() as f64 * width as f64;
    let seed = spec.options.seed;
    let folds = match spec.validation.folds {
        Some(folds) => Folds::of_number(data, &judged, folds, seed),
        None => Folds::by_query(data, &judged, fraction, numbers, seed),
    }?;
    let measured = |fold| Measured { data, queries: folds.held_out(fold) };
    let left_out = (0..folds.count).map(|fold| folds.left_out(fold)).collect();
    Ok(((0..folds.count).map(measured).collect(), folds.split(), left_out))
}

/// The choice, with the largest numbers of trees first.
fn selection(spec: &TreesSpec, split: Split, mut curve: Curve, best: Best) -> Selection {
    curve.reverse();
    let chosen = best.at.map(|(at, _)| curve.len() - 1 - at);
    let values = best.values.iter().map(|value| value.map(|(value, _)| value)).collect();
    Selection {
        option: Some("trees"),
        values,
        ..Selection::new(&spec.validation.metric, split, curve, chosen)
    }
    .with_error(|_| best.values.into_iter().flatten().collect())
}

// Metric of held-out queries by the number of trees.
//
// Trainings of several folds add their trees together, and the metric is the mean over all held-out queries.

/// Held-out queries of a fold, with their documents.
pub(in crate::train) struct Measured<'a> {
    pub data: &'a Dataset,
    pub queries: Vec<usize>,
}

/// The held-out data of the trainings.
#[derive(Clone, Copy)]
pub(in crate::train) struct HeldOut<'a> {
    /// One for each fold.
    pub measured: &'a [Measured<'a>],
    /// Queries of each fold that are scored, but not measured; may be empty.
    pub others: &'a [Measured<'a>],
    /// Number of trainings of a fold, whose scores are averaged.
    pub seeds: usize,
    /// The binned documents of a validation source, and their scores before the first tree (empty: 0).
    pub source: Option<(&'a Binned, &'a [f64])>,
}

/// When to measure, and when to stop adding trees.
#[derive(Clone, Copy)]
pub(in crate::train) struct Pace {
    /// Largest number of trees of a training.
    pub most: usize,
    /// Trees between two measurements.
    pub interval: usize,
    /// Measurements without a better value after which the trainings stop.
    pub patience: usize,
    /// Whether the scores before the first tree, of a baseline, are measured too.
    pub from_0: bool,
}

/// Value and weight of a held-out query; `None` if it does not count.
pub(in crate::train) type QueryValue = Option<(f64, f64)>;

/// For each fold and held-out query, the document scores.
pub(in crate::train) type Scores = Vec<Vec<Vec<f64>>>;

/// The best measurement so far.
#[derive(Default)]
pub(in crate::train) struct Best {
    /// Index in the curve, and the value.
    pub at: Option<(usize, f64)>,
    /// The value of each held-out query, fold by fold.
    pub values: Vec<QueryValue>,
    pub scores: Scores,
    /// Scores of queries that are not measured.
    pub others: Scores,
    /// The value of each held-out query at each measurement, if the first one is of a baseline.
    pub all: Vec<Vec<QueryValue>>,
}

impl Best {
    /// Keeps the first measurement, the baseline, unless another is significantly better; then takes the first one within
    /// a standard error of that. Returns the gain of the measurement taken, or of the best.
    pub fn keep_baseline(
        &mut self,
        validation: &ValidationSpec,
        split: Split,
        curve: &Curve,
        are_contradicting: bool,
    ) -> Option<Gain> {
        let sign = validation.metric.def().better.sign();
        let gain = |one: usize, other: usize, factor: f64| {
            let pairs = self.all[one].iter().zip(&self.all[other]);
            let pair = |(one, other): (&QueryValue, &QueryValue)| {
                let ((one, weight), (other, _)) = one.as_ref().zip(other.as_ref())?;
                Some((sign * (one - other), *weight))
            };
            Gain::of(&pairs.filter_map(pair).collect::<Vec<_>>(), factor)
        };
        let others: Vec<Option<f64>> = curve.iter().skip(1).map(|(_, value)| *value).collect();
        let best = 1 + argmax(&others, validation.metric.def().better)?;
        let over_baseline = |number: usize| gain(number, 0, split.error_factor());
        let is_shown = over_baseline(best).is_some_and(|gain| gain.is_shown(are_contradicting));
        let is_near =
            |number: &usize| gain(best, *number, 1.0).is_some_and(|gain| gain.mean <= gain.error.error);
        let chosen = if is_shown { (1..best).find(is_near).unwrap_or(best) } else { 0 };
        let gain = over_baseline(if is_shown { chosen } else { best });
        self.at = curve[chosen].1.map(|value| (chosen, value));
        self.values = self.all.swap_remove(chosen);
        gain
    }
}

/// Adds trees until the metric no longer improves. Returns the metric for each number of trees, and the best number.
/// `trainings`: all ensembles of the first fold, then of the next.
///
/// # Errors
/// Errors of a training.
pub(in crate::train) fn measure(
    validation: &ValidationSpec,
    trainings: &mut [Boosting<'_>],
    held_out: HeldOut<'_>,
    pace: Pace,
    control: &Control,
) -> Result<(Curve, Best)> {
    let sign = validation.metric.def().better.sign();
    let mut source_scores = match held_out.source {
        Some((_, [])) => vec![0.0; held_out.measured[0].data.n_docs()],
        Some((_, start)) => start.to_vec(),
        None => Vec::new(),
    };
    let (mut curve, mut best): (Curve, Best) = (Vec::new(), Best::default());
    let measurements = pace.most / pace.interval;
    control.expect(measurements);
    for number in usize::from(!pace.from_0)..=measurements {
        if number > 0 {
            add_trees(trainings, held_out, pace.interval, &mut source_scores, control)?;
            control.step();
        }
        let scores = scores(trainings, held_out, &source_scores);
        let (mean, values) = values(validation, held_out.measured, &scores, control)?;
        if pace.from_0 {
            best.all.push(values.clone());
        }
        curve.push(((number * pace.interval) as f64, mean));
        if let Some(value) = mean.filter(|value| best.at.is_none_or(|(_, best)| sign * (value - best) > 0.0))
        {
            let others =
                self::scores(trainings, HeldOut { measured: held_out.others, ..held_out }, &source_scores);
            best = Best { at: Some((curve.len() - 1, value)), values, scores, others, all: best.all };
        }
        if best.at.is_none_or(|(at, _)| at + pace.patience < curve.len()) && curve.len() > pace.patience {
            break;
        }
    }
    (curve.len()..measurements).for_each(|_| control.step());
    Ok((curve, best))
}

/// Adds `trees` trees to each training, and their mean scores to `source_scores`, the scores of the source.
fn add_trees(
    trainings: &mut [Boosting<'_>],
    HeldOut { seeds, source, .. }: HeldOut<'_>,
    trees: usize,
    source_scores: &mut [f64],
    control: &Control,
) -> Result<()> {
    let Some((binned, _)) = source else {
        return parallel::try_each_of(trainings.iter_mut().collect(), |_, training: &mut Boosting<'_>| {
            (0..trees).try_for_each(|_| training.step(control).map(|_| ()))
        });
    };
    for _ in 0..trees {
        let step = |_, training: &mut Boosting<'_>| -> Result<Vec<f64>> {
            training.step(control)?.scores(binned, source_scores.len(), control)
        };
        for added in parallel::map_of(trainings.iter_mut().collect(), step) {
            let factor = 1.0 / seeds as f64;
            source_scores.iter_mut().zip(added?).for_each(|(sum, score)| *sum += factor * score);
        }
    }
    Ok(())
}

/// For each fold and held-out query, the document scores.
fn scores(
    trainings: &[Boosting<'_>],
    HeldOut { measured, seeds, source, .. }: HeldOut<'_>,
    source_scores: &[f64],
) -> Scores {
    let of_fold = |(Measured { data, queries }, trainings): (&Measured<'_>, &[Boosting<'_>])| {
        let means = if source.is_some() { Vec::new() } else { Boosting::mean_scores(trainings) };
        let scores = if source.is_some() { source_scores } else { &means };
        queries.iter().map(|query| scores[data.rows(*query)].to_vec()).collect()
    };
    measured.iter().zip(trainings.chunks(seeds)).map(of_fold).collect()
}

/// The mean of the metric over the held-out queries, and the value and weight of each.
///
/// # Errors
/// An interrupt.
pub(in crate::train) fn values(
    validation: &ValidationSpec,
    measured: &[Measured<'_>],
    scores: &Scores,
    control: &Control,
) -> Result<(Option<f64>, Vec<QueryValue>)> {
    let metric = &validation.metric;
    let mut mean = Mean::new(metric.def(), validation.undefined);
    let mut values = Vec::new();
    for (Measured { data, queries }, scores) in measured.iter().zip(scores) {
        let value = |number: usize| {
            control.check()?;
            metric.finite_value(data.labels(queries[number]), &scores[number])
        };
        let query_values = parallel::try_map(queries.len(), value)?;
        for (query, value) in queries.iter().zip(query_values) {
            mean.add(value, data.labels(*query));
            values.push(mean.weighted(value, data.labels(*query)));
        }
    }
    Ok((mean.value(), values))
}

/// The sum of two scores, each divided by its standard deviation within the held-out queries of its fold.
pub(in crate::train) fn sum_of_scores(measured: &[Measured<'_>], [first, second]: [&Scores; 2]) -> Scores {
    let factor = |fold: &Measured<'_>, scores: &[Vec<f64>]| {
        let lists = fold.queries.iter().zip(scores);
        let spread = lists.map(|(query, scores)| squares(scores, fold.data.doc_weights(*query))).sum();
        normalizer(spread, fold.queries.iter().map(|query| weight(fold.data, *query)).sum())
    };
    let folds = measured.iter().zip(first.iter().zip(second));
    let of_folds = folds.map(|(fold, (first, second))| {
        let (a, b) = (factor(fold, first), factor(fold, second));
        let sum = |(x, y): (&Vec<f64>, &Vec<f64>)| x.iter().zip(y).map(|(x, y)| a * x + b * y).collect();
        first.iter().zip(second).map(sum).collect()
    });
    of_folds.collect()
}
