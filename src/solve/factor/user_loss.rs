//! The loss of one user as a function of the scores of the rated items.

use super::cuts::{self, Cuts};
use super::risk::OfUser;
use super::{HalfStep, MOST_USER_PLANES};
use crate::control::Control;
use crate::loss::{Loss, PairDef, QueryLoss, Shape};

/// Whether the loss has Hessians. Those of pairwise losses are not used.
pub(super) fn is_smooth(loss: &Loss) -> bool {
    matches!(loss, Loss::List(_)) && matches!(loss.shape(), Shape::Quadratic | Shape::Smooth)
}

/// The loss of one user with its weight.
#[derive(Debug)]
pub struct UserLoss {
    loss: Box<dyn QueryLoss>,
    weight: f64,
    smooth: bool,
}

impl UserLoss {
    /// The loss of a user with these ratings; `None` if there are fewer than two or they are not informative.
    pub fn new(loss: &Loss, ratings: &[f64]) -> Option<Self> {
        if ratings.len() < 2 || !loss.is_informative(ratings, &[]) {
            return None;
        }
        let query: Box<dyn QueryLoss> = match loss {
            Loss::List(loss) => loss.prepare(ratings, &[]),
            Loss::Pair(pair, _) => Box::new(Ordinal { def: pair.def(), ratings: ratings.to_vec() }),
        };
        let weight = query.quadratic().map_or(1.0, |quadratic| 1.0 / quadratic.factor);
        Some(Self { loss: query, weight, smooth: is_smooth(loss) })
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

    /// Fits u to the rows of the rated items (N rows) and their offsets (N), from `start`.
    pub fn fit_user(&self, rows: &[f64], offsets: &[f64], start: &[f64], step: HalfStep) -> Vec<f64> {
        let risk = OfUser { loss: self, rows, offsets, rank: start.len() };
        if self.smooth {
            step.newton(&risk, start, &Control::default())
        } else {
            cuts::minimize(&step.ridge(&risk), (start, None), step, &mut Cuts::new(MOST_USER_PLANES)).0
        }
    }
}

/// A pairwise loss as a function of a user's scores.
#[derive(Debug)]
struct Ordinal {
    def: &'static PairDef,
    ratings: Vec<f64>,
}

impl QueryLoss for Ordinal {
    fn value_and_subgradient(&self, scores: &[f64], subgradient: &mut [f64]) -> f64 {
        self.def.value_and_subgradient(&self.ratings, scores, subgradient)
    }
}
