//! Limited-memory BFGS (Nocedal 1980; Nocedal & Wright 2006, algorithms 7.4 and 7.5) for smooth losses.
//!
//! ```text
//! d = -H g          H from the last m steps y = w' - w and changes of gradient z = g' - g
//! w' = w + t d      t = 1 or by bisection (Lewis & Overton 2013) until, with the slope g.d at w and g'.d at w',
//!                   P(w') <= P(w) + 1e-4 t g.d and g'.d >= 0.9 g.d (Wolfe)
//! P(w) - min P <= |g|^2 / (4 lambda)
//! ```
//!
//! Near the minimum the first condition drowns in rounding; there (0.0002 - 1) g.d >= g'.d stands for it (Hager & Zhang
//! 2005). Nothing but the certificate needs a convex loss, and the steps bear edges of the loss: `annealed` uses both.

use std::collections::VecDeque;
use std::time::Instant;

use super::annealed;
use super::{ListProblem, Report};
use crate::loss::Shape;
use crate::math::dense::dot;
use crate::solve::{Canceled, ListWork, SolveOptions, SolveReport, SolverDef, Step, Stop};

/// Steps remembered, m.
const MEMORY: usize = 20;
/// Least share of the decrease that the slope promises.
const ARMIJO: f64 = 1e-4;
/// Largest share of the slope that is left.
const WOLFE: f64 = 0.9;
/// Rise of the objective, relative, that is rounding.
const ROUNDING: f64 = 1e-14;
/// Most trials of one step.
const MOST_TRIALS: u32 = 50;

/// The definition.
pub const LBFGS: SolverDef = SolverDef {
    name: "lbfgs",
    summary: "limited-memory BFGS for smooth listwise losses and, by annealing, for their limits",
    pair: None,
    list: Some(ListWork { shapes: &[Shape::Quadratic, Shape::Smooth, Shape::Annealed], path }),
};

fn path(
    problem: &ListProblem<'_>,
    lambdas: &[f64],
    options: &SolveOptions,
    canceled: &(dyn Fn() -> bool + Sync),
) -> Vec<Report> {
    if problem.shape() == Shape::Annealed {
        return annealed::path(problem, lambdas, options, canceled);
    }
    solve_from(problem, problem.beginning(), lambdas, options, canceled)
}

/// Solves a smooth problem for each lambda, the first from w on, every other one from the one before.
pub(super) fn solve_from(
    problem: &ListProblem<'_>,
    mut w: Vec<f64>,
    lambdas: &[f64],
    options: &SolveOptions,
    canceled: Canceled<'_>,
) -> Vec<Report> {
    let mut fits = Vec::with_capacity(lambdas.len());
    for &lambda in lambdas {
        let report = Run::new(problem, lambda, &mut w).run(options, canceled);
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

/// A point with P and its gradient.
struct Point {
    w: Vec<f64>,
    gradient: Vec<f64>,
    objective: f64,
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

    fn run(mut self, options: &SolveOptions, canceled: Canceled<'_>) -> SolveReport {
        let stop = loop {
            let gap = self.gap();
            let seconds = self.began.elapsed().as_secs_f64();
            self.steps.push(Step { objective: self.objective, gap, seconds });
            if gap <= options.allowed_gap(self.objective, self.loss_at_zero) {
                break Stop::Converged;
            }
            if canceled() {
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
        let (mut low, mut high) = (0.0, f64::INFINITY);
        // The best trial that falls far enough, for a bracket that closes on an edge.
        let mut fallen: Option<Point> = None;
        for _ in 0..MOST_TRIALS {
            let trial = self.trial(t, &d);
            let left = dot(&d, &trial.gradient);
            if !self.falls(&trial, t, slope, left) {
                high = t;
            } else if left < WOLFE * slope {
                low = t;
                fallen = Some(trial);
            } else {
                self.go(trial);
                return true;
            }
            t = if high.is_finite() { 0.5 * (low + high) } else { 2.0 * low };
        }
        fallen.map(|point| self.go(point)).is_some()
    }

    fn trial(&self, t: f64, d: &[f64]) -> Point {
        let w: Vec<f64> = self.w.iter().zip(d).map(|(w, d)| w + t * d).collect();
        let mut gradient = vec![0.0; w.len()];
        let objective = self.problem.objective(self.lambda, &w, &mut gradient);
        Point { w, gradient, objective }
    }

    /// Whether a trial lies low enough; `left` is the slope there.
    fn falls(&self, trial: &Point, t: f64, slope: f64, left: f64) -> bool {
        let by_value =
            trial.objective <= self.objective + ARMIJO * t * slope && trial.objective < self.objective;
        let equal = trial.objective <= self.objective + ROUNDING * self.objective.abs();
        by_value || (equal && left <= (2.0 * ARMIJO - 1.0) * slope)
    }

    fn go(&mut self, Point { w, gradient, objective }: Point) {
        self.remember(&w, &gradient);
        (*self.w, self.gradient, self.objective) = (w, gradient, objective);
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
