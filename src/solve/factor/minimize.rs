//! min lambda / 2 |w|^2 + R(w) for a convex R >= 0, from a start that is never left for a worse point.
//!
//! A quadratic or smooth R: Newton steps, (H + lambda I) d = -gradient by conjugate gradients (Hestenes & Stiefel
//! 1952); of a quadratic one the first step is the last. Another R: cutting planes (Teo et al. 2010), whose model is
//! that of the solver `bundle`. These problems are small or rough, so no line is searched. A plane below the losses as
//! functions of scores stays below them when the other factors change, so the last ones serve the next half step too.

use crate::math::dense::dot;
use crate::solve::list::Planes;

use super::cuts::{Cut, Cuts};
use super::{HalfStep, add};

/// A convex function that is nowhere negative: losses of scores, which are affine in the point.
pub(super) trait Risk {
    /// What the losses see at a point.
    fn scores(&self, point: &[f64]) -> Vec<f64>;

    /// The value at these scores; a subgradient with respect to them is written into the last argument.
    fn value_and_slopes(&self, scores: &[f64], slopes: &mut [f64]) -> f64;

    /// From slopes of scores to those of the point, written into the last argument.
    fn back(&self, slopes: &[f64], out: &mut [f64]);

    /// The Hessian of a smooth function at these scores times a direction, written into the last argument.
    fn hessian_times(&self, scores: &[f64], direction: &[f64], product: &mut [f64]);

    /// The value at a point; a subgradient is written into the last argument.
    fn value_and_subgradient(&self, point: &[f64], subgradient: &mut [f64]) -> f64 {
        let scores = self.scores(point);
        let mut slopes = vec![0.0; scores.len()];
        let value = self.value_and_slopes(&scores, &mut slopes);
        self.back(&slopes, subgradient);
        value
    }
}

/// Most Newton steps.
const STEPS: usize = 10;
/// Most times that a step is halved.
const HALVINGS: usize = 20;
/// A step pays with this share of the decrease that its slope promises (Armijo 1966).
const ENOUGH: f64 = 1e-4;

/// Newton steps, with the step halved until it pays.
pub(super) fn newton(
    risk: &dyn Risk,
    start: &[f64],
    lambda: f64,
    step: HalfStep,
    canceled: &dyn Fn() -> bool,
) -> Vec<f64> {
    let mut w = start.to_vec();
    let mut gradient = vec![0.0; w.len()];
    let mut objective = risk.value_and_subgradient(&w, &mut gradient) + 0.5 * lambda * dot(&w, &w);
    for _ in 0..STEPS {
        add(&mut gradient, lambda, &w);
        let direction = direction(risk, &w, &gradient, lambda, step, canceled);
        let slope = dot(&gradient, &direction);
        if -slope <= step.tolerance * step.tolerance * objective || canceled() {
            break;
        }
        let mut t = 1.0;
        let found = (0..HALVINGS).find_map(|_| {
            let mut next = w.clone();
            add(&mut next, t, &direction);
            let value = risk.value_and_subgradient(&next, &mut gradient) + 0.5 * lambda * dot(&next, &next);
            let pays = value <= objective + ENOUGH * t * slope;
            t *= 0.5;
            pays.then_some((next, value))
        });
        let Some(found) = found else { break };
        (w, objective) = found;
    }
    w
}

/// d with (H + lambda I) d = -gradient.
fn direction(
    risk: &dyn Risk,
    w: &[f64],
    gradient: &[f64],
    lambda: f64,
    step: HalfStep,
    canceled: &dyn Fn() -> bool,
) -> Vec<f64> {
    let scores = risk.scores(w);
    let mut found = vec![0.0; w.len()];
    let mut residual: Vec<f64> = gradient.iter().map(|slope| -slope).collect();
    let mut direction = residual.clone();
    let mut product = vec![0.0; w.len()];
    let mut length = dot(&residual, &residual);
    let enough = step.tolerance * step.tolerance * length;
    for _ in 0..step.most {
        if length <= enough || canceled() {
            break;
        }
        risk.hessian_times(&scores, &direction, &mut product);
        add(&mut product, lambda, &direction);
        let t = length / dot(&direction, &product);
        add(&mut found, t, &direction);
        add(&mut residual, -t, &product);
        let next = dot(&residual, &residual);
        let share = next / length;
        direction.iter_mut().zip(&residual).for_each(|(d, r)| *d = r + share * *d);
        length = next;
    }
    found
}

/// The model is solved to this share of the gap that is asked for.
const MODEL: f64 = 0.1;

/// Cutting planes, of which those of `cuts` are there from the beginning.
pub(super) fn cutting_planes(
    risk: &dyn Risk,
    start: &[f64],
    lambda: f64,
    step: HalfStep,
    cuts: &mut Cuts,
) -> Vec<f64> {
    let mut planes = Planes::new(start.len());
    let at_zero = risk.scores(&vec![0.0; start.len()]);
    let plane = |Cut { slopes, offset }: &Cut| {
        let mut normal = vec![0.0; start.len()];
        risk.back(slopes, &mut normal);
        (normal, offset + dot(slopes, &at_zero))
    };
    for cut in cuts.all() {
        let (normal, offset) = plane(cut);
        planes.add(normal, offset);
    }
    let (mut best, mut least) = (start.to_vec(), f64::INFINITY);
    let mut w = start.to_vec();
    for _ in 0..step.most {
        let scores = risk.scores(&w);
        let mut slopes = vec![0.0; scores.len()];
        let value = risk.value_and_slopes(&scores, &mut slopes);
        let objective = value + 0.5 * lambda * dot(&w, &w);
        if objective < least {
            least = objective;
            best.copy_from_slice(&w);
        }
        let cut = Cut { offset: value - dot(&slopes, &scores), slopes };
        let (normal, offset) = plane(&cut);
        planes.add(normal, offset);
        cuts.push(cut);
        let allowed = step.tolerance * least;
        let model = planes.minimum(0.5 * lambda, MODEL * allowed);
        if least - model.bound <= allowed {
            break;
        }
        w = model.u;
    }
    best
}
