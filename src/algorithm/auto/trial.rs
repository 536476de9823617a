//! Cross-validation of one candidate.
//!
//! The queries are partitioned into five folds twice. The sums of least squares are computed once for every cell, the queries
//! that share both folds. The sums of a training set are sums over cells.
//!
//! The second partition is left out if the first shows that the candidate is clearly worse than three others: by a paired test
//! over queries against the third best of those before it.

use std::sync::Arc;

use super::candidate::Candidate;
use super::documents::{Parts, Sums};
use super::{AVERAGED, AutoSpec, judged_queries};
use crate::algorithm::grid::default_lambdas;
use crate::algorithm::{Curve, Split, scale};
use crate::control::Control;
use crate::data::{Dataset, Scaling, ScalingKind};
use crate::error::Result;
use crate::fit::Prior;
use crate::kernel::{self, MapOptions, SingleMap};
use crate::loss::{Loss, least_squares};
use crate::math::lanes::LANES;
use crate::memory::{Reservation, matrix_bytes};
use crate::metric::Mean;
use crate::parallel;
use crate::select::{argmax_smoothed, fold_numbers, smoothed};
use crate::solve::{ListBlock, Rows, fits_single_precision, least_squares_bytes};
use crate::space::{Form, Scorer, Space};

/// Folds of each partition.
pub(super) const FOLDS: usize = 5;
/// Partitions of the queries.
const PARTITIONS: usize = 2;

/// The folds of the queries.
pub(super) struct Cells {
    /// For each query its fold in each partition; `None` for queries that are never held out.
    folds: Vec<Option<[usize; PARTITIONS]>>,
}

/// The smallest lambda of kernels: in single precision smaller ones would not differ.
const SMALLEST_LAMBDA: f64 = 0.9e-6;
/// Landmarks that add less than this to the span of the others are left out, so that single precision has enough digits.
const TOLERANCE: f64 = 2e-6;
/// Standard errors that make a candidate clearly worse.
pub(super) const CLEARLY: f64 = 2.0;

/// Sums of cells, and of the training sets of folds.
const CELLS_AND_FOLDS: usize = FOLDS * FOLDS + 1 + PARTITIONS * FOLDS;

/// What to do if a candidate takes too much memory.
pub(super) const FEWER: &str = "use fewer landmarks, threads or rows, or one algorithm, such as rank_svm";

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
    /// Whether the second partition was left out.
    pub dropped: bool,
    /// The value of each query in the first partition (`n_queries`), negated if lower ones are better.
    pub first: Vec<Option<f64>>,
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

/// Scaled documents.
pub(super) struct Scaled {
    pub scaling: Scaling,
    pub data: Arc<Dataset>,
    _memory: [Reservation; 2],
}

/// The scaled documents of a candidate, which candidates share, and the space of its functions.
pub(super) struct Prepared {
    pub scaled: Arc<Scaled>,
    pub space: Space,
    /// The map of the space in single precision, if it has one.
    pub single: Option<SingleMap>,
    _memory: [Reservation; 2],
}

impl Prepared {
    /// The scaled documents.
    pub fn data(&self) -> &Arc<Dataset> {
        &self.scaled.data
    }
}

/// Scales documents, unless the previous candidate had the same scaling.
pub(super) fn scaled(
    kind: ScalingKind,
    previous: Option<Arc<Scaled>>,
    data: &Dataset,
    control: &Control,
) -> Result<Arc<Scaled>> {
    if let Some(same) = previous.filter(|previous| previous.scaling.kind() == kind) {
        return Ok(same);
    }
    let copy = control.reserve(data.bytes(), "a scaled copy of the documents", FEWER)?;
    let scaling = Scaling::fit(kind, data, control)?;
    let mut scaled = data.clone();
    let more = scale(&scaling, kind, &mut scaled, control)?;
    Ok(Arc::new(Scaled { scaling, data: Arc::new(scaled), _memory: [copy, more] }))
}

