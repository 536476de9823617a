//! The objective without the loss: linear term and penalty, v.w + lambda |w - w0|^2.
//!
//! With q = theta X'g - v the dual point theta alpha has the value
//!
//! ```text
//! D(theta alpha) = theta sum of alpha - q.w0 - |q|^2 / (4 lambda)
//! ```
//!
//! This is the value of the header of `pair` without the cancellation of lambda |w0|^2. It is largest at
//! theta = (2 lambda (sum of alpha - X'g.w0) + X'g.v) / |X'g|^2, clamped to \[0, 1\].

use crate::learn::solve::PairProblem;
use crate::math::lanes;
use crate::math::lanes::Lanes;

/// Linear term v, center w0 and lambda of a problem.
pub(super) struct Penalty<'a> {
    problem: &'a PairProblem<'a>,
    pub lambda: f64,
    /// w0, if it is not 0.
    pub center: Option<Vec<Lanes>>,
    /// v, if it is not 0.
    pub linear_term: Option<Vec<Lanes>>,
}

impl<'a> Penalty<'a> {
    pub(super) fn new(problem: &'a PairProblem<'a>) -> Self {
        Self {
            problem,
            lambda: problem.lambda(),
            center: problem.center().map(lanes::from_slice),
            linear_term: problem.linear_term.as_deref().map(lanes::from_slice),
        }
    }

    /// Whether v = 0 and w0 = 0.
    pub(super) fn is_plain(&self) -> bool {
        self.center.is_none() && self.linear_term.is_none()
    }

    /// v.w + lambda |w - w0|^2.
    pub(super) fn value(&self, w: &[Lanes]) -> f64 {
        let size = match &self.center {
            None => lanes::dot(w, w),
            Some(center) => {
                let mut difference = w.to_vec();
                lanes::axpy(-1.0, center, &mut difference);
                lanes::dot(&difference, &difference)
            }
        };
        let linear_term = self.linear_term.as_ref().map_or(0.0, |linear_term| lanes::dot(linear_term, w));
        linear_term + self.lambda * size
    }

    /// 2 lambda (w - w0) + v.
    pub(super) fn gradient(&self, w: &[Lanes]) -> Vec<Lanes> {
        let mut gradient = w.to_vec();
        if let Some(center) = &self.center {
            lanes::axpy(-1.0, center, &mut gradient);
        }
        for block in &mut gradient {
            block.0.iter_mut().for_each(|value| *value *= 2.0 * self.lambda);
        }
        if let Some(linear_term) = &self.linear_term {
            lanes::axpy(1.0, linear_term, &mut gradient);
        }
        gradient
    }

    /// t = 2 lambda w0 - v, added to `target`.
    pub(super) fn add_center_term(&self, target: &mut [Lanes]) {
        if !self.is_plain() {
            lanes::axpy(1.0, &lanes::from_slice(&self.problem.center_term(self.lambda)), target);
        }
    }

    /// w0 - v / (2 lambda), which minimizes the penalty, and the value there.
    pub(super) fn lowest(&self, width: usize) -> (Vec<Lanes>, f64) {
        let mut w = self.center.clone().unwrap_or_else(|| vec![Lanes::ZERO; width]);
        let Some(linear_term) = &self.linear_term else {
            return (w, 0.0);
        };
        let value = lanes::dot(linear_term, &w) - lanes::dot(linear_term, linear_term) / (4.0 * self.lambda);
        lanes::axpy(-0.5 / self.lambda, linear_term, &mut w);
        (w, value)
    }

    /// The larger of D(alpha) and the largest D(theta alpha), from the sum of alpha and X'g; at least D(0).
    pub(super) fn dual(&self, alpha: f64, alpha_z: &[Lanes]) -> f64 {
        let size = lanes::dot(alpha_z, alpha_z);
        let with = |vector: &Option<Vec<Lanes>>| vector.as_ref().map_or(0.0, |v| lanes::dot(v, alpha_z));
        let shortened = 2.0 * self.lambda * (alpha - with(&self.center)) + with(&self.linear_term);
        let theta = if size > 0.0 { (shortened / size).clamp(0.0, 1.0) } else { 1.0 };
        let dual = self.dual_at(theta, alpha, alpha_z, size).max(self.dual_at(1.0, alpha, alpha_z, size));
        if dual.is_finite() { dual } else { self.lowest(alpha_z.len()).1.max(f64::MIN) }
    }

    /// D(theta alpha); `size` is |X'g|^2.
    fn dual_at(&self, theta: f64, alpha: f64, alpha_z: &[Lanes], size: f64) -> f64 {
        if self.is_plain() {
            return theta * (alpha - theta * (size / (4.0 * self.lambda)));
        }
        let mut q = vec![Lanes::ZERO; alpha_z.len()];
        lanes::axpy(theta, alpha_z, &mut q);
        if let Some(linear_term) = &self.linear_term {
            lanes::axpy(-1.0, linear_term, &mut q);
        }
        let with_center = self.center.as_ref().map_or(0.0, |center| lanes::dot(center, &q));
        theta * alpha - with_center - lanes::dot(&q, &q) / (4.0 * self.lambda)
    }
}
