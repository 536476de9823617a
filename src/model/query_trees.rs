//! Functions of documents and of the features of their query: one ensemble of trees, or a sum of trees, kernels and linear
//! functions.
//!
//! The function of a query scores documents with the query features filled in: trees have the answers to their splits, a
//! coefficient of a kernel is multiplied by the kernel of the query features (Gaussian and L1-Laplace kernels are products
//! over features). The weights are the encoded query features. Nothing is fitted at query time.

use serde::{Deserialize, Serialize};

use super::codec::{decode_header, encode_header};
use super::linear::Linear;
use super::query_aware::QueryAware;
use crate::base::{Control, Result, require};
use crate::data::{Documents, QueryFeatureRule};
use crate::learn::space::{Function, Member, Scorer, Space, SumSpace};
use crate::math::{BOUNDED, are_bounded};
use crate::trees::{Forest, Split};

pub(super) const TAG: &str = "query_trees";
pub(super) const SUM_TAG: &str = "query_sum";

/// Trees of documents and their queries.
#[derive(Debug)]
pub enum QueryTrees {
    One(Ensemble),
    Sum(QuerySum),
}

#[derive(Debug, Serialize, Deserialize)]
pub struct Ensemble {
    /// Number of scaled features of documents. Features of the trees from this index on are encoded query features.
    width: usize,
    rule: QueryFeatureRule,
    forest: Forest,
    /// Values of the leaves, tree by tree.
    values: Vec<f64>,
}

/// A sum of functions of documents. Functions with more features than the scaling produces have query features after the
/// scaled ones: trees have all encoded ones, other functions only the numbers.
#[derive(Debug, Serialize, Deserialize)]
pub struct QuerySum {
    rule: QueryFeatureRule,
    space: SumSpace,
    /// The members' weights, one after the other.
    weights: Vec<f64>,
}

impl QueryTrees {
    /// Trees of documents with `width` scaled features, followed by the encoded query features of a rule.
    pub fn new(width: usize, rule: QueryFeatureRule, forest: Forest, values: Vec<f64>) -> Self {
        Self::One(Ensemble { width, rule, forest, values })
    }

    /// A sum of functions of documents with `width` features. See [`QuerySum`].
    pub fn sum(width: usize, rule: QueryFeatureRule, members: Vec<Member>, weights: Vec<f64>) -> Self {
        Self::Sum(QuerySum { rule, space: SumSpace::new(width, members), weights })
    }

    /// The kind in the header of a model.
    pub(super) fn tag(&self) -> &'static str {
        match self {
            Self::One(_) => TAG,
            Self::Sum(_) => SUM_TAG,
        }
    }

    /// The functions of documents for a query with these encoded features.
    pub fn for_query(&self, features: &[f64]) -> Linear {
        let function = |weights| Function { weights, objective: 0.0, gap: 0.0 };
        match self {
            Self::One(one) => {
                let (forest, values) = fill(&one.forest, &one.values, one.width, features);
                Linear::new(Space::of_trees(one.width, forest), function(values))
            }
            Self::Sum(sum) => {
                let (mut members, mut weights) = (Vec::with_capacity(sum.space.members.len()), Vec::new());
                for (member, of) in sum.space.members.iter().zip(sum.space.summands(&sum.weights)) {
                    let width = member.scaling.width(sum.space.width());
                    let (space, at_query) = sum.at(member, of.weights, width, features);
                    weights.extend(at_query);
                    members.push(Member { scaling: member.scaling.clone(), space });
                }
                Linear::new(SumSpace::new(sum.space.width(), members), function(weights))
            }
        }
    }

    pub(super) fn encode(&self) -> Result<Vec<u8>> {
        match self {
            Self::One(one) => encode_header(one),
            Self::Sum(sum) => encode_header(sum),
        }
    }

    pub(super) fn decode(tag: &str, header: &[u8]) -> Result<Self> {
        let is_sum = tag == SUM_TAG;
        let trees =
            if is_sum { Self::Sum(decode_header(header)?) } else { Self::One(decode_header(header)?) };
        trees.validate()?;
        Ok(trees)
    }
}

impl QueryAware for QueryTrees {
    fn query_rule(&self) -> &QueryFeatureRule {
        match self {
            Self::One(one) => &one.rule,
            Self::Sum(sum) => &sum.rule,
        }
    }

    fn scorer(&self) -> &dyn Scorer {
        self
    }

    fn function(&self, features: &[f64], _: &Control) -> Result<Function> {
        Ok(Function { weights: features.to_vec(), objective: 0.0, gap: 0.0 })
    }

    fn sees(&self, position: usize) -> bool {
        let Self::Sum(sum) = self else { return true };
        let joins = |member: &Member| member.space.width() > member.scaling.width(sum.space.width());
        // Trees see all query features; other functions see only numbers.
        let sees = |member: &Member| member.space.trees().is_some() || sum.rule.is_number(position);
        sum.space.members.iter().any(|member| joins(member) && sees(member))
    }
}

