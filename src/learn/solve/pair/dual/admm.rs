//! The inexact alternating direction method of multipliers (Dai and Wang 2019, section 3.2), in the scoring form with a
//! linear kernel and no intercept.
//!
//! The paper splits the hinge, with a scaled multiplier q of each pair (the paper's u; here u is the violation):
//!
//! ```text
//! min sum of c xi + lambda |w - w0|^2 + v.w   with  M w - 1 + xi - gamma = 0,  xi, gamma >= 0;  rows of M: z
//!
//! w     <- w - (2 lambda w - t + M' R (M w - 1 + xi - gamma + q)) / zeta
//! xi    <- max(1 - M w - q - c / R, 0)
//! gamma <- max(M w - 1 + q, 0)
//! q     <- q + M w - 1 + xi - gamma
//! ```
//!
//! with zeta >= the largest eigenvalue of 2 lambda I + M' R M. In print, the update of q has the new q on its right
//! side too, and J is |f|^2 in (3.1) but half of that in (3.5); here the penalty is that of (3.1). R is rho for every
//! pair in the paper and rho c here. Both are equal if all c are equal; rho c needs fewer iterations for queries of
//! different size. The last three lines need no array but q: with alpha = -R q they are
//!
//! ```text
//! alpha <- clamp(alpha + rho c (1 - M w), 0, c)
//! R (M w - 1 + xi - gamma) = alpha before - alpha after
//! ```
//!
//! So alpha is feasible for the dual in every iteration, and the step of w needs only p = X'g of alpha before and
//! after: w <- w - (2 lambda w - t - p - (rho / rho before) (p - p before)) / zeta. An iteration is one such step and
//! one pass over all pairs in score space, which also gives P, D and the gap.
//!
//! rho starts at 1. It changes if the two parts of the gap, the slack of the pairs and |2 lambda w - p - t|^2 / (4
//! lambda), differ much (residual balancing, Boyd et al. 2011, section 3.4.1), by less and less so that the method
//! still converges. For tiny lambda it needs thousands of iterations.
//!
//! Memory: 8 bytes per pair.
#![allow(clippy::inline_always)]

use super::pairs::Pairs;
use super::progress;
use super::progress::Progress;
use crate::base::control::Control;
use crate::cost::loss::PairLoss;
use crate::learn::solve::PairProblem;
use crate::learn::solve::{PairMethod, Solution, SolverDef, StopRule};
use crate::math::lanes;
use crate::math::lanes::Lanes;
use crate::math::random::Random;

/// The definition.
pub const ADMM: SolverDef = SolverDef {
    name: "admm",
    summary: "the inexact ADMM of Dai and Wang (2019), for gaps of about 1e-3",
    pair: Some(PairMethod { losses: &[PairLoss::Hinge], path }),
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
/// The parts of the gap may differ by this factor.
const BALANCE_RATIO: f64 = 10.0;
/// First factor of rho, and what is left of its distance from 1 after each change.
const BALANCE_FACTOR: f64 = 2.0;
const BALANCE_DECAY: f64 = 0.95;

fn path(problem: &PairProblem<'_>, lambdas: &[f64], rule: &StopRule, control: &Control) -> Vec<Solution> {
    let pairs = Pairs::new(problem, control);
    let mut method = Admm::new(&pairs);
    progress::path(problem, lambdas, rule, &pairs, |progress| method.run(progress))
}

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
            let parts = self.pass(&mut progress, |c, u, alpha| {
                let next = alpha + rho * c * u;
                let next = if next > 0.0 { next } else { 0.0 };
                if next < c { next } else { c }
            });
            progress.record();
            iterations += 1;
            if iterations % BALANCE_EVERY == 0 {
                self.balance(parts, &mut factor);
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

    /// Updates every alpha at w and offers both; returns the two parts of the gap.
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

    /// Increases rho if the slack is the larger part of the gap, and decreases it if the gradient is.
    fn balance(&mut self, (slack, gradient_gap): (f64, f64), factor: &mut f64) {
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
mod tests {
    use super::*;
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
