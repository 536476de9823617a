//! Cross-validation of one candidate.
//!
//! The queries are partitioned into five folds twice. The sums of least squares ([`Gram`]) are computed once for every
//! cell, the queries that share both folds. The sums of a training set are sums over cells.

use std::sync::Arc;

use super::candidate::Candidate;
use super::{AutoSpec, judged_queries};
use crate::algorithm::grid::default_lambdas;
use crate::algorithm::{Curve, Split, scale};
use crate::control::Control;
use crate::data::{Dataset, Scaling};
use crate::error::Result;
use crate::fit::Prior;
use crate::kernel::{self, MapOptions};
use crate::loss::{Loss, least_squares};
use crate::math::lanes::LANES;
use crate::memory::{Reservation, matrix_bytes};
use crate::metric::Mean;
use crate::parallel;
use crate::select::{argmax_smoothed, fold_numbers, smoothed};
use crate::solve::{Gram, ListBlock, Rows, least_squares_bytes};
use crate::space::{Form, Scorer, Space};

/// Folds of each partition.
const FOLDS: usize = 5;
/// Partitions of the queries.
const PARTITIONS: usize = 2;

/// The folds of the queries.
pub(super) struct Cells {
    /// For each query its fold in each partition; `None` for queries that are never held out.
    folds: Vec<Option<[usize; PARTITIONS]>>,
}

/// Sums of cells, and of the training sets of folds.
const CELLS_AND_FOLDS: usize = FOLDS * FOLDS + 1 + PARTITIONS * FOLDS;

/// What to do if a candidate takes too much memory.
const FEWER: &str = "use fewer landmarks, threads or rows, or one algorithm, such as rank_svm";

/// The queries that a fold holds out, and for each lambda their values.
type FoldValues = (Vec<usize>, Vec<Vec<Option<f64>>>);

/// A candidate with its validated values.
pub(super) struct Trial {
    pub candidate: Candidate,
    pub curve: Curve,
    /// Index of the chosen lambda.
    pub chosen: Option<usize>,
    /// Mean value and weight of each query with the chosen lambda.
    pub values: Vec<(f64, f64)>,
}

impl Cells {
    /// Partitions the judged queries.
    pub fn new(data: &Dataset, seed: u64) -> Self {
        let judged = judged_queries(data);
        let partition = |number: usize| fold_numbers(&data.query_ids, &judged, FOLDS, seed ^ number as u64);
        let partitions: Vec<Vec<Option<usize>>> = (0..PARTITIONS).map(partition).collect();
        let of_query = |query: usize| {
            let folds: Vec<usize> = partitions.iter().filter_map(|partition| partition[query]).collect();
            folds.try_into().ok()
        };
        Self { folds: (0..data.n_queries()).map(of_query).collect() }
    }

    /// The queries that are held out.
    pub fn held_out(&self) -> Vec<usize> {
        (0..self.folds.len()).filter(|query| self.folds[*query].is_some()).collect()
    }

    /// Queries by cell. The last cell has the queries that are never held out.
    fn cells(&self) -> Vec<Vec<usize>> {
        let mut cells = vec![Vec::new(); FOLDS * FOLDS + 1];
        for (query, folds) in self.folds.iter().enumerate() {
            cells[folds.map_or(FOLDS * FOLDS, |[first, second]| first * FOLDS + second)].push(query);
        }
        cells
    }

    fn holds_out(cell: usize, partition: usize, fold: usize) -> bool {
        cell < FOLDS * FOLDS && [cell / FOLDS, cell % FOLDS][partition] == fold
    }
}

/// What is held out.
pub(super) fn split(held_out: usize, all: usize) -> Split {
    Split::RepeatedQueries { held_out, all, times: PARTITIONS, folds: FOLDS }
}

impl Trial {
    /// The chosen lambda.
    pub fn lambda(&self) -> f64 {
        self.curve[self.chosen.unwrap_or(0)].0
    }

    /// The value of the chosen lambda, smoothed over adjacent ones.
    pub fn value(&self) -> Option<f64> {
        self.chosen.and_then(|chosen| smoothed(&self.curve, chosen))
    }
}

/// The scaled documents of a candidate and the space of its functions.
pub(super) struct Prepared {
    pub scaling: Scaling,
    pub data: Arc<Dataset>,
    pub space: Space,
    /// The bytes of both.
    _memory: [Reservation; 3],
}

/// Scales the documents and fits the space.
pub(super) fn prepared(
    spec: &AutoSpec,
    candidate: &Candidate,
    data: &Dataset,
    landmarks: usize,
    control: &Control,
) -> Result<Prepared> {
    let copy = control.reserve(data.bytes(), "a scaled copy of the documents", FEWER)?;
    let scaling = Scaling::fit(candidate.scale, data, control)?;
    let mut scaled = data.clone();
    let more = scale(&scaling, candidate.scale, &mut scaled, control)?;
    let map = MapOptions { landmarks, seed: spec.seed, ..MapOptions::default() };
    let kernel = kernel::KernelSpec::parse(&candidate.kernel)?;
    let space = Space::fit(&kernel, Form::Scoring, &scaled, &map, control)?;
    let memory = [copy, more, space.reserve(control)?];
    Ok(Prepared { scaling, data: Arc::new(scaled), space, _memory: memory })
}

/// One query for least squares, with its weight: its number of documents.
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

