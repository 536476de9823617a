//! The boosted trees among the candidates.
//!
//! An ensemble for each fold of the queries is trained on the other folds, with few features for each tree. The held-out
//! queries determine the number of trees. The same number of ensembles of that size is then trained on all rows, each with
//! its own random choices. The function is their mean (Breiman 1996: aggregated predictors).
//!
//! With many documents, a single part of the queries is held out, and one ensemble is trained on the rest, with the
//! default fraction of the features. It is the function. It has up to [`MORE`] times the trees of a level, fewer the more
//! documents there are, so the time of a training does not fall where the documents become many.

use super::AutoSpec;
use super::folds::QueryScores;
use super::prepared::{Copies, judged_queries};
use super::report::Grown;
use super::sample::{MANY, Sample};
use crate::base::{Control, Result, parallel};
use crate::cost::loss::pair_count;
use crate::data::{Dataset, QueryFeatureRule, Scaling, ScalingKind};
use crate::train::averaged::{self, BOTH_SCALES, Fitted};
use crate::train::boosted_trees::QueryColumns;
use crate::train::boosted_trees::early::{
    HeldOut, MOST_TREES, Measured, Pace, QueryValue, ScaledRows, Scores, measure, sum_of_scores, values,
};
use crate::train::select::{Folds, Selection, is_below, unjudged};
use crate::trees::{self, Boosting, Prepared, RowWeights, Targets, TreeOptions};

/// Trees between two measurements of the ensembles.
const INTERVAL: usize = 10;
/// Measurements without a better value after which the ensembles are complete.
const PATIENCE: usize = 3;
/// Fraction of the features for each tree, of several ensembles.
const FRACTION: f64 = 0.3;
/// Least number of features for each tree.
const FEW_FEATURES: f64 = 16.0;
/// Trees of a single ensemble of just over [`MANY`] documents, relative to the trees of the level. With this many times the
/// documents it is 1.
const MORE: f64 = 3.0;

impl AutoSpec {
    /// Trains trees on all rows, one ensemble for each scale; `None` if all features are constant. `judged`: for each query
    /// whether it is judged.
    pub(super) fn grow(
        &self,
        judged: &[bool],
        copies: &mut Copies<'_>,
        rule: Option<&QueryFeatureRule>,
        sample: &Sample,
        control: &Control,
    ) -> Result<Option<Grown>> {
        let (data, start) = (copies.data(), copies.start().to_vec());
        let folds = if sample.has_many_documents {
            Folds::of_part(data, &sample.queries)
        } else {
            Folds::of_number(data, judged, self.effort.tree_folds, self.seed)?
        };
        // 1. Whether trees split query features too: if that is better by more than a standard error with the first scale.
        let columns = rule.map(|rule| QueryColumns { rule: rule.clone() });
        let mut joined = None;
        let mut parts = Vec::with_capacity(2);
        for scale in scales(self, sample.has_many_documents) {
            let (scaling, scaled) = match scale {
                ScalingKind::None => (&Scaling::None, data),
                scale => {
                    let scaled = copies.get(*scale, control)?;
                    (&scaled.scaling, &*scaled.data)
                }
            };
            let rows = |columns| Rows {
                spec: self,
                scaling,
                data: scaled,
                start: &start,
                columns,
                folds: &folds,
                control,
            };
            let mut part = rows(joined).boost()?;
            if let (true, Some(without), Some(columns)) = (parts.is_empty(), &part, &columns) {
                let with = rows(Some(columns)).boost()?;
                if with.as_ref().is_some_and(|with| is_below(&without.grown.values, &with.grown.values, 1.0))
                {
                    (joined, part) = (Some(columns), with);
                }
            }
            if let Some(Ensembles { grown, .. }) = part.as_mut().filter(|_| folds.count > 1) {
                grown.fitted = rows(joined).fit(grown)?;
            }
            parts.extend(part);
        }
        // 2. The sum of the scales.
        let grown = match <[Ensembles; 2]>::try_from(parts) {
            Ok(both) => Some(sum(self, data, &folds, both, &start, control)?),
            Err(mut parts) => parts.pop().map(|part| part.grown),
        };
        Ok(grown.map(|grown| Grown { query_columns: columns.as_ref().map(|_| joined.is_some()), ..grown }))
    }
}

