//! What a fit has reached: the best w, the best value of the dual, the certified gap and why it ends.
//!
//! With p = X'g of some alpha and 0 <= theta (<= 1 with the hinge, whose alpha has an upper bound), theta
//! alpha is feasible too, and
//!
//! ```text
//! P(w) - D(theta alpha) = loss - theta work + theta^2 bend + |2 lambda w - t - theta p|^2 / (4 lambda)
//! ```
//!
//! with the sums of `pairs`. It is smallest at theta = (work + p.(2 lambda w - t) / (2 lambda)) / (|p|^2 / (2
//! lambda) + 2 bend). At theta = 1 the first three terms are the slack, a sum without cancellation. D is
//! taken as P minus this gap, so that large centers cancel nothing.

use std::time::Instant;

use super::pairs::{Pairs, Sums};
use crate::loss::PairLoss;
use crate::math::lanes::{self, Lanes};
use crate::solve::PairProblem;
use crate::solve::pair::Report;
use crate::solve::{SolveOptions, SolveReport, Step, Stop};

/// A gap is never asked to be smaller than this share of the loss of w = 0, times the tolerance.
const OBJECTIVE_FLOOR: f64 = 1e-9;

/// D is lowered by this share of the numbers that it is a difference of, far from the optimum much larger
/// than D.
const ROUNDING: f64 = 8.0 * f64::EPSILON;

/// The record of one fit.
pub(super) struct Progress<'p> {
    problem: &'p PairProblem<'p>,
    pub lambda: f64,
    /// t.
    pub pull: Vec<Lanes>,
    /// The factor of the first alpha that maximizes D.
    pub first_theta: f64,
    tolerance: f64,
    max_iterations: u32,
    total_weight: f64,
    /// The best w, its objective and the best value of the dual.
    pub w: Vec<Lanes>,
    primal: f64,
    dual: f64,
    began: Instant,
    steps: Vec<Step>,
}

impl<'p> Progress<'p> {
    /// The record of w = 0 and alpha at the value that is right there: c with the hinge, 2 c with its square.
    pub(super) fn new(
        problem: &'p PairProblem<'p>,
        lambda: f64,
        pairs: &Pairs<'_>,
        options: &SolveOptions,
    ) -> Self {
        let mut progress = Self {
            problem,
            lambda,
            pull: lanes::from_slice(&problem.pull(lambda)),
            tolerance: options.tolerance,
            max_iterations: options.max_iterations,
            total_weight: pairs.total_weight,
            first_theta: 1.0,
            w: Vec::new(),
            primal: f64::INFINITY,
            dual: f64::NEG_INFINITY,
            began: Instant::now(),
            steps: Vec::new(),
        };
        let total = pairs.total_weight;
        let (factor, bend) = if problem.loss() == PairLoss::SquaredHinge { (2.0, total) } else { (1.0, 0.0) };
        let sums = Sums { loss: total, slack: 0.0, work: factor * total, bend };
        let zero = vec![Lanes::ZERO; pairs.width];
        (progress.first_theta, _) = progress.offer(&zero, &sums, &scaled(&pairs.pair_sum, factor));
        progress
    }

    /// Keeps w if it is better than the best and D of alpha and of theta alpha if they are larger; `sums` and
    /// `pulled` = X'g belong to w and alpha. Answers theta and the part |2 lambda w - X'g - t|^2 / (4 lambda)
    /// of the gap.
    pub(super) fn offer(&mut self, w: &[Lanes], sums: &Sums, pulled: &[Lanes]) -> (f64, f64) {
        let lambda = self.lambda;
        let primal = sums.loss + self.penalty(w);
        // q = 2 lambda w - t
        let mut q = scaled(w, 2.0 * lambda);
        lanes::axpy(-1.0, &self.pull, &mut q);
        let size = lanes::dot(pulled, pulled);
        let curvature = size / (2.0 * lambda) + 2.0 * sums.bend;
        let best = (sums.work + lanes::dot(pulled, &q) / (2.0 * lambda)) / curvature;
        let largest = if self.problem.loss() == PairLoss::SquaredHinge { f64::MAX } else { 1.0 };
        let theta = if best.is_finite() { best.clamp(0.0, largest) } else { 1.0 };
        let steepness = |theta: f64| {
            let mut residual = q.clone();
            lanes::axpy(-theta, pulled, &mut residual);
            lanes::dot(&residual, &residual) / (4.0 * lambda)
        };
        let plain = sums.slack + steepness(1.0);
        let curved = theta * theta * sums.bend + steepness(theta);
        let shortened = sums.loss - theta * sums.work + curved;
        // Sum of alpha |u| <= loss + slack.
        let size = sums.loss + theta * (sums.loss + sums.slack) + curved;
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
        (theta, steepness(1.0))
    }

