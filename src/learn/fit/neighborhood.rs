//! Which training queries are used for a query, with which weights, and the fit on their data.

use std::sync::Arc;

use super::blocks::TrainingBlocks;
use super::problem::FitSpec;
use crate::base::{Control, Memory, Reservation, Result, parallel};
use crate::cost::loss::Loss;
use crate::data::QueryDistance;
use crate::learn::smoothing::{BATCH, QueryRole, QueryRows, Smoothing, SmoothingKind, Target};
use crate::learn::solve::{QueryBlock, SolveReport};
use crate::learn::space::Function;
use crate::math::sort_indices;

/// A training query that is used for another query.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Neighbor {
    /// Index of the training query.
    pub query: usize,
    /// Distance between the query features of the two; see [`QueryDistance::combined`].
    pub distance: f64,
    /// The weight pi.
    pub weight: f64,
}

impl Neighbor {
    fn with_full_weight(query: usize) -> Self {
        Self { query, distance: 0.0, weight: 1.0 }
    }
}

/// The training queries and how their weights are computed.
#[derive(Debug, Clone)]
pub struct Neighborhood {
    /// Weights from distances.
    pub smoothing: Smoothing,
    /// How query features are compared.
    pub distance: QueryDistance,
    /// Encoded query features (`n_queries`, width of a row).
    pub features: Arc<QueryRows>,
    /// Weight omega of each query in the training data (`n_queries`), > 0.
    pub weights: Arc<Vec<f64>>,
    pub blocks: Arc<TrainingBlocks>,
}

impl Neighborhood {
    /// Training queries used for a query with these encoded features, nearest first.
    pub fn neighbors(&self, features: &[f64], target: Target) -> Vec<Neighbor> {
        self.neighbors_of_all(&[(features, target)]).pop().unwrap_or_default()
    }

    /// Training queries used for each of several queries with these encoded features, nearest first. For many queries it takes
    /// less time than [`Self::neighbors`] for each.
    pub fn neighbors_of_all(&self, targets: &[(&[f64], Target)]) -> Vec<Vec<Neighbor>> {
        match self.smoothing.kind {
            SmoothingKind::Uniform => {
                let all: Vec<Neighbor> = (0..self.blocks.len()).map(Neighbor::with_full_weight).collect();
                return vec![all; targets.len()];
            }
            SmoothingKind::Individual => return vec![Vec::new(); targets.len()],
            _ => {}
        }
        // The bandwidth is computed from all queries, the neighbors are informative ones.
        let role = |query: usize| match () {
            () if self.blocks.is_informative(query) => QueryRole::Candidate,
            () => QueryRole::Counted,
        };
        let near = self.features.nearest(&self.distance, &self.smoothing, targets, &role);
        let neighbor = |(query, distance, weight)| Neighbor { query, distance, weight };
        near.into_iter().map(|near| near.into_iter().map(neighbor).collect()).collect()
    }

    /// Training queries used for each of these training queries.
    pub fn neighbors_of_queries(&self, queries: &[usize]) -> Vec<Vec<Neighbor>> {
        if self.smoothing.kind == SmoothingKind::Individual {
            return queries.iter().map(|query| vec![Neighbor::with_full_weight(*query)]).collect();
        }
        let rows: Vec<Vec<f64>> = queries.iter().map(|query| self.features.row(*query).to_vec()).collect();
        let targets: Vec<(&[f64], Target)> = rows.iter().map(|row| (&row[..], Target::Observed)).collect();
        self.neighbors_of_all(&targets)
    }

    /// Number of queries whose neighbors are found at a time, if there are `queries` queries. With few queries it is
    /// small, so that all threads have work.
    pub fn batch(queries: usize) -> usize {
        (queries / 64).clamp(1, BATCH)
    }

    /// Training queries used for a training query.
    pub fn neighbors_of(&self, query: usize) -> Vec<Neighbor> {
        self.neighbors_of_queries(&[query]).pop().unwrap_or_default()
    }

    /// The same data for one function of all queries with this loss.
    ///
    /// # Errors
    /// Judgments of a model, for another loss than its own.
    pub fn uniform(&self, loss: &Loss) -> Result<Self> {
        let mut neighborhood = self.clone();
        neighborhood.smoothing.kind = SmoothingKind::Uniform;
        if self.blocks.loss != *loss {
            neighborhood.blocks = Arc::new(self.blocks.for_loss(loss.clone())?);
        }
        Ok(neighborhood)
    }