/// Fits the space of a candidate to scaled documents.
pub(super) fn prepared(
    spec: &AutoSpec,
    candidate: &Candidate,
    scaled: Arc<Scaled>,
    landmarks: usize,
    control: &Control,
) -> Result<Prepared> {
    let map = MapOptions { landmarks, tolerance: TOLERANCE, seed: spec.seed };
    let kernel = kernel::KernelSpec::parse(&candidate.kernel)?;
    let space = Space::fit(&kernel, Form::Scoring, &scaled.data, &map, control)?;
    let fitted = space.reserve(control)?;
    let more = control.reserve(space.single_map_bytes(), "a kernel space in single precision", FEWER)?;
    let single = if fits_single_precision(&scaled.data) { space.single_map() } else { None };
    Ok(Prepared { scaled, space, single, _memory: [fitted, more] })
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

/// Cross-validates a candidate. `before`: the trials of candidates before it.
pub(super) fn cross_validate(
    spec: &AutoSpec,
    candidate: Candidate,
    (data, scaled): (&Dataset, Arc<Scaled>),
    (cells, before): (&Cells, &[Trial]),
    control: &Control,
) -> Result<Trial> {
    // 1. The sums of each cell.
    let landmarks = spec.landmarks.min(super::TRIAL_LANDMARKS);
    let prepared = prepared(spec, &candidate, scaled, landmarks, control)?;
    let space = &prepared.space;
    let _memory = Parts::reserve(&prepared, CELLS_AND_FOLDS, control)?;
    let cells = cells.cells();
    let parts = Parts::new(&prepared, cells.clone(), control)?;
    let sums = parts.sums(space.dim(), control)?;
    // 2. The folds of the first partition, then those of the second unless the candidate is clearly worse than others.
    let mut lambdas = default_lambdas(&Loss::List(least_squares()), space.is_linear(), Prior::Zero);
    lambdas.retain(|lambda| space.is_linear() || *lambda > SMALLEST_LAMBDA);
    let run = FoldRun { spec, data, parts: &parts, cells: &cells, sums: &sums, lambdas: &lambdas, control };
    let partition =
        |partition: usize| parallel::try_map(FOLDS, |fold| run.values(space.dim(), partition, fold));
    let mut folds = partition(0)?;
    let (curve, chosen) = run.curve(&folds);
    let first = run.first(&folds, chosen);
    let dropped = is_clearly_worse(&first, before);
    let (curve, chosen) = if dropped {
        (curve, chosen)
    } else {
        for number in 1..PARTITIONS {
            folds.extend(partition(number)?);
        }
        run.curve(&folds)
    };
    let values = run.means(&folds, chosen);
    Ok(Trial { candidate, curve, chosen, values, dropped, first })
}

/// Whether the values of a candidate are clearly worse than those of the third best of others.
fn is_clearly_worse(values: &[Option<f64>], before: &[Trial]) -> bool {
    let mean = |trial: &&Trial| {
        let values: Vec<f64> = trial.first.iter().flatten().copied().collect();
        values.iter().sum::<f64>() / values.len().max(1) as f64
    };
    let mut rivals: Vec<(f64, &Trial)> = before
        .iter()
        .filter(|trial| !trial.dropped && trial.chosen.is_some())
        .map(|trial| (mean(&trial), trial))
        .collect();
    rivals.sort_by(|a, b| b.0.total_cmp(&a.0));
    let Some((_, rival)) = rivals.get(AVERAGED - 1) else { return false };
    is_below(values, &rival.first, CLEARLY)
}

/// Whether the mean of values is more than so many standard errors of the paired difference below that of others.
pub(super) fn is_below(values: &[Option<f64>], others: &[Option<f64>], errors: f64) -> bool {
    let pairs = values.iter().zip(others);
    let differences: Vec<f64> =
        pairs.filter_map(|(own, other)| Some(other.as_ref()? - own.as_ref()?)).collect();
    let n = differences.len() as f64;
    let mean = differences.iter().sum::<f64>() / n;
    let variance = differences.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / (n - 1.0);
    n > 1.0 && mean > errors * (variance / n).sqrt()
}

/// What the folds of a candidate have in common.
struct FoldRun<'a> {
    spec: &'a AutoSpec,
    data: &'a Dataset,
    parts: &'a Parts,
    cells: &'a [Vec<usize>],
    sums: &'a [Sums],
    lambdas: &'a [f64],
    control: &'a Control,
}

