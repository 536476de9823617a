//! The record of a fit: the best w, the best value of the dual, the certified gap and the stop rule.
//!
//! Let p = X'g of an alpha. For 0 <= theta <= 1 theta alpha is feasible too, and
//!
//! ```text
//! P(w) - D(theta alpha) = loss - theta work + |2 lambda w - t - theta p|^2 / (4 lambda)
//! ```
//!
//! with the sums of `pairs`. The best theta is (work + p.(2 lambda w - t) / (2 lambda)) / (|p|^2 / (2 lambda)). At
//! theta = 1 the first two terms are the slack, a sum without cancellation. D is computed as P minus this gap, so a
//! large center causes no cancellation.

use std::time::Instant;

use super::pairs::{Pairs, Sums};
use crate::learn::solve::PairProblem;
use crate::learn::solve::{Solution, SolveReport, Step, Stop, StopRule};
use crate::math::lanes;
use crate::math::lanes::Lanes;
use crate::math::optim::solve_path;

/// Relative rounding of the terms whose difference is D; D is lowered by it. Far from the optimum they are much larger
/// than D.
const ROUNDING: f64 = 8.0 * f64::EPSILON;

/// The record of one fit.
pub(super) struct Progress<'p> {
    problem: &'p PairProblem<'p>,
    pub lambda: f64,
    /// t.
    pub center_term: Vec<Lanes>,
    /// The factor of the first alpha that maximizes D.
    pub first_theta: f64,
    rule: StopRule,
    total_weight: f64,
    /// The best w, its objective and the best value of the dual.
    pub w: Vec<Lanes>,
    primal: f64,
    dual: f64,
    began: Instant,
    steps: Vec<Step>,
}

impl<'p> Progress<'p> {
    /// The record of w = 0 and the alpha that belongs to it, c.
    pub(super) fn new(problem: &'p PairProblem<'p>, lambda: f64, pairs: &Pairs<'_>, rule: StopRule) -> Self {
        let mut progress = Self {
            problem,
            lambda,
            center_term: lanes::from_slice(&problem.center_term(lambda)),
            rule,
            total_weight: pairs.total_weight,
            first_theta: 1.0,
            w: Vec::new(),
            primal: f64::INFINITY,
            dual: f64::NEG_INFINITY,
            began: Instant::now(),
            steps: Vec::new(),
        };
        let total = pairs.total_weight;
        let sums = Sums { loss: total, slack: 0.0, work: total };
        let zero = vec![Lanes::ZERO; pairs.width];
        (progress.first_theta, _) = progress.offer(&zero, &sums, &pairs.pair_sum);
        progress
    }

    /// Records w if it is the best so far, and D of alpha and of theta alpha if they are the largest. `sums` and
    /// `alpha_z` = X'g are those of w and alpha. Returns theta and the gradient gap |2 lambda w - X'g - t|^2 / (4
    /// lambda).
    pub(super) fn offer(&mut self, w: &[Lanes], sums: &Sums, alpha_z: &[Lanes]) -> (f64, f64) {
        let lambda = self.lambda;
        let primal = sums.loss + self.penalty(w);
        // 1. q = 2 lambda w - t, and the theta that maximizes D(theta alpha).
        let mut q = lanes::scaled(w, 2.0 * lambda);
        lanes::axpy(-1.0, &self.center_term, &mut q);
        let curvature = lanes::dot(alpha_z, alpha_z) / (2.0 * lambda);
        let best = (sums.work + lanes::dot(alpha_z, &q) / (2.0 * lambda)) / curvature;
        let theta = if best.is_finite() { best.clamp(0.0, 1.0) } else { 1.0 };
        // 2. The gaps of alpha and of theta alpha.
        let gradient_gap = |theta: f64| {
            let mut residual = q.clone();
            lanes::axpy(-theta, alpha_z, &mut residual);
            lanes::dot(&residual, &residual) / (4.0 * lambda)
        };
        let plain = sums.slack + gradient_gap(1.0);
        let gradient = gradient_gap(theta);
        let shortened = sums.loss - theta * sums.work + gradient;
        // Sum of alpha |u| <= loss + slack.
        let size = sums.loss + theta * (sums.loss + sums.slack) + gradient;
        // 3. Better values are kept; D is lowered by its rounding.
        for (gap, size) in [(plain, plain), (shortened, size)] {
            let dual = primal - gap - ROUNDING * (primal.abs() + size);
            if dual.is_finite() {
                self.dual = self.dual.max(dual);
            }
        }
        if primal < self.primal {
            self.primal = primal;
            self.w = w.to_vec();
        }
        (theta, gradient_gap(1.0))
    }

