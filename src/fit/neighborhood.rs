//! Which training queries count for a target, and the problem that they make.

use std::sync::Arc;

use ndarray::Array2;
use rayon::prelude::*;

use super::blocks::{Neighbor, TrainingBlocks};
use super::problem::FitSpec;
use crate::control::Control;
use crate::error::Result;
use crate::loss::Loss;
use crate::math::dense::distance;
use crate::smoothing::{Kind, Smoothing};
use crate::solve::{QueryBlock, SolveReport};
use crate::space::Function;

/// What decides which judgments count for a target, and how much.
#[derive(Debug, Clone)]
pub struct Neighborhood {
    /// Weights from distances.
    pub smoothing: Smoothing,
    /// Scaled features of the training queries (`n_queries`, p).
    pub features: Arc<Array2<f64>>,
    /// Weight omega of each training query (`n_queries`), > 0.
    pub weights: Arc<Vec<f64>>,
    /// Their judgments.
    pub blocks: Arc<TrainingBlocks>,
    /// True for training queries held out for validation (`n_queries`): they do not count at all.
    pub held_out: Arc<Vec<bool>>,
}

impl Neighborhood {
    /// Training queries that count for a target with these features, nearest first.
    pub fn neighbors(&self, features: &[f64]) -> Vec<Neighbor> {
        if !self.smoothing.kind.uses_distance() {
            let uniform = self.smoothing.kind == Kind::Uniform;
            return self.present().filter(|_| uniform).map(Neighbor::with_full_weight).collect();
        }
        let distances: Vec<(usize, f64)> = self
            .present()
            .map(|query| {
                let row = self.features.row(query);
                let to = |row: &[f64]| distance(row, features);
                (query, row.as_slice().map_or_else(|| to(&row.to_vec()), to))
            })
            .collect();
        let all: Vec<f64> = distances.iter().map(|(_, distance)| *distance).collect();
        let h = self.smoothing.bandwidth(&all);
        let candidates: Vec<Option<f64>> =
            distances.iter().map(|&(query, d)| self.blocks.is_informative(query).then_some(d)).collect();
        self.smoothing
            .weights(&candidates, h)
            .into_iter()
            .map(|(index, weight)| Neighbor {
                query: distances[index].0,
                distance: distances[index].1,
                weight,
            })
            .collect()
    }

    /// The neighbors of a training query, whose own judgments may be all that counts.
    pub fn neighbors_of(&self, query: usize) -> Vec<Neighbor> {
        match self.smoothing.kind {
            Kind::Individual => vec![Neighbor::with_full_weight(query)],
            _ => self.neighbors(&self.features.row(query).to_vec()),
        }
    }

    /// The same judgments for one function of all queries with this loss.
    ///
    /// # Errors
    /// Judgments of a model, with another loss than its own.
    pub fn uniform(&self, loss: &Loss) -> Result<Self> {
        let mut neighborhood = self.clone();
        neighborhood.smoothing.kind = Kind::Uniform;
        if self.blocks.loss() != loss {
            neighborhood.blocks = Arc::new(self.blocks.for_loss(loss.clone())?);
        }
        Ok(neighborhood)
    }

    /// Training queries that are not held out.
    fn present(&self) -> impl Iterator<Item = usize> {
        (0..self.blocks.len()).filter(|query| !self.held_out[*query])
    }

    /// The neighbors' documents with the weight c of their losses; in the order of the training queries.
    ///
    /// # Errors
    /// Judgments that are not at hand; an interruption.
    pub fn weighted_blocks(
        &self,
        neighbors: &[Neighbor],
        control: &Control,
    ) -> Result<Vec<(Arc<QueryBlock>, f64)>> {
        let n = if self.smoothing.kind == Kind::Individual { 1.0 } else { self.present().count() as f64 };
        let mut neighbors: Vec<Neighbor> =
            neighbors.iter().copied().filter(|neighbor| self.blocks.is_informative(neighbor.query)).collect();
        neighbors.sort_by_key(|neighbor| neighbor.query);
        // One function for all queries uses each of them once, so nothing is worth keeping.
        let once = self.smoothing.kind == Kind::Uniform;
        let weighted = |neighbor: &Neighbor| {
            let query = neighbor.query;
            let weight = neighbor.weight * self.weights[query] * self.blocks.share(query) / n;
            let block =
                if once { self.blocks.block_once(query, control) } else { self.blocks.block(query, control) };
            Ok((block?, weight))
        };
        neighbors.par_iter().map(weighted).collect()
    }

    /// Fits the function that these neighbors support.
    ///
    /// # Errors
    /// [`Error::Interrupted`] when canceled; judgments that are not at hand.
    pub fn fit(
        &self,
        neighbors: &[Neighbor],
        fitting: &FitSpec,
        control: &Control,
    ) -> Result<(Function, SolveReport)> {
        fitting.fit(self.blocks.space(), &self.weighted_blocks(neighbors, control)?, control)
    }
}
