//! Cutting planes for the row of a user (Teo et al. 2010), for losses with corners.
//!
//! A plane below the loss as a function of scores stays below it whatever the factors are. So the last planes of a user
//! are kept for the next half steps. The problems are small and solved roughly, so there is no line search.

use super::HalfStep;
use crate::math::dense::dot;
use crate::optim::Ridge;
use crate::optim::cutting_planes::Planes;

/// Kept cuts of a user.
const MOST_CUTS: usize = 12;
/// Accuracy of the minimum of the model, relative to the requested gap.
const MODEL_ACCURACY: f64 = 0.1;

/// The plane slopes.s + offset.
#[derive(Debug, Clone)]
pub(super) struct Cut {
    pub(super) slopes: Vec<f64>,
    pub(super) offset: f64,
}

impl Cut {
    fn height(&self, scores: &[f64]) -> f64 {
        dot(&self.slopes, scores) + self.offset
    }
}

/// The newest cuts of a user, in their order.
#[derive(Debug, Default, Clone)]
pub(super) struct Cuts(Vec<Cut>);

impl Cuts {
    /// Adds a cut and drops the oldest if there are too many.
    pub(super) fn push(&mut self, cut: Cut) {
        if self.0.len() == MOST_CUTS {
            self.0.remove(0);
        }
        self.0.push(cut);
    }

    /// The highest cut at these scores.
    pub(super) fn highest(&self, scores: &[f64]) -> Option<&Cut> {
        self.0.iter().max_by(|a, b| a.height(scores).total_cmp(&b.height(scores)))
    }
}

/// Minimizes P from `start` and returns the best point. `cuts` are used and extended.
pub(super) fn minimize(objective: &Ridge<'_>, start: &[f64], step: HalfStep, cuts: &mut Cuts) -> Vec<f64> {
    // 1. The model starts with the known cuts.
    let risk = objective.risk;
    let offsets = risk.image(&vec![0.0; start.len()]);
    let mut planes = Planes::new(start.len());
    let add = |planes: &mut Planes, cut: &Cut| {
        planes.add(risk.transposed(&cut.slopes), cut.height(&offsets));
    };
    cuts.0.iter().for_each(|cut| add(&mut planes, cut));
    // 2. Each iteration adds the cut at the minimum of the model.
    let (mut best, mut least) = (start.to_vec(), f64::INFINITY);
    let mut w = start.to_vec();
    for _ in 0..step.most {
        let scores = risk.image(&w);
        let mut slopes = vec![0.0; scores.len()];
        let value = risk.value_at(&scores, &mut slopes);
        let objective_value = value + objective.penalty(&w);
        if objective_value < least {
            least = objective_value;
            best.copy_from_slice(&w);
        }
        let cut = Cut { offset: value - dot(&slopes, &scores), slopes };
        add(&mut planes, &cut);
        cuts.push(cut);
        let allowed = step.tolerance * least;
        let model = planes.minimum(objective.lambda, MODEL_ACCURACY * allowed);
        if least - model.bound <= allowed {
            break;
        }
        w = model.u;
    }
    best
}
