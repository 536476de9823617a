//! Least squares and convex losses with the penalty lambda |w|_1 (Tibshirani 1996), which makes weights exactly 0.
//!
//! ```text
//! min_w P(w) = R(w) + lambda |w|_1
//! ```
//!
//! **Least squares**, R(w) = |Z w - t|^2 / 2 with A = Z'Z and b = Z't (`gram`): coordinate descent (Friedman, Hastie &
//! Tibshirani 2010). A round visits all weights, then those that are not 0 several times. Then it makes a Newton step on
//! these, up to the first one that becomes 0; without it, correlated features would take many rounds.
//!
//! A multiple s r of the residuals r = t - Z w with |Z's r|_j <= lambda gives the lower bound
//!
//! ```text
//! D(s) = s t'r - s^2 |r|^2 / 2 = s (2 R(w) - w.g) - s^2 R(w),     g = -Z'r the gradient of R at w
//! ```
//!
//! for which a pass over the documents computes R and g. **Convex losses** have cutting planes
//! (`optim::cutting_planes::l1`). Both ignore the center and the start of a problem.

use super::ListProblem;
use super::gram::Gram;
use crate::base::control::{Control, Ticks};
use crate::base::error::{Error, Result};
use crate::cost::loss::Shape;
use crate::learn::solve::check;
use crate::math::cholesky;
use crate::math::dense::dot;
use crate::math::lanes;
use crate::math::lanes::{LANES, Lanes};
use crate::math::optim::cutting_planes::l1::{minimize_path, sum_of_absolutes};
use crate::math::optim::vector::axpy;
use crate::math::optim::{Best, Method, Objective, Point, Solution, StopRule, iterate, solve_path};

/// Most visits of the weights that are not 0 in a round.
const MOST_SWEEPS: usize = 20;
/// The visits end at a change of the scores of this size, relative to the first.
const SMALL_CHANGE: f64 = 1e-3;
/// Most weights of a Newton step. Its cost is their third power.
const MOST_NEWTON_WEIGHTS: usize = 500;

/// Solves the problem with the penalty lambda |w|_1 for each of `lambdas`, best ordered from large to small. An
/// interrupted path ends with the interrupted solution.
///
/// # Errors
/// A lambda out of range; a loss that is not least squares and has no cutting planes.
pub fn path(
    problem: &ListProblem<'_>,
    lambdas: &[f64],
    rule: &StopRule,
    control: &Control,
) -> Result<Vec<Solution>> {
    lambdas.iter().try_for_each(|&lambda| check::lambda(lambda))?;
    match problem.shape() {
        Shape::Quadratic => squares_path(problem, lambdas, rule, control),
        Shape::Convex => Ok(minimize_path(problem, vec![0.0; problem.dim()], lambdas, rule, control)),
        _ => Err(Error::Unsupported(format!(
            "an L1 penalty is for least squares and convex bounds, not for the loss '{}'",
            problem.loss().def().name
        ))),
    }
}

/// The lambda from which on w = 0 is optimal: the largest slope of R at 0. If R has several subgradients there, an upper
/// bound of it.
pub fn largest_lambda(problem: &ListProblem<'_>) -> f64 {
    let slopes = Point::of_risk(problem, vec![0.0; problem.dim()]).gradient;
    largest(&slopes)
}

fn largest(values: &[f64]) -> f64 {
    values.iter().fold(0.0, |most: f64, value| most.max(value.abs()))
}

fn squares_path(
    problem: &ListProblem<'_>,
    lambdas: &[f64],
    rule: &StopRule,
    control: &Control,
) -> Result<Vec<Solution>> {
    let gram = Gram::of(problem.dim(), problem.blocks())?;
    let (a, b) = (gram.matrix(), gram.right());
    Ok(solve_path(lambdas, |lambda, previous| {
        let w = previous.map_or_else(|| vec![0.0; problem.dim()], |solution| solution.w.clone());
        iterate(rule, control, || Descent::new(problem, [&a, &b], lambda, w))
    }))
}

/// Coordinate descent.
struct Descent<'p> {
    risk: &'p dyn Objective,
    lambda: f64,
    /// A (b, b) and b.
    a: &'p [f64],
    b: &'p [f64],
    w: Vec<f64>,
    /// A w - b, the gradient of R.
    slope: Vec<f64>,
    /// The best point and P there.
    best: (Vec<f64>, f64),
    bound: f64,
}

/// Which weights a sweep visits.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Visited {
    All,
    /// Those that are not 0.
    Active,
}

