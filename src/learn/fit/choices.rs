//! The choices of a fit besides loss, kernel and solver, with their names in options.

use serde::{Deserialize, Serialize};

use crate::base::param::named;

/// The regularization of a function.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Penalty {
    /// lambda |f|^2.
    Ridge,
    /// No penalty, but only eigenfunctions with eigenvalues of at least the parameter.
    Threshold,
    /// No penalty, but only as many leading eigenfunctions as the parameter.
    Components,
    /// No penalty, but weights of Euclidean norm at most the parameter.
    Ball,
    /// No penalty, but weights whose Euclidean norm is the parameter.
    Sphere,
    /// lambda |w|_1, of the weights of features.
    L1,
}

/// The penalty as the option `penalty` names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum PenaltyKind {
    /// lambda |f|^2.
    #[default]
    Ridge,
    /// Leading eigenfunctions only.
    Spectral,
    /// Weights of bounded length.
    Ball,
    /// Weights of a given length.
    Sphere,
    /// lambda |w|_1.
    L1,
}

named!(PenaltyKind { Ridge = "ridge", Spectral = "spectral", Ball = "ball", Sphere = "sphere", L1 = "l1" });

impl Penalty {
    /// Its kind.
    pub const fn kind(self) -> PenaltyKind {
        match self {
            Self::Ridge => PenaltyKind::Ridge,
            Self::Threshold | Self::Components => PenaltyKind::Spectral,
            Self::Ball => PenaltyKind::Ball,
            Self::Sphere => PenaltyKind::Sphere,
            Self::L1 => PenaltyKind::L1,
        }
    }

    /// Whether its parameter is a radius.
    pub const fn has_radius(self) -> bool {
        matches!(self, Self::Ball | Self::Sphere)
    }
}

/// The function that the penalty shrinks to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Prior {
    /// 0.
    #[default]
    Zero,
    /// One function of all queries, with the same loss.
    Global,
    /// The least-squares function of all queries.
    Regression,
    /// The function of a stored model.
    Model,
}

named!(Prior { Zero = "zero", Global = "global", Regression = "regression", Model = "@name" });

/// When the functions of training queries are fitted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum FitAt {
    /// In training.
    #[default]
    Training,
    /// When a ranking needs them.
    QueryTime,
}

named!(FitAt { Training = "training", QueryTime = "query_time" });

/// Which functions have one lambda.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LambdaScope {
    /// All of them together.
    #[default]
    All,
    /// Each training query.
    Each,
}

named!(LambdaScope { All = "all", Each = "each" });

/// Where lambda comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LambdaBy {
    /// The caller.
    Number,
    /// Validation of candidates.
    Validation,
    /// The rate of theorem 1 of Dai & Wang (2019).
    Rate,
}

/// What validation holds out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HeldOut {
    /// A fraction of the queries.
    Queries,
    /// A fraction of the documents of each query.
    Documents,
    /// Nothing: another source is judged.
    Source,
}
