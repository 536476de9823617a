//! Limited-memory BFGS (Nocedal 1980; Nocedal & Wright 2006, algorithms 7.4 and 7.5).
//!
//! ```text
//! d = -H g          H from the last 20 steps y = w' - w and changes of gradient z = g' - g
//! w' = w + t d      by bisection (`objective`)
//! P(w) - min P <= |g|^2 / (4 lambda)
//! ```
//!
//! Only the certificate needs a convex P, and the line search tolerates edges.

use std::collections::VecDeque;

use super::line_search::bisect;
use super::objective::{axpy, difference, norm};
use super::{Best, Method, Point, Ridge, Solution, StopRule, iterate};
use crate::base::Control;
use crate::math::dot;

/// Steps that are remembered.
const MEMORY: usize = 20;

/// Minimizes P from w.
pub fn minimize(objective: &Ridge<'_>, w: Vec<f64>, rule: &StopRule, control: &Control) -> Solution {
    iterate(rule, control, || Lbfgs { objective, point: objective.at(w), memory: VecDeque::new() })
}

struct Lbfgs<'a> {
    objective: &'a Ridge<'a>,
    point: Point,
    memory: VecDeque<Pair>,
}

/// A step with the change of gradient over it.
struct Pair {
    y: Vec<f64>,
    z: Vec<f64>,
    /// 1 / y.z
    rho: f64,
}

impl Method for Lbfgs<'_> {
    fn best(&self) -> Best<'_> {
        self.objective.certify(&self.point)
    }

    fn advance(&mut self, _control: &Control) -> bool {
        let d = self.direction();
        // Without curvature the first step is short.
        let first = if self.memory.is_empty() { 1.0 / norm(&d).max(1.0) } else { 1.0 };
        if let Some(next) = bisect(self.objective, &self.point, &d, first) {
            self.remember(&next);
            self.point = next;
            return true;
        }
        // The remembered curvature belongs to another point: the next iteration starts from the gradient.
        let retry = !self.memory.is_empty();
        self.memory.clear();
        retry
    }
}

impl Lbfgs<'_> {
    fn remember(&mut self, next: &Point) {
        let y = difference(&next.w, &self.point.w);
        let z = difference(&next.gradient, &self.point.gradient);
        let curvature = dot(&y, &z);
        if curvature > 0.0 {
            self.memory.push_back(Pair { y, z, rho: 1.0 / curvature });
        }
        if self.memory.len() > MEMORY {
            self.memory.pop_front();
        }
    }

    /// -H g by the two-loop recursion.
    fn direction(&self) -> Vec<f64> {
        let mut d: Vec<f64> = self.point.gradient.iter().map(|g| -g).collect();
        let mut alphas = Vec::with_capacity(self.memory.len());
        for Pair { y, z, rho } in self.memory.iter().rev() {
            let alpha = rho * dot(y, &d);
            axpy(-alpha, z, &mut d);
            alphas.push(alpha);
        }
        if let Some(Pair { z, rho, .. }) = self.memory.back() {
            let scale = 1.0 / (rho * dot(z, z));
            d.iter_mut().for_each(|d| *d *= scale);
        }
        for (Pair { y, z, rho }, alpha) in self.memory.iter().zip(alphas.into_iter().rev()) {
            let beta = rho * dot(z, &d);
            axpy(alpha - beta, y, &mut d);
        }
        d
    }
}