    /// The w with zero gradient for an alpha with X'g = `alpha_z`: (X'g + t) / (2 lambda).
    pub(super) fn point_of(&self, alpha_z: &[Lanes]) -> Vec<Lanes> {
        let mut sum = self.center_term.clone();
        lanes::axpy(1.0, alpha_z, &mut sum);
        lanes::scaled(&sum, 0.5 / self.lambda)
    }

    /// lambda |w - w0|^2 + v.w.
    fn penalty(&self, w: &[Lanes]) -> f64 {
        let (center, linear_term) = (self.problem.center.as_deref(), self.problem.linear_term.as_deref());
        let terms = lanes::to_vec(w, self.problem.dim()).into_iter().enumerate().map(|(j, w)| {
            let distance = w - center.map_or(0.0, |w0| w0[j]);
            self.lambda * (distance * distance) + linear_term.map_or(0.0, |v| v[j] * w)
        });
        terms.sum()
    }

    /// P - D of the best points.
    pub(super) fn gap(&self) -> f64 {
        (self.primal - self.dual).max(0.0)
    }

    /// The gap at which the fit has converged.
    pub(super) fn allowed_gap(&self) -> f64 {
        self.rule.allowed_gap(self.primal, self.total_weight)
    }

    /// Records the state after an iteration.
    pub(super) fn record(&mut self) {
        let seconds = self.began.elapsed().as_secs_f64();
        self.steps.push(Step { objective: self.primal, gap: self.gap(), seconds });
    }

    /// The reason to stop before the next iteration, if any.
    pub(super) fn stop(&self, pairs: &Pairs<'_>) -> Option<Stop> {
        if pairs.canceled() {
            Some(Stop::Interrupted)
        } else if self.gap() <= self.allowed_gap() {
            Some(Stop::Converged)
        } else {
            (self.steps.len() >= self.rule.max_iterations as usize).then_some(Stop::IterationLimit)
        }
    }

    /// The solution.
    pub(super) fn finish(self, stop: Stop) -> Solution {
        let (objective, gap) = (self.primal, self.gap());
        let iterations = self.steps.len() as u32;
        let report = SolveReport::new(stop, iterations, objective, gap, self.steps);
        Solution { w: lanes::to_vec(&self.w, self.problem.dim()), report }
    }

    /// The solution of a problem without pairs: w = t / (2 lambda), which is exact.
    fn finish_empty(mut self) -> Solution {
        self.w = lanes::scaled(&self.center_term, 0.5 / self.lambda);
        self.primal = self.penalty(&self.w);
        self.dual = self.primal;
        self.finish(Stop::Empty)
    }
}

/// Solves for each lambda of a path.
pub(super) fn path<'p>(
    problem: &'p PairProblem<'p>,
    lambdas: &[f64],
    rule: &StopRule,
    pairs: &'p Pairs<'p>,
    mut run: impl FnMut(Progress<'p>) -> Solution,
) -> Vec<Solution> {
    solve_path(lambdas, |lambda, _| {
        let progress = Progress::new(problem, lambda, pairs, *rule);
        if pairs.count == 0 { progress.finish_empty() } else { run(progress) }
    })
}
