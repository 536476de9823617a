//! Newton's method with conjugate gradients (Steihaug 1983; Nocedal & Wright 2006, algorithm 7.1) for smooth losses.
//!
//! ```text
//! H d = -g    H = X'L''X + 2 lambda I, by products with vectors, until |H d + g| <= min(0.1, sqrt(|g| / |g_0|)) |g|
//! w' = w + t d      t by halving until P(w') <= P(w) + 1e-4 t g.d, from t = 1
//! P(w) - min P <= |g|^2 / (4 lambda)
//! ```
//!
//! A product is a pass over the documents.

use std::time::Instant;

use super::pass::PerDocument;
use super::{ListProblem, Report, along};
use crate::loss::Shape;
use crate::math::dense::dot;
use crate::solve::{Canceled, ListWork, SolveOptions, SolveReport, Step, Stop};

/// Least share of the decrease that the slope promises.
const ARMIJO: f64 = 1e-4;
/// Rise of the objective, relative, that is rounding.
const ROUNDING: f64 = 1e-14;
/// Most halvings of one step.
const MOST_HALVINGS: u32 = 30;
/// Most products for one step.
const MOST_PRODUCTS: usize = 250;

/// Its work.
pub const NEWTON: ListWork = ListWork { shapes: &[Shape::Quadratic, Shape::Smooth], path };

fn path(
    problem: &ListProblem<'_>,
    lambdas: &[f64],
    options: &SolveOptions,
    canceled: &(dyn Fn() -> bool + Sync),
) -> Vec<Report> {
    along(lambdas, |lambda, before| {
        let w = before.map_or_else(|| problem.beginning(), |(w, _)| w.clone());
        Run::new(problem, lambda, w).run(options, canceled)
    })
}

/// The state of one fit.
struct Run<'p, 'a> {
    problem: &'p ListProblem<'a>,
    lambda: f64,
    w: Vec<f64>,
    gradient: Vec<f64>,
    objective: f64,
    first_gradient: f64,
    loss_at_start: f64,
    began: Instant,
    steps: Vec<Step>,
}

impl<'p, 'a> Run<'p, 'a> {
    fn new(problem: &'p ListProblem<'a>, lambda: f64, w: Vec<f64>) -> Self {
        let began = Instant::now();
        let mut gradient = vec![0.0; problem.dim()];
        let objective = problem.objective(lambda, &w, &mut gradient);
        let first_gradient = dot(&gradient, &gradient).sqrt();
        let (loss_at_start, steps) = (objective, Vec::new());
        Self { problem, lambda, w, gradient, objective, first_gradient, loss_at_start, began, steps }
    }

    fn run(mut self, options: &SolveOptions, canceled: Canceled<'_>) -> Report {
        let stop = loop {
            let gap = self.gap();
            let seconds = self.began.elapsed().as_secs_f64();
            self.steps.push(Step { objective: self.objective, gap, seconds });
            if gap <= options.allowed_gap(self.objective, self.loss_at_start) {
                break Stop::Converged;
            }
            if canceled() {
                break Stop::Interrupted;
            }
            if self.steps.len() > options.max_iterations as usize {
                break Stop::IterationLimit;
            }
            if !self.step(canceled) {
                break if canceled() { Stop::Interrupted } else { Stop::Stalled };
            }
        };
        let (iterations, gap) = (self.steps.len() as u32 - 1, self.gap());
        let report = SolveReport { stop, iterations, objective: self.objective, gap, steps: self.steps };
        (self.w, report)
    }

    fn gap(&self) -> f64 {
        dot(&self.gradient, &self.gradient) / (4.0 * self.lambda)
    }

    /// Goes one step down; false where no step does.
    fn step(&mut self, canceled: Canceled<'_>) -> bool {
        let d = self.direction(canceled);
        let slope = dot(&d, &self.gradient);
        let before = dot(&self.gradient, &self.gradient);
        let mut t = 1.0;
        for _ in 0..MOST_HALVINGS {
            let w: Vec<f64> = self.w.iter().zip(&d).map(|(w, d)| w + t * d).collect();
            let mut gradient = vec![0.0; w.len()];
            let objective = self.problem.objective(self.lambda, &w, &mut gradient);
            let equal = objective <= self.objective + ROUNDING * self.objective.abs();
            let falls = objective <= self.objective + ARMIJO * t * slope && objective < self.objective;
            if falls || (equal && dot(&gradient, &gradient) < before) {
                (self.w, self.gradient, self.objective) = (w, gradient, objective);
                return true;
            }
            t *= 0.5;
        }
        false
    }

    /// d with H d = -g, about.
    fn direction(&self, canceled: Canceled<'_>) -> Vec<f64> {
        let scores = self.problem.scores(&self.w);
        let size = dot(&self.gradient, &self.gradient).sqrt();
        let enough = size * (size / self.first_gradient).sqrt().min(0.1);
        let mut d = vec![0.0; self.w.len()];
        let mut residual: Vec<f64> = self.gradient.iter().map(|g| -g).collect();
        let mut p = residual.clone();
        let mut square = dot(&residual, &residual);
        for _ in 0..MOST_PRODUCTS {
            let product = self.product(&scores, &p);
            let share = square / dot(&p, &product);
            d.iter_mut().zip(&p).for_each(|(d, p)| *d += share * p);
            residual.iter_mut().zip(&product).for_each(|(r, product)| *r -= share * product);
            let next = dot(&residual, &residual);
            if next.sqrt() <= enough || canceled() {
                break;
            }
            p.iter_mut().zip(&residual).for_each(|(p, r)| *p = r + next / square * *p);
            square = next;
        }
        d
    }

    /// H p at these scores.
    fn product(&self, scores: &PerDocument, p: &[f64]) -> Vec<f64> {
        let mut product = self.problem.hessian_times(scores, p);
        product.iter_mut().zip(p).for_each(|(product, p)| *product += 2.0 * self.lambda * p);
        product
    }
}
