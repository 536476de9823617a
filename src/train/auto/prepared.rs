//! Scaled documents, function spaces and queries prepared for least squares, which candidates share.

use std::sync::Arc;

use serde_json::Value;

use super::AutoSpec;
use super::baseline::residuals;
use super::candidates::Candidate;
use crate::base::{Control, Reservation, Result, matrix_bytes, parallel};
use crate::cost::loss::{least_squares, pair_count};
use crate::data::{Dataset, Matrix, QueryFeatureRule, Scaling, ScalingKind, shaped};
use crate::learn::kernel::{self, FeatureMap, KernelSpec, MapOptions, SingleMap};
use crate::learn::solve::{ListBlock, Rows, fits_single_precision, least_squares_bytes};
use crate::learn::space::{Form, Scorer, Space};
use crate::math::LANES;
use crate::train::algorithm::scale;
use crate::train::averaged::weight;
use crate::train::baseline::Baseline;

/// Landmarks that add less than this to the span of the others are left out, so that single precision has enough digits.
const TOLERANCE: f64 = 2e-6;
/// Documents from which landmarks are chosen, for each landmark of the level; at least as many as landmarks.
const PER_LANDMARK: usize = 4;
/// With more documents, only one scaled copy is kept at a time.
const MOST_KEPT: usize = 100_000;

/// The scaled copies of a data set.
pub struct Copies<'a> {
    data: &'a Dataset,
    /// The query features that kernels see.
    joined: Option<&'a QueryFeatureRule>,
    /// The scores of the baseline; empty without one.
    start: Vec<f64>,
    is_contradicted: bool,
    known: Vec<Scaled>,
}

pub struct Scaled {
    pub scaling: Scaling,
    pub data: Arc<Dataset>,
    /// Landmarks by their number and the kernel that chose them.
    landmarks: Vec<(usize, Value, Arc<Matrix>)>,
    /// Number of query features, which follow the document features.
    joined: usize,
    /// Whether its grades are what the baseline leaves.
    has_residuals: bool,
    memory: Vec<Reservation>,
}

/// The documents of a candidate and the space of its functions.
pub struct Prepared {
    pub data: Arc<Dataset>,
    pub space: Space,
    /// The map of the space in single precision, if it has one.
    pub single: Option<SingleMap>,
    _memory: [Reservation; 2],
}

impl<'a> Copies<'a> {
    pub fn new(data: &'a Dataset, joined: Option<&'a QueryFeatureRule>, baseline: Option<&Baseline>) -> Self {
        let start = baseline.map_or_else(Vec::new, |baseline| baseline.scores(data));
        let is_contradicted = baseline.is_some_and(|baseline| baseline.is_contradicted);
        Self { data, joined, start, is_contradicted, known: Vec::new() }
    }

    /// Whether the judgments contradict the baseline.
    pub fn is_contradicted(&self) -> bool {
        self.is_contradicted
    }

    /// Whether kernels see query features.
    pub fn sees_queries(&self) -> bool {
        self.joined.is_some()
    }

    /// The scores of the baseline; empty without one.
    pub fn start(&self) -> &[f64] {
        &self.start
    }

    /// The data set.
    pub fn data(&self) -> &'a Dataset {
        self.data
    }

    /// The documents with this scaling, followed by the query features that kernels see. Their grades are what the baseline leaves.
    pub fn for_kernels(&mut self, kind: ScalingKind, control: &Control) -> Result<&mut Scaled> {
        self.find(kind, self.joined, !self.start.is_empty(), control)
    }

    /// The documents with this scaling.
    pub fn get(&mut self, kind: ScalingKind, control: &Control) -> Result<&mut Scaled> {
        self.find(kind, None, false, control)
    }

    fn find(
        &mut self,
        kind: ScalingKind,
        joined: Option<&QueryFeatureRule>,
        has_residuals: bool,
        control: &Control,
    ) -> Result<&mut Scaled> {
        let width = joined.map_or(0, QueryFeatureRule::number_count);
        let is_known = |scaled: &Scaled| {
            scaled.scaling.kind() == kind && scaled.joined == width && scaled.has_residuals == has_residuals
        };
        let known = self.known.iter().position(is_known);
        if known.is_none() {
            if self.data.n_docs() > MOST_KEPT {
                self.known.clear();
            }
            let start = if has_residuals { &self.start[..] } else { &[] };
            self.known.push(Scaled::new(kind, self.data, joined, start, control)?);
        }
        let index = known.unwrap_or(self.known.len() - 1);
        Ok(&mut self.known[index])
    }
}

