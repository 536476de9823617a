//! A function per query, fitted on the judgments of the training queries around it (Dai & Wang 2019).
//!
//!   min_f  (1/n) sum_i  2 pi_i omega_i / (N_i (N_i - 1))  sum over pairs with y_j > y_l of L(f(x_j) - f(x_l))
//!          + lambda |f - f0|^2                                                                                (3.7)
//!
//! n: number of training queries; N_i: documents of query i; pi_i: its weight for the target (`smoothing`); omega_i: its
//! weight in the data; L: the loss; |f|: the norm of the `space`; f0: 0, or the function of all queries (`fitting`). With
//! individual smoothing only the target's own judgments count and n is 1 (3.4).
//! The functions of the training queries are stored; others are fitted from the stored judgments when asked for.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use ndarray::Array2;
use serde::{Deserialize, Serialize};

use super::codec::{Block, Encoded, decode_header, encode_header};
use super::{Ranker, Target};
use crate::control::Control;
use crate::data::{Id, QueryFeatureRule};
use crate::error::{Error, Result};
use crate::fit::{FitSpec, Neighbor, Neighborhood, TrainingBlocks};
use crate::smoothing::{Kind, Smoothing};
use crate::space::{Function, Space};

/// Name of the form.
pub(super) const FORM: &str = "query_dependent";

/// What was learned of the training queries.
#[derive(Debug)]
pub struct TrainingQueries {
    /// How query features are formed.
    pub rule: QueryFeatureRule,
    /// Ids (`n_queries`), in canonical order.
    pub ids: Vec<Id>,
    /// Functions (`n_queries`); empty where all of them are fitted when asked for.
    pub functions: Vec<Arc<Function>>,
}

/// The ranker.
#[derive(Debug)]
pub struct QueryDependent {
    neighborhood: Neighborhood,
    fitting: FitSpec,
    observed: TrainingQueries,
    numbers: HashMap<Id, usize>,
    /// The queries that have a block, in the order of the blocks.
    informative_queries: Vec<usize>,
}

impl QueryDependent {
    /// A ranker from its parts, which agree in the number of queries.
    pub fn new(neighborhood: Neighborhood, fitting: FitSpec, observed: TrainingQueries) -> Self {
        let numbers = observed.ids.iter().cloned().enumerate().map(|(number, id)| (id, number)).collect();
        let informative_queries = (0..neighborhood.blocks.len())
            .filter(|query| neighborhood.blocks.is_informative(*query))
            .collect();
        Self { neighborhood, fitting, observed, numbers, informative_queries }
    }
}

impl Ranker for QueryDependent {
    fn form(&self) -> &'static str {
        FORM
    }

    fn query_dependent(&self) -> bool {
        true
    }

    fn space(&self) -> &Space {
        self.neighborhood.blocks.space()
    }

    fn query_rule(&self) -> Option<&QueryFeatureRule> {
        Some(&self.observed.rule)
    }

    fn stored(&self, target: &Target<'_>) -> Option<Arc<Function>> {
        let number = *self.numbers.get(target.id?)?;
        let seen = self.neighborhood.features.row(number).iter().eq(target.features);
        self.observed.functions.get(number).filter(|_| seen).cloned()
    }

    fn fit(&self, features: &[f64], control: &Control) -> Result<Function> {
        let (function, _) = self.neighborhood.fit(&self.neighbors(features), &self.fitting, control)?;
        Ok(function)
    }

    fn knows_only_stored(&self) -> bool {
        self.neighborhood.smoothing.kind == Kind::Individual && self.fitting.center.is_none()
    }

    fn neighbors(&self, features: &[f64]) -> Vec<Neighbor> {
        self.neighborhood.neighbors(features)
    }

    fn training_id(&self, query: usize) -> Option<&Id> {
        self.observed.ids.get(query)
    }

    fn missing_blocks(&self, targets: &[&[f64]]) -> Vec<usize> {
        let neighbors = targets.iter().flat_map(|features| self.neighbors(features));
        let needed: BTreeSet<usize> = neighbors.map(|neighbor| neighbor.query).collect();
        let missing = self.neighborhood.blocks.missing(&needed.into_iter().collect::<Vec<usize>>());
        missing.iter().filter_map(|query| self.informative_queries.binary_search(query).ok()).collect()
    }

    fn receive_block(&self, block: usize, bytes: &[u8]) -> Result<()> {
        let query = self.informative_queries.get(block).copied();
        let query = query.ok_or_else(|| Error::Corrupt(format!("there is no block {block}")))?;
        self.neighborhood.blocks.receive(query, bytes)
    }

    fn encode(&self) -> Result<Encoded<'_>> {
        let training = &self.neighborhood.blocks;
        // Only what a novel query needs is kept: nothing where nobody else's judgments count.
        let kept = self.neighborhood.smoothing.kind != Kind::Individual;
        let functions = &self.observed.functions;
        let header = Header {
            smoothing: self.neighborhood.smoothing,
            fitting: self.fitting.clone(),
            space: (**training.space()).clone(),
            rule: self.observed.rule.clone(),
            ids: self.observed.ids.clone(),
            weights: self.neighborhood.weights.to_vec(),
            features: self.neighborhood.features.iter().copied().collect(),
            functions: functions.iter().flat_map(|function| function.weights.iter().copied()).collect(),
            objectives: functions.iter().map(|function| (function.objective, function.gap)).collect(),
            documents: training.sizes().iter().map(|size| if kept { *size } else { 0 }).collect(),
            element_bytes: training.element_bytes(),
        };
        let block = |query: usize| -> Block<'_> { Box::new(move |out| training.write(query, out)) };
        let blocks =
            if kept { self.informative_queries.iter().copied().map(block).collect() } else { Vec::new() };
        Ok(Encoded { header: encode_header(&header)?, blocks })
    }
}

