//! U and V around the biases, for a path of lambdas.
//!
//! Rows that are 0 stay 0: with a large lambda they are a minimum, and small rows grow slowly. So the path goes from small
//! lambdas to large ones. Each fit starts at the factors of the one before.
//!
//! Scores are scale * b + v.u. For least squares scale is 1 and b is fitted again to the residuals of U and V. Other
//! losses have a margin or a temperature; their scale is the power of the root of 2 with the smallest loss without factors.

use std::time::Instant;

use super::biases::Biases;
use super::spec::Session;
use crate::base::{Result, matrix_bytes, parallel};
use crate::cost::loss::Shape;
use crate::data::Ratings;
use crate::learn::solve::{Factorization, Factors, HalfStep, KEPT_EVALUATIONS, kept_planes};
use crate::math::dot;
use crate::model::{FoldIn, MAX_STEPS};
use crate::train::algorithm::LogStep;

/// The fitted model.
pub(super) struct Fit {
    pub(super) biases: Biases,
    pub(super) scale: f64,
    pub(super) factors: Factors,
    /// After each round.
    pub(super) log: Vec<LogStep>,
    /// The relative gap of V given U; `None` if not certified.
    pub(super) gap: Option<f64>,
}

impl Fit {
    /// The score of an item for a user.
    pub(super) fn score(&self, user: usize, item: usize) -> f64 {
        self.scale * self.biases.items[item] + self.factors.product(user, item)
    }

    /// Improves the fit for each lambda by rounds, until one lowers the objective too little. `round` returns the objective.
    pub(super) fn improve(
        &mut self,
        lambdas: &[f64],
        max_rounds: usize,
        purpose: &mut Purpose<'_>,
        began: Instant,
        round: &mut dyn FnMut(&mut Self, f64) -> Result<f64>,
    ) -> Result<()> {
        for &lambda in lambdas {
            let mut before = f64::INFINITY;
            for _ in 0..max_rounds {
                let objective = round(self, lambda)?;
                self.record(objective, lambda, began);
                if before - objective <= SETTLED * objective {
                    break;
                }
                before = objective;
            }
            if let Purpose::Validation(observe) = purpose {
                observe(lambda, self)?;
            }
        }
        Ok(())
    }

    /// Adds a line to the log. The gap is relative to the objective without the penalty of U.
    fn record(&mut self, objective: f64, lambda: f64, began: Instant) {
        let user_penalty = 0.5 * lambda * dot(&self.factors.users, &self.factors.users);
        let gap = self.gap.unwrap_or(0.0) * (objective - user_penalty);
        self.log.push(LogStep { objective, gap, seconds: began.elapsed().as_secs_f64() });
    }
}

/// The purpose of a fit.
pub(super) enum Purpose<'a> {
    /// A function that gets the fit after each lambda.
    Validation(&'a mut dyn FnMut(f64, &Fit) -> Result<()>),
    /// A model: after the last round V is fitted to the tolerance.
    Model,
}

/// The rounds of a lambda end when one lowers the objective by at most this fraction.
const SETTLED: f64 = 1e-4;

/// Exponents of the root of 2.
const SCALES: std::ops::RangeInclusive<i32> = -6..=16;

/// Largest number of passes per fit of V for nonsmooth losses: in a round, and after the last one.
const PASSES: usize = 3;
const LAST_PASSES: usize = 500;

/// Vectors of a number per rating of a fit, and more for each evaluation of a loss that is kept.
const RATING_VECTORS: usize = 12;
const EVALUATION_VECTORS: usize = 2;
/// Planes per user in addition to the kept ones.
const PLANES: usize = 14;
/// Matrices as large as V that the fit of V needs.
const ITEM_MATRICES: u64 = 9;