/// Ensembles of one scale.
struct Ensembles {
    grown: Grown,
    scores: Scores,
}

/// The sum of the ensembles of two scalings, and its validation results.
fn sum(
    spec: &AutoSpec,
    data: &Dataset,
    folds: &Folds,
    [first, second]: [Ensembles; 2],
    start: &[f64],
    control: &Control,
) -> Result<Grown> {
    let measured = measured(folds, data);
    let both = [&first.scores, &second.scores];
    let scores = if start.is_empty() { sum_of_scores(&measured, both) } else { mean_of_scores(both) };
    let (value, of_queries) = values(&spec.validation, &measured, &scores, control)?;
    let (first, second) = (first.grown, second.grown);
    let trees = first.trees + second.trees;
    let split = first.selection.split;
    let curve = vec![(trees as f64, value)];
    let selection = Selection {
        option: Some("trees"),
        ..Selection::new(&spec.validation.metric, split, curve, value.map(|_| 0))
    };
    let mut fitted = first.fitted;
    fitted.extend(second.fitted);
    let mut kept = first.scores;
    kept.extend(second.scores);
    fitted.iter_mut().flat_map(|fitted| &mut fitted.weights).for_each(|weight| *weight *= 0.5);
    Ok(Grown {
        scale: BOTH_SCALES,
        trees,
        ensembles: first.ensembles,
        value,
        values: by_query(spec, data, &first.held_out, &of_queries),
        query_columns: None,
        selection: selection.with_error(|_| of_queries.into_iter().flatten().collect()),
        held_out: first.held_out,
        fitted,
        scores: kept,
    })
}

/// Scores of the queries of each fold.
fn of_folds<'a>(folds: &'a [Measured<'_>], scores: &'a Scores) -> impl Iterator<Item = QueryScores> + 'a {
    folds.iter().zip(scores).enumerate().flat_map(|(fold, (Measured { queries, .. }, scores))| {
        let of_query = move |(query, scores): (&usize, &Vec<f64>)| QueryScores {
            query: *query,
            fold,
            scores: scores.clone(),
        };
        queries.iter().zip(scores).map(of_query)
    })
}

/// The mean of two scores in the same units.
fn mean_of_scores([first, second]: [&Scores; 2]) -> Scores {
    let mean = |(first, second): (&Vec<f64>, &Vec<f64>)| {
        first.iter().zip(second).map(|(a, b)| f64::midpoint(*a, *b)).collect()
    };
    let of_fold =
        |(first, second): (&Vec<Vec<f64>>, &Vec<Vec<f64>>)| first.iter().zip(second).map(mean).collect();
    first.iter().zip(second).map(of_fold).collect()
}

/// The held-out queries of each fold.
fn measured<'a>(folds: &Folds, data: &'a Dataset) -> Vec<Measured<'a>> {
    (0..folds.count).map(|fold| Measured { data, queries: folds.held_out(fold) }).collect()
}

/// The value of each query, negated if lower ones are better.
fn by_query(
    spec: &AutoSpec,
    data: &Dataset,
    held_out: &[usize],
    of_queries: &[QueryValue],
) -> Vec<Option<f64>> {
    let sign = spec.validation.metric.def().better.sign();
    let mut values = vec![None; data.n_queries()];
    for (query, value) in held_out.iter().zip(of_queries) {
        values[*query] = value.map(|(value, _)| sign * value);
    }
    values
}