impl<'p> Descent<'p> {
    fn new(risk: &'p dyn Objective, [a, b]: [&'p [f64]; 2], lambda: f64, w: Vec<f64>) -> Self {
        let slope = b.iter().map(|b| -b).collect();
        let mut descent =
            Self { risk, lambda, a, b, w, slope, best: (Vec::new(), f64::INFINITY), bound: 0.0 };
        descent.refresh_slope();
        descent.evaluate();
        descent
    }

    fn row(&self, feature: usize) -> &'p [f64] {
        &self.a[feature * self.w.len()..(feature + 1) * self.w.len()]
    }

    /// The features whose weights are not 0.
    fn active(&self) -> Vec<usize> {
        (0..self.w.len()).filter(|&feature| self.w[feature].abs() > 0.0).collect()
    }

    /// Computes A w - b anew, because updates accumulate rounding.
    fn refresh_slope(&mut self) {
        let mut slope: Vec<f64> = self.b.iter().map(|b| -b).collect();
        let mut ticks = Ticks::default();
        for feature in self.active() {
            ticks.add(self.w.len());
            axpy(self.w[feature], self.row(feature), &mut slope);
        }
        self.slope = slope;
    }

    /// Minimizes P over each visited weight in turn. Returns the largest change of a weight, in units of scores.
    fn sweep(&mut self, visited: Visited) -> f64 {
        let (mut most, mut ticks) = (0.0_f64, Ticks::default());
        for feature in 0..self.w.len() {
            let (row, old) = (self.row(feature), self.w[feature]);
            let curvature = row[feature];
            if curvature <= 0.0 || (visited == Visited::Active && old.abs() <= 0.0) {
                continue;
            }
            let target = old * curvature - self.slope[feature];
            let new = target.signum() * (target.abs() - self.lambda).max(0.0) / curvature;
            let change = new - old;
            if change.abs() > 0.0 {
                ticks.add(self.w.len());
                self.w[feature] = new;
                axpy(change, row, &mut self.slope);
                most = (change.abs() * curvature.sqrt()).max(most);
            }
        }
        most
    }

    /// A Newton step on the weights that are not 0, up to the first one that becomes 0.
    fn newton_step(&mut self) {
        let active = self.active();
        if active.is_empty() || active.len() > MOST_NEWTON_WEIGHTS {
            return;
        }
        // 1. The system A d = -(slope + lambda sign w) of these weights.
        let width = lanes::blocks_for(active.len());
        let mut h = vec![Lanes::ZERO; LANES * width * width];
        for (i, &feature) in active.iter().enumerate() {
            let row = self.row(feature);
            for (j, &other) in active.iter().enumerate().skip(i) {
                *lanes::get_mut(&mut h[i * width..], j) = row[other];
            }
        }
        let right = active.iter().map(|&j| -(self.slope[j] + self.lambda * self.w[j].signum()));
        let mut step = lanes::from_slice(&right.collect::<Vec<f64>>());
        if !cholesky::factor_and_solve(&mut h, active.len(), &mut step) {
            return;
        }
        let step = lanes::to_vec(&step, active.len());
        if !step.iter().all(|step| step.is_finite()) {
            return;
        }
        // 2. The first weight that becomes 0.
        let (mut length, mut first) = (1.0, None);
        for (&feature, step) in active.iter().zip(&step) {
            let reaches = -self.w[feature] / step;
            if reaches > 0.0 && reaches < length {
                (length, first) = (reaches, Some(feature));
            }
        }
        active.iter().zip(&step).for_each(|(&feature, step)| self.w[feature] += length * step);
        if let Some(feature) = first {
            self.w[feature] = 0.0;
        }
    }

    /// Evaluates P at w for the best point, and the lower bound of its residuals.
    fn evaluate(&mut self) {
        let Point { value: risk, gradient, .. } = Point::of_risk(self.risk, self.w.clone());
        let objective = risk + self.lambda * sum_of_absolutes(&self.w);
        let linear = 2.0 * risk - dot(&self.w, &gradient);
        let limit = self.lambda / largest(&gradient).max(f64::MIN_POSITIVE);
        let scale = if risk > 0.0 { (linear / (2.0 * risk)).clamp(-limit, limit) } else { 0.0 };
        self.bound = self.bound.max(scale * (linear - scale * risk));
        if objective < self.best.1 {
            self.best = (self.w.clone(), objective);
        }
    }
}

impl Method for Descent<'_> {
    const PATIENCE: usize = 50;

    fn best(&self) -> Best<'_> {
        Best::with_bound(&self.best.0, self.best.1, self.bound)
    }

    fn advance(&mut self, _control: &Control) -> bool {
        let first = self.sweep(Visited::All);
        for _ in 0..MOST_SWEEPS {
            if self.sweep(Visited::Active) <= SMALL_CHANGE * first {
                break;
            }
        }
        self.newton_step();
        self.refresh_slope();
        self.evaluate();
        true
    }
}