#[derive(Serialize, Deserialize)]
struct Header {
    smoothing: Smoothing,
    fitting: FitSpec,
    space: Space,
    rule: QueryFeatureRule,
    ids: Vec<Id>,
    weights: Vec<f64>,
    /// (`n_queries`, p) row-major.
    features: Vec<f64>,
    /// (`n_queries`, weights of a function) row-major, or empty.
    functions: Vec<f64>,
    /// Objective and gap of each function.
    objectives: Vec<(f64, f64)>,
    /// Documents that each query lends; 0 where it lends nothing and has no block.
    documents: Vec<u32>,
    /// 4 or 8.
    element_bytes: u8,
}

impl Header {
    /// The first thing that does not fit together, if any.
    fn problem(&self, blocks: usize) -> Option<&'static str> {
        let n = self.ids.len();
        let fitted = self.objectives.len();
        let bandwidth_ok = match self.smoothing.bandwidth {
            crate::smoothing::Bandwidth::Median => true,
            crate::smoothing::Bandwidth::Fixed(h) => h.is_finite() && h > 0.0,
        };
        let finite = |values: &[f64]| values.iter().all(|value| value.is_finite());
        let positive = |value: f64| value.is_finite() && value > 0.0;
        let checks = [
            (n > 0 && self.space.is_sound(), "no query or no feature"),
            (self.weights.len() == n, "number of query weights"),
            (self.documents.len() == n && (fitted == n || fitted == 0), "number of queries"),
            (n.checked_mul(self.rule.names.len()) == Some(self.features.len()), "number of query features"),
            (fitted.checked_mul(self.space.dim()) == Some(self.functions.len()), "number of weights"),
            (self.documents.iter().filter(|n| **n > 0).count() == blocks, "number of blocks"),
            (matches!(self.element_bytes, 4 | 8), "bytes of an element"),
            (finite(&self.features) && finite(&self.functions), "a number that is not finite"),
            (
                self.objectives.iter().all(|(p, gap)| p.is_finite() && gap.is_finite()),
                "an objective that is not finite",
            ),
            (self.weights.iter().all(|weight| positive(*weight)), "a query weight that is not above 0"),
            (bandwidth_ok && self.smoothing.neighbors > 0, "the smoothing"),
            (self.fitting.is_sound(self.space.dim()), "the way functions are fitted"),
            (self.ids.is_sorted_by(|a, b| a < b), "the order of query ids"),
        ];
        checks.into_iter().find(|(holds, _)| !holds).map(|(_, problem)| problem)
    }
}

/// Reads the ranker; its blocks are still to be received. `whole`: all of them will be, and are to stay.
pub(super) fn decode(header: &[u8], blocks: usize, whole: bool) -> Result<Box<dyn Ranker>> {
    let header: Header = decode_header(header)?;
    if let Some(problem) = header.problem(blocks) {
        return Err(Error::Corrupt(format!("query-dependent ranker: {problem}")));
    }
    let function = |(weights, (objective, gap)): (&[f64], &(f64, f64))| {
        Arc::new(Function { weights: weights.to_vec(), objective: *objective, gap: *gap })
    };
    let weights = header.functions.chunks_exact(header.space.dim());
    let functions = weights.zip(&header.objectives).map(function).collect();
    let shape = (header.ids.len(), header.rule.names.len());
    let features = Array2::from_shape_vec(shape, header.features)
        .map_err(|problem| Error::Corrupt(format!("query features: {problem}")))?;
    let space = Arc::new(header.space);
    let loss = header.fitting.loss.clone();
    let neighborhood = Neighborhood {
        smoothing: header.smoothing,
        held_out: Arc::new(vec![false; header.documents.len()]),
        features: Arc::new(features),
        weights: Arc::new(header.weights),
        blocks: Arc::new(TrainingBlocks::from_blocks(
            space,
            loss,
            header.documents,
            header.element_bytes,
            whole,
        )),
    };
    let observed = TrainingQueries { rule: header.rule, ids: header.ids, functions };
    Ok(Box::new(QueryDependent::new(neighborhood, header.fitting, observed)))
}
