//! The psi loss by convex steps (Shen et al. 2003; Wu & Liu 2007; Yuille & Rangarajan 2003).
//!
//! psi(m) = max(0, 1 - m) - max(0, -m) is a difference of convex functions. At a point w the second one is replaced by
//! its tangent, which takes the loss of a pair with a margin below 0 from it and puts the slope c z of the pair into
//! the tilt. What is left is convex, lies above the psi objective and touches it at w:
//!
//! ```text
//! min over w of   hinge loss + (v + sum over pairs with m < 0 of c z).w + lambda |w - w0|^2
//! ```
//!
//! Its solution is the next w, so the psi objective never rises. The first w is the hinge's solution. The steps end
//! when the tilt stays as it is, when the objective falls by less than the gap allowed, or after [`MOST_STEPS`].
//!
//! **What the report says.** The objective is that of psi. The gap is that of the last convex problem: it certifies a
//! point at which the steps rest, not the optimum, which is hard to find. `steps` has one entry per convex problem
//! and `iterations` counts those of all of them.

use std::time::Instant;

use super::{PairProblem, Report, certificate};
use crate::loss::PairLoss;
use crate::math::lanes::{self, Lanes};
use crate::solve::{SolveOptions, SolveReport, Step, Stop};

/// Largest number of convex problems after the hinge's.
const MOST_STEPS: usize = 50;

/// Solves the psi problem for each lambda with any solver of the hinge that heeds a tilt.
pub(super) fn path(
    problem: &PairProblem<'_>,
    lambdas: &[f64],
    options: &SolveOptions,
    canceled: &(dyn Fn() -> bool + Sync),
) -> Vec<Report> {
    let hinge = problem.clone().with_loss(PairLoss::Hinge);
    let starts = options.solver.pair_path()(&hinge, lambdas, options, canceled);
    let mut fits = Vec::with_capacity(starts.len());
    for (&lambda, start) in lambdas.iter().zip(starts) {
        let problem = PairProblem { lambda, ..problem.clone() };
        let fit = Descent::new(&problem, start).run(options, canceled);
        let stop = fit.1.stop;
        fits.push(fit);
        if stop == Stop::Interrupted {
            break;
        }
    }
    fits
}

/// The state of one fit.
struct Descent<'p, 'a> {
    problem: &'p PairProblem<'a>,
    began: Instant,
    w: Vec<f64>,
    report: SolveReport,
}

impl<'p, 'a> Descent<'p, 'a> {
    /// From the solution of the hinge problem.
    fn new(problem: &'p PairProblem<'a>, (w, hinge): Report) -> Self {
        let objective = certificate(problem, &w);
        let step = Step { objective, gap: hinge.gap, seconds: 0.0 };
        let report = SolveReport { objective, steps: vec![step], ..hinge };
        Self { problem, began: Instant::now(), w, report }
    }

    fn run(mut self, options: &SolveOptions, canceled: &(dyn Fn() -> bool + Sync)) -> Report {
        let mut balance = vec![0; self.problem.blocks().iter().map(|(block, _)| block.n_docs()).sum()];
        for _ in 0..MOST_STEPS {
            let next = self.misplaced();
            if next == balance || matches!(self.report.stop, Stop::Interrupted | Stop::Empty) {
                return (self.w, self.report);
            }
            balance = next;
            if !self.step(&balance, options, canceled) {
                return (self.w, self.report);
            }
        }
        self.report.stop = Stop::IterationLimit;
        (self.w, self.report)
    }

    /// Solves the convex problem at w; answers whether further steps may bring more.
    fn step(
        &mut self,
        balance: &[i64],
        options: &SolveOptions,
        canceled: &(dyn Fn() -> bool + Sync),
    ) -> bool {
        let convex = self.problem.clone().with_loss(PairLoss::Hinge);
        let convex = convex.with_tilt(self.tilt(balance)).with_start(self.w.clone());
        let lambda = [self.problem.lambda];
        let Some((w, report)) = options.solver.pair_path()(&convex, &lambda, options, canceled).pop() else {
            return false;
        };
        self.report.iterations += report.iterations;
        self.report.stop = report.stop;
        if report.stop == Stop::Interrupted {
            return false;
        }
        self.report.gap = report.gap;
        let objective = certificate(self.problem, &w);
        let fall = self.report.objective - objective;
        if fall > 0.0 {
            self.w = w;
            self.report.objective = objective;
        }
        let seconds = self.began.elapsed().as_secs_f64();
        self.report.steps.push(Step { objective: self.report.objective, gap: report.gap, seconds });
        fall > options.tolerance * objective.abs()
    }

    /// For each document of each query, the number of its pairs with a margin below 0 in which it is the better one,
    /// minus the number of those in which it is the worse one. Equal balances give equal convex problems.
    fn misplaced(&self) -> Vec<i64> {
        let w = lanes::from_slice(&self.w);
        let mut all = Vec::new();
        for (block, _) in self.problem.blocks() {
            let scores: Vec<f64> = (0..block.n_docs()).map(|a| lanes::dot(block.row(a), &w)).collect();
            let mut balance = vec![0; scores.len()];
            for (a, &first) in block.start().iter().enumerate() {
                for b in first as usize..scores.len() {
                    let misplaced = i64::from(scores[a] < scores[b]);
                    balance[a] += misplaced;
                    balance[b] -= misplaced;
                }
            }
            all.append(&mut balance);
        }
        all
    }

    /// The problem's own tilt plus the sum of c z over misplaced pairs.
    fn tilt(&self, balance: &[i64]) -> Vec<f64> {
        let dim = self.problem.dim;
        let mut tilt = vec![Lanes::ZERO; lanes::blocks_for(dim)];
        let mut balance = balance.iter();
        for (block, weight) in self.problem.blocks() {
            for (document, &balance) in (0..block.n_docs()).zip(balance.by_ref()) {
                lanes::axpy(weight * balance as f64, block.row(document), &mut tilt);
            }
        }
        if let Some(own) = &self.problem.tilt {
            lanes::axpy(1.0, &lanes::from_slice(own), &mut tilt);
        }
        lanes::to_vec(&tilt, dim)
    }
}
