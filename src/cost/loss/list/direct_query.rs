//! One query of direct optimization: its weights, reference orders, and the bounds at any scores. [`Decoder`] has the
//! weights of positions.

use std::cell::RefCell;
use std::sync::Arc;

use crate::base::{Error, Result};
use crate::cost::loss::QueryLoss;
use crate::cost::loss::list::measure::Measure;
use crate::cost::loss::list::{check_weights, in_range};
use crate::cost::metric::logarithmic;
use crate::data::{RowGroup, select_diverse};
use crate::math::assignment::{Workspace, best};
use crate::math::{BlockRanking, Ranking, order, sort_documents};

thread_local! {
    /// One per thread, so that threads share losses and evaluate them without allocation.
    static WORKSPACE: RefCell<Workspace> = RefCell::default();
    /// The order of the scores.
    static ORDER: RefCell<Vec<u32>> = const { RefCell::new(Vec::new()) };
}

/// Sums of 10^18 profits of this size, such as the prices of an assignment, are finite.
const LARGEST_PROFIT: f64 = 1e290;

/// The weights of one query of l documents. Orders are lists of documents, best first.
pub struct DirectQuery {
    /// Weights of positions in the measure (l).
    pub a: Vec<f64>,
    /// Weights of labels in the measure (l).
    pub b: Vec<f64>,
    /// Weights of positions in F (l).
    pub c: Vec<f64>,
    /// Positions with c > 0.
    decoded: usize,
    /// max_pi M.
    pub best: f64,
    /// Whether all orders have the same M.
    flat: bool,
    /// Largest |s| for which F and M are finite. Scores of a damaged model can be larger.
    max_score: f64,
    lists: Lists,
}

/// The lists of documents that are allowed, and A(s) over them.
enum Lists {
    /// All orders.
    All(Ranking),
    /// At most one document of each block, as defined by the row groups.
    Diverse(BlockRanking, Vec<RowGroup>),
}

impl DirectQuery {
    /// The query with these labels.
    pub fn new(measure: &Measure, decoder: &Decoder, labels: &[f64]) -> Self {
        let a = measure.position_weights(labels.len());
        let b = measure.label_weights(labels);
        let c = decoder.weights(measure, labels.len());
        let lists = Lists::All(Ranking::new(&a, &b, &c));
        Self::of_lists([a, b, c], lists)
    }

    /// The query with these labels, whose lists show at most one document of each block (row_groups: one per label).
    pub fn diverse(measure: &Measure, decoder: &Decoder, labels: &[f64], row_groups: &[RowGroup]) -> Self {
        let mut b = measure.label_weights(labels);
        let ideal = select_diverse(&b, row_groups, 1);
        let blocks = ideal.len();
        let a = measure.position_weights(blocks);
        let c = decoder.weights(measure, blocks);
        if measure.is_ratio() && !flat(&b) {
            let best: f64 = ideal.iter().zip(&a).map(|(&document, a)| a * b[document as usize]).sum();
            b.iter_mut().for_each(|b| *b /= best);
        }
        let groups = row_groups.iter().map(|row| row.group).collect();
        let lists = Lists::Diverse(BlockRanking::new(&a, &b, &c, groups), row_groups.to_vec());
        Self::of_lists([a, b, c], lists)
    }

    fn of_lists([a, b, c]: [Vec<f64>; 3], lists: Lists) -> Self {
        let decoded = c.iter().take_while(|&&weight| weight > 0.0).count();
        let largest = |weights: &[f64]| weights.iter().copied().fold(f64::MIN_POSITIVE, f64::max);
        let max_score = (LARGEST_PROFIT - largest(&a) * largest(&b)) / largest(&c).max(1.0);
        let mut query = Self { decoded, flat: flat(&b), max_score, best: 0.0, a, b, c, lists };
        query.best = query.metric(&query.ideal_order());
        query
    }

    /// M of an order.
    pub fn metric(&self, order: &[u32]) -> f64 {
        order.iter().zip(&self.a).map(|(&document, a)| a * self.b[document as usize]).sum()
    }

