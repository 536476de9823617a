//! Cross-validation of one candidate.
//!
//! The queries are partitioned into five folds, several times. The sums of least squares are computed once for every cell, the
//! queries that share the folds of two partitions. The sums of a training set are sums over cells. Only with means of categories
//! each fold has its own sums.
//!
//! After the first partition, the others try lambdas near the best one only. They are left out if the first shows that the
//! candidate is clearly worse than those that would be averaged: by a paired test over queries against the last of these.
//! The other widths of a kernel are skipped if the first one is more than one standard error below the best candidate.

use super::AutoSpec;
use super::candidates::Candidate;
use super::documents::Parts;
use super::folds::{FOLDS, FoldRun, FoldValues, Partitions, QueryScores, chosen, curve, of_queries};
use super::prepared::{Copies, Prepared, Scaled};
use crate::base::{Control, Result, parallel};
use crate::cost::loss::{Loss, least_squares};
use crate::data::Dataset;
use crate::learn::fit::Prior;
use crate::learn::space::Scorer;
use crate::train::grid::default_lambdas;
use crate::train::select::{Curve, is_below, one_standard_error};

/// Partitions whose sums are made together.
const TOGETHER: usize = 2;
/// Lambdas on each side of the best one of the first partition that further partitions try.
const WINDOW: usize = 2;

/// The smallest lambda of kernels: in single precision smaller ones would not differ.
const SMALLEST_LAMBDA: f64 = 0.9e-6;
/// Standard errors that make a candidate clearly worse.
pub(super) const CLEARLY: f64 = 2.0;
/// Standard errors by which the first width of a kernel is below the best candidate so far if its other widths are skipped.
const WIDTHS_BELOW: f64 = 1.0;

/// Sums of cells, and of the folds of a partition.
const CELLS_AND_FOLDS: usize = (FOLDS + 1) * (FOLDS + 1);

/// A candidate with its validated values.
pub struct Trial {
    pub candidate: Candidate,
    pub curve: Curve,
    /// Index of the chosen lambda.
    pub chosen: Option<usize>,
    /// The value of the chosen lambda, smoothed over adjacent ones.
    pub value: Option<f64>,
    /// Mean value and weight of each query with the chosen lambda.
    pub values: Vec<(f64, f64)>,
    /// Whether all partitions but the first were left out.
    pub dropped: bool,
    /// The value of each query in the first partition (`n_queries`), negated if lower ones are better.
    pub first: Vec<Option<f64>>,
    /// For the folds of the last partition the held-out queries, and the function with the chosen lambda, if scores are kept.
    functions: Vec<(Vec<usize>, Vec<f64>)>,
    /// The scores by these functions.
    pub scores: Vec<QueryScores>,
}

impl Trial {
    /// The chosen lambda.
    pub fn lambda(&self) -> f64 {
        self.curve[self.chosen.unwrap_or(0)].0
    }

    /// Scores the documents of the queries that each fold holds out, and of `others`.
    pub fn score(
        &mut self,
        spec: &AutoSpec,
        copies: &mut Copies<'_>,
        others: &[Vec<usize>],
        control: &Control,
    ) -> Result<()> {
        let scaled = copies.for_kernels(self.candidate.scale, control)?;
        let Prepared { space, data, .. } =
            &scaled.prepare(spec, &self.candidate, landmarks(spec), control)?;
        for (fold, ((held_out, w), others)) in self.functions.iter().zip(others).enumerate() {
            let queries = [&held_out[..], others].concat();
            let of_query = |number: usize| {
                control.check()?;
                let query = queries[number];
                Ok(QueryScores { query, fold, scores: space.scores(&data.documents(query), w, control)? })
            };
            self.scores.extend(parallel::try_map(queries.len(), of_query)?);
        }
        Ok(())
    }
}

/// Landmarks of a trial.
fn landmarks(spec: &AutoSpec) -> usize {
    spec.landmarks().min(spec.effort.trial_landmarks)
}

/// What candidates are tried on.
#[derive(Clone, Copy)]
pub(super) struct Tried<'a> {
    pub data: &'a Dataset,
    /// The scores of the baseline; empty without one.
    pub start: &'a [f64],
    pub partitions: &'a Partitions,
    /// The trials of earlier candidates.
    pub before: &'a [Trial],
}

