//! The judgments that training queries lend to targets.

use std::sync::OnceLock;

use crate::data::Matrix;
use crate::loss;
use crate::solve::PairBlock;

/// A training query from which a target borrows.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Lender {
    /// Number of the training query.
    pub query: usize,
    /// Distance of its features from the target's.
    pub distance: f64,
    /// Its weight pi.
    pub weight: f64,
}

impl Lender {
    /// A training query that counts fully, its distance left aside.
    pub(super) fn whole(query: usize) -> Self {
        Self { query, distance: 0.0, weight: 1.0 }
    }
}

/// Scaled documents and labels of one training query, prepared for solving when first used.
#[derive(Debug)]
pub(super) struct Judgments {
    pub(super) labels: Vec<f64>,
    pub(super) features: Matrix,
    block: OnceLock<Option<PairBlock>>,
}

/// Above this many scaled features the pair moments are not kept: they take 8 b^2 bytes for each query.
const WIDEST_WITH_MOMENT: usize = 200;

impl Judgments {
    pub(super) fn new(labels: Vec<f64>, features: Matrix) -> Self {
        Self { labels, features, block: OnceLock::new() }
    }

    /// The documents prepared for a pairwise solver; with their pair moment where many targets share them.
    ///
    /// `None` only where labels and features do not fit together, which whoever made them has excluded.
    fn block(&self, shared: bool) -> Option<&PairBlock> {
        let width = self.features.columns();
        let prepare = || {
            let block =
                PairBlock::new(&self.features.rows_f64(0..self.features.rows()), &self.labels, width).ok()?;
            Some(if shared && width <= WIDEST_WITH_MOMENT { block.with_moment() } else { block })
        };
        self.block.get_or_init(prepare).as_ref()
    }
}

/// Judgments per training query; `None` where no pair of documents differs in relevance.
#[derive(Debug, Default)]
pub struct JudgmentPool {
    pub(super) queries: Vec<Option<Judgments>>,
    pub(super) shared: bool,
}

impl JudgmentPool {
    /// A pool from the labels and scaled documents of each query; `None` where it has nothing to lend.
    ///
    /// `shared`: many targets will borrow from the same query, so what they have in common is kept.
    pub fn new(queries: impl IntoIterator<Item = Option<(Vec<f64>, Matrix)>>, shared: bool) -> Self {
        let judgments = |(labels, features)| Judgments::new(labels, features);
        Self { queries: queries.into_iter().map(|query| query.map(judgments)).collect(), shared }
    }

    /// Number of training queries.
    pub fn len(&self) -> usize {
        self.queries.len()
    }

    /// True without queries.
    pub fn is_empty(&self) -> bool {
        self.queries.is_empty()
    }

    /// True where the query has judgments to lend.
    pub fn lends(&self, query: usize) -> bool {
        self.queries[query].is_some()
    }

    /// The prepared documents of a query that lends.
    pub fn block(&self, query: usize) -> Option<&PairBlock> {
        self.queries[query].as_ref().and_then(|judgments| judgments.block(self.shared))
    }

    /// What one pair of a query weighs in the mean over its pairs; 0 where it lends nothing.
    pub fn pair_share(&self, query: usize) -> f64 {
        self.queries[query].as_ref().map_or(0.0, |judgments| loss::pair_share(judgments.labels.len()))
    }
}
