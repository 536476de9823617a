//! min lambda / 2 |w|^2 + R(w) for a convex R >= 0, from a start that is never left for a worse point.
//!
//! A quadratic R: conjugate gradients (Hestenes & Stiefel 1952) on (H + lambda I) d = -gradient. Another one: cutting
//! planes (Teo et al. 2010), whose model is that of the solver `bundle`. These problems are small or rough, so no line is
//! searched.

use crate::math::dense::dot;
use crate::solve::list::Planes;

use super::{HalfStep, add};

/// A convex function that is nowhere negative.
pub(super) trait Risk {
    /// The value at a point; a subgradient is written into the last argument.
    fn value_and_subgradient(&self, point: &[f64], subgradient: &mut [f64]) -> f64;

    /// The Hessian of a quadratic function times a direction, written into the last argument.
    fn hessian_times(&self, direction: &[f64], product: &mut [f64]);
}

/// The minimum, or a point that is no worse than the start.
pub(super) fn minimise(
    risk: &dyn Risk,
    quadratic: bool,
    start: &[f64],
    lambda: f64,
    step: HalfStep,
    cancelled: &dyn Fn() -> bool,
) -> Vec<f64> {
    if quadratic {
        conjugate_gradients(risk, start, lambda, step, cancelled)
    } else {
        cutting_planes(risk, start, lambda, step, cancelled)
    }
}

fn conjugate_gradients(
    risk: &dyn Risk,
    start: &[f64],
    lambda: f64,
    step: HalfStep,
    cancelled: &dyn Fn() -> bool,
) -> Vec<f64> {
    let mut w = start.to_vec();
    let mut residual = vec![0.0; w.len()];
    risk.value_and_subgradient(&w, &mut residual);
    residual.iter_mut().zip(&w).for_each(|(slope, w)| *slope = -*slope - lambda * w);
    let mut direction = residual.clone();
    let mut product = vec![0.0; w.len()];
    let mut length = dot(&residual, &residual);
    let enough = step.tolerance * step.tolerance * length;
    for _ in 0..step.most {
        if length <= enough || cancelled() {
            break;
        }
        risk.hessian_times(&direction, &mut product);
        add(&mut product, lambda, &direction);
        let t = length / dot(&direction, &product);
        add(&mut w, t, &direction);
        add(&mut residual, -t, &product);
        let next = dot(&residual, &residual);
        let share = next / length;
        direction.iter_mut().zip(&residual).for_each(|(d, r)| *d = r + share * *d);
        length = next;
    }
    w
}

/// The model is solved to this share of the gap that is asked for.
const MODEL: f64 = 0.1;

fn cutting_planes(
    risk: &dyn Risk,
    start: &[f64],
    lambda: f64,
    step: HalfStep,
    cancelled: &dyn Fn() -> bool,
) -> Vec<f64> {
    let mut planes = Planes::new(start.len());
    let mut subgradient = vec![0.0; start.len()];
    let (mut best, mut least) = (start.to_vec(), f64::INFINITY);
    let mut w = start.to_vec();
    for _ in 0..step.most {
        let value = risk.value_and_subgradient(&w, &mut subgradient);
        let objective = value + 0.5 * lambda * dot(&w, &w);
        if objective < least {
            least = objective;
            best.copy_from_slice(&w);
        }
        planes.add(subgradient.clone(), value - dot(&subgradient, &w));
        let allowed = step.tolerance * least;
        let model = planes.minimum(0.5 * lambda, MODEL * allowed);
        if least - model.bound <= allowed || cancelled() {
            break;
        }
        w = model.u;
    }
    best
}