/// Cross-validates a candidate.
pub(super) fn cross_validate(
    spec: &AutoSpec,
    candidate: Candidate,
    scaled: &mut Scaled,
    tried: Tried<'_>,
    control: &Control,
) -> Result<Trial> {
    let Tried { data, start, partitions, before } = tried;
    let prepared = scaled.prepare(spec, &candidate, landmarks(spec), control)?;
    let space = &prepared.space;
    let _memory = Parts::reserve(&prepared, CELLS_AND_FOLDS, control)?;
    let prior = if start.is_empty() { Prior::Zero } else { Prior::Model };
    let mut lambdas = default_lambdas(&Loss::List(least_squares()), space.is_linear(), prior);
    lambdas.retain(|lambda| space.is_linear() || *lambda > SMALLEST_LAMBDA);
    let scaling = &scaled.scaling;
    let run = FoldRun { spec, data, prepared: &prepared, start, scaling, lambdas: &lambdas, control };
    let every = 0..lambdas.len();
    let (mut folds, mut first, mut dropped) = (Vec::new(), Vec::new(), false);
    let mut window = every.clone();
    'partitions: for cells in partitions.cells(TOGETHER) {
        // 1. The sums of each cell.
        let sums = if data.has_means() { None } else { Some(run.sums(&cells)?) };
        // 2. The folds of each partition.
        for number in 0..cells.partitions {
            folds.extend(match &sums {
                Some(sums) => run.partition_values(&cells, sums, number, window.clone())?,
                None => run.partition_values_with_means(&cells, number, window.clone())?,
            });
            if !first.is_empty() {
                continue;
            }
            // 3. After the first one, whether the candidate is clearly worse than others, and which lambdas are near the best.
            let curve = curve(spec, data, &lambdas, &folds);
            let (mut chosen, _) = chosen(spec, &curve, every.clone());
            if !start.is_empty() {
                chosen = chosen.map(|chosen| largest_near(spec, data, &folds, chosen));
            }
            let sign = spec.validation.metric.def().better.sign();
            let values = of_queries(spec, data, &folds, chosen);
            first = values.into_iter().map(|value| value.map(|(value, _)| sign * value)).collect();
            dropped = is_clearly_worse(spec, &first, before);
            if let (Some(chosen), false) = (chosen, start.is_empty()) {
                window = chosen..chosen + 1;
            } else if let Some(chosen) = chosen {
                window = chosen.saturating_sub(WINDOW)..every.end.min(chosen + WINDOW + 1);
            }
            if dropped {
                break 'partitions;
            }
        }
    }
    let window = if folds.len() > FOLDS || !start.is_empty() { window } else { every };
    let curve = curve(spec, data, &lambdas, &folds);
    let (chosen, value) = chosen(spec, &curve, window);
    let values = of_queries(spec, data, &folds, chosen).into_iter().flatten().collect();
    // Means of categories are other numbers in each fold.
    let last = if data.has_means() { Vec::new() } else { folds.split_off(folds.len() - FOLDS) };
    let function = |(queries, _, functions): FoldValues| Some((queries, functions.get(chosen?)?.clone()));
    let functions = last.into_iter().filter_map(function).collect();
    Ok(Trial { candidate, curve, chosen, value, values, dropped, first, functions, scores: Vec::new() })
}

/// The largest lambda within one standard error of the best one: with a baseline, functions stay near 0.
fn largest_near(spec: &AutoSpec, data: &Dataset, folds: &[FoldValues], best: usize) -> usize {
    let values = |lambda: usize| of_queries(spec, data, folds, Some(lambda));
    let by_lambda: Vec<Vec<Option<(f64, f64)>>> = (0..=best).map(values).collect();
    let of_query = |query: usize| -> Option<Vec<f64>> {
        by_lambda.iter().map(|values| values[query].map(|(value, _)| value)).collect()
    };
    let paired: Vec<Vec<f64>> = (0..data.n_queries()).filter_map(of_query).collect();
    one_standard_error(&paired, best, spec.validation.metric.def().better)
}

/// The mean over queries in the first partition.
fn mean(trial: &Trial) -> f64 {
    let values: Vec<f64> = trial.first.iter().flatten().copied().collect();
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

/// Whether the first width of the kernel of a candidate is below the best trial by more than [`WIDTHS_BELOW`].
pub(super) fn skips_width(candidate: &Candidate, before: &[Trial]) -> bool {
    let first = before.iter().find(|trial| trial.candidate.is_like(candidate));
    let best =
        before.iter().filter(|trial| trial.chosen.is_some()).max_by(|a, b| mean(a).total_cmp(&mean(b)));
    first.zip(best).is_some_and(|(first, best)| is_below(&first.first, &best.first, WIDTHS_BELOW))
}

/// Whether a candidate is clearly worse than the last one that would be averaged.
fn is_clearly_worse(spec: &AutoSpec, values: &[Option<f64>], before: &[Trial]) -> bool {
    let mut rivals: Vec<(f64, &Trial)> = before
        .iter()
        .filter(|trial| !trial.dropped && trial.chosen.is_some())
        .map(|trial| (mean(trial), trial))
        .collect();
    rivals.sort_by(|a, b| b.0.total_cmp(&a.0));
    let Some((_, rival)) = rivals.get(spec.effort.averaged - 1) else { return false };
    is_below(values, &rival.first, CLEARLY)
}
