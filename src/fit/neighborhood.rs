//! Which training queries count for a target, and the problem that they make.

use std::sync::Arc;

use ndarray::Array2;
use rayon::prelude::*;

use super::blocks::{JudgmentPool, Lender};
use super::problem::Fitting;
use crate::control::Control;
use crate::error::Result;
use crate::loss::Loss;
use crate::math::dense::distance;
use crate::smoothing::{Kind, Smoothing};
use crate::solve::{QueryBlock, SolveReport};
use crate::space::Function;

/// What decides which judgments count for a target, and how much.
#[derive(Debug, Clone)]
pub struct Lending {
    /// Weights from distances.
    pub smoothing: Smoothing,
    /// Scaled features of the training queries (`n_queries`, p).
    pub features: Arc<Array2<f64>>,
    /// Weight omega of each training query (`n_queries`), > 0.
    pub weights: Arc<Vec<f64>>,
    /// Their judgments.
    pub pool: Arc<JudgmentPool>,
    /// True for training queries held out for validation (`n_queries`): they do not count at all.
    pub held_out: Arc<Vec<bool>>,
}

impl Lending {
    /// Training queries that count for a target with these features, nearest first.
    pub fn lenders(&self, features: &[f64]) -> Vec<Lender> {
        if !self.smoothing.kind.uses_distance() {
            let uniform = self.smoothing.kind == Kind::Uniform;
            return self.present().filter(|_| uniform).map(Lender::whole).collect();
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
            distances.iter().map(|&(query, d)| self.pool.lends(query).then_some(d)).collect();
        self.smoothing
            .weights(&candidates, h)
            .into_iter()
            .map(|(index, weight)| Lender { query: distances[index].0, distance: distances[index].1, weight })
            .collect()
    }

    /// The lenders of a training query, whose own judgments may be all that counts.
    pub fn lenders_of(&self, query: usize) -> Vec<Lender> {
        match self.smoothing.kind {
            Kind::Individual => vec![Lender::whole(query)],
            _ => self.lenders(&self.features.row(query).to_vec()),
        }
    }

    /// The same judgments for one function of all queries with this loss.
    ///
    /// # Errors
    /// Judgments of a model, with another loss than its own.
    pub fn uniform(&self, loss: &Loss) -> Result<Self> {
        let mut lending = self.clone();
        lending.smoothing.kind = Kind::Uniform;
        if self.pool.loss() != loss {
            lending.pool = Arc::new(self.pool.for_loss(loss.clone())?);
        }
        Ok(lending)
    }

    /// Training queries that are not held out.
    fn present(&self) -> impl Iterator<Item = usize> {
        (0..self.pool.len()).filter(|query| !self.held_out[*query])
    }

    /// The lenders' documents with the weight c of their losses; in the order of the training queries.
    ///
    /// # Errors
    /// Judgments that are not at hand; an interruption.
    pub fn weighted_blocks(
        &self,
        lenders: &[Lender],
        control: &Control,
    ) -> Result<Vec<(Arc<QueryBlock>, f64)>> {
        let n = if self.smoothing.kind == Kind::Individual { 1.0 } else { self.present().count() as f64 };
        let mut lenders: Vec<Lender> =
            lenders.iter().copied().filter(|lender| self.pool.lends(lender.query)).collect();
        lenders.sort_by_key(|lender| lender.query);
        // One function for all queries uses each of them once, so nothing is worth keeping.
        let once = self.smoothing.kind == Kind::Uniform;
        let weighted = |lender: &Lender| {
            let query = lender.query;
            let weight = lender.weight * self.weights[query] * self.pool.share(query) / n;
            let block =
                if once { self.pool.block_once(query, control) } else { self.pool.block(query, control) };
            Ok((block?, weight))
        };
        lenders.par_iter().map(weighted).collect()
    }

    /// Fits the function that these lenders support.
    ///
    /// # Errors
    /// [`Error::Interrupted`] when canceled; judgments that are not at hand.
    pub fn fit(
        &self,
        lenders: &[Lender],
        fitting: &Fitting,
        control: &Control,
    ) -> Result<(Function, SolveReport)> {
        fitting.fit(self.pool.space(), &self.weighted_blocks(lenders, control)?, control)
    }
}