impl Session<'_> {
    /// Bytes of a fit of these ratings.
    pub(super) fn fit_bytes(&self, ratings: &Ratings) -> u64 {
        let rank = self.spec.rank;
        let rows = matrix_bytes(ratings.n_users() + ratings.n_items, rank + 8);
        let item_bytes = matrix_bytes(ratings.n_items, rank).saturating_mul(ITEM_MATRICES);
        let longest = (0..ratings.n_users()).map(|user| ratings.of_user(user).len()).max().unwrap_or(0);
        let kept = kept_planes(&self.spec.loss, ratings);
        let planes = if kept > 0 { kept + PLANES } else { 0 };
        let user_bytes = matrix_bytes(longest + 2 * planes, rank + planes);
        let parallel_bytes = user_bytes.saturating_mul(parallel::threads() as u64);
        let products = matrix_bytes(ratings.n_users(), kept * kept);
        let evaluations = if kept > 0 { KEPT_EVALUATIONS } else { 0 };
        let vectors = RATING_VECTORS + planes + EVALUATION_VECTORS * evaluations;
        let rating_bytes = matrix_bytes(ratings.len(), vectors);
        [rows, item_bytes, parallel_bytes, rating_bytes, products].into_iter().fold(0, u64::saturating_add)
    }

    /// Fits for lambdas from small to large.
    pub(super) fn fit(&self, ratings: &Ratings, lambdas: &[f64], mut purpose: Purpose<'_>) -> Result<Fit> {
        let began = Instant::now();
        let spec = self.spec;
        let what = format_args!("fitting {} factors of users and items", spec.rank);
        let way_out = "use a smaller option 'factors', fewer threads, or give lambda as a number";
        let _memory = self.control.reserve(self.fit_bytes(ratings), what, way_out)?;
        let folding = FoldIn {
            loss: spec.loss.clone(),
            transform: self.labels,
            lambda: 1.0,
            tolerance: spec.tolerance,
        };
        let labels = folding.targets(&ratings.values);
        let biases = self.biases(ratings);
        let scale = self.scale(ratings, &labels, &biases);
        let factors = Factors::new(ratings.n_users(), ratings.n_items, spec.rank, spec.seed)?;
        let mut problem = Factorization::new(ratings, &spec.loss, &labels, biases.offsets(ratings, scale));
        let mut fit = Fit { biases, scale, factors, log: Vec::new(), gap: None };
        fit.improve(lambdas, spec.max_rounds, &mut purpose, began, &mut |fit, lambda| {
            let objective = self.round(&mut problem, lambda, fit)?;
            self.refit_biases(ratings, &labels, &mut problem, fit);
            Ok(objective)
        })?;
        if let (Purpose::Model, Some(_), Some(&lambda)) = (purpose, fit.gap, lambdas.last()) {
            let tolerance = spec.tolerance;
            let step = HalfStep { lambda, tolerance, most: LAST_PASSES };
            fit.gap = problem.fit_items(&mut fit.factors, step, self.control)?;
            fit.record(problem.objective(&fit.factors, [lambda; 2]), lambda, began);
        }
        Ok(fit)
    }

    /// Fits U and V once each and returns the objective.
    fn round(&self, problem: &mut Factorization<'_>, lambda: f64, fit: &mut Fit) -> Result<f64> {
        let tolerance = self.spec.tolerance;
        let step = HalfStep { lambda, tolerance, most: MAX_STEPS };
        let passes = if problem.smooth { MAX_STEPS } else { PASSES };
        problem.fit_users(&mut fit.factors, step, self.control)?;
        let step = HalfStep { most: passes, ..step };
        fit.gap = problem.fit_items(&mut fit.factors, step, self.control)?;
        self.control.step();
        Ok(problem.objective(&fit.factors, [lambda; 2]))
    }

    /// For least squares: fits b to the residuals of U and V.
    fn refit_biases(
        &self,
        ratings: &Ratings,
        labels: &[f64],
        problem: &mut Factorization<'_>,
        fit: &mut Fit,
    ) {
        if self.spec.biases && self.spec.loss.shape() == Shape::Quadratic {
            fit.biases = Biases::fit(ratings, &residuals(ratings, labels, &fit.factors));
            problem.offsets = fit.biases.offsets(ratings, fit.scale);
        }
    }

    fn scale(&self, ratings: &Ratings, labels: &[f64], biases: &Biases) -> f64 {
        if self.spec.loss.shape() == Shape::Quadratic || !self.spec.biases {
            return 1.0;
        }
        let none = vec![0.0; ratings.len()];
        let problem = Factorization::new(ratings, &self.spec.loss, labels, none);
        let mut best = (1.0, f64::INFINITY);
        for exponent in SCALES {
            let scale = libm::exp2(0.5 * f64::from(exponent));
            let loss = problem.loss(&biases.offsets(ratings, scale));
            if loss < best.1 {
                best = (scale, loss);
            }
        }
        best.0
    }
}

/// Labels minus the products of factors.
fn residuals(ratings: &Ratings, labels: &[f64], factors: &Factors) -> Vec<f64> {
    let mut rest = labels.to_vec();
    for user in 0..ratings.n_users() {
        for rating in ratings.of_user(user) {
            rest[rating] -= factors.product(user, ratings.items[rating] as usize);
        }
    }
    rest
}
