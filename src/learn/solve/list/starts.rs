//! Starts of solvers for losses that are not convex.
//!
//! | start | |
//! |---|---|
//! | the center of the penalty, otherwise the given start, otherwise 0 | the default start |
//! | the least-squares function of what documents are worth to the measure (Le, Smola, Chapelle & Teo, algorithm 2) | with the same lambda |
//! | random directions, and random changes of the best solution | as many as small problems can afford |
//!
//! **Length.** The risk depends on the length of w, and a start of a wrong length may be a flat part of the risk. A start is
//! multiplied by the factor t of least P(t w). Trials need no new products X w.

use super::ListProblem;
use crate::base::control::Control;
use crate::cost::loss::{Shape, least_squares};
use crate::math::dense::dot;
use crate::math::optim::vector::norm;
use crate::math::optim::{Objective, StopRule, lbfgs};
use crate::math::random::Random;

/// Most L-BFGS iterations of a regression. A start need not be exact.
const REGRESSION: StopRule = StopRule { tolerance: 1e-3, max_iterations: 50 };
/// Trials of a length: standard deviations of scores 2^-6, 2^-5, ..., 2^8.
const LENGTHS: std::ops::RangeInclusive<i32> = -6..=8;
/// Random starts: so many that starts times numbers of all documents stay below the first, and at most the second.
const RANDOM_NUMBERS: usize = 60_000;
const MOST_RANDOM_STARTS: usize = 16;
/// Trials between the best length and its neighbors.
const REFINEMENTS: u32 = 3;

/// A point with its image and P.
#[derive(Debug, Clone)]
pub(super) struct Candidate {
    pub w: Vec<f64>,
    pub image: Vec<f64>,
    pub objective: f64,
}

impl Candidate {
    /// The best of w and its multiples.
    pub fn on_ray(problem: &ListProblem<'_>, lambda: f64, w: Vec<f64>) -> Self {
        let image = problem.image(&w);
        let (t, objective) = Ray::new(problem, lambda, &w, &image).minimum();
        let scaled = |values: Vec<f64>| values.into_iter().map(|value| t * value).collect();
        Self { w: scaled(w), image: scaled(image), objective }
    }
}

/// P(t w).
struct Ray<'p, 'a> {
    problem: &'p ListProblem<'a>,
    lambda: f64,
    image: &'p [f64],
    zero: Vec<f64>,
    /// |w|^2, w.w0 and |w0|^2
    penalty: [f64; 3],
}

impl<'p, 'a> Ray<'p, 'a> {
    fn new(problem: &'p ListProblem<'a>, lambda: f64, w: &[f64], image: &'p [f64]) -> Self {
        let center = problem.center();
        let penalty = [dot(w, w), center.map_or(0.0, |w0| dot(w, w0)), center.map_or(0.0, |w0| dot(w0, w0))];
        Self { problem, lambda, image, zero: vec![0.0; image.len()], penalty }
    }

    fn value(&self, t: f64) -> f64 {
        let (risk, _) = self.problem.value_on_line(&self.zero, self.image, t);
        let [ww, wc, cc] = self.penalty;
        risk + self.lambda * (t * t * ww - 2.0 * t * wc + cc)
    }

    /// t of the least P among the trials, with P.
    fn minimum(&self) -> (f64, f64) {
        let deviation = spread(self.problem, self.image);
        let mut best = (1.0, self.value(1.0));
        if !(deviation > 0.0 && deviation.is_finite()) {
            return best;
        }
        let mut consider = |t: f64| {
            let value = self.value(t);
            if value < best.1 {
                best = (t, value);
            }
            best
        };
        let mut center = (1.0, f64::INFINITY);
        for power in LENGTHS {
            center = consider(libm::exp2(f64::from(power)) / deviation);
        }
        for refinement in 1..=REFINEMENTS {
            let step = libm::exp2(0.5_f64.powi(refinement as i32));
            let middle = center.0;
            consider(middle * step);
            center = consider(middle / step);
        }
        center
    }
}

/// Standard deviation of the scores minus their means in the query.
pub(super) fn spread(problem: &ListProblem<'_>, scores: &[f64]) -> f64 {
    let squares = problem.map_losses(scores, |_, scores| {
        let mean = scores.iter().sum::<f64>() / scores.len() as f64;
        scores.iter().map(|score| (score - mean) * (score - mean)).sum::<f64>()
    });
    (squares.iter().sum::<f64>() / scores.len().max(1) as f64).sqrt()
}

/// The least-squares function of what documents are worth; `None` if the loss does not tell.
pub(super) fn regression_on_worth(
    problem: &ListProblem<'_>,
    lambda: f64,
    control: &Control,
) -> Option<Vec<f64>> {
    let squared = least_squares();
    let losses = (0..problem.blocks().len())
        .map(|query| problem.loss_of(query).worth().map(|worth| squared.prepare(worth, &[])));
    let losses = losses.collect::<Vec<_>>();
    if losses.is_empty() || losses.iter().any(Option::is_none) {
        return None;
    }
    let problem = problem.without_center().with_losses(losses, Shape::Quadratic);
    let zero = vec![0.0; problem.dim()];
    Some(lbfgs::minimize(&problem.ridge(lambda), zero, &REGRESSION, control).w)
}

/// How many random starts a problem can afford.
pub(super) fn random_starts(problem: &ListProblem<'_>) -> usize {
    let numbers = problem.documents() * problem.dim();
    RANDOM_NUMBERS.checked_div(numbers).unwrap_or(0).min(MOST_RANDOM_STARTS)
}

/// A random direction; every second one is that of `near`, changed.
pub(super) fn random_direction(random: &mut Random, near: &[f64], number: usize) -> Vec<f64> {
    let mut w: Vec<f64> = near.iter().map(|_| random.symmetric()).collect();
    let (size, length) = (norm(near), norm(&w));
    if number % 2 == 1 && size > 0.0 {
        w.iter_mut().zip(near).for_each(|(w, near)| *w = *w / length + near / size);
    }
    w
}
