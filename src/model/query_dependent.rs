//! A function per query, fitted on the judgments of the training queries near it (Dai & Wang 2019).
//!
//!   min_f  (1/n) sum_i  2 pi_i omega_i / (N_i (N_i - 1))  sum over pairs with y_j > y_l of L(f(x_j) - f(x_l))
//!          + lambda |f - f0|^2                                                                                (3.7)
//!
//! n: number of training queries; N_i: documents of query i; pi_i: its weight for the target (`smoothing`); omega_i: its
//! weight in the data; L: the loss; |f|: the norm of the `space`; f0: 0, or the function of all queries (`fit`),
//! which may have other weights for each query (`interactions`). With individual smoothing, only the target's own judgments
//! count, and n is 1 (3.4).
//! The functions of training queries are stored. All others are fitted at query time, from the stored judgments.

use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use ndarray::Array2;
use serde::{Deserialize, Serialize};

use super::codec::{Block, Encoded, decode_header, encode_header};
use super::interactions::Interactions;
use super::query_aware::QueryAware;
use crate::base::{Control, Error, Memory, Reservation, Result, require};
use crate::data::{Id, QueryDistance, QueryFeatureRule};
use crate::learn::fit::{BlockFormat, FitSpec, Loading, Neighbor, Neighborhood, TrainingBlocks};
use crate::learn::smoothing::{Bandwidth, Smoothing, SmoothingKind, Target};
use crate::learn::space::{Function, Scorer, Space};
use crate::math::{are_bounded, is_positive};

pub(super) const TAG: &str = "query_dependent";
/// The form whose penalty shrinks towards a function with interactions.
const PRIOR_TAG: &str = "query_dependent_prior";
/// All forms.
pub(super) const TAGS: [&str; 2] = [TAG, PRIOR_TAG];

/// How the function of a query is fitted.
#[derive(Debug)]
pub struct LocalFit {
    /// The choices of all fits.
    pub spec: FitSpec,
    /// The function whose weights for a query are the center of its penalty.
    pub prior: Option<Interactions>,
}

impl LocalFit {
    /// The choices of the fit for a query with these encoded features.
    ///
    /// # Errors
    /// An interrupt; weights that are too large.
    pub fn at(&self, features: &[f64], control: &Control) -> Result<Cow<'_, FitSpec>> {
        let Some(prior) = &self.prior else { return Ok(Cow::Borrowed(&self.spec)) };
        let center = Some(bounded(prior.function(features, control)?)?.weights);
        Ok(Cow::Owned(FitSpec { center, ..self.spec.clone() }))
    }
}

/// Refuses a function whose scores could be infinite.
fn bounded(function: Function) -> Result<Function> {
    if function.is_bounded() {
        return Ok(function);
    }
    let problem =
        "the function for a query has weights beyond 1e150; the judgments of its neighbors are too large";
    Err(Error::Data(problem.to_owned()))
}

/// The training queries and their functions.
#[derive(Debug)]
pub struct TrainingQueries {
    /// How query features are computed.
    pub rule: QueryFeatureRule,
    /// Ids (`n_queries`), in canonical order.
    pub ids: Vec<Id>,
    /// Functions (`n_queries`); empty if all functions are fitted at query time.
    pub functions: Vec<Arc<Function>>,
}

/// A ranker with a function per query.
#[derive(Debug)]
pub struct QueryDependent {
    neighborhood: Neighborhood,
    fit: LocalFit,
    training: TrainingQueries,
    indices: HashMap<Id, usize>,
    /// Indices of the queries with a block, in the order of the blocks.
    queries_with_block: Vec<usize>,
}

impl QueryDependent {
    /// Assembles a ranker from components with the same number of queries.
    pub fn new(neighborhood: Neighborhood, fit: LocalFit, training: TrainingQueries) -> Self {
        let indices = training.ids.iter().cloned().enumerate().map(|(index, id)| (id, index)).collect();
        let blocks = &neighborhood.blocks;
        let queries_with_block = (0..blocks.len()).filter(|query| blocks.is_informative(*query)).collect();
        Self { neighborhood, fit, training, indices, queries_with_block }
    }

