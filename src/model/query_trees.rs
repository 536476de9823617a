//! Trees that split query features as well as features of documents.
//!
//! The function of a query is the ensemble with the answers to the splits of its query features filled in: its weights
//! are the encoded query features. Nothing is fitted at query time.

use serde::{Deserialize, Serialize};

use super::codec::{decode_header, encode_header};
use super::linear::Linear;
use crate::base::control::Control;
use crate::base::error::{Result, require};
use crate::base::memory::bytes_of;
use crate::data::{Documents, Matrix, QueryFeatureRule, shaped};
use crate::learn::kernel::Kernel;
use crate::learn::space::{Function, Scorer, Space, Summand};
use crate::math::dense::{BOUNDED, are_bounded};
use crate::trees::{Forest, Split};

pub(super) const TAG: &str = "query_trees";

/// Trees of documents and their queries.
#[derive(Debug, Serialize, Deserialize)]
pub struct QueryTrees {
    /// Number of scaled features of documents. Features of the trees from this index on are encoded query features.
    width: usize,
    rule: QueryFeatureRule,
    forest: Forest,
    /// Values of the leaves, tree by tree.
    values: Vec<f64>,
}

impl QueryTrees {
    /// Trees of documents with `width` scaled features, followed by the encoded query features of a rule.
    pub fn new(width: usize, rule: QueryFeatureRule, (forest, values): (Forest, Vec<f64>)) -> Self {
        Self { width, rule, forest, values }
    }

    /// How query features are read.
    pub fn query_rule(&self) -> &QueryFeatureRule {
        &self.rule
    }

    /// The function of a query with these encoded features.
    pub fn function(features: Vec<f64>) -> Function {
        Function { weights: features, objective: 0.0, gap: 0.0 }
    }

    /// Bytes that it takes.
    pub fn bytes(&self) -> u64 {
        self.forest.bytes() + bytes_of::<f64>(self.values.len()) + self.rule.bytes()
    }

    /// The trees of documents for a query with these encoded features: leaves that its documents do not reach have the
    /// values of those that they reach.
    pub fn for_query(&self, features: &[f64]) -> Linear {
        let (depth, splits) = (self.forest.depth(), self.forest.splits().collect::<Vec<Split>>());
        let of_query = |split: &Split| split.feature >= self.width;
        // A split of query features becomes a copy of one of documents, whose answer the values do not depend on.
        let any = splits.iter().find(|split| !of_query(split)).copied();
        let any = any.unwrap_or(Split { feature: 0, border: 0.0, missing_above: false });
        let (mut of_documents, mut values) = (splits.clone(), Vec::with_capacity(self.values.len()));
        let trees = splits.chunks_exact(depth).zip(of_documents.chunks_exact_mut(depth));
        for ((splits, of_documents), all) in trees.zip(self.values.chunks_exact(1 << depth)) {
            let (mut asked, mut answers) = (0, 0);
            for (level, (split, replaced)) in splits.iter().zip(of_documents).enumerate() {
                if of_query(split) {
                    *replaced = any;
                    asked |= 1 << level;
                    answers |= usize::from(split.is_above(features[split.feature - self.width])) << level;
                }
            }
            values.extend((0..all.len()).map(|leaf| all[(leaf & !asked) | answers]));
        }
        let space = Space::of_trees(self.width, Forest::new(depth, &of_documents));
        Linear::new(space, Function { weights: values, objective: 0.0, gap: 0.0 })
    }

    pub(super) fn encode(&self) -> Result<Vec<u8>> {
        encode_header(self)
    }

    pub(super) fn decode(header: &[u8]) -> Result<Self> {
        let trees: Self = decode_header(header)?;
        trees.validate()?;
        Ok(trees)
    }
}

impl Scorer for QueryTrees {
    fn width(&self) -> usize {
        self.width
    }

    fn dim(&self) -> usize {
        self.rule.width()
    }

    fn bytes(&self) -> u64 {
        Self::bytes(self)
    }

    fn pointwise(&self) -> bool {
        true
    }

    fn is_linear(&self) -> bool {
        false
    }

    fn kernel(&self) -> Option<&Kernel> {
        None
    }

    fn validate(&self) -> Result<()> {
        self.forest.validate(self.width.saturating_add(self.rule.width()))?;
        require(
            "trees of queries",
            &[
                (self.width > 0 && self.rule.width() > 0, "features of documents and of queries"),
                (self.values.len() == self.forest.leaves(), "a value for each leaf"),
                (are_bounded(&self.values), BOUNDED),
            ],
        )
    }

    fn scores(&self, documents: &Documents<'_>, query: &[f64], control: &Control) -> Result<Vec<f64>> {
        let mut rows = Vec::with_capacity(documents.len() * (self.width + query.len()));
        for row in documents.range() {
            rows.extend((0..self.width).map(|column| documents.features.at(row, column)));
            rows.extend(query);
        }
        let rows = Matrix::F64(shaped(documents.len(), self.width + query.len(), rows));
        self.forest.scores(&rows, 0..documents.len(), &self.values, control)
    }

    /// None: [`Self::for_query`] has the function of documents.
    fn summands<'a>(&'a self, _: &'a [f64]) -> Vec<Summand<'a>> {
        Vec::new()
    }
}
