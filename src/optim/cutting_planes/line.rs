//! The minimum of P between the best point and the minimum of the model.
//!
//! ```text
//! P(t) = R(t) + lambda |u + t v|^2,     t in 0..1;  u + t v = w - w0
//! ```
//!
//! P is convex in t. The tangents at both ends of a bracket meet at the next trial. Their meeting point is a lower bound,
//! which shows when a trial is close enough to the minimum. Trials use images only.

use super::Sample;
use crate::math::dense::dot;
use crate::optim::Ridge;
use crate::optim::vector::{difference, moved};

const MOST_TRIALS: usize = 12;
/// The search ends if at most this fraction of the decrease is missing.
const MISSING: f64 = 0.1;
/// Smallest distance of a trial from the ends of the bracket, relative to its width.
const MARGIN: f64 = 0.1;

/// The line through two points.
pub(super) struct Line<'a> {
    objective: &'a Ridge<'a>,
    from: &'a Sample,
    /// v
    direction: Vec<f64>,
    /// X v
    step: Vec<f64>,
    /// |u|^2, u.v and |v|^2
    penalty: [f64; 3],
}

/// P at a point of the line, with its slope and the risk.
#[derive(Clone, Copy)]
struct Trial {
    t: f64,
    value: f64,
    slope: f64,
    risk: f64,
}

impl<'a> Line<'a> {
    pub(super) fn new(objective: &'a Ridge<'a>, from: &'a Sample, to: &[f64]) -> Self {
        let u = objective.from_center(&from.w);
        let v = difference(to, &from.w);
        let step = objective.risk.linear_image(&v);
        let penalty = [dot(&u, &u), dot(&u, &v), dot(&v, &v)];
        Self { objective, from, direction: v, step, penalty }
    }

    /// The point at t, with the risk of the point at 0.
    pub(super) fn sample(&self, t: f64) -> Sample {
        let w = moved(&self.from.w, t, &self.direction);
        Sample { w, image: moved(&self.from.image, t, &self.step), risk: self.from.risk }
    }

    fn trial(&self, t: f64) -> Trial {
        let (risk, slope) = self.objective.risk.value_on_line(&self.from.image, &self.step, t);
        let ([uu, uv, vv], lambda) = (self.penalty, self.objective.lambda);
        let value = risk + lambda * (uu + t * (2.0 * uv + t * vv));
        Trial { t, value, slope: slope + 2.0 * lambda * (uv + t * vv), risk }
    }

    /// t of about the smallest P, with its risk.
    pub(super) fn minimum(&self) -> (f64, f64) {
        let (start, end) = (self.trial(0.0), self.trial(1.0));
        if end.slope <= 0.0 {
            return (1.0, end.risk);
        }
        let (mut low, mut high) = (start, end);
        let mut best = if end.value < start.value { end } else { start };
        for _ in 0..MOST_TRIALS {
            let (t, bound) = tangents_meet(&low, &high);
            if best.value - bound <= MISSING * (start.value - best.value) {
                break;
            }
            let trial = self.trial(t);
            if trial.value < best.value {
                best = trial;
            }
            if trial.slope < 0.0 {
                low = trial;
            } else {
                high = trial;
            }
        }
        (best.t, best.risk)
    }
}

/// The next trial and a lower bound of P on the bracket.
fn tangents_meet(low: &Trial, high: &Trial) -> (f64, f64) {
    let width = high.t - low.t;
    let offset = (low.value - high.value + high.slope * width) / (high.slope - low.slope);
    if low.slope >= 0.0 || !offset.is_finite() {
        // On an edge the slope may be that of its other side. Numbers may also overflow.
        return (low.t + 0.5 * width, f64::NEG_INFINITY);
    }
    let bound = low.value + low.slope * offset;
    (low.t + offset.clamp(MARGIN * width, (1.0 - MARGIN) * width), bound)
}
