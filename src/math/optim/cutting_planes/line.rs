//! The minimum of P between the best point and the minimum of the model.
//!
//! ```text
//! P(t) = R(t) + lambda |u + t v|^2, or R(t) + lambda |u + t v|_1,     t in 0..1;  u + t v = w - w0
//! ```
//!
//! P is convex in t. The tangents at both ends of a bracket meet at the next trial. Their meeting point is a lower bound,
//! which shows when a trial is close enough to the minimum. Trials use images only.

use super::Sample;
use crate::math::dense::dot;
use crate::math::optim::vector::{difference, moved};
use crate::math::optim::{Objective, Ridge};

const MOST_TRIALS: usize = 12;
/// The search ends if at most this fraction of the decrease is missing.
const MISSING: f64 = 0.1;
/// Smallest distance of a trial from the ends of the bracket, relative to its width.
const MARGIN: f64 = 0.1;

/// The line through two points.
pub(super) struct Line<'a> {
    risk: &'a dyn Objective,
    from: &'a Sample,
    /// v
    direction: Vec<f64>,
    /// X v
    step: Vec<f64>,
    lambda: f64,
    penalty: Penalty,
}

/// The penalty on the line, without lambda.
enum Penalty {
    /// |u|^2, u.v and |v|^2.
    Squares([f64; 3]),
    /// u and v.
    Absolutes(Vec<f64>, Vec<f64>),
}

impl Penalty {
    /// The penalty at t times lambda, and its derivative.
    fn at(&self, t: f64, lambda: f64) -> (f64, f64) {
        match self {
            Self::Squares([uu, uv, vv]) => {
                (lambda * (uu + t * (2.0 * uv + t * vv)), 2.0 * lambda * (uv + t * vv))
            }
            Self::Absolutes(u, v) => {
                let (mut sum, mut slope) = (0.0, 0.0);
                for (u, v) in u.iter().zip(v) {
                    let weight = u + t * v;
                    sum += weight.abs();
                    slope += if weight > 0.0 { *v } else { -v };
                }
                (lambda * sum, lambda * slope)
            }
        }
    }
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
        let penalty = Penalty::Squares([dot(&u, &u), dot(&u, &v), dot(&v, &v)]);
        Self::of(objective.risk, objective.lambda, from, v, penalty)
    }

    /// The line with the penalty lambda |w|_1.
    pub(super) fn with_absolutes(risk: &'a dyn Objective, lambda: f64, from: &'a Sample, to: &[f64]) -> Self {
        let v = difference(to, &from.w);
        let penalty = Penalty::Absolutes(from.w.clone(), v.clone());
        Self::of(risk, lambda, from, v, penalty)
    }

    fn of(risk: &'a dyn Objective, lambda: f64, from: &'a Sample, v: Vec<f64>, penalty: Penalty) -> Self {
        let step = risk.linear_image(&v);
        Self { risk, from, direction: v, step, lambda, penalty }
    }

    /// The point at t, with the risk of the point at 0.
    pub(super) fn sample(&self, t: f64) -> Sample {
        let w = moved(&self.from.w, t, &self.direction);
        Sample { w, image: moved(&self.from.image, t, &self.step), risk: self.from.risk }
    }

    fn trial(&self, t: f64) -> Trial {
        let (risk, slope) = self.risk.value_on_line(&self.from.image, &self.step, t);
        let (penalty, penalty_slope) = self.penalty.at(t, self.lambda);
        Trial { t, value: risk + penalty, slope: slope + penalty_slope, risk }
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
