//! P along the line from the best point to the minimum of the model, in scores.
//!
//! ```text
//! P(t) = R(s + t r) + lambda |u + t v|^2,     t in 0..1;  s + t r the scores, u + t v = w - w0
//! ```
//!
//! P is convex in t. Tangents at both ends of the bracket meet at the next trial; their meeting point is a lower bound
//! that tells when the minimum is near enough.

use super::Place;
use crate::math::dense::dot;
use crate::solve::list::ListProblem;
use crate::solve::list::pass::{PerDocument, moved};

/// Most trials.
const TRIALS: usize = 12;
/// The search ends when at most this share of the decrease is missing.
const MISSING: f64 = 0.1;
/// A trial stays this share of the bracket away from its ends.
const MARGIN: f64 = 0.1;

/// The line.
pub(super) struct Line<'p, 'a> {
    problem: &'p ListProblem<'a>,
    lambda: f64,
    from: &'p Place,
    to: &'p [f64],
    /// r
    step: PerDocument,
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

impl<'p, 'a> Line<'p, 'a> {
    pub(super) fn new(problem: &'p ListProblem<'a>, lambda: f64, from: &'p Place, to: &'p [f64]) -> Self {
        let u = problem.less_center(&from.w);
        let v: Vec<f64> = to.iter().zip(&from.w).map(|(to, from)| to - from).collect();
        let step = problem.scores(&v);
        Self { problem, lambda, from, to, step, penalty: [dot(&u, &u), dot(&u, &v), dot(&v, &v)] }
    }

    /// The place at t; its risk is that of the place at 0.
    pub(super) fn place(&self, t: f64) -> Place {
        let w = self.from.w.iter().zip(self.to).map(|(from, to)| from + t * (to - from)).collect();
        Place { w, scores: moved(&self.from.scores, &self.step, t), risk: self.from.risk }
    }

    fn trial(&self, t: f64) -> Trial {
        let (risk, slope) = self.problem.along(&self.from.scores, &self.step, t);
        let [uu, uv, vv] = self.penalty;
        let value = risk + self.lambda * (uu + t * (2.0 * uv + t * vv));
        Trial { t, value, slope: slope + 2.0 * self.lambda * (uv + t * vv), risk }
    }

    /// t of about the smallest P, with its risk.
    pub(super) fn minimum(&self) -> (f64, f64) {
        let (start, end) = (self.trial(0.0), self.trial(1.0));
        if end.slope <= 0.0 {
            return (1.0, end.risk);
        }
        let (mut low, mut high) = (start, end);
        let mut best = if end.value < start.value { end } else { start };
        for _ in 0..TRIALS {
            let (t, bound) = meeting(&low, &high);
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

/// Where the tangents of both ends meet, away from the ends, and what they bound P by.
fn meeting(low: &Trial, high: &Trial) -> (f64, f64) {
    let width = high.t - low.t;
    let offset = (low.value - high.value + high.slope * width) / (high.slope - low.slope);
    if low.slope >= 0.0 || !offset.is_finite() {
        // The slope at the best point belongs to another side of an edge, or numbers overflow.
        return (low.t + 0.5 * width, f64::NEG_INFINITY);
    }
    let bound = low.value + low.slope * offset;
    (low.t + offset.clamp(MARGIN * width, (1.0 - MARGIN) * width), bound)
}
