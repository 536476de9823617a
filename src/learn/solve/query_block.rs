//! One query, prepared for a loss.

use super::list::ListBlock;
use super::pair::PairBlock;

/// One query, prepared for a loss.
#[derive(Debug)]
pub enum QueryBlock {
    /// For a pairwise loss.
    Pair(PairBlock),
    /// For a listwise loss.
    List(ListBlock),
}

impl QueryBlock {
    pub fn as_pair(&self) -> Option<&PairBlock> {
        if let Self::Pair(block) = self { Some(block) } else { None }
    }

    pub fn as_list(&self) -> Option<&ListBlock> {
        if let Self::List(block) = self { Some(block) } else { None }
    }

    /// The same query with the first `dim` features.
    #[must_use]
    pub fn leading(&self, dim: usize) -> Self {
        match self {
            Self::Pair(block) => Self::Pair(block.leading(dim)),
            Self::List(block) => Self::List(block.leading(dim)),
        }
    }

    pub fn n_docs(&self) -> usize {
        match self {
            Self::Pair(block) => block.n_docs(),
            Self::List(block) => block.n_docs(),
        }
    }
}
