//! What the objective holds besides the loss: the tilt and the penalty, v.w + lambda |w - w0|^2.
//!
//! With q = theta X'g - v the dual point theta alpha has the value
//!
//! ```text
//! D(theta alpha) = theta sum of alpha - q.w0 - |q|^2 / (4 lambda)
//! ```
//!
//! which is that of the header of `pair` without the cancellation of lambda |w0|^2. It is largest at
//! theta = (2 lambda (sum of alpha - X'g.w0) + X'g.v) / |X'g|^2, cut to \[0, 1\].

use crate::math::lanes::{self, Lanes};
use crate::solve::PairProblem;

/// Tilt v and center w0 of a problem, with its lambda.
pub(super) struct Penalty<'a> {
    problem: &'a PairProblem<'a>,
    pub lambda: f64,
    /// w0, where it is not 0.
    pub center: Option<Vec<Lanes>>,
    /// v, where it is not 0.
    pub tilt: Option<Vec<Lanes>>,
}

impl<'a> Penalty<'a> {
    pub(super) fn new(problem: &'a PairProblem<'a>) -> Self {
        Self {
            problem,
            lambda: problem.lambda(),
            center: problem.center().map(lanes::from_slice),
            tilt: problem.tilt.as_deref().map(lanes::from_slice),
        }
    }

    /// Whether v = 0 and w0 = 0.
    pub(super) fn is_plain(&self) -> bool {
        self.center.is_none() && self.tilt.is_none()
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
        let tilt = self.tilt.as_ref().map_or(0.0, |tilt| lanes::dot(tilt, w));
        tilt + self.lambda * size
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
        if let Some(tilt) = &self.tilt {
            lanes::axpy(1.0, tilt, &mut gradient);
        }
        gradient
    }

    /// t = 2 lambda w0 - v, added to `target`.
    pub(super) fn add_pull(&self, target: &mut [Lanes]) {
        if !self.is_plain() {
            lanes::axpy(1.0, &lanes::from_slice(&self.problem.pull(self.lambda)), target);
        }
    }

    /// w0 - v / (2 lambda), which minimizes the penalty, and the value there.
    pub(super) fn lowest(&self, width: usize) -> (Vec<Lanes>, f64) {
        let mut w = self.center.clone().unwrap_or_else(|| vec![Lanes::ZERO; width]);
        let Some(tilt) = &self.tilt else {
            return (w, 0.0);
        };
        let value = lanes::dot(tilt, &w) - lanes::dot(tilt, tilt) / (4.0 * self.lambda);
        lanes::axpy(-0.5 / self.lambda, tilt, &mut w);
        (w, value)
    }

    /// The larger of D(alpha) and the largest D(theta alpha), from the sum of alpha and X'g; at least D(0).
    pub(super) fn dual(&self, alpha: f64, pulled: &[Lanes]) -> f64 {
        let size = lanes::dot(pulled, pulled);
        let with = |vector: &Option<Vec<Lanes>>| vector.as_ref().map_or(0.0, |v| lanes::dot(v, pulled));
        let shortened = 2.0 * self.lambda * (alpha - with(&self.center)) + with(&self.tilt);
        let theta = if size > 0.0 { (shortened / size).clamp(0.0, 1.0) } else { 1.0 };
        let dual = self.dual_at(theta, alpha, pulled, size).max(self.dual_at(1.0, alpha, pulled, size));
        if dual.is_finite() { dual } else { self.lowest(pulled.len()).1.max(f64::MIN) }
    }

    /// D(theta alpha); `size` is |X'g|^2.
    fn dual_at(&self, theta: f64, alpha: f64, pulled: &[Lanes], size: f64) -> f64 {
        if self.is_plain() {
            return theta * (alpha - theta * (size / (4.0 * self.lambda)));
        }
        let mut q = vec![Lanes::ZERO; pulled.len()];
        lanes::axpy(theta, pulled, &mut q);
        if let Some(tilt) = &self.tilt {
            lanes::axpy(-1.0, tilt, &mut q);
        }
        let with_center = self.center.as_ref().map_or(0.0, |center| lanes::dot(center, &q));
        theta * alpha - with_center - lanes::dot(&q, &q) / (4.0 * self.lambda)
    }
}
