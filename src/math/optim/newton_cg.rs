//! Newton's method with conjugate gradients (Hestenes & Stiefel 1952; Nocedal & Wright 2006, algorithm 7.1).
//!
//! ```text
//! H d = -g          by products of the Hessian H of P with vectors, up to a residual; perhaps preconditioned
//! w' = w + t d      by halving t (`objective`)
//! P(w) - min P <= |g|^2 / (4 lambda)
//! ```

use super::line_search::backtrack;
use super::objective::{axpy, norm};
use super::{Best, Method, Point, Ridge, Solution, StopRule, iterate};
use crate::base::Control;
use crate::math::{Factor, dot};

/// Most Hessian products of one step.
const MOST_PRODUCTS: usize = 250;
/// Steps of [`minimize_roughly`].
const ROUGH_STEPS: usize = 10;

/// Minimizes P from w to a certified gap. `like`: the factor of a matrix that is like the Hessian, the preconditioner.
pub fn minimize(
    objective: &Ridge<'_>,
    w: Vec<f64>,
    like: Option<&Factor>,
    rule: &StopRule,
    control: &Control,
) -> Solution {
    iterate(rule, control, || {
        let point = objective.at(w);
        NewtonCg { objective, like, first_gradient: norm(&point.gradient), point }
    })
}

/// Minimizes P from w without a certificate: at most ten steps, each with `products` products at most, until a step
/// promises a decrease of at most `tolerance`^2, relative.
pub fn minimize_roughly(
    objective: &Ridge<'_>,
    w: Vec<f64>,
    tolerance: f64,
    products: usize,
    control: &Control,
) -> Vec<f64> {
    let mut point = objective.at(w);
    let square = tolerance * tolerance;
    for _ in 0..ROUGH_STEPS {
        let allowed = square * dot(&point.gradient, &point.gradient);
        let d = direction(objective, &point, None, products, |residual| residual <= allowed, control);
        let promised = -dot(&point.gradient, &d);
        if promised <= square * point.value || control.is_canceled() {
            break;
        }
        let Some(next) = backtrack(objective, &point, &d) else { break };
        point = next;
    }
    point.w
}

struct NewtonCg<'a> {
    objective: &'a Ridge<'a>,
    like: Option<&'a Factor>,
    point: Point,
    /// |g| at the start.
    first_gradient: f64,
}

impl Method for NewtonCg<'_> {
    fn best(&self) -> Best<'_> {
        self.objective.certify(&self.point)
    }

    /// The residual may be min(0.1, sqrt(|g| / |g of the start|)) |g|, so convergence is superlinear.
    fn advance(&mut self, control: &Control) -> bool {
        let size = norm(&self.point.gradient);
        let allowed = size * (size / self.first_gradient).sqrt().min(0.1);
        let enough = |residual: f64| residual.sqrt() <= allowed;
        let d = direction(self.objective, &self.point, self.like, MOST_PRODUCTS, enough, control);
        if control.is_canceled() {
            return false;
        }
        let next = backtrack(self.objective, &self.point, &d);
        next.map(|next| self.point = next).is_some()
    }
}

/// d with H d = -g by conjugate gradients. `enough` receives the square of the residual.
fn direction(
    objective: &Ridge<'_>,
    point: &Point,
    like: Option<&Factor>,
    products: usize,
    enough: impl Fn(f64) -> bool,
    control: &Control,
) -> Vec<f64> {
    let image = objective.risk.image(&point.w);
    let mut d = vec![0.0; point.w.len()];
    let mut residual: Vec<f64> = point.gradient.iter().map(|g| -g).collect();
    let preconditioned =
        |residual: &[f64]| like.map_or_else(|| residual.to_vec(), |like| like.solve(residual));
    let mut p = preconditioned(&residual);
    let mut square = dot(&residual, &p);
    for _ in 0..products {
        if enough(dot(&residual, &residual)) || control.is_canceled() {
            break;
        }
        let product = objective.hessian_times(&image, &p);
        let alpha = square / dot(&p, &product);
        axpy(alpha, &p, &mut d);
        axpy(-alpha, &product, &mut residual);
        let scaled = preconditioned(&residual);
        let next = dot(&residual, &scaled);
        let beta = next / square;
        p.iter_mut().zip(&scaled).for_each(|(p, r)| *p = r + beta * *p);
        square = next;
    }
    d
}