impl FoldRun<'_> {
    /// Fits on all cells but those of a fold, and evaluates the queries of the fold.
    fn values(&self, dim: usize, partition: usize, fold: usize) -> Result<FoldValues> {
        // 1. The sums of the training cells.
        let (mut training, mut documents): (Option<Sums>, f64) = (None, 0.0);
        for (cell, queries) in self.cells.iter().enumerate() {
            if !Cells::holds_out(cell, partition, fold) {
                match &mut training {
                    Some(training) => training.add(&self.sums[cell]),
                    None => training = Some(self.sums[cell].copied()),
                }
                documents += queries.iter().map(|query| self.data.rows(*query).len() as f64).sum::<f64>();
            }
        }
        // 2. A function for each lambda; 0 where there is none.
        let of_lambda = |number: usize| {
            self.control.check()?;
            let ridge = self.lambdas[number] * documents;
            Ok(training.as_ref().and_then(|training| training.solve(ridge)))
        };
        let found = parallel::try_map(self.lambdas.len(), of_lambda)?;
        let functions: Vec<Vec<f64>> =
            found.iter().map(|w| w.clone().unwrap_or_else(|| vec![0.0; dim])).collect();
        // 3. The held-out queries.
        let metric = &self.spec.validation.metric;
        let (mut held_out, mut values) = (Vec::new(), vec![Vec::new(); self.lambdas.len()]);
        for cell in (0..self.cells.len()).filter(|cell| Cells::holds_out(*cell, partition, fold)) {
            self.control.check()?;
            for (query, scores) in self.parts.scores(cell, &functions) {
                held_out.push(query);
                for ((scores, found), values) in scores.iter().zip(&found).zip(&mut values) {
                    let value = || metric.finite_value(self.data.labels(query), scores);
                    values.push(if found.is_some() { value()? } else { None });
                }
            }
        }
        Ok((held_out, values))
    }

    /// The mean over all held-out queries for each lambda, and the index of the best.
    fn curve(&self, folds: &[FoldValues]) -> (Curve, Option<usize>) {
        let metric = &self.spec.validation.metric;
        let mean = |index: usize| {
            let mut mean = Mean::new(metric.def(), self.spec.validation.undefined);
            for (held_out, values) in folds {
                for (query, value) in held_out.iter().zip(&values[index]) {
                    mean.add(*value, self.data.labels(*query));
                }
            }
            mean.value()
        };
        let value = |(index, lambda): (usize, &f64)| (*lambda, mean(index));
        let curve: Curve = self.lambdas.iter().enumerate().map(value).collect();
        let chosen = argmax_smoothed(&curve, metric.def().better);
        (curve, chosen)
    }

    /// The value of each query in folds with the chosen lambda, negated if lower ones are better.
    fn first(&self, folds: &[FoldValues], chosen: Option<usize>) -> Vec<Option<f64>> {
        let metric = self.spec.validation.metric.def();
        let counted = Mean::new(metric, self.spec.validation.undefined);
        let mut first = vec![None; self.data.n_queries()];
        for (held_out, values) in folds.iter().filter(|_| chosen.is_some()) {
            for (query, value) in held_out.iter().zip(&values[chosen.unwrap_or(0)]) {
                let value = counted.weighted(*value, self.data.labels(*query));
                first[*query] = value.map(|(value, _)| metric.better.sign() * value);
            }
        }
        first
    }

    /// The mean value and weight of each held-out query with the chosen lambda.
    fn means(&self, folds: &[FoldValues], chosen: Option<usize>) -> Vec<(f64, f64)> {
        let mut values = vec![(0.0, 0.0); self.data.n_queries()];
        let mut times = vec![0.0; self.data.n_queries()];
        let counted = Mean::new(self.spec.validation.metric.def(), self.spec.validation.undefined);
        if let Some(chosen) = chosen {
            for (held_out, of_lambda) in folds {
                for (query, value) in held_out.iter().zip(&of_lambda[chosen]) {
                    if let Some((value, weight)) = counted.weighted(*value, self.data.labels(*query)) {
                        values[*query] = (values[*query].0 + value, weight);
                        times[*query] += 1.0;
                    }
                }
            }
        }
        let of_query =
            |((sum, weight), times): ((f64, f64), f64)| (times > 0.0).then(|| (sum / times, weight));
        values.into_iter().zip(times).filter_map(of_query).collect()
    }
}
