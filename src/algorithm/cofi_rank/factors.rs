//! U and V around the biases, along a path of lambdas.
//!
//! Rows that are 0 stay 0: where lambda is large they are a minimum, and small rows grow slowly. So the path goes from
//! small lambdas to large ones, each from the factors of the one before.
//!
//! Scores are scale * b + v.u. For least squares scale is 1 and b is fitted again to what U and V leave over. For other
//! losses, which have a margin or a temperature, scale is the power of the root of 2 with the least loss, factors left
//! aside.

use std::time::Instant;

use super::Session;
use super::biases::Biases;
use crate::data::Ratings;
use crate::error::Result;
use crate::loss::Shape;
use crate::model::{FoldIn, MAX_STEPS};
use crate::solve::{Factorization, Factors, HalfStep};

/// What is fitted.
pub(super) struct Fit {
    pub(super) biases: Biases,
    pub(super) scale: f64,
    pub(super) factors: Factors,
    /// Objective and seconds after each epoch.
    pub(super) log: Vec<(f64, f64)>,
}

impl Fit {
    /// The score of an item for a user.
    pub(super) fn score(&self, user: usize, item: usize) -> f64 {
        self.scale * self.biases.items[item] + self.factors.product(user, item)
    }
}

/// The epochs of a lambda end when one lowers the objective by no more than this share.
const SETTLED: f64 = 1e-4;

/// Exponents of the root of 2.
const SCALES: std::ops::RangeInclusive<i32> = -6..=16;

impl Session<'_> {
    /// Fits for lambdas from small to large; `watch` sees the fit after each.
    pub(super) fn fit(
        &self,
        ratings: &Ratings,
        lambdas: &[f64],
        watch: &mut dyn FnMut(f64, &Fit) -> Result<()>,
    ) -> Result<Fit> {
        let began = Instant::now();
        let choices = self.choices;
        let folding = FoldIn {
            loss: choices.loss.clone(),
            transform: self.labels,
            lambda: 1.0,
            tolerance: choices.tolerance,
        };
        let labels = folding.targets(&ratings.values);
        let biases = self.biases(ratings);
        let scale = self.scale(ratings, &labels, &biases);
        let factors = Factors::new(ratings.n_users(), ratings.n_items, choices.rank, self.recipe.seed);
        let mut problem = Factorization::new(ratings, &choices.loss, &labels, biases.offsets(ratings, scale));
        let mut fit = Fit { biases, scale, factors, log: Vec::new() };
        for &lambda in lambdas {
            let mut before = f64::INFINITY;
            for _ in 0..choices.epochs {
                let objective = self.epoch(&mut problem, lambda, &mut fit)?;
                self.refit_biases(ratings, &labels, &mut problem, &mut fit);
                fit.log.push((objective, began.elapsed().as_secs_f64()));
                if before - objective <= SETTLED * objective {
                    break;
                }
                before = objective;
            }
            watch(lambda, &fit)?;
        }
        Ok(fit)
    }

    /// Fits U and V once each; answers with the objective.
    fn epoch(&self, problem: &mut Factorization<'_>, lambda: f64, fit: &mut Fit) -> Result<f64> {
        let step = HalfStep { lambda, tolerance: self.choices.tolerance, most: MAX_STEPS };
        problem.fit_users(&mut fit.factors, step, self.control)?;
        problem.fit_items(&mut fit.factors, step, self.control)?;
        self.control.step();
        Ok(problem.objective(&fit.factors, [lambda; 2]))
    }

    /// For least squares: b of what U and V leave over.
    fn refit_biases(
        &self,
        ratings: &Ratings,
        labels: &[f64],
        problem: &mut Factorization<'_>,
        fit: &mut Fit,
    ) {
        if self.choices.biases && self.choices.loss.shape() == Shape::Quadratic {
            fit.biases = Biases::fit(ratings, &left_over(ratings, labels, &fit.factors));
            problem.set_offsets(fit.biases.offsets(ratings, fit.scale));
        }
    }

    fn scale(&self, ratings: &Ratings, labels: &[f64], biases: &Biases) -> f64 {
        if self.choices.loss.shape() == Shape::Quadratic || !self.choices.biases {
            return 1.0;
        }
        let none = vec![0.0; ratings.len()];
        let problem = Factorization::new(ratings, &self.choices.loss, labels, none);
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

/// Labels less the products of factors.
fn left_over(ratings: &Ratings, labels: &[f64], factors: &Factors) -> Vec<f64> {
    let mut rest = labels.to_vec();
    for user in 0..ratings.n_users() {
        for rating in ratings.of_user(user) {
            rest[rating] -= factors.product(user, ratings.items[rating] as usize);
        }
    }
    rest
}
