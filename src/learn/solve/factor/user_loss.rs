//! The loss of one user, and how far a half step goes.

use crate::cost::loss::{Loss, PairDef, QueryLoss};
use crate::math::{Objective, Ridge};

/// Largest number of new planes per user in a half step. The next one starts with them.
pub(super) const MOST_USER_PLANES: usize = 6;

/// The penalty of a half step, and when it ends.
#[derive(Debug, Clone, Copy)]
pub struct HalfStep {
    /// The penalty is lambda / 2 times the squared norm of the fitted rows.
    pub lambda: f64,
    /// Requested gap, relative to the objective, for a user's problem and for the problem of all items.
    pub tolerance: f64,
    /// Largest number of planes or iterations.
    pub most: usize,
}

/// One user's weighted loss.
pub struct UserLoss {
    pub(super) loss: Box<dyn QueryLoss>,
    pub(super) weight: f64,
    pub(super) smooth: bool,
}

impl UserLoss {
    /// A user's loss with these ratings; `None` if there are fewer than two or they are not informative.
    pub fn new(loss: &Loss, ratings: &[f64]) -> Option<Self> {
        if ratings.len() < 2 || !loss.is_informative(ratings, &[]) {
            return None;
        }
        let query: Box<dyn QueryLoss> = match loss {
            Loss::List(loss) => loss.prepare(ratings, &[]),
            Loss::Pair(pair, _) => Box::new(Ordinal { def: pair.def(), ratings: ratings.to_vec() }),
        };
        let weight = query.quadratic().map_or(1.0, |quadratic| 1.0 / quadratic.factor);
        Some(Self { loss: query, weight, smooth: loss.is_smooth_list() })
    }

    /// Value at these scores; writes a subgradient.
    pub(super) fn value_and_subgradient(&self, scores: &[f64], subgradient: &mut [f64]) -> f64 {
        let value = self.loss.value_and_subgradient(scores, subgradient);
        subgradient.iter_mut().for_each(|slope| *slope *= self.weight);
        self.weight * value
    }

    pub(super) fn hessian_times(&self, scores: &[f64], direction: &[f64], product: &mut [f64]) {
        if !self.loss.hessian_times(scores, direction, product) {
            product.fill(0.0);
        }
        product.iter_mut().for_each(|value| *value *= self.weight);
    }
}

impl HalfStep {
    pub(super) fn ridge(self, risk: &dyn Objective) -> Ridge<'_> {
        Ridge { risk, lambda: 0.5 * self.lambda, center: None }
    }
}

/// A pairwise loss as a function of a user's scores.
struct Ordinal {
    def: &'static PairDef,
    ratings: Vec<f64>,
}

impl QueryLoss for Ordinal {
    fn value_and_subgradient(&self, scores: &[f64], subgradient: &mut [f64]) -> f64 {
        self.def.value_and_subgradient(&self.ratings, scores, subgradient)
    }
}
