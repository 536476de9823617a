//! State fixed before the first fit: the scalings, the query distance and the function space.

use std::sync::{Arc, Mutex};

use ndarray::Array2;

use super::checks;
use super::interactions::Products;
use super::spec::{DistanceChoice, GridSpec};
use crate::base::{Control, Reservation, Result, matrix_bytes};
use crate::cost::loss::Loss;
use crate::data::{Dataset, QueryDistance, QueryFeatureRule, Scaling};
use crate::learn::fit::{Neighborhood, Penalty, TrainingBlocks, column_weights, number_weights};
use crate::learn::kernel::MapOptions;
use crate::learn::smoothing::SmoothingKind;
use crate::learn::space::Space;
use crate::train::algorithm::Weighting;
use crate::train::algorithm::scale;
use crate::train::baseline::{Baseline, BaselineSpec};

/// State that is fixed before the first fit.
pub(super) struct Session<'a> {
    pub spec: &'a GridSpec,
    /// The training set, its features scaled.
    pub data: Arc<Dataset>,
    pub scaling: Scaling,
    pub rule: Option<QueryFeatureRule>,
    /// Products of document features with query features.
    pub products: Option<Products>,
    /// Products of the prior. A function per query has no products itself.
    pub prior_products: Option<Products>,
    pub neighborhood: Neighborhood,
    /// Signs of weights; empty without.
    pub signs: Vec<i8>,
    /// The stored model's weights that the penalty shrinks to.
    pub center: Option<Vec<f64>>,
    /// The baseline, whose column is the last one of the documents.
    pub baseline: Option<Baseline>,
    /// Whether the numbers among the query features have learned weights, if the caller asked for them.
    pub learned: Option<bool>,
    /// Functions by their lambda, if scores may be wanted.
    pub kept: Mutex<Vec<(f64, Vec<f64>)>>,
    pub control: &'a Control,
    /// Memory for data kept until training ends.
    _memory: Vec<Reservation>,
}

impl<'a> Session<'a> {
    /// Scales the training set and forms what all functions have in common.
    ///
    /// # Errors
    /// Data from which nothing can be learned, or not in reasonable time; an interrupt;
    /// [`Error::Memory`](crate::base::error::Error::Memory).
    pub fn new(spec: &'a GridSpec, mut data: Dataset, control: &'a Control) -> Result<Self> {
        let is_local = spec.smoothing.kind != SmoothingKind::Uniform;
        if matches!(spec.loss, Loss::Pair(..)) {
            checks::pairs_of_queries(spec, &data)?;
        }
        // 1. Query features from documents as they are, then documents scaled.
        let (scaling, mut center) = scaling(spec, &data, control)?;
        let signs = spec.monotone.signs(&data, &scaling)?;
        let fit = |baseline: &BaselineSpec| baseline.fit(&data, &spec.loss, control);
        let baseline = spec.baseline.as_ref().map(fit).transpose()?;
        let EncodedQueries { rule, mut distance, features, memory } = encode_queries(spec, &data, control)?;
        let products = Products::fit(spec, &data, control)?;
        let (products, prior_products) = if is_local { (None, products) } else { (products, None) };
        let mut memory = vec![memory];
        let scaled = Scaled { scaling: &scaling, products: products.as_ref(), baseline: baseline.as_ref() };
        memory.extend(scaled.scale_and_multiply(spec, &mut data, control)?);
        if let Some(baseline) = &baseline {
            let mut w = vec![0.0; data.features.columns()];
            w.splice(w.len() - 1.., [baseline.column_weight()]);
            center = Some(w);
        }
        let mut learned = None;
        if matches!(spec.query_distance, DistanceChoice::Learned) {
            let equal = distance;
            distance = number_weights(&equal, &features, &data, spec.seed, control)?;
            learned = Some(distance != equal);
        }
        // 2. The space of functions.
        let space = space(spec, &data, control)?;
        memory.push(space.reserve(control)?);
        let data = Arc::new(data);
        let blocks = TrainingBlocks::from_rows(Arc::new(space), Arc::clone(&data), spec.loss.clone());
        if is_local {
            memory.push(checks::functions_memory(&data, &blocks.space, control)?);
        }
        // 3. The neighborhood.
        let mut neighborhood = Neighborhood {
            smoothing: spec.smoothing,
            distance,
            features: Arc::new(features.into()),
            weights: Arc::new(weights(&data, spec.weighting)),
            blocks: Arc::new(blocks),
        };
        if spec.smoothing.kind.uses_distance() {
            neighborhood.distance = column_weights(&neighborhood, &data, control)?;
        }
        if is_local {
            memory.extend(neighborhood.reserve_cache(data.n_queries(), control.memory())?);
        }
        Ok(Self {
            spec,
            data,
            scaling,
            rule,
            products,
            prior_products,
            neighborhood,
            signs,
            center,
            baseline,
            learned,
            kept: Mutex::default(),
            control,
            _memory: memory,
        })
    }
}