    /// The informative neighbors with the weights of their losses, in the order of the training queries.
    pub(super) fn query_weights(&self, neighbors: &[Neighbor]) -> Vec<(usize, f64)> {
        let (mut weights, n) = self.query_terms(neighbors);
        weights.iter_mut().for_each(|(_, weight)| *weight /= n);
        weights
    }

    /// [`Self::query_weights`] before they are divided by a number, and this number.
    pub(super) fn query_terms(&self, neighbors: &[Neighbor]) -> (Vec<(usize, f64)>, f64) {
        let Self { blocks, weights, smoothing, .. } = self;
        let n = if smoothing.kind == SmoothingKind::Individual { 1.0 } else { self.blocks.len() as f64 };
        let informative = |index: &usize| blocks.is_informative(neighbors[*index].query);
        let mut order: Vec<usize> = (0..neighbors.len()).filter(informative).collect();
        sort_indices(&mut order, &|a, b| neighbors[a].query.cmp(&neighbors[b].query));
        let weight = |number: usize| {
            let Neighbor { query, weight, .. } = neighbors[number];
            (query, weight * weights[query] * blocks.normalizer(query))
        };
        (order.into_iter().map(weight).collect(), n)
    }

    /// The documents of the neighbors with the weights of their losses, in the order of the training queries.
    ///
    /// # Errors
    /// A block that is not loaded; an interrupt.
    pub fn weighted_blocks(
        &self,
        neighbors: &[Neighbor],
        control: &Control,
    ) -> Result<Vec<(Arc<QueryBlock>, f64)>> {
        let weighted = self.query_weights(neighbors);
        let prepared = |(query, weight): (usize, f64)| {
            // One function of all queries uses each query once: caching them would only take memory.
            let block = match self.smoothing.kind {
                SmoothingKind::Uniform => self.blocks.prepare(query, control)?,
                _ => self.blocks.prepare_cached(query, control)?,
            };
            Ok((block, weight))
        };
        parallel::try_map(weighted.len(), |number| prepared(weighted[number]))
    }

    /// Reserves memory for the documents of these neighbors. With a cache only for those beyond the number of neighbors (at the
    /// distance of the last one): [`Self::reserve_cache`] covers the rest.
    ///
    /// # Errors
    /// [`Error::Memory`](crate::Error::Memory).
    pub fn reserve(&self, neighbors: &[Neighbor], control: &Control) -> Result<Reservation> {
        let in_cache = match self.smoothing.kind {
            SmoothingKind::Uniform => 0,
            SmoothingKind::Individual => 1,
            _ => self.smoothing.neighbors_for(self.smoothing.widest()),
        };
        if neighbors.len() <= in_cache {
            return Ok(control.memory().nothing());
        }
        let queries = neighbors[in_cache..].iter().map(|neighbor| neighbor.query);
        self.blocks.reserve(queries.filter(|query| self.blocks.is_informative(*query)), control)
    }

    /// Reserves memory for the queries that are prepared for `fits` fits (see [`TrainingBlocks::reserve_cache`]) and
    /// for the neighbor search.
    ///
    /// # Errors
    /// [`Error::Memory`](crate::Error::Memory).
    pub fn reserve_cache(&self, fits: usize, memory: &Memory) -> Result<[Reservation; 2]> {
        let (neighbors, search) = if self.smoothing.kind == SmoothingKind::Individual {
            (1, 0)
        } else {
            let neighbors = self.smoothing.neighbors_for(self.smoothing.widest());
            (neighbors, self.features.search_bytes(&self.distance))
        };
        let prepared = self.blocks.reserve_cache(fits, neighbors, memory)?;
        let way_out = "use fewer training queries, fewer query features or fewer threads";
        Ok([prepared, memory.reserve(search, "the search of neighbors", way_out)?])
    }

    /// Fits the function of these neighbors.
    ///
    /// # Errors
    /// [`Error::Interrupted`](crate::Error::Interrupted) when canceled; a block that is not loaded.
    pub fn fit(
        &self,
        neighbors: &[Neighbor],
        spec: &FitSpec,
        control: &Control,
    ) -> Result<(Function, SolveReport)> {
        if let Some(map) = self.streams(spec, control)? {
            return self.streamed_fit(neighbors, spec, map, control);
        }
        let _memory = self.reserve(neighbors, control)?;
        spec.fit(&self.blocks.space, &self.weighted_blocks(neighbors, control)?, control)
    }
}
