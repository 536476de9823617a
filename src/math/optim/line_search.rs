//! Line search: steps w + t d along a direction of descent, for smooth functions.
//!
//! ```text
//! sufficient decrease    P(w + t d) <= P(w) + 1e-4 t g.d                         (Armijo 1966)
//! curvature              g(w + t d).d >= 0.9 g.d                                 (Wolfe 1969)
//! ```
//!
//! Close to a minimum rounding hides the decrease of P. Among values that are equal up to rounding, a condition on
//! gradients decides.

use super::objective::{Point, Ridge, moved};
use crate::math::dot;

const ARMIJO: f64 = 1e-4;
const WOLFE: f64 = 0.9;
/// Values that differ by less than this, relative, are equal up to rounding.
const ROUNDING: f64 = 1e-14;
const MOST_HALVINGS: u32 = 30;
const MOST_BISECTIONS: u32 = 50;

/// The start of a search.
struct SearchStart<'a> {
    objective: &'a Ridge<'a>,
    from: &'a Point,
    d: &'a [f64],
    /// g.d
    slope: f64,
}

impl SearchStart<'_> {
    fn at(&self, t: f64) -> Point {
        self.objective.at(moved(&self.from.w, t, self.d))
    }

    fn decreases(&self, trial: &Point, t: f64) -> bool {
        trial.value <= self.from.value + ARMIJO * t * self.slope && trial.value < self.from.value
    }

    fn equals(&self, trial: &Point) -> bool {
        trial.value <= self.from.value + ROUNDING * self.from.value.abs()
    }
}

/// Halves t from 1 to the first sufficient decrease, or to an equal value with a shorter gradient.
pub(super) fn backtrack(objective: &Ridge<'_>, from: &Point, d: &[f64]) -> Option<Point> {
    let line = SearchStart { objective, from, d, slope: dot(d, &from.gradient) };
    let size = dot(&from.gradient, &from.gradient);
    let mut t = 1.0;
    for _ in 0..MOST_HALVINGS {
        let trial = line.at(t);
        if line.decreases(&trial, t) || (line.equals(&trial) && dot(&trial.gradient, &trial.gradient) < size)
        {
            return Some(trial);
        }
        t *= 0.5;
    }
    None
}

/// Bisects from `t` to a step with sufficient decrease and curvature (Lewis & Overton 2013). An equal value counts as
/// sufficient if its slope is at most (2e-4 - 1) g.d (Hager & Zhang 2005).
pub(super) fn bisect(objective: &Ridge<'_>, from: &Point, d: &[f64], mut t: f64) -> Option<Point> {
    let line = SearchStart { objective, from, d, slope: dot(d, &from.gradient) };
    if line.slope >= 0.0 {
        return None;
    }
    let (mut low, mut high) = (0.0, f64::INFINITY);
    // The last trial with sufficient decrease. It is the answer if the bracket closes on an edge of the function.
    let mut lower = None;
    for _ in 0..MOST_BISECTIONS {
        let trial = line.at(t);
        let slope = dot(d, &trial.gradient);
        let flat = line.equals(&trial) && slope <= (2.0 * ARMIJO - 1.0) * line.slope;
        if !(line.decreases(&trial, t) || flat) {
            high = t;
        } else if slope < WOLFE * line.slope {
            low = t;
            lower = Some(trial);
        } else {
            return Some(trial);
        }
        t = if high.is_finite() { 0.5 * (low + high) } else { 2.0 * low };
    }
    lower
}
