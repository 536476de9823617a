//! Declaration of a loss, and the trait of listwise losses.

use std::fmt;
use std::sync::Arc;

use crate::base::{Params, Result};
use crate::data::{ListConstraint, RowGroup};

/// The declaration of one loss.
#[derive(Debug)]
pub struct LossDef {
    /// The name in the option `loss` and in models.
    pub name: &'static str,
    /// The shape with default parameters.
    pub shape: Shape,
    /// Pairwise or listwise, and how it is made.
    pub kind: LossKind,
    /// The options that are its parameters.
    pub parameters: &'static [&'static str],
    /// Defaults of a training for these parameters. A stored loss without them is read as it is.
    pub defaults: &'static [(&'static str, &'static str)],
    /// The metrics that its parameter `measure` accepts.
    pub measures: &'static [&'static str],
}

impl LossDef {
    pub const fn pairwise(name: &'static str, shape: Shape, loss: PairLoss) -> Self {
        Self {
            name,
            shape,
            kind: LossKind::Pairwise(loss),
            parameters: &["pair_weights"],
            defaults: &[],
            measures: &[],
        }
    }

    /// A listwise loss without parameters.
    pub const fn listwise(name: &'static str, shape: Shape, make: MakeListwise) -> Self {
        Self { name, shape, kind: LossKind::Listwise(make), parameters: &[], defaults: &[], measures: &[] }
    }
}

/// Pairwise or listwise.
#[derive(Debug, Clone, Copy)]
pub enum LossKind {
    /// A sum over pairs of documents.
    Pairwise(PairLoss),
    /// A function of all of a query's scores.
    Listwise(MakeListwise),
}

/// Makes a listwise loss from its parameters.
pub type MakeListwise = fn(&Params) -> Result<Arc<dyn ListwiseLoss>>;

/// Loss properties that solvers rely on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// A convex quadratic function of the scores.
    Quadratic,
    /// Convex with a continuous gradient.
    Smooth,
    Convex,
    /// A difference of convex functions, with a convex majorant at every point.
    Difference,
    /// Not convex; the limit of smooth functions.
    Annealed,
    /// Gradients that belong to no function, and second derivatives.
    Gradients,
}

impl Shape {
    /// Whether every local minimum is global.
    pub fn is_convex(self) -> bool {
        matches!(self, Self::Quadratic | Self::Smooth | Self::Convex)
    }
}

/// A pairwise loss: a function of the margin `s_j - s_l` of two documents with `y_j > y_l`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PairLoss {
    /// max(0, 1 - margin).
    Hinge,
    /// min(1, max(0, 1 - margin)), which is not convex.
    Psi,
    /// log(1 + exp(-margin)).
    Logistic,
    /// max(0, 1 - margin)^2.
    SquaredHinge,
}

/// The declaration of a pairwise loss.
pub struct PairDef {
    /// The declaration that all losses have.
    pub def: LossDef,
    /// The loss of a pair with this margin.
    pub value: fn(f64) -> f64,
    /// A subgradient of the value, at most 0. For a loss that is not convex, a one-sided derivative.
    pub slope: fn(f64) -> f64,
    /// The largest absolute slope; `None` if unbounded.
    pub steepest: Option<f64>,
}

/// A listwise loss with its parameters.
pub trait ListwiseLoss: Send + Sync {
    /// The shape, if it depends on the parameters.
    fn shape(&self) -> Option<Shape> {
        None
    }

    /// The constraint on the lists that it ranks.
    fn constraint(&self) -> ListConstraint {
        ListConstraint::None
    }

    /// Checks that the parameters are in their ranges.
    ///
    /// # Errors
    /// A parameter that is out of range.
    fn validate(&self) -> Result<()> {
        Ok(())
    }

    /// Whether a query with these labels influences a fit.
    fn is_informative(&self, labels: &[f64]) -> bool;

    /// An upper bound of |g|_1 for the subgradients g of a convex loss of a query with these labels (N >= 1); `None` if
    /// unbounded.
    fn lipschitz(&self, _labels: &[f64]) -> Option<f64> {
        None
    }