/// Reserves the bytes of prepared documents, of this many sums over them, and of a solution on each thread.
pub(super) fn reserve_blocks(
    space: &Space,
    documents: usize,
    sums: usize,
    control: &Control,
) -> Result<Reservation> {
    let dim = space.dim();
    // Queries that are being prepared have a copy. Linear functions use the documents of the data set.
    let copied = if space.is_linear() { 0 } else { matrix_bytes(documents, dim) };
    let square = matrix_bytes(dim + 2 * LANES, dim + 2 * LANES);
    let solutions = square.saturating_mul(1 + parallel::threads() as u64);
    let sums = (square / 2).saturating_mul(sums as u64);
    let parts = [copied, solutions, sums, least_squares_bytes(dim, documents)];
    let bytes = parts.into_iter().fold(0, u64::saturating_add);
    let what = format_args!("fitting {documents} documents in a space of {dim} landmarks");
    control.reserve(bytes, what, FEWER)
}

/// Cross-validates a candidate.
pub(super) fn cross_validate(
    spec: &AutoSpec,
    candidate: Candidate,
    data: &Dataset,
    cells: &Cells,
    control: &Control,
) -> Result<Trial> {
    // 1. The sums of each cell.
    let landmarks = spec.landmarks.min(super::TRIAL_LANDMARKS);
    let prepared = prepared(spec, &candidate, data, landmarks, control)?;
    let Prepared { data, space, .. } = &prepared;
    let _memory = reserve_blocks(space, data.n_docs(), CELLS_AND_FOLDS, control)?;
    let blocks = parallel::try_map(data.n_queries(), |query| block(space, data, query, control))?;
    let cells = cells.cells();
    let gram = |queries: &Vec<usize>| {
        let queries: Vec<(&ListBlock, f64)> =
            queries.iter().map(|query| (&blocks[*query].0, blocks[*query].1)).collect();
        control.check()?;
        Gram::of(space.dim(), &queries)
    };
    let grams: Vec<Gram> = cells.iter().map(gram).collect::<Result<_>>()?;
    // 2. Every fold of every partition.
    let lambdas = default_lambdas(&Loss::List(least_squares()), space.is_linear(), Prior::Zero);
    let run =
        FoldRun { spec, data, blocks: &blocks, cells: &cells, grams: &grams, lambdas: &lambdas, control };
    let folds =
        parallel::try_map(PARTITIONS * FOLDS, |number| run.values(space, number / FOLDS, number % FOLDS))?;
    // 3. The mean over all held-out queries.
    let metric = &spec.validation.metric;
    let mean = |index: usize| {
        let mut mean = Mean::new(metric.def(), spec.validation.undefined);
        for (held_out, values) in &folds {
            for (query, value) in held_out.iter().zip(&values[index]) {
                mean.add(*value, data.labels(*query));
            }
        }
        mean.value()
    };
    let curve: Curve = lambdas.iter().enumerate().map(|(index, lambda)| (*lambda, mean(index))).collect();
    let chosen = argmax_smoothed(&curve, metric.def().better);
    // 4. The values of each query.
    let mut values = vec![(0.0, 0.0); data.n_queries()];
    let mut times = vec![0.0; data.n_queries()];
    let counted = Mean::new(metric.def(), spec.validation.undefined);
    if let Some(chosen) = chosen {
        for (held_out, of_lambda) in &folds {
            for (query, value) in held_out.iter().zip(&of_lambda[chosen]) {
                if let Some((value, weight)) = counted.weighted(*value, data.labels(*query)) {
                    values[*query] = (values[*query].0 + value, weight);
                    times[*query] += 1.0;
                }
            }
        }
    }
    let of_query = |((sum, weight), times): ((f64, f64), f64)| (times > 0.0).then(|| (sum / times, weight));
    let values = values.into_iter().zip(times).filter_map(of_query).collect();
    Ok(Trial { candidate, curve, chosen, values })
}

/// What the folds of a candidate have in common.
struct FoldRun<'a> {
    spec: &'a AutoSpec,
    data: &'a Dataset,
    blocks: &'a [(ListBlock, f64)],
    cells: &'a [Vec<usize>],
    grams: &'a [Gram],
    lambdas: &'a [f64],
    control: &'a Control,
}

impl FoldRun<'_> {
    /// Fits on all cells but those of a fold, and evaluates the queries of the fold.
    fn values(&self, space: &Space, partition: usize, fold: usize) -> Result<FoldValues> {
        let mut training = Gram::zero(space.dim());
        let (mut documents, mut held_out) = (0.0, Vec::new());
        for (cell, queries) in self.cells.iter().enumerate() {
            if Cells::holds_out(cell, partition, fold) {
                held_out.extend(queries.iter().copied());
            } else {
                training.add(&self.grams[cell]);
                documents += queries.iter().map(|query| self.blocks[*query].1).sum::<f64>();
            }
        }
        let of_lambda = |lambda: &f64| {
            self.control.check()?;
            let Some(w) = training.solve(0.5 * lambda * documents, None) else {
                return Ok(vec![None; held_out.len()]);
            };
            let metric = &self.spec.validation.metric;
            let value = |query: &usize| {
                metric.finite_value(self.data.labels(*query), &self.blocks[*query].0.scores(&w))
            };
            held_out.iter().map(value).collect()
        };
        let values = parallel::try_map(self.lambdas.len(), |number| of_lambda(&self.lambdas[number]))?;
        Ok((held_out, values))
    }
}
