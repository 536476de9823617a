//! The number of trees by validation: early stopping.
//!
//! Held-out queries have the weight 0 in a training on all rows, so that they get scores but change no tree.

use super::measure::{Best, HeldOut, Measured, Pace, measure};
use super::query_columns::QueryColumns;
use super::{DEFAULT_TREES, TreeCount, TreesSpec, single_feature};
use crate::base::control::Control;
use crate::base::error::Result;
use crate::base::memory::{Reservation, bytes_of};
use crate::data::Dataset;
use crate::data::arrange::ListConstraint;
use crate::train::select::{Curve, Folds, Searched, Selection, Split, Validation};
use crate::train::single_feature::Judge;
use crate::trees::{Binned, Prepared};

/// Trees between two measurements.
const STEP: usize = 10;
/// Measurements without a better value after which the training stops.
const PATIENCE: usize = 10;
/// Largest number of trees.
pub const MOST_TREES: usize = 1000;

/// The number of trees that validation found.
pub(super) struct Found {
    pub trees: usize,
    pub selection: Selection,
    pub warnings: Vec<String>,
    /// Value and weight of each held-out query that counts, with that number of trees.
    values: Vec<(f64, f64)>,
}

impl Found {
    /// Whether the mean of its values is better than that of another search on the same queries, by more than one standard
    /// error of the difference. `sign`: -1 if lower values are better.
    pub fn is_better_than(&self, other: &Self, sign: f64) -> bool {
        let pairs = || self.values.iter().zip(&other.values).map(|((a, w), (b, _))| (sign * (a - b), *w));
        let total: f64 = pairs().map(|(_, weight)| weight).sum();
        let mean = pairs().map(|(difference, weight)| weight * difference).sum::<f64>() / total;
        let squares = pairs().map(|(difference, weight)| (weight * (difference - mean)).powi(2));
        // No held-out query: not a number.
        self.values.len() == other.values.len() && mean > squares.sum::<f64>().sqrt() / total
    }
}

/// A validation source with its documents in bins.
pub struct Held {
    data: Dataset,
    binned: Binned,
    _memory: Reservation,
}

impl Held {
    /// Puts the documents of a source into the bins of the training.
    ///
    /// # Errors
    /// Too little memory; an interruption.
    pub fn new(data: Dataset, prepared: &Prepared, control: &Control) -> Result<Self> {
        let bytes = Prepared::bytes_of(&data.features).saturating_add(bytes_of::<f64>(data.n_docs()));
        let memory = control.reserve(bytes, "validation documents in bins", "use fewer of them")?;
        let binned = prepared.borders.bin(&data.features, control)?;
        Ok(Self { data, binned, _memory: memory })
    }

    /// Adds the query features of its documents, in bins.
    ///
    /// # Errors
    /// Those of [`Self::new`].
    pub fn append(&mut self, columns: &QueryColumns, added: &Prepared, control: &Control) -> Result<()> {
        let Self { data, binned, .. } = self;
        let of_queries = columns.with_matrix(data, control, |matrix| added.borders.bin(matrix, control))?;
        binned.columns.extend(of_queries.columns);
        Ok(())
    }
}

