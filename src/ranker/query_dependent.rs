//! A linear function per query, fitted on the judgments of the training queries around it (Dai & Wang 2019).
//!
//!   min_w  (1/n) sum_i  2 pi_i omega_i / (N_i (N_i - 1))  sum over pairs with y_j > y_l of max(0, 1 - w . (x_j - x_l))
//!          + lambda |w|^2                                                                                     (3.7)
//!
//! n: number of training queries; N_i: documents of query i; pi_i: its weight for the target (`smoothing`); omega_i: its
//! weight in the data. With individual smoothing only the target's own judgments count and n is 1 (3.4).
//! The functions of the training queries are stored; others are fitted from the stored judgments when asked for.

use std::collections::HashMap;
use std::sync::Arc;

use ndarray::Array2;
use serde::{Deserialize, Serialize};

use super::bytes::{Encoded, decode_header, encode_header, read_f32, read_f64, write_matrix, write_numbers};
use super::pool::{JudgmentPool, Judgments, Lender};
use super::{Capabilities, Function, Ranker, Target};
use crate::control::Control;
use crate::data::{Id, Matrix, QueryFeatureRule};
use crate::error::{Error, Result};
use crate::math::dense::distance;
use crate::smoothing::{Kind, Smoothing};
use crate::solve::{PairBlock, PairProblem, SolveOptions, SolveReport, Stop, solve};

/// Name of the form.
pub(super) const FORM: &str = "query_dependent";

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

/// How a function is fitted once the weights are known.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Fitting {
    /// Weight of the penalty, > 0.
    pub lambda: f64,
    /// Relative duality gap at which a fit ends.
    pub tolerance: f64,
}

/// What was learned of the training queries.
#[derive(Debug)]
pub struct Observed {
    /// How query features are formed.
    pub rule: QueryFeatureRule,
    /// Ids (`n_queries`), in canonical order.
    pub ids: Vec<Id>,
    /// Functions (`n_queries`).
    pub functions: Vec<Arc<Function>>,
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

    /// Training queries that are not held out.
    fn present(&self) -> impl Iterator<Item = usize> {
        (0..self.pool.len()).filter(|query| !self.held_out[*query])
    }

    /// The lenders' documents with the weight c of each of their pairs; in the order of the training queries.
    pub fn weighted_blocks(&self, lenders: &[Lender]) -> Vec<(&PairBlock, f64)> {
        let n = if self.smoothing.kind == Kind::Individual { 1.0 } else { self.present().count() as f64 };
        let mut lenders = lenders.to_vec();
        lenders.sort_by_key(|lender| lender.query);
        let weighted = lenders.iter().filter_map(|lender| {
            let share = self.pool.pair_share(lender.query);
            let weight = lender.weight * self.weights[lender.query] * share / n;
            Some((self.pool.block(lender.query)?, weight))
        });
        weighted.collect()
    }

    /// Fits the function of `dim` scaled features that these lenders support.
    ///
    /// # Errors
    /// [`Error::Interrupted`] when cancelled.
    pub fn fit(
        &self,
        lenders: &[Lender],
        dim: usize,
        fitting: &Fitting,
        control: &Control,
    ) -> Result<(Function, SolveReport)> {
        let problem = PairProblem::new(dim, self.weighted_blocks(lenders), fitting.lambda)?;
        let options = SolveOptions { tolerance: fitting.tolerance, ..SolveOptions::default() };
        let (weights, report) = solve(&problem, &options, &|| control.is_cancelled());
        if report.stop == Stop::Interrupted {
            return Err(Error::Interrupted);
        }
        Ok((Function { weights, objective: report.objective, gap: report.gap }, report))
    }
}

/// The ranker.
#[derive(Debug)]
pub struct QueryDependent {
    lending: Lending,
    fitting: Fitting,
    observed: Observed,
    width: usize,
    numbers: HashMap<Id, usize>,
}

impl QueryDependent {
    /// A ranker from its parts, which agree in the number of queries.
    pub fn new(lending: Lending, fitting: Fitting, observed: Observed, width: usize) -> Self {
        let numbers = observed.ids.iter().cloned().enumerate().map(|(number, id)| (id, number)).collect();
        Self { lending, fitting, observed, width, numbers }
    }
}

impl Ranker for QueryDependent {
    fn form(&self) -> &'static str {
        FORM
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities { pointwise: true, linear: true, has_features: true, query_dependent: true }
    }

    fn width(&self) -> usize {
        self.width
    }

    fn query_rule(&self) -> Option<&QueryFeatureRule> {
        Some(&self.observed.rule)
    }

    fn stored(&self, target: &Target<'_>) -> Option<Arc<Function>> {
        let number = *self.numbers.get(target.id?)?;
        let seen = self.lending.features.row(number).iter().eq(target.features);
        seen.then(|| Arc::clone(&self.observed.functions[number]))
    }

    fn fit(&self, features: &[f64], control: &Control) -> Result<Function> {
        let (function, _) = self.lending.fit(&self.lenders(features), self.width, &self.fitting, control)?;
        Ok(function)
    }

    fn knows_only_stored(&self) -> bool {
        self.lending.smoothing.kind == Kind::Individual
    }

    fn lenders(&self, features: &[f64]) -> Vec<Lender> {
        self.lending.lenders(features)
    }

    fn training_id(&self, query: usize) -> Option<&Id> {
        self.observed.ids.get(query)
    }

    fn encode(&self) -> Result<Encoded> {
        // Only what a novel query needs is kept: nothing where novel queries have no function.
        let kept = |query: usize| {
            if self.knows_only_stored() { None } else { self.lending.pool.queries[query].as_ref() }
        };
        let judgments: Vec<Option<&Judgments>> = (0..self.lending.pool.len()).map(kept).collect();
        let functions = &self.observed.functions;
        let header = Header {
            smoothing: self.lending.smoothing,
            fitting: self.fitting,
            rule: self.observed.rule.clone(),
            ids: self.observed.ids.clone(),
            weights: self.lending.weights.to_vec(),
            features: self.lending.features.iter().copied().collect(),
            width: self.width as u64,
            functions: functions.iter().flat_map(|function| function.weights.iter().copied()).collect(),
            objectives: functions.iter().map(|function| (function.objective, function.gap)).collect(),
            documents: judgments
                .iter()
                .map(|query| query.map_or(0, |query| query.labels.len() as u32))
                .collect(),
            element_bytes: judgments
                .iter()
                .flatten()
                .next()
                .map_or(8, |query| query.features.element_bytes() as u8),
        };
        let blocks = judgments.into_iter().flatten().map(|query| {
            let mut block = Vec::new();
            write_numbers(&query.labels, &mut block);
            write_matrix(&query.features, &mut block);
            block
        });
        Ok(Encoded { header: encode_header(&header)?, blocks: blocks.collect() })
    }
}