impl Scaled {
    fn new(
        kind: ScalingKind,
        data: &Dataset,
        joined: Option<&QueryFeatureRule>,
        start: &[f64],
        control: &Control,
    ) -> Result<Self> {
        let copy = control.reserve(data.bytes(), "a scaled copy of the documents", FEWER)?;
        let mut scaled = data.clone();
        let scaling = Scaling::fit(kind, &scaled, control)?;
        let more = scale(&scaling, kind, &mut scaled, control)?;
        let (mut memory, mut width) = (vec![copy, more], 0);
        if let Some(rule) = joined {
            width = rule.number_count();
            memory.push(rule.append_numbers(&mut scaled, control)?);
        }
        let has_residuals = !start.is_empty();
        if has_residuals {
            scaled.relevance = residuals(data, start);
        }
        let data = Arc::new(scaled);
        Ok(Self { scaling, data, landmarks: Vec::new(), joined: width, has_residuals, memory })
    }

    /// At most `count` documents that span the space of a kernel (rows).
    fn landmarks(
        &mut self,
        spec: &AutoSpec,
        chooser: &Value,
        count: usize,
        control: &Control,
    ) -> Result<Arc<Matrix>> {
        let kept = self.landmarks.iter().find(|(number, by, _)| *number == count && by == chooser);
        if let Some((_, _, landmarks)) = kept {
            return Ok(Arc::clone(landmarks));
        }
        let features = &self.data.features;
        let candidates = (PER_LANDMARK * spec.effort.landmarks).max(count);
        let candidates = kernel::sample(features.rows(), candidates, spec.seed);
        let kernel = KernelSpec::parse(chooser)?.fit(features, spec.seed, control)?;
        let map =
            FeatureMap::fit(&kernel, &features.select_rows(&candidates), &options(spec, count), control)?;
        let landmarks = Matrix::F64(shaped(map.dim(), features.columns(), map.basis.points.rows()));
        let landmarks = Arc::new(landmarks);
        self.memory.push(control.reserve(landmarks.bytes(), "landmarks", FEWER)?);
        self.landmarks.push((count, chooser.clone(), Arc::clone(&landmarks)));
        Ok(landmarks)
    }

    /// Fits the space of a candidate.
    pub fn prepare(
        &mut self,
        spec: &AutoSpec,
        candidate: &Candidate,
        landmarks: usize,
        control: &Control,
    ) -> Result<Prepared> {
        let kernel = KernelSpec::parse(&candidate.kernel)?;
        let space = if kernel.is_linear() {
            Space::linear(self.data.features.columns(), Form::Scoring)
        } else {
            let points = self.landmarks(spec, &candidate.chooser, landmarks, control)?;
            let kernel = kernel.fit(&self.data.features, spec.seed, control)?;
            Space::spanned_by(&kernel, &points, &options(spec, landmarks), control)?
        };
        let fitted = space.reserve(control)?;
        let more = control.reserve(space.single_map_bytes(), "a kernel space in single precision", FEWER)?;
        let single = if fits_single_precision(&self.data) { space.single_map() } else { None };
        Ok(Prepared { data: Arc::clone(&self.data), space, single, _memory: [fitted, more] })
    }
}

fn options(spec: &AutoSpec, landmarks: usize) -> MapOptions {
    MapOptions { landmarks, tolerance: TOLERANCE, seed: spec.seed }
}

// Queries prepared for least squares, their weights and their memory.

/// What to do if a candidate takes too much memory.
pub const FEWER: &str = "use fewer landmarks, threads or rows, or one algorithm, such as rank_svm";

/// One query for least squares, with its weight.
pub fn block(
    space: &Space,
    data: &Arc<Dataset>,
    query: usize,
    control: &Control,
) -> Result<(ListBlock, f64)> {
    control.check()?;
    let range = data.rows(query);
    let rows = if space.is_linear() {
        Rows::Of(Arc::clone(data), range)
    } else {
        Rows::Own(space.rows(&data.features, range, control)?)
    };
    let (loss, labels) = (least_squares(), data.labels(query));
    let block =
        ListBlock::new(rows, labels, &[], &loss)?.weighted(labels, doc_weights(data, query), &loss)?;
    Ok((block, weight(data, query)))
}

/// True for queries with documents of different relevance that have weights (`n_queries`).
pub(super) fn judged_queries(data: &Dataset) -> Vec<bool> {
    (0..data.n_queries()).map(|query| is_judged(data, query)).collect()
}

/// Whether a query has documents of different relevance among those that have a weight.
pub fn is_judged(data: &Dataset, query: usize) -> bool {
    let (grades, weights) = (data.labels(query), data.doc_weights(query));
    let counts = |row: usize| weights.get(row).is_none_or(|weight| *weight > 0.0);
    let counted = grades.iter().enumerate().filter(|(row, _)| counts(*row));
    pair_count(&counted.map(|(_, grade)| *grade).collect::<Vec<f64>>()) > 0
}

/// The weights of the documents of a query; none if all are 1, or all 0: then the query has weight 0.
pub(super) fn doc_weights(data: &Dataset, query: usize) -> &[f64] {
    let weights = data.doc_weights(query);
    if weights.iter().any(|weight| *weight > 0.0) { weights } else { &[] }
}

/// Reserves the bytes of prepared documents, of `sums` sums over them, and of a solution on each thread.
pub fn reserve_blocks(
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
