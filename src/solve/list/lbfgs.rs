//! Limited-memory BFGS (Nocedal 1980; Nocedal & Wright 2006, algorithms 7.4 and 7.5) for smooth losses.
//!
//! ```text
//! d = -H g          H from the last m steps y = w' - w and changes of gradient z = g' - g
//! w' = w + t d      t by halving until P(w') <= P(w) + 1e-4 t g.d (Armijo), from t = 1
//! P(w) - min P <= |g|^2 / (4 lambda)
//! ```

use std::collections::VecDeque;
use std::time::Instant;

use super::{ListProblem, Report};
use crate::loss::Shape;
use crate::math::dense::dot;
use crate::solve::{Cancelled, ListWork, SolveOptions, SolveReport, SolverDef, Step, Stop};

/// Steps remembered, m.
const MEMORY: usize = 20;
/// Least share of the decrease that the slope promises.
const ARMIJO: f64 = 1e-4;
/// Most halvings of one step.
const MOST_HALVINGS: u32 = 40;

/// The definition.
pub const LBFGS: SolverDef = SolverDef {
    name: "lbfgs",
    summary: "limited-memory BFGS for smooth listwise losses",
    pair: None,
    list: Some(ListWork { shapes: &[Shape::Quadratic, Shape::Smooth], path }),
};

fn path(
    problem: &ListProblem<'_>,
    lambdas: &[f64],
    options: &SolveOptions,
    cancelled: &(dyn Fn() -> bool + Sync),
) -> Vec<Report> {
    let mut w = problem.centre().map_or_else(|| vec![0.0; problem.dim()], <[f64]>::to_vec);
    let mut fits = Vec::with_capacity(lambdas.len());
    for &lambda in lambdas {
        let report = Run::new(problem, lambda, &mut w).run(options, cancelled);
        let stop = report.stop;
        fits.push((w.clone(), report));
        if stop == Stop::Interrupted {
            break;
        }
    }
    fits
}

/// The state of one fit.
struct Run<'p, 'a> {
    problem: &'p ListProblem<'a>,
    lambda: f64,
    w: &'p mut Vec<f64>,
    gradient: Vec<f64>,
    objective: f64,
    loss_at_zero: f64,
    memory: VecDeque<Pair>,
    began: Instant,
    steps: Vec<Step>,
}

/// A step with the change of gradient over it.
struct Pair {
    y: Vec<f64>,
    z: Vec<f64>,
    /// 1 / y.z
    rho: f64,
}

impl<'p, 'a> Run<'p, 'a> {
    fn new(problem: &'p ListProblem<'a>, lambda: f64, w: &'p mut Vec<f64>) -> Self {
        let began = Instant::now();
        let mut gradient = vec![0.0; problem.dim()];
        let objective = problem.objective(lambda, w, &mut gradient);
        let (memory, steps) = (VecDeque::new(), Vec::new());
        Self { problem, lambda, w, gradient, objective, loss_at_zero: objective, memory, began, steps }
    }

    fn run(mut self, options: &SolveOptions, cancelled: Cancelled<'_>) -> SolveReport {
        let stop = loop {
            let gap = self.gap();
            let seconds = self.began.elapsed().as_secs_f64();
            self.steps.push(Step { objective: self.objective, gap, seconds });
            if gap <= options.allowed_gap(self.objective, self.loss_at_zero) {
                break Stop::Converged;
            }
            if cancelled() {
                break Stop::Interrupted;
            }
            if self.steps.len() > options.max_iterations as usize {
                break Stop::IterationLimit;
            }
            if !self.step() {
                if self.memory.is_empty() {
                    break Stop::Stalled;
                }
                // The curvature remembered is of another place; begin again with the gradient.
                self.memory.clear();
            }
        };
        let iterations = self.steps.len() as u32 - 1;
        let (objective, gap) = (self.objective, self.gap());
        SolveReport { stop, iterations, objective, gap, steps: self.steps }
    }

    fn gap(&self) -> f64 {
        dot(&self.gradient, &self.gradient) / (4.0 * self.lambda)
    }

    /// Goes one step down; false where no step does.
    fn step(&mut self) -> bool {
        let d = self.direction();
        let slope = dot(&d, &self.gradient);
        if slope >= 0.0 {
            return false;
        }
        // Without curvature the first step is short.
        let mut t = if self.memory.is_empty() { 1.0 / dot(&d, &d).sqrt().max(1.0) } else { 1.0 };
        let mut gradient = vec![0.0; self.w.len()];
        for _ in 0..MOST_HALVINGS {
            let w: Vec<f64> = self.w.iter().zip(&d).map(|(w, d)| w + t * d).collect();
            let objective = self.problem.objective(self.lambda, &w, &mut gradient);
            if objective <= self.objective + ARMIJO * t * slope && objective < self.objective {
                self.remember(&w, &gradient);
                (*self.w, self.gradient, self.objective) = (w, gradient, objective);
                return true;
            }
            t *= 0.5;
        }
        false
    }

    fn remember(&mut self, w: &[f64], gradient: &[f64]) {
        let y: Vec<f64> = w.iter().zip(&*self.w).map(|(new, old)| new - old).collect();
        let z: Vec<f64> = gradient.iter().zip(&self.gradient).map(|(new, old)| new - old).collect();
        let curvature = dot(&y, &z);
        if curvature > 0.0 {
            self.memory.push_back(Pair { y, z, rho: 1.0 / curvature });
        }
        if self.memory.len() > MEMORY {
            self.memory.pop_front();
        }
    }

    /// -H g by the two loops.
    fn direction(&self) -> Vec<f64> {
        let mut d: Vec<f64> = self.gradient.iter().map(|g| -g).collect();
        let mut shares = Vec::with_capacity(self.memory.len());
        for Pair { y, z, rho } in self.memory.iter().rev() {
            let share = rho * dot(y, &d);
            d.iter_mut().zip(z).for_each(|(d, z)| *d -= share * z);
            shares.push(share);
        }
        if let Some(Pair { z, rho, .. }) = self.memory.back() {
            let scale = 1.0 / (rho * dot(z, z));
            d.iter_mut().for_each(|d| *d *= scale);
        }
        for (Pair { y, z, rho }, share) in self.memory.iter().zip(shares.into_iter().rev()) {
            let change = share - rho * dot(z, &d);
            d.iter_mut().zip(y).for_each(|(d, y)| *d += change * y);
        }
        d
    }
}
