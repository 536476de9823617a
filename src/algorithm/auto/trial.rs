//! Cross-validation of one candidate.
//!
//! The queries are dealt into five folds twice. The sums that least squares needs ([`Gram`]) are formed once for every
//! cell of queries that share both folds; those of a training set are sums over cells.

use std::sync::Arc;

use rayon::prelude::*;

use super::candidate::Candidate;
use super::judged_queries;
use crate::algorithm::Recipe;
use crate::algorithm::grid::auto_grid;
use crate::control::Control;
use crate::data::{Dataset, Scaling};
use crate::error::{Error, Result};
use crate::kernel::{self, MapOptions};
use crate::loss::{Loss, least_squares};
use crate::metric::Mean;
use crate::select::{argmax_smoothed, fold_numbers, smoothed};
use crate::solve::{Gram, ListBlock, Rows};
use crate::space::{FunctionKind, Scorer, Space};

/// Folds of each dealing.
const FOLDS: usize = 5;
/// Dealings.
const DEALINGS: usize = 2;

/// Which query is held out when.
pub(super) struct Cells {
    /// For each query its fold in each dealing; `None` for queries that are never held out.
    folds: Vec<Option<[usize; DEALINGS]>>,
}

/// The queries that a fold holds out, and for each lambda their values.
type FoldValues = (Vec<usize>, Vec<Vec<Option<f64>>>);

/// A candidate with its validated values.
pub(super) struct Trial {
    pub candidate: Candidate,
    /// Lambdas, largest first, with the mean of the metric.
    pub curve: Vec<(f64, Option<f64>)>,
    /// The place of the winner in the curve.
    pub winner: Option<usize>,
}

impl Cells {
    /// Deals the judged queries.
    pub fn new(data: &Dataset, seed: u64) -> Self {
        let judged = judged_queries(data);
        let dealing = |number: usize| fold_numbers(&data.query_ids, &judged, FOLDS, seed ^ number as u64);
        let dealings: Vec<Vec<Option<usize>>> = (0..DEALINGS).map(dealing).collect();
        let of_query = |query: usize| {
            let folds: Vec<usize> = dealings.iter().filter_map(|dealing| dealing[query]).collect();
            folds.try_into().ok()
        };
        Self { folds: (0..data.n_queries()).map(of_query).collect() }
    }

    /// What is held out, as a sentence.
    pub fn sentence(&self) -> String {
        let (judged, all) = (self.folds.iter().flatten().count(), self.folds.len());
        format!("each of {judged} of {all} queries {DEALINGS} times, in {FOLDS} folds")
    }

    /// Queries by cell; those that are never held out come last.
    fn cells(&self) -> Vec<Vec<usize>> {
        let mut cells = vec![Vec::new(); FOLDS * FOLDS + 1];
        for (query, folds) in self.folds.iter().enumerate() {
            cells[folds.map_or(FOLDS * FOLDS, |[first, second]| first * FOLDS + second)].push(query);
        }
        cells
    }

    fn holds_out(cell: usize, dealing: usize, fold: usize) -> bool {
        cell < FOLDS * FOLDS && [cell / FOLDS, cell % FOLDS][dealing] == fold
    }
}

impl Trial {
    /// The lambda that won.
    pub fn lambda(&self) -> f64 {
        self.curve[self.winner.unwrap_or(0)].0
    }

    /// The value of the winner, smoothed over the lambdas next to it.
    pub fn value(&self) -> Option<f64> {
        self.winner.and_then(|winner| smoothed(&self.curve, winner))
    }
}

/// The scaled documents of a candidate with the space of its functions.
pub(super) fn prepared(
    recipe: &Recipe,
    candidate: &Candidate,
    data: &Dataset,
    landmarks: usize,
    control: &Control,
) -> Result<(Scaling, Arc<Dataset>, Space)> {
    let scaling = Scaling::fit(candidate.scale, data, control)?;
    let mut scaled = data.clone();
    let features = scaled.take_features();
    scaled.features = scaling.matrix(features, &data.offsets, control)?;
    if !scaled.features.is_finite() {
        let scale = candidate.scale.name();
        return Err(Error::Data(format!("features are too large for the option 'scale' \"{scale}\"")));
    }
    let map = MapOptions { landmarks, seed: recipe.seed, ..MapOptions::default() };
    let kernel = kernel::KernelSpec::parse(&candidate.kernel)?;
    let space = Space::fit(&kernel, FunctionKind::Pointwise, &scaled, &map, control)?;
    Ok((scaling, Arc::new(scaled), space))
}