/// Finds the number of trees.
///
/// # Errors
/// Those of a training.
pub(super) fn find(
    spec: &TreesSpec,
    prepared: &Prepared,
    data: &Dataset,
    source: Option<&Held>,
    control: &Control,
) -> Result<Found> {
    // 1. What is held out.
    let (measured, split, held_out) = match source {
        Some(Held { data: other, .. }) => {
            let queries: Vec<usize> = (0..other.n_queries()).collect();
            let split = Split::SourceQueries(queries.len());
            (vec![Measured { data: other, queries }], split, vec![vec![false; data.n_queries()]])
        }
        None => folds(spec, data, prepared.borders.len()),
    };
    if measured.is_empty() {
        let selection = selection(spec, Split::Nothing, Vec::new(), Best::default());
        let searched = Searched::new("trees", DEFAULT_TREES as f64);
        let warnings = selection.warning(&searched).into_iter().collect();
        return Ok(Found { trees: DEFAULT_TREES, selection, warnings, values: Vec::new() });
    }
    // 2. Trainings that leave it out.
    let mut trainings = Vec::with_capacity(held_out.len() * spec.seeds);
    for held_out in &held_out {
        let weight = |(query, weight): (usize, &f64)| if held_out[query] { 0.0 } else { *weight };
        let weights: Vec<f64> = data.weights.iter().enumerate().map(weight).collect();
        trainings.extend(spec.trainings(prepared, spec.judged(data, &weights), control)?);
    }
    // A given number of trees is measured once, at its end.
    let pace = match spec.trees {
        TreeCount::Fixed(trees) => Pace { most: trees, interval: trees, patience: PATIENCE },
        TreeCount::Auto => Pace { most: MOST_TREES, interval: STEP, patience: PATIENCE },
    };
    let binned = source.map(|held| &held.binned);
    let held_out = HeldOut { measured: &measured, seeds: spec.seeds, source: binned };
    let (curve, best) = measure(&spec.validation, &mut trainings, held_out, pace, control)?;
    // 3. The report.
    let values: Vec<(f64, f64)> = best.values.iter().flatten().copied().collect();
    let selection = selection(spec, split, curve, best);
    let trees = selection.chosen.map_or(DEFAULT_TREES, |chosen| selection.curve[chosen].0 as usize);
    let searched = Searched {
        advice: Some("give the option 'trees' a larger number"),
        limits: (STEP as f64, f64::INFINITY),
        ..Searched::new("trees", trees as f64)
    };
    let judges: Vec<Judge<'_>> =
        measured.iter().map(|Measured { data, queries }| Judge { data, queries }).collect();
    let baseline =
        single_feature::warning(&selection, &judges, &spec.validation, ListConstraint::None, control)?;
    let warnings = selection.warning(&searched).into_iter().chain(baseline).collect();
    Ok(Found { trees, selection, warnings, values })
}

/// Held-out queries of each fold, and for each query whether it is held out.
fn folds<'a>(
    spec: &TreesSpec,
    data: &'a Dataset,
    width: usize,
) -> (Vec<Measured<'a>>, Split, Vec<Vec<bool>>) {
    let Validation::Queries(fraction) = spec.validation.data else {
        return (Vec::new(), Split::Nothing, Vec::new());
    };
    let judged: Vec<bool> =
        (0..data.n_queries()).map(|query| crate::cost::loss::pair_count(data.labels(query)) > 0).collect();
    let numbers = data.n_docs() as f64 * width as f64;
    let seed = spec.options.seed;
    let Folds { held_out } = match spec.validation.folds {
        Some(folds) => Folds::of_number(&data.query_ids, &judged, folds, seed),
        None => Folds::by_query(&data.query_ids, &judged, fraction, numbers, seed),
    };
    let queries = |held_out: &Vec<bool>| (0..data.n_queries()).filter(|query| held_out[*query]).collect();
    let measured: Vec<Measured<'_>> =
        held_out.iter().map(|held_out| Measured { data, queries: queries(held_out) }).collect();
    let count = measured.iter().map(|fold| fold.queries.len()).sum();
    let split = Split::Queries { held_out: count, all: data.n_queries(), folds: measured.len() };
    (measured, split, held_out)
}

/// The choice, with the largest numbers of trees first.
fn selection(spec: &TreesSpec, split: Split, mut curve: Curve, best: Best) -> Selection {
    curve.reverse();
    let chosen = best.at.map(|(at, _)| curve.len() - 1 - at);
    Selection { option: Some("trees"), ..Selection::new(&spec.validation, split, curve, chosen) }
        .with_error(|_| best.values.into_iter().flatten().collect())
}
