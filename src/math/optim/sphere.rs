//! Smooth risks over a sphere, by gradient steps that are normalized (Olinto & Fokoue 2018, algorithm 1).
//!
//! ```text
//! min R(w) over |w| = B, which is not convex
//! w' = B (w - g / L) / |w - g / L|
//! ```
//!
//! L doubles until R(w') is at most the parabola of curvature L at w, and halves before each step. The gap of a report is
//! B times the length of the tangential part of g: 0 at a stationary point, no distance from the minimum.

use super::projected_gradient::is_below_parabola;
use super::vector::norm;
use super::{Best, Method, Objective, Point, Solution, Stop, StopRule, iterate};
use crate::base::control::Control;
use crate::math::dense::dot;

/// Most doublings of L in one step.
const MOST_DOUBLINGS: usize = 100;

/// Descends on the sphere of radius B > 0 from the point that is nearest to `start`.
pub fn descend(
    risk: &dyn Objective,
    radius: f64,
    start: &[f64],
    rule: &StopRule,
    control: &Control,
) -> Solution {
    let mut solution = iterate(rule, control, || Search::new(risk, radius, start.to_vec()));
    if solution.report.stop == Stop::Converged {
        solution.report.stop = Stop::Stationary;
    }
    solution
}

struct Search<'a> {
    risk: &'a dyn Objective,
    radius: f64,
    /// L
    curvature: f64,
    at: Point,
}

impl<'a> Search<'a> {
    fn new(risk: &'a dyn Objective, radius: f64, mut start: Vec<f64>) -> Self {
        normalize(radius, &mut start);
        let at = Point::of_risk(risk, start);
        // The first step is no longer than the radius.
        let curvature = (norm(&at.gradient) / radius).max(f64::MIN_POSITIVE);
        Self { risk, radius, curvature, at }
    }
}

impl Method for Search<'_> {
    fn best(&self) -> Best<'_> {
        let Point { w, value, gradient } = &self.at;
        let radial = dot(gradient, w) / (self.radius * self.radius);
        let tangential: Vec<f64> = gradient.iter().zip(w).map(|(g, w)| g - radial * w).collect();
        Best { w, objective: *value, gap: self.radius * norm(&tangential) }
    }

    fn advance(&mut self, _control: &Control) -> bool {
        self.curvature *= 0.5;
        for _ in 0..MOST_DOUBLINGS {
            let step = |(w, g): (&f64, &f64)| w - g / self.curvature;
            let mut w: Vec<f64> = self.at.w.iter().zip(&self.at.gradient).map(step).collect();
            normalize(self.radius, &mut w);
            let next = Point::of_risk(self.risk, w);
            if is_below_parabola(&self.at, &next, self.curvature) {
                self.at = next;
                return true;
            }
            self.curvature *= 2.0;
        }
        false
    }
}

/// Moves w to the nearest point of the sphere; the first axis if w is 0.
fn normalize(radius: f64, w: &mut [f64]) {
    let length = norm(w);
    if length > 0.0 {
        w.iter_mut().for_each(|w| *w *= radius / length);
    } else if let Some(first) = w.first_mut() {
        *first = radius;
    }
}