    /// The maximizer of M that orders documents by b, equal ones as they came.
    pub fn ideal_order(&self) -> Vec<u32> {
        let mut order = Vec::new();
        self.lists.best(&self.b, self.b.len(), &mut order);
        order
    }

    /// The maximizer of M with the largest F, equation 21. Documents by b, equal ones by s, are dealt to the groups of
    /// positions with equal a; inside each group they are ordered by s. Of all orders, not of diverse lists.
    pub fn score_consistent_order(&self, scores: &[f64], documents: &mut Vec<u32>) {
        documents.clear();
        documents.extend(0..scores.len() as u32);
        sort_documents(documents, &self.b, scores);
        let mut first = 0;
        for group in self.a.chunk_by(|x, y| order::compare(*x, *y).is_eq()) {
            sort_documents(&mut documents[first..first + group.len()], scores, scores);
            first += group.len();
        }
    }

    /// A(s) - F(reference) + max M; writes c[pi~] - c[reference], pi~ the maximizer of A, into the last argument (l,
    /// overwritten). With a fixed maximizer of M as reference it is the convex bound, equation 20.
    pub fn bound(&self, scores: &[f64], reference: &[u32], subgradient: &mut [f64]) -> f64 {
        subgradient.fill(0.0);
        if self.flat {
            return 0.0;
        }
        if !scores.iter().all(|score| score.abs() <= self.max_score) {
            return f64::INFINITY;
        }
        WORKSPACE.with_borrow_mut(|workspace| {
            let augmented = self.lists.maximize(scores, workspace);
            for (&document, c) in workspace.chosen().iter().zip(&self.c) {
                subgradient[document as usize] += c;
            }
            let mut reached = 0.0;
            for (&document, c) in reference.iter().zip(&self.c[..self.decoded]) {
                reached += c * scores[document as usize];
                subgradient[document as usize] -= c;
            }
            augmented - reached + self.best
        })
    }

    /// Documents sorted by score (stable), for the positions with c > 0 only.
    pub fn order(&self, scores: &[f64], order: &mut Vec<u32>) {
        self.lists.best(scores, self.decoded, order);
    }

    /// The bound with a reference that depends on the scores.
    fn moving_bound(&self, scores: &[f64], reference: Reference, subgradient: &mut [f64]) -> f64 {
        ORDER.with_borrow_mut(|order| {
            reference(self, scores, order);
            self.bound(scores, order, subgradient)
        })
    }
}

/// Writes the reference of a bound at some scores.
pub(super) type Reference = fn(&DirectQuery, &[f64], &mut Vec<u32>);

impl Lists {
    /// A(s); its maximizer is left in the workspace.
    fn maximize(&self, scores: &[f64], workspace: &mut Workspace) -> f64 {
        match self {
            Self::All(ranking) => ranking.maximize(scores, workspace),
            Self::Diverse(ranking, _) => ranking.maximize(scores, workspace),
        }
    }

    /// The first `count` documents of the best list by these values, equal ones as they came.
    fn best(&self, values: &[f64], count: usize, order: &mut Vec<u32>) {
        match self {
            Self::All(_) => best(values, count, order),
            Self::Diverse(_, row_groups) => {
                *order = select_diverse(values, row_groups, 1);
                order.truncate(count);
            }
        }
    }
}

/// Whether all weights are equal.
pub(super) fn flat(weights: &[f64]) -> bool {
    weights.windows(2).all(|pair| order::compare(pair[0], pair[1]).is_eq())
}

/// A bound with a fixed reference; keeps its positions with c > 0.
pub(super) struct Convex {
    query: Arc<DirectQuery>,
    reference: Vec<u32>,
}

/// A bound whose reference follows the scores.
pub(super) struct Moving {
    query: Arc<DirectQuery>,
    reference: Reference,
}

impl Convex {
    pub(super) fn new(query: DirectQuery) -> Self {
        let mut reference = query.ideal_order();
        reference.truncate(query.decoded);
        Self { query: Arc::new(query), reference }
    }
}