impl QuerySum {
    /// A member for documents with `width` scaled features and a query with these encoded features, and its weights.
    fn at(&self, member: &Member, own: &[f64], width: usize, features: &[f64]) -> (Space, Vec<f64>) {
        match member.space.trees() {
            _ if member.space.width() == width => (member.space.clone(), own.to_vec()),
            Some(forest) => {
                let (forest, values) = fill(forest, own, width, features);
                (Space::of_trees(width, forest), values)
            }
            None => member.space.at(own, &self.rule.numbers_of(features)),
        }
    }
}

/// The trees of documents with `width` features for a query with these encoded features. Leaves that its documents cannot
/// reach get the values of the leaves that they can.
pub fn fill(forest: &Forest, values: &[f64], width: usize, features: &[f64]) -> (Forest, Vec<f64>) {
    let (depth, splits) = (forest.depth(), forest.splits().collect::<Vec<Split>>());
    let of_query = |split: &Split| split.feature >= width;
    // A split on query features becomes a copy of a split on documents; the values do not depend on its answer.
    let any = splits.iter().find(|split| !of_query(split)).copied();
    let any = any.unwrap_or(Split { feature: 0, threshold: 0.0, missing_above: false });
    let (mut of_documents, mut filled) = (splits.clone(), Vec::with_capacity(values.len()));
    let trees = splits.chunks_exact(depth).zip(of_documents.chunks_exact_mut(depth));
    for ((splits, of_documents), all) in trees.zip(values.chunks_exact(1 << depth)) {
        let (mut asked, mut answers) = (0, 0);
        for (level, (split, replaced)) in splits.iter().zip(of_documents).enumerate() {
            if of_query(split) {
                *replaced = any;
                asked |= 1 << level;
                answers |= usize::from(split.is_above(features[split.feature - width])) << level;
            }
        }
        filled.extend((0..all.len()).map(|leaf| all[(leaf & !asked) | answers]));
    }
    (Forest::new(depth, &of_documents), filled)
}

impl Scorer for QueryTrees {
    fn width(&self) -> usize {
        match self {
            Self::One(one) => one.width,
            Self::Sum(sum) => sum.space.width(),
        }
    }

    fn dim(&self) -> usize {
        self.query_rule().width()
    }

    fn pointwise(&self) -> bool {
        match self {
            Self::One(_) => true,
            Self::Sum(sum) => sum.space.pointwise(),
        }
    }

    fn pairwise(&self) -> bool {
        match self {
            Self::One(_) => true,
            Self::Sum(sum) => sum.space.pairwise(),
        }
    }

    fn operations(&self) -> usize {
        match self {
            Self::One(one) => one.forest.operations(),
            Self::Sum(sum) => sum.space.operations(),
        }
    }

    fn validate(&self) -> Result<()> {
        let (width, of_queries) = (self.width(), self.query_rule().width());
        let (leaves, weights) = match self {
            Self::One(one) => {
                one.forest.validate(width.saturating_add(of_queries))?;
                (one.forest.leaves(), &one.values)
            }
            Self::Sum(sum) => {
                for Member { scaling, space } in &sum.space.members {
                    space.validate()?;
                    scaling.validate(width)?;
                    let own = scaling.width(width);
                    let joined = if space.trees().is_some() {
                        Some(of_queries)
                    } else {
                        space.can_fix().then(|| self.query_rule().number_count())
                    };
                    let with_queries = joined.map(|joined| own.saturating_add(joined));
                    let fits = space.width() == own || Some(space.width()) == with_queries;
                    require("member of a sum", &[(fits, "a space of its features")])?;
                }
                (sum.space.dim(), &sum.weights)
            }
        };
        require(
            "trees of queries",
            &[
                (width > 0 && of_queries > 0, "features of documents and of queries"),
                (weights.len() == leaves, "a value for each leaf"),
                (are_bounded(weights), BOUNDED),
            ],
        )
    }

    fn scores(&self, documents: &Documents<'_>, query: &[f64], control: &Control) -> Result<Vec<f64>> {
        let Self::Sum(sum) = self else {
            let of_documents = self.for_query(query);
            return of_documents.scorer().scores(documents, &of_documents.function.weights, control);
        };
        // Kernels compare documents and query features together: their landmarks are not copied for each query.
        let numbers = sum.rule.numbers_of(query);
        sum.space.add_scores(documents, &numbers, &sum.weights, control, |member, documents, own| {
            let width = documents.features.columns();
            if member.space.width() == width {
                return member.space.scores(documents, own, control);
            }
            let (space, own) = sum.at(member, own, width, query);
            space.scores(documents, &own, control)
        })
    }
}
