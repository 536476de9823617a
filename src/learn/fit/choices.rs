//! Choices of a fit besides loss, kernel and solver, with their names in options.

use serde::{Deserialize, Serialize};

use crate::base::named;

/// The regularization of a function.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Penalty {
    /// lambda |f|^2.
    Ridge,
    /// No penalty, but only eigenfunctions with eigenvalues of at least the parameter.
    Threshold,
    /// No penalty, but only the leading eigenfunctions. The parameter is their number.
    Components,
    /// No penalty, but weights of Euclidean norm at most the parameter.
    Ball,
    /// No penalty, but weights whose Euclidean norm is the parameter.
    Sphere,
    /// lambda |w|_1, on feature weights.
    L1,
}

/// The penalty as the option `penalty` names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PenaltyKind {
    /// lambda |f|^2.
    Ridge,
    /// Leading eigenfunctions only.
    Spectral,
    /// Weights of bounded norm.
    Ball,
    /// Weights of a given norm.
    Sphere,
    /// lambda |w|_1.
    L1,
}

named!(PenaltyKind { Ridge = "ridge", Spectral = "spectral", Ball = "ball", Sphere = "sphere", L1 = "l1" });

impl Penalty {
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
    /// `Global` if query features show no differences between queries, else `Zero`.
    Auto,
}

named!(Prior { Zero = "zero", Global = "global", Regression = "regression", Auto = "auto", Model = "@name" });

/// Products of document features with query features.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Interaction {
    #[default]
    None,
    /// With the query features.
    Linear,
    /// With Gaussian functions of them.
    Gaussian,
    /// `Gaussian` if query features show differences between queries, else `None`.
    Auto,
}

named!(Interaction { None = "none", Linear = "linear", Gaussian = "gaussian", Auto = "auto" });

/// When the functions of training queries are fitted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FitAt {
    Training,
    /// When a ranking needs them.
    QueryTime,
}

named!(FitAt { Training = "training", QueryTime = "query_time" });

/// Which functions have one lambda.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LambdaScope {
    /// All of them together.
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

/// Held-out data of a validation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HeldOut {
    /// A fraction of the queries.
    Queries,
    /// A fraction of each query's documents.
    Documents,
    /// Nothing: another source is judged.
    Source,
}