    /// The w that belongs to an alpha with X'g = `pulled`: (X'g + t) / (2 lambda).
    pub(super) fn point_of(&self, pulled: &[Lanes]) -> Vec<Lanes> {
        let mut sum = self.pull.clone();
        lanes::axpy(1.0, pulled, &mut sum);
        scaled(&sum, 0.5 / self.lambda)
    }

    /// lambda |w - w0|^2 + v.w.
    fn penalty(&self, w: &[Lanes]) -> f64 {
        let (center, tilt) = (self.problem.center.as_deref(), self.problem.tilt.as_deref());
        let terms = lanes::to_vec(w, self.problem.dim()).into_iter().enumerate().map(|(j, w)| {
            let distance = w - center.map_or(0.0, |w0| w0[j]);
            self.lambda * (distance * distance) + tilt.map_or(0.0, |v| v[j] * w)
        });
        terms.sum()
    }

    /// P - D of the best points.
    pub(super) fn gap(&self) -> f64 {
        (self.primal - self.dual).max(0.0)
    }

    /// The gap at which the fit may end. A tilt can make P negative.
    pub(super) fn allowed_gap(&self) -> f64 {
        self.tolerance * self.primal.abs().max(OBJECTIVE_FLOOR * self.total_weight)
    }

    /// Counts an iteration and notes where it has led.
    pub(super) fn note(&mut self) {
        let seconds = self.began.elapsed().as_secs_f64();
        self.steps.push(Step { objective: self.primal, gap: self.gap(), seconds });
    }

    /// The reason to stop before the next iteration, if there is one.
    pub(super) fn stop(&self, pairs: &Pairs<'_>) -> Option<Stop> {
        if pairs.canceled() {
            Some(Stop::Interrupted)
        } else if self.gap() <= self.allowed_gap() {
            Some(Stop::Converged)
        } else {
            (self.steps.len() >= self.max_iterations as usize).then_some(Stop::IterationLimit)
        }
    }

    /// Whether the iteration under way is the last one allowed.
    pub(super) fn is_last(&self) -> bool {
        self.steps.len() + 1 >= self.max_iterations as usize
    }

    /// The answer.
    pub(super) fn finish(self, stop: Stop) -> (Vec<f64>, SolveReport) {
        let (objective, gap) = (self.primal, self.gap());
        let iterations = self.steps.len() as u32;
        let report = SolveReport { stop, iterations, objective, gap, steps: self.steps };
        (lanes::to_vec(&self.w, self.problem.dim()), report)
    }

    /// The answer where there is no pair: w = t / (2 lambda), which is exact.
    pub(super) fn finish_empty(mut self) -> (Vec<f64>, SolveReport) {
        self.w = scaled(&self.pull, 0.5 / self.lambda);
        self.primal = self.penalty(&self.w);
        self.dual = self.primal;
        self.finish(Stop::Empty)
    }
}

/// factor * x.
pub(super) fn scaled(x: &[Lanes], factor: f64) -> Vec<Lanes> {
    x.iter().map(|block| Lanes(block.0.map(|value| factor * value))).collect()
}

/// The fits of a path, one after the other; it ends with an interrupted one.
pub(super) fn along<'p>(
    problem: &'p PairProblem<'p>,
    lambdas: &[f64],
    options: &SolveOptions,
    pairs: &'p Pairs<'p>,
    mut run: impl FnMut(Progress<'p>) -> Report,
) -> Vec<Report> {
    let mut fits = Vec::with_capacity(lambdas.len());
    for &lambda in lambdas {
        let progress = Progress::new(problem, lambda, pairs, options);
        let fit = if pairs.count == 0 { progress.finish_empty() } else { run(progress) };
        let stop = fit.1.stop;
        fits.push(fit);
        if stop == Stop::Interrupted {
            break;
        }
    }
    fits
}