#[derive(Serialize, Deserialize)]
struct Header {
    smoothing: Smoothing,
    fitting: Fitting,
    rule: QueryFeatureRule,
    ids: Vec<Id>,
    weights: Vec<f64>,
    /// (`n_queries`, p) row-major.
    features: Vec<f64>,
    width: u64,
    /// (`n_queries`, width) row-major.
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
        let width = usize::try_from(self.width).unwrap_or(usize::MAX);
        let bandwidth_ok = match self.smoothing.bandwidth {
            crate::smoothing::Bandwidth::Median => true,
            crate::smoothing::Bandwidth::Fixed(h) => h.is_finite() && h > 0.0,
        };
        let finite = |values: &[f64]| values.iter().all(|value| value.is_finite());
        let positive = |value: f64| value.is_finite() && value > 0.0;
        let checks = [
            (n > 0 && width > 0, "no query or no feature"),
            (self.weights.len() == n, "number of query weights"),
            (self.documents.len() == n && self.objectives.len() == n, "number of queries"),
            (n.checked_mul(self.rule.names.len()) == Some(self.features.len()), "number of query features"),
            (n.checked_mul(width) == Some(self.functions.len()), "number of weights"),
            (self.documents.iter().filter(|n| **n > 0).count() == blocks, "number of blocks"),
            (matches!(self.element_bytes, 4 | 8), "bytes of an element"),
            (finite(&self.features) && finite(&self.functions), "a number that is not finite"),
            (
                self.objectives.iter().all(|(p, gap)| p.is_finite() && gap.is_finite()),
                "an objective that is not finite",
            ),
            (self.weights.iter().all(|weight| positive(*weight)), "a query weight that is not above 0"),
            (bandwidth_ok && self.smoothing.neighbors > 0, "the smoothing"),
            (positive(self.fitting.lambda) && self.fitting.tolerance > 0.0, "lambda or tolerance"),
            (self.ids.is_sorted_by(|a, b| a < b), "the order of query ids"),
        ];
        checks.into_iter().find(|(holds, _)| !holds).map(|(_, problem)| problem)
    }
}

/// Reads the ranker.
pub(super) fn decode(header: &[u8], blocks: &[&[u8]]) -> Result<Box<dyn Ranker>> {
    let header: Header = decode_header(header)?;
    if let Some(problem) = header.problem(blocks.len()) {
        return Err(Error::Corrupt(format!("query-dependent ranker: {problem}")));
    }
    let width = header.width as usize;
    let mut blocks = blocks.iter();
    let mut queries = Vec::with_capacity(header.documents.len());
    for &n in &header.documents {
        let block = if n > 0 { blocks.next() } else { None };
        queries.push(match block {
            Some(block) => Some(read_judgments(block, n as usize, width, header.element_bytes)?),
            None => None,
        });
    }
    let function = |(weights, (objective, gap)): (&[f64], &(f64, f64))| {
        Arc::new(Function { weights: weights.to_vec(), objective: *objective, gap: *gap })
    };
    let functions = header.functions.chunks_exact(width).zip(&header.objectives).map(function).collect();
    let shape = (header.ids.len(), header.rule.names.len());
    let features = Array2::from_shape_vec(shape, header.features)
        .map_err(|problem| Error::Corrupt(format!("query features: {problem}")))?;
    let lending = Lending {
        smoothing: header.smoothing,
        held_out: Arc::new(vec![false; queries.len()]),
        features: Arc::new(features),
        weights: Arc::new(header.weights),
        pool: Arc::new(JudgmentPool { queries, shared: true }),
    };
    let observed = Observed { rule: header.rule, ids: header.ids, functions };
    Ok(Box::new(QueryDependent::new(lending, header.fitting, observed, width)))
}

fn read_judgments(block: &[u8], n: usize, width: usize, element_bytes: u8) -> Result<Judgments> {
    let per_row = width.checked_mul(usize::from(element_bytes)).and_then(|bytes| bytes.checked_add(8));
    if per_row.and_then(|bytes| bytes.checked_mul(n)) != Some(block.len()) {
        return Err(Error::Corrupt(format!("block of {} bytes for {n} documents", block.len())));
    }
    let (labels, features) = block.split_at(8 * n);
    let labels = read_f64(labels);
    let features = if element_bytes == 4 {
        Matrix::F32(crate::data::shaped(n, width, read_f32(features)))
    } else {
        Matrix::F64(crate::data::shaped(n, width, read_f64(features)))
    };
    let finite = labels.iter().all(|label| label.is_finite()) && features.is_finite();
    if finite {
        Ok(Judgments::new(labels, features))
    } else {
        Err(Error::Corrupt("a document that is not finite".to_owned()))
    }
}
