//! Fitted rankers: the six forms that training produces, and trees from other libraries.

use std::sync::Arc;

use super::codec::{Encoded, encode_header};
use super::factored::{self, Factored};
use super::general::{self, GeneralTrees};
use super::interactions::{self, Interactions};
use super::linear::{self, Linear};
use super::online::{self, Online};
use super::query_aware::QueryAware;
use super::query_dependent::{self, QueryDependent};
use super::query_trees::{self, QueryTrees};
use crate::base::{Error, Result};
use crate::data::{QueryFeatureKind, QueryFeatureRule};
use crate::learn::fit::Loading;
use crate::learn::space::{Function, Scorer};

#[derive(Debug)]
pub enum Ranker {
    /// One function for all queries.
    Linear(Linear),
    /// One function for all queries, trained online; training can continue.
    Online(Box<Online>),
    /// One function per query.
    QueryDependent(Box<QueryDependent>),
    /// One function whose weights depend on query features.
    Interactions(Box<Interactions>),
    /// Trees that also split on query features.
    QueryTrees(Box<QueryTrees>),
    /// Trees trained by another library.
    GeneralTrees(Box<GeneralTrees>),
    /// Factors of users and items, scored by id.
    Factored(Box<Factored>),
}

/// Capabilities of a ranker.
#[allow(clippy::struct_excessive_bools, reason = "four independent abilities")]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Capabilities {
    /// Scores a document without the other documents of the query.
    pub pointwise: bool,
    /// Scores are weighted sums of scaled features.
    pub linear: bool,
    /// Reads document features.
    pub has_features: bool,
    /// The function depends on the query.
    pub query_dependent: bool,
}

impl Ranker {
    /// Name of the form in stored models.
    pub fn tag(&self) -> &'static str {
        match self {
            Self::Linear(_) => linear::TAG,
            Self::Online(_) => online::TAG,
            Self::QueryDependent(ranker) => ranker.tag(),
            Self::Interactions(_) => interactions::TAG,
            Self::QueryTrees(trees) => trees.tag(),
            Self::GeneralTrees(_) => general::TAG,
            Self::Factored(factored) => factored.tag(),
        }
    }

    /// The function for all queries, in forms that have one.
    pub fn global_function(&self) -> Option<&Arc<Function>> {
        match self {
            Self::GeneralTrees(trees) => Some(&trees.function),
            _ => self.as_linear().map(|linear| &linear.function),
        }
    }

    /// The ranker, if it has one function for all queries.
    pub fn as_linear(&self) -> Option<&Linear> {
        match self {
            Self::Linear(linear) => Some(linear),
            Self::Online(online) => Some(&online.linear),
            _ => None,
        }
    }

    /// The ranker, if it has a function per query.
    pub fn as_query_dependent(&self) -> Option<&QueryDependent> {
        if let Self::QueryDependent(ranker) = self { Some(ranker) } else { None }
    }

    /// The ranker, if its functions depend on query features.
    pub fn as_query_aware(&self) -> Option<&dyn QueryAware> {
        match self {
            Self::QueryDependent(ranker) => Some(&**ranker),
            Self::Interactions(ranker) => Some(&**ranker),
            Self::QueryTrees(trees) => Some(&**trees),
            Self::Linear(_) | Self::Online(_) | Self::GeneralTrees(_) | Self::Factored(_) => None,
        }
    }

    /// The ranker, if it is trees that also split on query features.
    pub fn as_query_trees(&self) -> Option<&QueryTrees> {
        if let Self::QueryTrees(trees) = self { Some(trees) } else { None }
    }

    /// The ranker, if it is trees from another library.
    pub fn as_general_trees(&self) -> Option<&GeneralTrees> {
        if let Self::GeneralTrees(trees) = self { Some(trees) } else { None }
    }

    /// The scorer of documents, which takes functions; `None` for rankers without features.
    pub fn scorer(&self) -> Option<&dyn Scorer> {
        match self {
            Self::Linear(linear) => Some(linear.scorer()),
            Self::Online(online) => Some(online.linear.scorer()),
            Self::GeneralTrees(trees) => Some(&**trees),
            _ => self.as_query_aware().map(QueryAware::scorer),
        }
    }

    /// How query features are computed, in forms that use any.
    pub fn query_rule(&self) -> Option<&QueryFeatureRule> {
        self.as_query_aware().map(QueryAware::query_rule)
    }

    /// Names of the query features that it reads from a source; empty if it computes them or uses none.
    pub fn named_query_features(&self) -> &[String] {
        let rule = self.query_rule().filter(|rule| rule.kind == QueryFeatureKind::Named);
        rule.map_or(&[], |rule| &rule.names)
    }

    /// Capabilities before scaling is taken into account.
    pub fn capabilities(&self) -> Capabilities {
        Capabilities {
            pointwise: self.scorer().is_some_and(Scorer::pointwise),
            linear: self.scorer().is_some_and(Scorer::is_linear),
            has_features: self.scorer().is_some(),
            query_dependent: self.global_function().is_none(),
        }
    }

    /// Memory in bytes without the scaling.
    ///
    /// # Errors
    /// A header that is too long; training blocks that are not loaded.
    pub fn encode(&self) -> Result<Encoded<'_>> {
        let header = match self {
            Self::Linear(linear) => linear.encode(),
            Self::Online(online) => online.encode(),
            Self::QueryDependent(ranker) => return ranker.encode(),
            Self::Interactions(ranker) => encode_header(&**ranker),
            Self::QueryTrees(trees) => trees.encode(),
            Self::GeneralTrees(trees) => encode_header(&**trees),
            Self::Factored(factored) => factored.encode(),
        };
        Ok(Encoded { header: header?, blocks: Vec::new() })
    }

    /// Reads a ranker of the form `tag` that has this many blocks, none of them loaded yet.
    ///
    /// # Errors
    /// [`Error::Corrupt`] for an unknown form and for bytes that [`Self::encode`] does not write.
    pub fn decode(tag: &str, header: &[u8], blocks: usize, loading: Loading) -> Result<Self> {
        if blocks > 0 && !query_dependent::TAGS.contains(&tag) {
            return Err(Error::Corrupt(format!("a ranker of the form '{tag}' with blocks")));
        }
        Ok(match tag {
            linear::TAG => Self::Linear(Linear::decode(header)?),
            online::TAG => Self::Online(Online::decode(header)?.into()),
            tag if query_dependent::TAGS.contains(&tag) => {
                Self::QueryDependent(QueryDependent::decode(tag, header, blocks, loading)?.into())
            }
            interactions::TAG => Self::Interactions(Interactions::decode(header)?.into()),
            query_trees::TAG | query_trees::SUM_TAG => {
                Self::QueryTrees(QueryTrees::decode(tag, header)?.into())
            }
            general::TAG => Self::GeneralTrees(GeneralTrees::decode(header)?.into()),
            factored::TAG => Self::Factored(Factored::decode(header)?.into()),
            factored::IMPLICIT_TAG => Self::Factored(Factored::decode_implicit(header)?.into()),
            _ => return Err(Error::Corrupt(format!("unknown form of ranker '{tag}'"))),
        })
    }
}