    /// Name of the form in stored models.
    pub(super) fn tag(&self) -> &'static str {
        if self.fit.prior.is_some() { PRIOR_TAG } else { TAG }
    }

    pub fn block_bytes(&self) -> u64 {
        self.neighborhood.blocks.block_bytes()
    }

    /// Reserves memory for the training queries that are loaded and prepared to fit `fits` functions.
    ///
    /// # Errors
    /// [`Error::Memory`].
    pub fn reserve_cache(&self, fits: usize, memory: &Memory) -> Result<[Reservation; 2]> {
        self.neighborhood.reserve_cache(fits, memory)
    }

    /// The stored function of a training query with exactly these encoded features.
    pub fn stored(&self, id: &Id, features: &[f64]) -> Option<Arc<Function>> {
        self.index(id, features).and_then(|index| self.training.functions.get(index)).cloned()
    }

    /// Whether a query is a training query with exactly these scaled features. Without a difference it counts as new.
    pub fn target(&self, id: &Id, features: &[f64]) -> Target {
        let Smoothing { neighbors, novel_neighbors, .. } = self.neighborhood.smoothing;
        match self.index(id, features) {
            Some(_) if neighbors != novel_neighbors => Target::Observed,
            _ => Target::Novel,
        }
    }

    /// Like [`Self::target`], for features without an id: the features of a training query refer to that query.
    pub fn target_of(&self, features: &[f64]) -> Target {
        let rows = self.neighborhood.features.rows();
        let id = rows.into_iter().zip(&self.training.ids).find(|(row, _)| row.iter().eq(features));
        id.map_or(Target::Novel, |(_, id)| self.target(id, features))
    }

    /// The index of a training query with exactly these scaled features. If there are no other functions, its id is enough.
    fn index(&self, id: &Id, features: &[f64]) -> Option<usize> {
        let index = *self.indices.get(id)?;
        let by_id = self.neighborhood.smoothing.kind == SmoothingKind::Individual;
        (by_id || self.neighborhood.features.row(index).iter().eq(features)).then_some(index)
    }

    /// Whether functions can be fitted for new queries; otherwise their function is 0.
    pub fn fits_new_queries(&self) -> bool {
        self.neighborhood.smoothing.kind != SmoothingKind::Individual || self.fit.spec.center.is_some()
    }

    /// Fits the function for a query with these encoded features.
    ///
    /// # Errors
    /// [`Error::Interrupted`] when canceled; blocks that are not loaded.
    pub fn fit(&self, features: &[f64], target: Target, control: &Control) -> Result<Function> {
        let spec = self.fit.at(features, control)?;
        let (function, _) = self.neighborhood.fit(&self.neighbors(features, target), &spec, control)?;
        bounded(function)
    }

    /// The training queries used for a query with these encoded features, nearest first.
    pub fn neighbors(&self, features: &[f64], target: Target) -> Vec<Neighbor> {
        self.neighborhood.neighbors(features, target)
    }

    /// How query features are compared.
    pub fn query_distance(&self) -> &QueryDistance {
        &self.neighborhood.distance
    }

    /// Id of a training query, given by [`Neighbor::query`].
    pub fn training_id(&self, query: usize) -> Option<&Id> {
        self.training.ids.get(query)
    }

    /// Numbers of the blocks that must be loaded before functions for these query features are fitted.
    pub fn missing_blocks(&self, targets: &[&[f64]]) -> Vec<usize> {
        let widest = self.neighborhood.smoothing.widest();
        let targets: Vec<(&[f64], Target)> = targets.iter().map(|features| (*features, widest)).collect();
        let neighbors = self.neighborhood.neighbors_of_all(&targets).into_iter().flatten();
        let queries: BTreeSet<usize> = neighbors.map(|neighbor| neighbor.query).collect();
        let missing = self.neighborhood.blocks.missing(&queries.into_iter().collect::<Vec<usize>>());
        missing.iter().filter_map(|query| self.queries_with_block.binary_search(query).ok()).collect()
    }

    /// Loads a block of the model.
    ///
    /// # Errors
    /// [`Error::Corrupt`] for bytes that are not this block.
    pub fn load_block(&self, block: usize, bytes: &[u8]) -> Result<()> {
        let query = self.queries_with_block.get(block);
        let query = query.ok_or_else(|| Error::Corrupt(format!("there is no block {block}")))?;
        self.neighborhood.blocks.load(*query, bytes)
    }

    pub(super) fn encode(&self) -> Result<Encoded<'_>> {
        let blocks = &self.neighborhood.blocks;
        // Individual smoothing never uses another query's data, so no block is stored.
        let stores_blocks = self.neighborhood.smoothing.kind != SmoothingKind::Individual;
        let functions = &self.training.functions;
        let header = Header {
            smoothing: self.neighborhood.smoothing,
            distance: self.neighborhood.distance.clone(),
            spec: self.fit.spec.clone(),
            space: (*blocks.space).clone(),
            rule: self.training.rule.clone(),
            ids: self.training.ids.clone(),
            weights: self.neighborhood.weights.to_vec(),
            features: self.neighborhood.features.iter().copied().collect(),
            functions: functions.iter().flat_map(|function| function.weights.iter().copied()).collect(),
            objectives: functions.iter().map(|function| (function.objective, function.gap)).collect(),
            documents: blocks.sizes.iter().map(|size| if stores_blocks { *size } else { 0 }).collect(),
            element_bytes: blocks.format().element_bytes,
            has_doc_weights: blocks.format().has_doc_weights,
        };
        let queries: &[usize] = if stores_blocks { &self.queries_with_block } else { &[] };
        let block = |query: &usize| -> Block<'_> {
            let query = *query;
            Box::new(move |out| blocks.write(query, out))
        };
        let header = match &self.fit.prior {
            Some(prior) => encode_header(&(header, prior))?,
            None => encode_header(&header)?,
        };
        Ok(Encoded { header, blocks: queries.iter().map(block).collect() })
    }

    /// Reads the ranker; its blocks are loaded afterwards.
    pub(super) fn decode(tag: &str, header: &[u8], blocks: usize, loading: Loading) -> Result<Self> {
        let (header, prior): (Header, Option<Interactions>) = match tag {
            PRIOR_TAG => decode_header(header).map(|(header, prior)| (header, Some(prior)))?,
            _ => (decode_header(header)?, None),
        };
        header.validate(blocks)?;
        if let Some(prior) = &prior {
            prior.validate()?;
            let fits = [
                (prior.query_rule() == &header.rule, "the same query features in its prior"),
                (prior.scorer().dim() == header.space.dim(), "as many weights in its prior"),
            ];
            require("query-dependent ranker", &fits)?;
        }
        // 1. Functions: rows of one matrix.
        let function = |(weights, (objective, gap)): (&[f64], &(f64, f64))| {
            Arc::new(Function { weights: weights.to_vec(), objective: *objective, gap: *gap })
        };
        let weights = header.functions.chunks_exact(header.space.dim());
        let functions = weights.zip(&header.objectives).map(function).collect();
        // 2. Query features.
        let shape = (header.ids.len(), header.rule.width());
        let features = Array2::from_shape_vec(shape, header.features)
            .map_err(|problem| Error::Corrupt(format!("query features: {problem}")))?;
        // 3. Training blocks, to be loaded.
        let (loss, space) = (header.spec.loss.clone(), Arc::new(header.space));
        let format =
            BlockFormat { element_bytes: header.element_bytes, has_doc_weights: header.has_doc_weights };
        let blocks = TrainingBlocks::from_blocks(space, loss, header.documents, format, loading);
        let neighborhood = Neighborhood {
            smoothing: header.smoothing,
            distance: header.distance,
            features: Arc::new(features.into()),
            weights: Arc::new(header.weights),
            blocks: Arc::new(blocks),
        };
        let training = TrainingQueries { rule: header.rule, ids: header.ids, functions };
        Ok(Self::new(neighborhood, LocalFit { spec: header.spec, prior }, training))
    }
}