/// The scalings of the documents, each with separate ensembles, unless the caller asks for one. Values within queries are
/// more than the order of a feature's values, but not on every set. Many documents have the scale none alone.
fn scales(spec: &AutoSpec, is_large: bool) -> &'static [ScalingKind] {
    match spec.scale {
        Some(ScalingKind::QueryMinmax) => &[ScalingKind::QueryMinmax],
        Some(ScalingKind::QuantileMinmax) => &[ScalingKind::QuantileMinmax],
        None if !is_large => &[ScalingKind::None, ScalingKind::QuantileMinmax],
        _ => &[ScalingKind::None],
    }
}

/// The rows that trees are trained on.
struct Rows<'a> {
    spec: &'a AutoSpec,
    scaling: &'a Scaling,
    data: &'a Dataset,
    /// The scores of the baseline; empty without one.
    start: &'a [f64],
    /// The query features that the trees split.
    columns: Option<&'a QueryColumns>,
    folds: &'a Folds,
    control: &'a Control,
}

impl Rows<'_> {
    /// The weight of each query. Queries without different grades would pull trees away from the order of a baseline.
    fn query_weight(&self, query: usize) -> f64 {
        let learns = self.start.is_empty() || pair_count(self.data.labels(query)) > 0;
        f64::from(u8::from(learns))
    }

    fn options(&self) -> TreeOptions {
        options(self.spec, self.data.features.columns(), self.data.n_docs(), self.folds.count)
    }

    /// The features in bins.
    fn prepared(&self) -> Result<Prepared> {
        let TreeOptions { bins, seed, .. } = self.options();
        let mut prepared = Prepared::new(&self.data.features, bins, seed, self.control)?;
        prepared.signs = self.spec.monotone.signs(self.data, self.scaling)?;
        if let Some(columns) = self.columns {
            prepared.append(columns.prepared(self.data, self.options(), self.control)?);
        }
        Ok(prepared)
    }

    /// The ensemble of this number, before its first tree. Queries of weight 0 are left out.
    fn training<'p>(
        &'p self,
        prepared: &'p Prepared,
        number: usize,
        query_weights: &'p [f64],
    ) -> Result<Boosting<'p>> {
        let targets = Targets {
            offsets: &self.data.offsets,
            grades: &self.data.relevance,
            query_weights,
            row_weights: &self.data.doc_weights,
            start: self.start,
            loss: None,
        };
        let options = self.options();
        let seed = options.seed.wrapping_add(number as u64);
        Boosting::new(prepared, targets, TreeOptions { seed, ..options }, self.control)
    }

    /// Chooses the number of trees; `None` if all features are constant. With many documents, the ensemble is also the model.
    fn boost(&self) -> Result<Option<Ensembles>> {
        let Self { spec, data, folds, control, .. } = *self;
        // 1. Bins, and an ensemble for each fold.
        let prepared = self.prepared()?;
        if prepared.edges.varying().is_empty() {
            return Ok(None);
        }
        let ensembles = if folds.count > 1 { spec.effort.ensembles } else { 1 };
        let weights = |fold: usize| -> Vec<f64> {
            let weight = |query| if folds.trains(fold, query) { self.query_weight(query) } else { 0.0 };
            (0..data.n_queries()).map(weight).collect()
        };
        let weights: Vec<Vec<f64>> = (0..folds.count).map(weights).collect();
        let without =
            |fold: usize| {
                ScaledRows { data, scaling: self.scaling, start: self.start, are_contradicting: false }
                    .without(&folds.left_out(fold), &prepared, control)
            };
        let own = (0..folds.count).map(without).collect::<Result<Vec<Option<Prepared>>>>()?;
        let training = |number: usize| {
            let fold = number / ensembles;
            self.training(own[fold].as_ref().unwrap_or(&prepared), number, &weights[fold])
        };
        let mut trainings = (0..folds.count * ensembles).map(training).collect::<Result<Vec<_>>>()?;
        // 2. The number of trees.
        let measured = measured(folds, data);
        let held: usize = measured.iter().map(|fold| fold.queries.len()).sum();
        // A single part has queries of all kinds.
        let others = if spec.keeps_scores && folds.count > 1 {
            unjudged(data, &judged_queries(data), held, folds.count, spec.seed)
        } else {
            Vec::new()
        };
        let others: Vec<Measured<'_>> =
            others.into_iter().map(|queries| Measured { data, queries }).collect();
        let held_out = HeldOut { measured: &measured, others: &others, seeds: ensembles, source: None };
        let most = if folds.count > 1 { MOST_TREES } else { self.options().trees };
        // Smaller steps need more patience.
        let patience = PATIENCE * self.options().trees.div_ceil(spec.effort.trees);
        let pace = Pace { most, interval: INTERVAL, patience, from_0: !self.start.is_empty() };
        let (curve, mut best) = measure(&spec.validation, &mut trainings, held_out, pace, control)?;
        let chosen = best.at.map(|(at, _)| at);
        let trees = curve[chosen.unwrap_or(curve.len() - 1)].0 as usize;
        if trees == 0 {
            return Ok(None); // The baseline is better.
        }
        let mut fitted = Vec::new();
        if folds.count == 1 {
            trainings.iter_mut().for_each(|training| training.truncate(trees));
            fitted.push(self.mean(trainings)?);
        }
        // 3. Validation results.
        let kept: Vec<QueryScores> = if spec.keeps_scores {
            of_folds(&measured, &best.scores).chain(of_folds(&others, &best.others)).collect()
        } else {
            Vec::new()
        };
        let held_out: Vec<usize> = measured.into_iter().flat_map(|fold| fold.queries).collect();
        let selection = Selection {
            option: Some("trees"),
            ..Selection::new(&spec.validation.metric, folds.split(), curve, chosen)
        };
        let scores = std::mem::take(&mut best.scores);
        let grown = Grown {
            scale: self.scaling.kind().name(),
            trees,
            ensembles: folds.count * ensembles,
            value: best.at.map(|(_, value)| value),
            values: by_query(spec, data, &held_out, &best.values),
            query_columns: None,
            selection: selection.with_error(|_| best.values.into_iter().flatten().collect()),
            held_out,
            fitted,
            scores: vec![kept],
        };
        Ok(Some(Ensembles { grown, scores }))
    }

    /// Ensembles of all rows, of the number and size that validation has measured.
    fn fit(&self, grown: &Grown) -> Result<Vec<Fitted>> {
        let prepared = self.prepared()?;
        let weights: Vec<f64> = (0..self.data.n_queries()).map(|query| self.query_weight(query)).collect();
        let training = |number: usize| self.training(&prepared, grown.ensembles + number, &weights);
        let mut trainings = (0..grown.ensembles).map(training).collect::<Result<Vec<_>>>()?;
        parallel::try_each_of(trainings.iter_mut().collect(), |_, training: &mut Boosting<'_>| {
            (0..grown.trees).try_for_each(|_| training.step(self.control).map(|_| ()))
        })?;
        Ok(vec![self.mean(trainings)?])
    }

    /// The mean of ensembles.
    fn mean(&self, trainings: Vec<Boosting<'_>>) -> Result<Fitted> {
        let trees::Fitted { forest, values } = Boosting::mean(trainings);
        let rule = self.columns.map(|columns| &columns.rule);
        averaged::of_trees(forest, &values, self.scaling, self.data, rule, self.control)
    }
}

/// The choices for documents with `width` features.
fn options(spec: &AutoSpec, width: usize, documents: usize, ensembles: usize) -> TreeOptions {
    let fraction = FRACTION.max(FEW_FEATURES / width.max(1) as f64).min(1.0);
    let more = if documents > MANY { (MORE * MANY as f64 / documents as f64).max(1.0) } else { 1.0 };
    TreeOptions {
        depth: 6,
        learning_rate: None,
        trees: (spec.effort.trees as f64 * more) as usize,
        feature_fraction: (ensembles > 1).then_some(fraction),
        bins: 64,
        row_weights: RowWeights::Exponential,
        seed: spec.seed,
    }
}
