//! Stochastic subgradients (Le, Smola, Chapelle & Teo, section 4.4; Shalev-Shwartz et al. 2011), for convex losses.
//!
//! ```text
//! u' = u - (n c_q g_q + 2 lambda u) / (2 lambda (t + n))     g_q a subgradient of L_q(X_q w), w = w0 + u; n queries
//! v' = v + 4 (u' - v) / (t + 3)                              the average, late points counting more
//! ```
//!
//! The paper's step 1 / (t + c) leaves lambda out; 2 lambda is the strong convexity of P, and with the average (Shamir
//! & Zhang 2013, eta = 3) P falls to its minimum as 1 / t. Queries come in a new order in every epoch, always the same
//! orders. After an epoch P is computed at v in one pass.
//!
//! **Certificate.** The planes g_q at the points of an epoch, one for every query, sum up to a plane below R, and so
//! does any average of those sums; a plane g.u + o below R gives P >= o - |g|^2 / (4 lambda). That of the average is the
//! lower bound, or P(v) - |g|^2 / (4 lambda) with g of the pass where it is higher. It falls as slowly as P does: small
//! gaps are for other solvers, and the limit of [`EPOCHS`] ends a fit that asks for one.

use std::time::Instant;

use super::product::{add_columns_times, rows_times};
use super::{ListProblem, Report, along};
use crate::loss::Shape;
use crate::math::dense::dot;
use crate::math::random::Random;
use crate::solve::{Canceled, ListWork, SolveOptions, SolveReport, SolverDef, Step, Stop};

/// Most epochs.
const EPOCHS: u32 = 100;
/// How much more late points count.
const LATE: f64 = 3.0;

/// The definition.
pub const STOCHASTIC: SolverDef = SolverDef {
    name: "stochastic",
    summary: "averaged stochastic subgradients, for a rough solution of convex listwise losses in few passes",
    pair: None,
    list: Some(ListWork { shapes: &[Shape::Smooth, Shape::Convex], path }),
};

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

/// g.u + o.
#[derive(Debug, Clone)]
struct Plane {
    normal: Vec<f64>,
    offset: f64,
}

/// The state of one fit.
struct Run<'p, 'a> {
    problem: &'p ListProblem<'a>,
    lambda: f64,
    u: Vec<f64>,
    average: Vec<f64>,
    steps_made: f64,
    /// The average of the planes of the epochs.
    plane: Plane,
    order: Vec<usize>,
    random: Random,
    best: (Vec<f64>, f64),
    bound: f64,
    loss_at_start: f64,
}

impl<'p, 'a> Run<'p, 'a> {
    fn new(problem: &'p ListProblem<'a>, lambda: f64, w: Vec<f64>) -> Self {
        let u = problem.less_center(&w);
        let order = (0..problem.blocks().len()).filter(|&query| problem.blocks()[query].1 > 0.0).collect();
        let plane = Plane { normal: vec![0.0; u.len()], offset: 0.0 };
        let (steps_made, random, bound) = (0.0, Random::new(0), 0.0);
        let mut run = Self {
            problem,
            lambda,
            average: u.clone(),
            u,
            steps_made,
            plane,
            order,
            random,
            best: (w.clone(), f64::INFINITY),
            bound,
            loss_at_start: 0.0,
        };
        run.look(w);
        run.loss_at_start = run.best.1;
        run
    }

    fn run(mut self, options: &SolveOptions, canceled: Canceled<'_>) -> Report {
        let began = Instant::now();
        let mut steps = Vec::new();
        let stop = loop {
            let (objective, gap) = (self.best.1, self.gap());
            steps.push(Step { objective, gap, seconds: began.elapsed().as_secs_f64() });
            if gap <= options.allowed_gap(objective, self.loss_at_start) {
                break Stop::Converged;
            }
            if canceled() {
                break Stop::Interrupted;
            }
            if steps.len() as u32 > EPOCHS.min(options.max_iterations) {
                break Stop::IterationLimit;
            }
            self.epoch(steps.len() as f64);
            self.look(self.problem.to_point(&self.average));
        };
        let (iterations, gap) = (steps.len() as u32 - 1, self.gap());
        let (w, objective) = self.best;
        (w, SolveReport { stop, iterations, objective, gap, steps })
    }

    fn gap(&self) -> f64 {
        (self.best.1 - self.bound).max(0.0)
    }

    /// One step for every query; `number` counts epochs from 1.
    fn epoch(&mut self, number: f64) {
        let mut plane = Plane { normal: vec![0.0; self.u.len()], offset: 0.0 };
        let mut order = std::mem::take(&mut self.order);
        self.random.shuffle(&mut order);
        let mut w = self.problem.to_point(&self.u);
        for &query in &order {
            self.step(query, order.len() as f64, &mut w, &mut plane);
        }
        self.order = order;
        let share = (LATE + 1.0) / (number + LATE);
        let towards = |value: &mut f64, target: f64| *value += share * (target - *value);
        self.plane.normal.iter_mut().zip(plane.normal).for_each(|(mean, g)| towards(mean, g));
        towards(&mut self.plane.offset, plane.offset);
        self.bound = self
            .bound
            .max(self.plane.offset - dot(&self.plane.normal, &self.plane.normal) / (4.0 * self.lambda));
    }

    /// One step from w = w0 + u, which follows; adds the query's plane.
    fn step(&mut self, query: usize, queries: f64, w: &mut [f64], plane: &mut Plane) {
        let (block, weight) = self.problem.blocks()[query];
        let mut scores = vec![0.0; block.n_docs()];
        let mut slope = vec![0.0; block.n_docs()];
        let mut g = vec![0.0; w.len()];
        rows_times(block.slice(), w, &mut scores);
        let value = self.problem.loss_of(query).value_and_subgradient(&scores, &mut slope);
        slope.iter_mut().for_each(|slope| *slope *= weight);
        add_columns_times(block.slice(), &slope, &mut g);
        plane.offset += weight * value - dot(&g, &self.u);
        plane.normal.iter_mut().zip(&g).for_each(|(sum, g)| *sum += g);
        self.steps_made += 1.0;
        let rate = 1.0 / (2.0 * self.lambda * (self.steps_made + queries));
        let share = (LATE + 1.0) / (self.steps_made + LATE);
        for (place, g) in g.iter().enumerate() {
            let change = rate * (queries * g + 2.0 * self.lambda * self.u[place]);
            self.u[place] -= change;
            w[place] -= change;
            self.average[place] += share * (self.u[place] - self.average[place]);
        }
    }

    /// P at w.
    fn look(&mut self, w: Vec<f64>) {
        let mut gradient = vec![0.0; w.len()];
        let objective = self.problem.objective(self.lambda, &w, &mut gradient);
        self.bound = self.bound.max(objective - dot(&gradient, &gradient) / (4.0 * self.lambda));
        if objective < self.best.1 {
            self.best = (w, objective);
        }
    }
}
