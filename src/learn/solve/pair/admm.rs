//! ADMM (Dai and Wang 2019), which keeps a number per pair of documents, and the record of a fit with its certified gap.
//!
//! `admm_pairs` has the passes over pairs. The method shares no optimization code with Newton's method, so tests compare
//! both.

#![allow(clippy::inline_always)]

use std::time::Instant;

use crate::cost::loss::PairLoss;
use crate::learn::solve::{PairMethod, PairProblem, Solution, SolveReport, SolverDef, Step, Stop, StopRule};
use crate::math::{Lanes, Random, lanes, solve_path};

use super::admm_pairs::{DualSums, Pairs};

// Record of a fit: the best w, the best value of the dual, the certified gap and the stop rule.
//
// Let p = X'g of an alpha. For 0 <= theta <= 1 theta alpha is feasible too, and
//
// ```text
// P(w) - D(theta alpha) = loss - theta work + |2 lambda w - t - theta p|^2 / (4 lambda)
// ```
//
// with the sums of `admm_pairs`. The best theta is (work + p.(2 lambda w - t) / (2 lambda)) / (|p|^2 / (2 lambda)). At
// theta = 1 the first two terms are the slack, a sum without cancellation. D is computed as P minus this gap, so a
// large center causes no cancellation.

/// Relative rounding of the terms whose difference is D; D is lowered by it. Far from the optimum they are much larger
/// than D.
const ROUNDING: f64 = 8.0 * f64::EPSILON;