impl Moving {
    pub(super) fn new(query: DirectQuery, reference: Reference) -> Self {
        Self { query: Arc::new(query), reference }
    }
}

impl QueryLoss for Convex {
    fn value_and_subgradient(&self, scores: &[f64], subgradient: &mut [f64]) -> f64 {
        self.query.bound(scores, &self.reference, subgradient)
    }
}

impl QueryLoss for Moving {
    fn value_and_subgradient(&self, scores: &[f64], subgradient: &mut [f64]) -> f64 {
        self.query.moving_bound(scores, self.reference, subgradient)
    }

    fn worth(&self) -> Option<&[f64]> {
        Some(&self.query.b)
    }

    fn majorant(&self, scores: &[f64]) -> Option<Box<dyn QueryLoss>> {
        let mut reference = Vec::new();
        (self.reference)(&self.query, scores, &mut reference);
        reference.truncate(self.query.decoded);
        Some(Box::new(Convex { query: Arc::clone(&self.query), reference }))
    }
}

// Decoder weights c: for scores s, a ranking pi has the value F(pi) = sum_i c_{pi(i)} s_i, and sorting by s maximizes
// it.
//
// They must not increase, or the bounds would not hold. They are not normalized: c times t is w divided by t.

/// The weight of position p, counted from 1.
#[derive(Debug, Clone, PartialEq)]
pub enum Decoder {
    /// Weights of the measure.
    Metric,
    /// max(k + 1 - p, 0) for this k.
    Linear(usize),
    /// p^-d for this d > 0.
    Power(f64),
    /// 1 / log2(p + 1).
    Log,
    /// 1 / log2(log2(p + 1) + 1).
    LogLog,
    /// These weights, which never rise; 0 after the last.
    Own(Vec<f64>),
}

/// Names of the decoders, as in the option `decoder`. The first is the default: with the measure's weights, F and
/// M have one scale, so that the nonconvex bound is not flat around starts of usual norm, and the assignment is a sort.
pub const DECODERS: &[&str] = &["metric", "linear", "power", "log", "loglog"];

/// Depth of `linear` for measures without a cutoff: the first page, as the paper has it. A list is then decoded by its
/// first ten positions even if the measure counts all of them.
const DEPTH: usize = 10;

impl Decoder {
    /// The decoder of this name; `power` is d.
    ///
    /// # Errors
    /// An unknown name.
    pub fn parse(name: &str, measure: &Measure, power: f64) -> Result<Self> {
        match name {
            "linear" => Ok(Self::Linear(measure.cutoff().unwrap_or(DEPTH))),
            "power" => Ok(Self::Power(power)),
            "log" => Ok(Self::Log),
            "loglog" => Ok(Self::LogLog),
            "metric" => Ok(Self::Metric),
            _ => Err(Error::unknown("decoder", name, DECODERS.iter().copied())),
        }
    }

    /// Checks the parameter.
    ///
    /// # Errors
    /// A power that is not a finite number above 0; weights that rise or are out of range.
    pub fn validate(&self) -> Result<()> {
        match self {
            Self::Power(power) => {
                in_range(power.is_finite() && *power > 0.0, "decoder_power", power, "a number above 0")
            }
            Self::Own(weights) => check_weights("discounts", Some(weights), true),
            _ => Ok(()),
        }
    }

    /// c of the first `positions` positions.
    pub fn weights(&self, measure: &Measure, positions: usize) -> Vec<f64> {
        let all = |weight: &dyn Fn(usize) -> f64| (0..positions).map(weight).collect();
        match self {
            Self::Linear(depth) => all(&|position| depth.saturating_sub(position) as f64),
            Self::Power(power) => all(&|position| libm::pow((position + 1) as f64, -*power)),
            Self::Log => all(&logarithmic),
            Self::LogLog => all(&|position| 1.0 / libm::log2(libm::log2((position + 2) as f64) + 1.0)),
            Self::Metric => measure.position_weights(positions),
            Self::Own(weights) => all(&|position| weights.get(position).copied().unwrap_or(0.0)),
        }
    }
}