/// One query as least squares sees it, with its weight: its number of documents.
pub(super) fn block(
    space: &Space,
    data: &Arc<Dataset>,
    query: usize,
    control: &Control,
) -> Result<(ListBlock, f64)> {
    control.check()?;
    let range = data.rows(query);
    let n = range.len() as f64;
    let rows = if space.is_linear() {
        Rows::Of(Arc::clone(data), range)
    } else {
        Rows::Own(space.rows(&data.features, range, control)?)
    };
    Ok((ListBlock::new(rows, data.labels(query), &[], &least_squares())?, n))
}

/// Cross-validates a candidate.
pub(super) fn run(
    recipe: &Recipe,
    candidate: Candidate,
    data: &Dataset,
    cells: &Cells,
    control: &Control,
) -> Result<Trial> {
    let landmarks = recipe.landmarks.min(super::TRIAL_LANDMARKS);
    let (_, data, space) = prepared(recipe, &candidate, data, landmarks, control)?;
    let blocks: Vec<(ListBlock, f64)> = (0..data.n_queries())
        .into_par_iter()
        .map(|query| block(&space, &data, query, control))
        .collect::<Result<_>>()?;
    let cells = cells.cells();
    let gram = |queries: &Vec<usize>| {
        let queries: Vec<(&ListBlock, f64)> =
            queries.iter().map(|query| (&blocks[*query].0, blocks[*query].1)).collect();
        control.check()?;
        Gram::of(space.dim(), &queries)
    };
    let grams: Vec<Gram> = cells.iter().map(gram).collect::<Result<_>>()?;
    let lambdas = auto_grid(&Loss::List(least_squares()), space.is_linear(), false);
    let folds: Vec<(usize, usize)> =
        (0..DEALINGS).flat_map(|dealing| (0..FOLDS).map(move |fold| (dealing, fold))).collect();
    let fold = |&(dealing, fold): &(usize, usize)| {
        let mut training = Gram::zero(space.dim());
        let (mut documents, mut held_out) = (0.0, Vec::new());
        for (cell, queries) in cells.iter().enumerate() {
            if Cells::holds_out(cell, dealing, fold) {
                held_out.extend(queries.iter().copied());
            } else {
                training.add(&grams[cell]);
                documents += queries.iter().map(|query| blocks[*query].1).sum::<f64>();
            }
        }
        let of_lambda = |lambda: &f64| {
            control.check()?;
            let Some(w) = training.solve(0.5 * lambda * documents, None) else {
                return Ok(vec![None; held_out.len()]);
            };
            let value =
                |query: &usize| recipe.metric.value(data.labels(*query), &blocks[*query].0.scores(&w));
            Ok(held_out.iter().map(value).collect())
        };
        let values: Vec<Vec<Option<f64>>> = lambdas.par_iter().map(of_lambda).collect::<Result<_>>()?;
        Ok((held_out, values))
    };
    let folds: Vec<FoldValues> = folds.par_iter().map(fold).collect::<Result<_>>()?;
    let mean = |place: usize| {
        let mut mean = Mean::new(recipe.metric.def(), recipe.undefined);
        for (held_out, values) in &folds {
            for (query, value) in held_out.iter().zip(&values[place]) {
                mean.add(*value, data.labels(*query));
            }
        }
        mean.value()
    };
    let curve: Vec<_> = lambdas.iter().enumerate().map(|(place, lambda)| (*lambda, mean(place))).collect();
    let winner = argmax_smoothed(&curve, recipe.metric.def().higher_is_better);
    Ok(Trial { candidate, curve, winner })
}
