//! Losses: what a ranking of one query costs, in score space.
//!
//! A loss sees the labels and scores of one query, some also the groups of its documents ([`crate::arrange::RowGroup`]), and nothing else:
//! no features, weights or threads. `pair` holds those
//! that are sums over pairs of documents, whose solvers know the pairs; `list` those of a whole list, whose solvers
//! know values and subgradients only. To add one, write its file and add it to [`LOSSES`].

pub mod list;
pub mod pair;

use serde::{Deserialize, Serialize};

use crate::arrange::ListConstraint;
use crate::error::{Error, Result};
use crate::param::Params;

pub use list::{ListLoss, QueryLoss, Squared};
pub use pair::{HINGE, LOGISTIC, PAIR_LOSSES, PSI, PairDef, PairLoss, SQUARED_HINGE, pair_share, pairs};

/// A loss with its parameters.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Loss {
    /// A sum over pairs.
    Pair(PairLoss),
    /// A loss of the whole list.
    List(ListLoss),
}

/// What solvers can make use of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// A convex quadratic function of the scores.
    Quadratic,
    /// Convex with a continuous gradient.
    Smooth,
    /// Convex.
    Convex,
    /// A difference of convex functions, with a convex majorant at every point.
    Difference,
    /// Neither, but the limit of smooth functions.
    Annealed,
}

impl Shape {
    /// True where a minimum is the minimum.
    pub fn is_convex(self) -> bool {
        matches!(self, Self::Quadratic | Self::Smooth | Self::Convex)
    }
}

/// What the registry knows of one loss.
#[derive(Debug)]
pub struct LossDef {
    /// The name in the option `loss`.
    pub name: &'static str,
    /// One line for people.
    pub summary: &'static str,
    /// What solvers can make use of, with default parameters.
    pub shape: Shape,
    /// Options that are its parameters.
    pub parameters: &'static [&'static str],
    /// The loss with the parameters among these options.
    pub make: fn(&Params) -> Result<Loss>,
}

/// Every loss; the first is the default.
pub const LOSSES: &[&LossDef] = &[
    &HINGE.def,
    &PSI.def,
    &LOGISTIC.def,
    &SQUARED_HINGE.def,
    &list::SQUARED,
    &list::PAIR_SQUARED,
    &list::LIST_NET,
    &list::LIST_MLE,
    &list::CS_LIST_MLE,
    &list::SLAM,
    &list::SMOOTH_GRAD,
    &list::DIRECT,
    &list::MATCHING,
];

/// Names of all losses, in the order of [`LOSSES`].
pub const NAMES: &[&str] = &names();

const fn names() -> [&'static str; LOSSES.len()] {
    let mut names = [""; LOSSES.len()];
    let mut place = 0;
    while place < names.len() {
        names[place] = LOSSES[place].name;
        place += 1;
    }
    names
}

/// The loss of this name.
///
/// # Errors
/// An unknown name, with the known ones.
pub fn find(name: &str) -> Result<&'static LossDef> {
    LOSSES
        .iter()
        .find(|loss| loss.name == name)
        .copied()
        .ok_or_else(|| Error::unknown("loss", name, NAMES.iter().copied()))
}

impl Loss {
    /// What the registry knows of it.
    pub fn def(&self) -> &'static LossDef {
        match self {
            Self::Pair(loss) => &loss.def().def,
            Self::List(loss) => loss.def(),
        }
    }

    /// What solvers can make use of.
    pub fn shape(&self) -> Shape {
        match self {
            Self::Pair(_) => self.def().shape,
            Self::List(loss) => loss.shape(),
        }
    }

    /// Whether a query with these labels teaches anything.
    pub fn teaches(&self, labels: &[f64]) -> bool {
        match self {
            Self::Pair(_) => pairs(labels) > 0,
            Self::List(loss) => loss.teaches(labels),
        }
    }

    /// The groups of documents that it asks for.
    pub fn constraint(&self) -> ListConstraint {
        match self {
            Self::Pair(_) => ListConstraint::None,
            Self::List(loss) => loss.constraint(),
        }
    }

    /// What solvers multiply the loss of a query of so many documents with, to get the mean of its terms.
    pub fn share(&self, documents: usize) -> f64 {
        match self {
            Self::Pair(_) => pair_share(documents),
            Self::List(_) => 1.0,
        }
    }

    /// The penalty is this times lambda |f|^2: the convention of the papers that the losses come from.
    pub fn ridge(&self) -> f64 {
        match self {
            Self::Pair(_) => 1.0,
            Self::List(_) => 0.5,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_loss_stands_under_its_own_name_and_makes_itself() {
        for (loss, name) in LOSSES.iter().zip(NAMES) {
            assert_eq!(loss.name, *name);
            assert_eq!((find(name).unwrap().make)(&Params::default()).unwrap().def().name, *name);
        }
    }
}
