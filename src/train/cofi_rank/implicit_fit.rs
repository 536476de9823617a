//! Alternating weighted least squares over all items, along a path of lambdas (Hu, Koren & Volinsky 2008).

use std::time::Instant;

use super::biases::Biases;
use super::factors::{Fit, Purpose};
use super::spec::Session;
use crate::base::{Control, Result, matrix_bytes, parallel};
use crate::data::Ratings;
use crate::learn::solve::{Factors, WeightedSquares};

/// Square matrices per thread; matrices that the threads share; rows per thread besides its pairs.
const OWN_MATRICES: usize = 1;
const SHARED_MATRICES: usize = 10;
const ROWS: usize = 512;

/// Bytes of a fit of these pairs.
fn fit_bytes(pairs: &Ratings, rank: usize) -> u64 {
    let wide = rank.next_multiple_of(8);
    let matrices = OWN_MATRICES * parallel::threads() + SHARED_MATRICES;
    let squares = matrix_bytes(matrices.saturating_mul(wide), wide);
    let rows = matrix_bytes(parallel::threads().saturating_mul(ROWS), wide);
    let factors = matrix_bytes(pairs.n_users() + pairs.n_items, rank + 2);
    let pair_bytes = matrix_bytes(pairs.len(), 2);
    [squares, rows, factors, pair_bytes].into_iter().fold(0, u64::saturating_add)
}

/// The smallest lambda at which all factors are 0.
pub(super) fn largest_lambda(pairs: &Ratings, control: &Control) -> Result<f64> {
    WeightedSquares::new(pairs).largest_lambda(control)
}

/// Fits for lambdas from small to large. Each fit starts at the factors of the one before.
pub(super) fn fit(
    session: &Session<'_>,
    pairs: &Ratings,
    lambdas: &[f64],
    mut purpose: Purpose<'_>,
) -> Result<Fit> {
    let began = Instant::now();
    let (spec, control) = (session.spec, session.control);
    let what = format_args!("fitting {} factors of users and items", spec.rank);
    let _memory = control.reserve(
        fit_bytes(pairs, spec.rank),
        what,
        "use a smaller option 'factors', fewer threads, or fewer pairs",
    )?;
    let problem = WeightedSquares::new(pairs);
    let factors = Factors::new(pairs.n_users(), pairs.n_items, spec.rank, spec.seed)?;
    // Shares of users rank for users without pairs only.
    let mut fit = Fit { biases: shares(pairs), scale: 0.0, factors, log: Vec::new(), gap: None };
    fit.improve(lambdas, spec.max_rounds, &mut purpose, began, &mut |fit, lambda| {
        problem.fit_users(&mut fit.factors, lambda, control)?;
        problem.fit_items(&mut fit.factors, lambda, control)?;
        control.step();
        Ok(problem.objective(&fit.factors, lambda))
    })?;
    Ok(fit)
}

/// For each item the fraction of users that have it.
fn shares(pairs: &Ratings) -> Biases {
    let users = pairs.n_users().max(1) as f64;
    let items = pairs.counts().into_iter().map(|count| count as f64 / users).collect();
    Biases { items, ..Biases::none(pairs) }
}