    /// For [`Shape::Annealed`]: the first sigma, above 0; by the scores if `None`.
    fn first_sigma(&self) -> Option<f64> {
        None
    }

    /// Checks the labels (N, finite) and row groups of a query.
    ///
    /// # Errors
    /// Labels or row groups that the loss does not allow.
    fn check_query(&self, _labels: &[f64], _row_groups: &[RowGroup]) -> Result<()> {
        Ok(())
    }

    /// The loss of one query with these labels (N >= 1) and row groups (N, or empty without a constraint), both
    /// accepted by `check_query`.
    fn prepare(&self, labels: &[f64], row_groups: &[RowGroup]) -> Box<dyn QueryLoss>;

    /// The loss of one query whose documents have weights (N, finite, >= 0, one of them > 0): a document of weight w counts as
    /// w copies. `None` if the loss does not support document weights.
    fn prepare_weighted(&self, _labels: &[f64], _weights: &[f64]) -> Option<Box<dyn QueryLoss>> {
        None
    }
}

/// The name of the trait: a supertrait `Debug` would link the code that prints the fields of each type.
impl fmt::Debug for dyn ListwiseLoss {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("ListwiseLoss")
    }
}

/// The loss of one query as a function of its scores.
pub trait QueryLoss: Send + Sync {
    /// The value at these scores (N, finite). Writes a subgradient into the last argument (N, overwritten).
    ///
    /// The same scores give the same bits.
    fn value_and_subgradient(&self, scores: &[f64], subgradient: &mut [f64]) -> f64;

    /// The Hessian at these scores times a direction (N), written into the last argument (N, overwritten). True for
    /// [`Shape::Quadratic`] and [`Shape::Smooth`]; false if the loss has no Hessian.
    fn hessian_times(&self, _scores: &[f64], _direction: &[f64], _product: &mut [f64]) -> bool {
        false
    }

    /// For [`Shape::Gradients`]: writes the gradient at these scores, and the second derivative by each score (at least 0),
    /// into the last arguments (N, overwritten). Returns the value; `None` for other shapes.
    fn newton(&self, _scores: &[f64], _gradient: &mut [f64], _curvature: &mut [f64]) -> Option<f64> {
        None
    }

    /// The terms of a [`Shape::Quadratic`] loss.
    fn quadratic(&self) -> Option<Quadratic<'_>> {
        None
    }

    /// For losses that are not convex: what each document is worth (N). A regression on it is a start.
    fn worth(&self) -> Option<&[f64]> {
        None
    }

    /// For [`Shape::Difference`]: a convex upper bound that is tight at these scores. The bounds of a loss differ by
    /// linear functions of the scores.
    fn majorant(&self, _scores: &[f64]) -> Option<Box<dyn QueryLoss>> {
        None
    }

    /// For [`Shape::Annealed`]: the smooth loss of width sigma > 0. It tends to this loss as sigma falls to 0.
    fn smoothed(&self, _sigma: f64) -> Option<Box<dyn QueryLoss>> {
        None
    }
}

/// As for [`ListwiseLoss`].
impl fmt::Debug for dyn QueryLoss {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("QueryLoss")
    }
}

/// factor / 2 sum_j w_j (s_j - t_j)^2. If `centered`, the means of the scores s and of the targets t, weighted by w, are
/// subtracted.
#[derive(Debug, Clone, Copy)]
pub struct Quadratic<'a> {
    /// t (N).
    pub targets: &'a [f64],
    /// w (N); empty if all are 1.
    pub weights: &'a [f64],
    /// Whether means are subtracted.
    pub centered: bool,
    pub factor: f64,
}

impl Quadratic<'_> {
    /// The weight of a document.
    pub fn weight(&self, document: usize) -> f64 {
        self.weights.get(document).copied().unwrap_or(1.0)
    }

    /// The sum of the weights.
    pub fn total_weight(&self) -> f64 {
        if self.weights.is_empty() { self.targets.len() as f64 } else { self.weights.iter().sum() }
    }
}
