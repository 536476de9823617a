//! Scaled documents, which candidates share, and spaces of functions of them.

use std::sync::Arc;

use serde_json::Value;

use super::AutoSpec;
use super::effort::Candidate;
use super::folds::FEWER;
use crate::base::control::Control;
use crate::base::error::Result;
use crate::base::memory::Reservation;
use crate::data::{Dataset, Matrix, Scaling, ScalingKind, shaped};
use crate::learn::kernel;
use crate::learn::kernel::{FeatureMap, KernelSpec, MapOptions, SingleMap};
use crate::learn::solve::fits_single_precision;
use crate::learn::space::{Form, Space};
use crate::train::algorithm::scale;

/// Landmarks that add less than this to the span of the others are left out, so that single precision has enough digits.
const TOLERANCE: f64 = 2e-6;
/// Documents for each landmark of a trial, from which landmarks are chosen.
const PER_LANDMARK: usize = 4;
/// Of data sets with more documents one scaled copy is kept at a time.
const MOST_KEPT: usize = 100_000;

/// The scaled copies of a data set.
pub struct Copies<'a> {
    data: &'a Dataset,
    known: Vec<Scaled>,
}

/// Scaled documents.
pub struct Scaled {
    pub scaling: Scaling,
    pub data: Arc<Dataset>,
    /// Landmarks by their number and the kernel that chose them.
    landmarks: Vec<(usize, Value, Arc<Matrix>)>,
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
    pub fn new(data: &'a Dataset) -> Self {
        Self { data, known: Vec::new() }
    }

    /// The data set.
    pub fn data(&self) -> &'a Dataset {
        self.data
    }

    /// The documents with this scaling.
    pub fn get(&mut self, kind: ScalingKind, control: &Control) -> Result<&mut Scaled> {
        let is_known = |scaled: &Scaled| scaled.scaling.kind() == kind;
        let known = self.known.iter().position(is_known);
        if known.is_none() {
            if self.data.n_docs() > MOST_KEPT {
                self.known.clear();
            }
            self.known.push(Scaled::new(kind, self.data, control)?);
        }
        let index = known.unwrap_or(self.known.len() - 1);
        Ok(&mut self.known[index])
    }
}

impl Scaled {
    fn new(kind: ScalingKind, data: &Dataset, control: &Control) -> Result<Self> {
        let copy = control.reserve(data.bytes(), "a scaled copy of the documents", FEWER)?;
        let scaling = Scaling::fit(kind, data, control)?;
        let mut scaled = data.clone();
        let more = scale(&scaling, kind, &mut scaled, control)?;
        Ok(Self { scaling, data: Arc::new(scaled), landmarks: Vec::new(), memory: vec![copy, more] })
    }

    /// At most so many documents that span the space of a kernel (rows).
    fn landmarks(
        &mut self,
        spec: &AutoSpec,
        chooser: &Value,
        count: usize,
        control: &Control,
    ) -> Result<Arc<Matrix>> {
        let known = self.landmarks.iter().find(|(known, by, _)| *known == count && by == chooser);
        if let Some((_, _, landmarks)) = known {
            return Ok(Arc::clone(landmarks));
        }
        let features = &self.data.features;
        let candidates = (PER_LANDMARK * spec.effort.trial_landmarks).max(count);
        let candidates = kernel::sample(features.rows(), candidates, spec.seed);
        let kernel = KernelSpec::parse(chooser)?.fit(features, spec.seed, control)?;
        let map =
            FeatureMap::fit(&kernel, &features.select_rows(&candidates), &options(spec, count), control)?;
        let landmarks = Matrix::F64(shaped(map.dim(), features.columns(), map.basis().points().rows()));
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