/// How documents become rows of a training.
#[derive(Clone, Copy)]
pub(super) struct Scaled<'a> {
    pub scaling: &'a Scaling,
    pub products: Option<&'a Products>,
    pub baseline: Option<&'a Baseline>,
}

impl Scaled<'_> {
    /// Scales documents, then appends their products with query features (computed before scaling) and the baseline column.
    pub fn scale_and_multiply(
        self,
        spec: &GridSpec,
        data: &mut Dataset,
        control: &Control,
    ) -> Result<Vec<Reservation>> {
        let phi = self.products.map(|products| products.functions(data, control)).transpose()?;
        let last = self.baseline.map(|baseline| baseline.column(data));
        let mut memory = vec![scale(self.scaling, spec.scale, data, control)?];
        if let Some((products, phi)) = self.products.zip(phi) {
            memory.push(products.add(&phi, data, control)?);
        }
        if let Some(last) = last {
            let way_out = "use fewer rows or features";
            memory.push(control.reserve(data.features.bytes(), "documents with a baseline", way_out)?);
            data.features = data.features.with_column(&last);
        }
        Ok(memory)
    }
}

/// The scaling of documents. A stored model's weights belong to its own scaling.
fn scaling(spec: &GridSpec, data: &Dataset, control: &Control) -> Result<(Scaling, Option<Vec<f64>>)> {
    match &spec.prior_model {
        Some(prior) => spec.in_prior(prior.for_features(&data.names)).map(|(scaling, w)| (scaling, Some(w))),
        None => Ok((Scaling::fit(spec.scale, data, control)?, None)),
    }
}

/// How landmarks are chosen.
pub fn map_options(spec: &GridSpec) -> MapOptions {
    MapOptions::new(spec.landmarks, spec.seed)
}

/// The space of functions of scaled documents.
fn space(spec: &GridSpec, data: &Dataset, control: &Control) -> Result<Space> {
    let map = map_options(spec);
    match spec.penalty {
        Penalty::Ball | Penalty::Sphere => Space::expansion(&spec.kernel, &data.features, &map, control),
        _ => Space::fit(&spec.kernel, spec.form, data, &map, control),
    }
}

/// The query features of a training set.
pub(super) struct EncodedQueries {
    rule: Option<QueryFeatureRule>,
    distance: QueryDistance,
    /// (`n_queries`, width of a row).
    features: Array2<f64>,
    memory: Reservation,
}

/// Encodes the query features if the smoothing needs them.
pub(super) fn encode_queries(spec: &GridSpec, data: &Dataset, control: &Control) -> Result<EncodedQueries> {
    let fit =
        || QueryFeatureRule::fit(data, spec.query_features, spec.query_scale, spec.query_distance.given());
    let is_local = spec.smoothing.kind != SmoothingKind::Uniform;
    let (rule, distance) = is_local.then(fit).transpose()?.unzip();
    let width = rule.as_ref().map_or(0, QueryFeatureRule::width);
    let what = format_args!("query features of {} queries", data.n_queries());
    let advice = "use fewer query features, or orders of fewer items";
    let memory = control.reserve(matrix_bytes(data.n_queries(), width), what, advice)?;
    let features = query_features(rule.as_ref(), data)?;
    control.check()?;
    Ok(EncodedQueries { rule, distance: distance.unwrap_or_default(), features, memory })
}

/// Encoded features of every query (`n_queries`, width of a row); the width is 0 without a rule.
pub(super) fn query_features(rule: Option<&QueryFeatureRule>, data: &Dataset) -> Result<Array2<f64>> {
    rule.map_or_else(|| Ok(Array2::zeros((data.n_queries(), 0))), |rule| rule.features(data))
}

/// The weight of each query: its weight in the data times its relative size.
fn weights(data: &Dataset, weighting: Weighting) -> Vec<f64> {
    let size = |query: usize| size(data, query, weighting);
    let mean = (0..data.n_queries()).map(size).sum::<f64>() / data.n_queries() as f64;
    let mean = mean.max(f64::MIN_POSITIVE);
    (0..data.n_queries()).map(|query| relative_weight(data, query, weighting, mean)).collect()
}

/// A query's weight in the data times its size, relative to the mean size.
pub fn relative_weight(data: &Dataset, query: usize, weighting: Weighting, mean_size: f64) -> f64 {
    data.weights[query] * size(data, query, weighting) / mean_size
}

fn size(data: &Dataset, query: usize, weighting: Weighting) -> f64 {
    let documents = data.rows(query).len() as f64;
    match weighting {
        Weighting::Queries => 1.0,
        Weighting::Documents => documents,
        Weighting::Pairs => documents * (documents - 1.0),
    }
}
