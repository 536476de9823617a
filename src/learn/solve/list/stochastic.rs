//! Stochastic subgradients (Le, Smola, Chapelle & Teo, section 4.4 and equations 31 to 32; Shalev-Shwartz et al. 2011), for
//! convex losses and differences of convex ones.
//!
//! ```text
//! u' = u - (n c_q g_q + 2 lambda u) / (2 lambda (t + n))     g_q a subgradient of L_q(X_q w), w = w0 + u; n queries
//! v' = v + 4 (u' - v) / (t + 3)                              the average, with more weight on late points
//! ```
//!
//! The paper's step 1 / (t + c) omits lambda; 2 lambda is the strong convexity of P. With the average (Shamir & Zhang
//! 2013, eta = 3) P converges as 1 / t. The order of the queries changes with each epoch, in the same way in each run.
//! After an epoch one pass computes P at v.
//!
//! **Certificate.** The planes g_q at the points of an epoch sum to a plane below R, and averages over epochs are below
//! R too. A plane g.u + o below R gives P >= o - |g|^2 / (4 lambda). The lower bound is the larger of two: the bound
//! from the average, and P(v) - |g|^2 / (4 lambda) with g of the pass. It converges as slowly as P, so small gaps need
//! another solver.
//!
//! **Losses that are not convex** have no such planes. The only lower bound is 0, so the gap is P and certifies no
//! optimum. The result is the best of the start and the averages after each epoch. Each lambda begins at the same start.

use super::block::{add_columns_times, rows_times};
use super::{ListProblem, methods::warm_path};
use crate::base::Control;
use crate::cost::loss::Shape;
use crate::learn::solve::{ListMethod, SolverDef};
use crate::math::{Best, Method, Random, Ridge, StopRule, axpy, dot, iterate, solve_path};

const MOST_EPOCHS: u32 = 100;
/// Weight of late points in averages.
const LATE: f64 = 3.0;

pub const STOCHASTIC: SolverDef = SolverDef {
    name: "stochastic",
    pair: None,
    list: Some(ListMethod {
        shapes: &[Shape::Smooth, Shape::Convex, Shape::Difference],
        path: |problem, lambdas, rule, control| {
            let rule = StopRule { max_iterations: rule.max_iterations.min(MOST_EPOCHS), ..*rule };
            let fit = |objective, start| iterate(&rule, control, || Run::new(problem, objective, start));
            if problem.shape().is_convex() {
                warm_path(problem, lambdas, fit)
            } else {
                solve_path(lambdas, |lambda, _| fit(problem.ridge(lambda), problem.start()))
            }
        },
        bytes: |_| 0,
    }),
};

/// g.u + o
struct Plane {
    normal: Vec<f64>,
    offset: f64,
}

impl Plane {
    fn zero(dim: usize) -> Self {
        Self { normal: vec![0.0; dim], offset: 0.0 }
    }
}

/// The state of one fit.
struct Run<'p, 'a> {
    problem: &'p ListProblem<'a>,
    objective: Ridge<'p>,
    u: Vec<f64>,
    /// v
    average: Vec<f64>,
    /// t
    steps: f64,
    epochs: f64,
    /// The average of the epochs' planes.
    plane: Plane,
    /// Queries with a positive weight, in the order of the last epoch.
    order: Vec<usize>,
    random: Random,
    /// The best point and P there.
    best: (Vec<f64>, f64),
    bound: f64,
}

impl<'p, 'a> Run<'p, 'a> {
    fn new(problem: &'p ListProblem<'a>, objective: Ridge<'p>, w: Vec<f64>) -> Self {
        let u = objective.from_center(&w);
        let order = (0..problem.blocks.len()).filter(|&query| problem.blocks[query].1 > 0.0).collect();
        let mut run = Self {
            problem,
            objective,
            average: u.clone(),
            steps: 0.0,
            epochs: 0.0,
            plane: Plane::zero(u.len()),
            u,
            order,
            random: Random::new(0),
            best: (w.clone(), f64::INFINITY),
            bound: 0.0,
        };
        run.evaluate(w);
        run
    }

    /// One step for each query.
    fn epoch(&mut self) {
        // 1. The steps, in a new order. The planes sum to a plane below R.
        let mut plane = Plane::zero(self.u.len());
        let mut order = std::mem::take(&mut self.order);
        self.random.shuffle(&mut order);
        let mut w = self.objective.to_point(&self.u);
        for &query in &order {
            self.step(query, order.len() as f64, &mut w, &mut plane);
        }
        self.order = order;
        // 2. The average of the planes of all epochs gives a lower bound.
        self.epochs += 1.0;
        let rate = (LATE + 1.0) / (self.epochs + LATE);
        let average = |value: &mut f64, new: f64| *value += rate * (new - *value);
        self.plane.normal.iter_mut().zip(plane.normal).for_each(|(mean, g)| average(mean, g));
        average(&mut self.plane.offset, plane.offset);
        self.raise_bound(self.plane.offset - self.objective.gap(&self.plane.normal));
    }

    /// Records a lower bound that planes give, which are below convex losses only.
    fn raise_bound(&mut self, bound: f64) {
        if self.problem.shape().is_convex() {
            self.bound = self.bound.max(bound);
        }
    }

    /// One step from w = w0 + u. Updates w too, and adds the plane of the query.
    fn step(&mut self, query: usize, queries: f64, w: &mut [f64], plane: &mut Plane) {
        // 1. A subgradient of the weighted loss.
        let (block, weight) = self.problem.blocks[query];
        let mut scores = vec![0.0; block.n_docs()];
        let mut slope = vec![0.0; block.n_docs()];
        let mut g = vec![0.0; w.len()];
        rows_times(block.slice(), w, &mut scores);
        let value = self.problem.loss_of(query).value_and_subgradient(&scores, &mut slope);
        slope.iter_mut().for_each(|slope| *slope *= weight);
        add_columns_times(block.slice(), &slope, &mut g);
        // 2. The plane of the query.
        plane.offset += weight * value - dot(&g, &self.u);
        axpy(1.0, &g, &mut plane.normal);
        // 3. The step, for u, w and the average.
        self.steps += 1.0;
        let lambda = self.objective.lambda;
        let rate = 1.0 / (2.0 * lambda * (self.steps + queries));
        let average_rate = (LATE + 1.0) / (self.steps + LATE);
        for (index, g) in g.iter().enumerate() {
            let change = rate * (queries * g + 2.0 * lambda * self.u[index]);
            self.u[index] -= change;
            w[index] -= change;
            self.average[index] += average_rate * (self.u[index] - self.average[index]);
        }
    }

    /// Evaluates P at w for the best point and the lower bound.
    fn evaluate(&mut self, w: Vec<f64>) {
        let point = self.objective.at(w);
        self.raise_bound(point.value - self.objective.gap(&point.gradient));
        if point.value < self.best.1 {
            self.best = (point.w, point.value);
        }
    }
}

impl Method for Run<'_, '_> {
    fn best(&self) -> Best<'_> {
        Best::with_bound(&self.best.0, self.best.1, self.bound)
    }

    fn advance(&mut self, _control: &Control) -> bool {
        self.epoch();
        self.evaluate(self.objective.to_point(&self.average));
        true
    }
}