impl QueryAware for QueryDependent {
    fn query_rule(&self) -> &QueryFeatureRule {
        &self.training.rule
    }

    fn scorer(&self) -> &dyn Scorer {
        &*self.neighborhood.blocks.space
    }

    fn function(&self, features: &[f64], control: &Control) -> Result<Function> {
        self.fit(features, self.target_of(features), control)
    }
}

#[derive(Serialize, Deserialize)]
struct Header {
    smoothing: Smoothing,
    distance: QueryDistance,
    spec: FitSpec,
    space: Space,
    rule: QueryFeatureRule,
    ids: Vec<Id>,
    weights: Vec<f64>,
    /// (`n_queries`, width of a row) row-major.
    features: Vec<f64>,
    /// Function weights (`n_queries`, dimension), row-major, or empty.
    functions: Vec<f64>,
    /// Objective and gap of each function.
    objectives: Vec<(f64, f64)>,
    /// Documents of each query; 0 if it is not informative and has no block.
    documents: Vec<u32>,
    /// 4 or 8.
    element_bytes: u8,
    /// Whether blocks contain document weights.
    has_doc_weights: bool,
}

impl Header {
    fn validate(&self, blocks: usize) -> Result<()> {
        self.space.validate()?;
        self.spec.validate(&self.space, self.smoothing.kind)?;
        self.distance.validate(self.rule.width())?;
        self.rule.validate_distance(&self.distance)?;
        let n = self.ids.len();
        let fitted = self.objectives.len();
        let bandwidth_ok = match self.smoothing.bandwidth {
            Bandwidth::Median | Bandwidth::Rate => true,
            Bandwidth::Fixed(h) | Bandwidth::Scaled(h) => is_positive(h),
        };
        let positive = |value: f64| value.is_finite() && value > 0.0;
        let with_block = self.documents.iter().filter(|size| **size > 0).count();
        require(
            "query-dependent ranker",
            &[
                (n > 0, "a training query"),
                (self.weights.len() == n, "a weight for each query"),
                (self.documents.len() == n, "a number of documents for each query"),
                (fitted == n || fitted == 0, "a function for each query, or none"),
                (n.checked_mul(self.rule.width()) == Some(self.features.len()), "features for each query"),
                (
                    fitted.checked_mul(self.space.dim()) == Some(self.functions.len()),
                    "as many weights of functions as its space has",
                ),
                (with_block == blocks, "a block for each query with documents"),
                (matches!(self.element_bytes, 4 | 8), "elements of 4 or 8 bytes"),
                (
                    !self.has_doc_weights || self.spec.loss.weighs_documents(),
                    "weights of documents only for a loss that has them",
                ),
                (are_bounded(&self.features), "query features from -1e150 to 1e150"),
                (are_bounded(&self.functions), "weights of functions from -1e150 to 1e150"),
                (
                    self.objectives.iter().all(|(p, gap)| p.is_finite() && gap.is_finite()),
                    "finite objectives",
                ),
                (self.weights.iter().all(|weight| positive(*weight)), "positive weights of queries"),
                (
                    bandwidth_ok && self.smoothing.neighbors.min(self.smoothing.novel_neighbors) > 0,
                    "a positive bandwidth and a neighbor",
                ),
                (self.ids.is_sorted_by(|a, b| a < b), "ids in order"),
            ],
        )
    }
}