/// The record of one fit.
pub(super) struct Progress<'p> {
    problem: &'p PairProblem<'p>,
    pub lambda: f64,
    /// t.
    pub center_term: Vec<Lanes>,
    /// The factor that maximizes D along the first alpha.
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
    fn new(problem: &'p PairProblem<'p>, lambda: f64, pairs: &Pairs<'_>, rule: StopRule) -> Self {
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
        let sums = DualSums { loss: total, slack: 0.0, work: total };
        let zero = vec![Lanes::ZERO; pairs.width];
        (progress.first_theta, _) = progress.offer(&zero, &sums, &pairs.pair_sum);
        progress
    }

    /// Records w if it is the best so far, and D of alpha and of theta alpha if they are the largest. `sums` and
    /// `alpha_z` = X'g belong to w and alpha. Returns theta and the gradient gap |2 lambda w - X'g - t|^2 / (4 lambda).
    fn offer(&mut self, w: &[Lanes], sums: &DualSums, alpha_z: &[Lanes]) -> (f64, f64) {
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
        let terms = lanes::to_vec(w, self.problem.dim).into_iter().enumerate().map(|(j, w)| {
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
    fn stop(&self, pairs: &Pairs<'_>) -> Option<Stop> {
        if pairs.canceled() {
            Some(Stop::Interrupted)
        } else if self.gap() <= self.allowed_gap() {
            Some(Stop::Converged)
        } else {
            (self.steps.len() >= self.rule.max_iterations as usize).then_some(Stop::IterationLimit)
        }
    }

    pub(super) fn finish(self, stop: Stop) -> Solution {
        let (objective, gap) = (self.primal, self.gap());
        let iterations = self.steps.len() as u32;
        let report = SolveReport::new(stop, iterations, objective, gap, self.steps);
        Solution { w: lanes::to_vec(&self.w, self.problem.dim), report }
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
fn path<'p>(
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

// Inexact alternating direction method of multipliers (Dai and Wang 2019, section 3.2), in the scoring form with a
// linear kernel and no intercept.
//
// The paper splits the hinge, with a scaled multiplier q of each pair (the paper's u; here u is the violation):
//
// ```text
// min sum of c xi + lambda |w - w0|^2 + v.w   with  M w - 1 + xi - gamma = 0,  xi, gamma >= 0;  rows of M: z
//
// w     <- w - (2 lambda w - t + M' R (M w - 1 + xi - gamma + q)) / zeta
// xi    <- max(1 - M w - q - c / R, 0)
// gamma <- max(M w - 1 + q, 0)
// q     <- q + M w - 1 + xi - gamma
// ```
//
// with zeta >= the largest eigenvalue of 2 lambda I + M' R M. In print, the update of q has the new q on its right side
// too, and J is |f|^2 in (3.1) but half of that in (3.5); here the penalty is as in (3.1). R is rho for every pair in
// the paper and rho c here. Both are equal if all c are equal; rho c needs fewer iterations for queries of different
// size. The last three lines need no array but q: with alpha = -R q they are
//
// ```text
// alpha <- clamp(alpha + rho c (1 - M w), 0, c)
// R (M w - 1 + xi - gamma) = alpha before - alpha after
// ```
//
// So alpha is feasible for the dual in every iteration, and the step of w needs only p = X'g of alpha before and
// after: w <- w - (2 lambda w - t - p - (rho / rho before) (p - p before)) / zeta. An iteration is one such step and
// one pass over all pairs in score space, which also gives P, D and the gap.
//
// rho starts at 1. It changes if the two terms of the gap, the slack of the pairs and |2 lambda w - p - t|^2 / (4
// lambda), differ much (residual balancing, Boyd et al. 2011, section 3.4.1), by less and less so that the method
// still converges. For tiny lambda it needs thousands of iterations.
//
// Memory: 8 bytes per pair.

pub const ADMM: SolverDef = SolverDef {
    name: "admm",
    pair: Some(PairMethod {
        losses: &[PairLoss::Hinge],
        sorts_hinge: false,
        path: |problem, lambdas, rule, control| {
            let pairs = Pairs::new(problem, control);
            let mut method = Admm::new(&pairs);
            path(problem, lambdas, rule, &pairs, |progress| method.run(progress))
        },
        // A multiplier of each pair.
        bytes: |problem, _| 8 * problem.blocks.iter().map(|(block, _)| block.pairs).sum::<u64>(),
    }),
    list: None,
};

/// Power iterations, and the growth of the eigenvalue at which they end.
const MOST_POWER_STEPS: u32 = 100;
const POWER_GROWTH: f64 = 1e-3;
/// Factor of the computed eigenvalue, which is a lower bound.
const EIGENVALUE_MARGIN: f64 = 1.05;
/// Seed of the first vector of the power iterations.
const SEED: u64 = 1;
/// Iterations from one change of rho to the next.
const BALANCE_EVERY: u32 = 10;
/// The two terms of the gap may differ by this factor.
const BALANCE_RATIO: f64 = 10.0;
/// First factor of rho, and the fraction of its distance from 1 that remains after each change.
const BALANCE_FACTOR: f64 = 2.0;
const BALANCE_DECAY: f64 = 0.95;

/// The state of a fit; w, alpha and rho are kept from one lambda to the next.
struct Admm<'a> {
    pairs: &'a Pairs<'a>,
    /// Bound of the eigenvalues of sum of c z z'.
    eigenvalue: f64,
    rho: f64,
    alpha: Vec<f64>,
    w: Vec<Lanes>,
    /// p = X'g of alpha, now and before the last pass.
    alpha_z: Vec<Lanes>,
    alpha_z_before: Vec<Lanes>,
    /// rho / rho before.
    rho_ratio: f64,
    started: bool,
}

impl<'a> Admm<'a> {
    fn new(pairs: &'a Pairs<'a>) -> Self {
        let mut alpha = vec![0.0; pairs.count];
        pairs.rows().for_each(|row| alpha[row.pairs].fill(row.weight));
        Self {
            pairs,
            eigenvalue: EIGENVALUE_MARGIN * largest_eigenvalue(pairs),
            rho: 1.0,
            alpha,
            w: vec![Lanes::ZERO; pairs.width],
            alpha_z: pairs.pair_sum.clone(),
            alpha_z_before: pairs.pair_sum.clone(),
            rho_ratio: 1.0,
            started: false,
        }
    }

    /// Solves for the lambda of `progress`.
    fn run(&mut self, mut progress: Progress<'_>) -> Solution {
        self.start(&mut progress);
        let mut factor = BALANCE_FACTOR;
        let mut iterations = 0;
        loop {
            if let Some(stop) = progress.stop(self.pairs) {
                return progress.finish(stop);
            }
            self.move_point(&progress);
            let rho = self.rho;
            let (slack, gradient_gap) = self.pass(&mut progress, |c, u, alpha| {
                let next = alpha + rho * c * u;
                let next = if next > 0.0 { next } else { 0.0 };
                if next < c { next } else { c }
            });
            progress.record();
            iterations += 1;
            if iterations % BALANCE_EVERY == 0 {
                self.balance(slack, gradient_gap, &mut factor);
            }
        }
    }

    /// Offers the point with zero gradient, which is optimal if alpha is, and starts there the first time.
    fn start(&mut self, progress: &mut Progress<'_>) {
        let kept = std::mem::replace(&mut self.w, progress.point_of(&self.alpha_z));
        self.pass(progress, |_, _, alpha| alpha);
        if self.started {
            self.w = kept;
        } else {
            self.w = progress.point_of(&lanes::scaled(&self.alpha_z, progress.first_theta));
        }
        self.started = true;
    }

    /// w <- w - (2 lambda w - t - p - (p - p before) rho / rho before) / zeta.
    fn move_point(&mut self, progress: &Progress<'_>) {
        let zeta = 2.0 * progress.lambda + self.rho * self.eigenvalue;
        let mut step = progress.center_term.clone();
        lanes::axpy(-2.0 * progress.lambda, &self.w, &mut step);
        lanes::axpy(1.0 + self.rho_ratio, &self.alpha_z, &mut step);
        lanes::axpy(-self.rho_ratio, &self.alpha_z_before, &mut step);
        lanes::axpy(1.0 / zeta, &step, &mut self.w);
        self.rho_ratio = 1.0;
    }

    /// Updates every alpha at w and offers both; returns the two terms of the gap.
    fn pass(
        &mut self,
        progress: &mut Progress<'_>,
        update: impl Fn(f64, f64, f64) -> f64 + Copy,
    ) -> (f64, f64) {
        let scores = self.pairs.scores(&self.w);
        let (sums, alpha_z) = self.pairs.pass(&scores, &mut self.alpha, update);
        if self.pairs.canceled() {
            return (0.0, 0.0);
        }
        let (_, gradient_gap) = progress.offer(&self.w, &sums, &alpha_z);
        self.alpha_z_before = std::mem::replace(&mut self.alpha_z, alpha_z);
        (sums.slack, gradient_gap)
    }

    /// Increases rho if the slack is the larger term of the gap, and decreases it if the gradient is.
    fn balance(&mut self, slack: f64, gradient_gap: f64, factor: &mut f64) {
        if slack > BALANCE_RATIO * gradient_gap {
            self.rho_ratio = *factor;
        } else if gradient_gap > BALANCE_RATIO * slack {
            self.rho_ratio = 1.0 / *factor;
        } else {
            return;
        }
        self.rho *= self.rho_ratio;
        *factor = 1.0 + BALANCE_DECAY * (*factor - 1.0);
    }
}

/// Largest eigenvalue of the sum of c z z' by power iteration, from below. Cost m b per step.
fn largest_eigenvalue(pairs: &Pairs<'_>) -> f64 {
    let mut random = Random::new(SEED);
    let start: Vec<f64> = (0..pairs.dim).map(|_| random.symmetric()).collect();
    let mut x = lanes::from_slice(&start);
    let mut eigenvalue = 0.0;
    for _ in 0..MOST_POWER_STEPS {
        let size = lanes::dot(&x, &x).sqrt();
        x = pairs.second_moment_times(&lanes::scaled(&x, 1.0 / size));
        let next = lanes::dot(&x, &x).sqrt();
        // Without features that differ, next is not a number.
        let settled = next.is_nan() || next <= (1.0 + POWER_GROWTH) * eigenvalue;
        eigenvalue = next.max(eigenvalue);
        if settled || pairs.canceled() {
            break;
        }
    }
    eigenvalue
}

#[cfg(test)]
mod dual_tests {
    use super::ADMM;
    use crate::base::Control;
    use crate::learn::solve::pair::NEWTON;
    use crate::learn::solve::{PairBlock, PairProblem, Solution, SolveOptions, SolveReport, Stop, solve};
    use crate::math::{Random, lanes};

    const DIM: usize = 9;

    /// Three queries, the first with more documents than one group of rows.
    fn blocks() -> Vec<PairBlock> {
        let mut random = Random::new(9);
        [70usize, 5, 13]
            .iter()
            .map(|&n| {
                let x: Vec<f64> = (0..n * DIM).map(|_| random.symmetric()).collect();
                let labels: Vec<f64> = (0..n).map(|_| (4.0 * random.symmetric()).floor()).collect();
                PairBlock::new(&x, &labels, DIM).unwrap()
            })
            .collect()
    }

    fn problem(blocks: &[PairBlock], lambda: f64) -> PairProblem<'_> {
        let weighted = blocks.iter().map(|block| (block, 0.5 / block.pairs as f64)).collect();
        PairProblem::new(DIM, weighted, lambda).unwrap()
    }

    /// P by its definition.
    fn objective(problem: &PairProblem<'_>, center: &[f64], linear_term: &[f64], w: &[f64]) -> f64 {
        let mut sum = 0.0;
        for (block, c) in &problem.blocks {
            let score = |i| lanes::to_vec(block.row(i), DIM).iter().zip(w).map(|(x, w)| x * w).sum::<f64>();
            for a in 0..block.n_docs() {
                for b in (0..block.n_docs()).filter(|b| block.labels[a] > block.labels[*b]) {
                    sum += c * (1.0 - score(a) + score(b)).max(0.0);
                }
            }
        }
        for (j, w) in w.iter().enumerate() {
            sum += problem.lambda * (w - center[j]) * (w - center[j]) + linear_term[j] * w;
        }
        sum
    }

    #[test]
    fn a_linear_term_and_a_center_are_part_of_the_problem() {
        let blocks = blocks();
        let mut random = Random::new(4);
        let mut vector = |size: f64| -> Vec<f64> { (0..DIM).map(|_| size * random.symmetric()).collect() };
        for (lambda, size) in [(10.0, 5.0), (0.1, 0.5), (1e-2, 0.01)] {
            let (center, linear_term) = (vector(2.0), vector(size));
            let problem = problem(&blocks, lambda)
                .with_center(center.clone())
                .unwrap()
                .with_linear_term(linear_term.clone());
            let fit = |solver, tolerance| {
                solve(
                    &problem,
                    &SolveOptions { solver, tolerance, max_iterations: 5000 },
                    &Control::default(),
                )
                .unwrap()
            };
            let Solution { w, report: reference } = fit(&NEWTON, 1e-10);
            assert_eq!(reference.stop, Stop::Converged, "{reference:?}");
            let plain = |w: &[f64]| objective(&problem, &center, &linear_term, w);
            assert!((plain(&w) - reference.objective).abs() < 1e-10);
            for _ in 0..50 {
                let nearby: Vec<f64> = w.iter().zip(vector(0.01)).map(|(w, d)| w + d).collect();
                assert!(plain(&nearby) >= reference.objective - reference.gap, "{lambda}");
            }
            let Solution { w, report } = fit(&ADMM, 1e-6);
            let difference = (report.objective - reference.objective).abs();
            assert!(difference <= report.gap.max(reference.gap) + 1e-10, "{report:?}");
            assert!((plain(&w) - report.objective).abs() < 1e-10);
            let SolveReport { stop, iterations, objective, gap, .. } = report;
            assert_eq!(stop, Stop::Converged, "{lambda} {iterations} {gap:e} {objective}");
        }
    }
}

#[cfg(test)]
mod admm_tests {
    use super::*;
    use crate::base::Control;
    use crate::learn::solve::PairBlock;

    #[test]
    fn the_step_is_short_enough_for_every_direction() {
        let mut random = Random::new(2);
        let x: Vec<f64> = (0..30 * 4).map(|_| random.symmetric()).collect();
        let labels: Vec<f64> = (0..30).map(|_| (2.0 * random.symmetric()).floor()).collect();
        let block = PairBlock::new(&x, &labels, 4).unwrap();
        let problem = PairProblem::new(4, vec![(&block, 0.1)], 0.1).unwrap();
        let control = Control::default();
        let pairs = Pairs::new(&problem, &control);
        let bound = EIGENVALUE_MARGIN * largest_eigenvalue(&pairs);
        let mut largest = 0.0f64;
        for _ in 0..2000 {
            let direction: Vec<f64> = (0..4).map(|_| random.symmetric()).collect();
            let d = lanes::from_slice(&direction);
            largest = largest.max(lanes::dot(&d, &pairs.second_moment_times(&d)) / lanes::dot(&d, &d));
        }
        assert!(bound >= largest && bound <= 1.1 * largest, "{bound} {largest}");
    }
}
