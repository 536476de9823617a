//! Biases: how much users like what they rate, and how much an item is liked.
//!
//! ```text
//! t_ui = mean + a_u + b_i + noise,     t the target of a rating, n_i ratings of item i
//!
//! a_u = sum_i (t_ui - mean - b_i) / (n_u + k_u)
//! b_i = (sum_u (t_ui - mean - a_u) + k m_i) / (n_i + k),     m_i = beta (log(1 + n_i) - centre)
//! ```
//!
//! The bias of an item is its mean, freed from the habits of its users and shrunk as by k more ratings of m_i. What many
//! have rated is liked better, so m_i grows with n_i; beta comes from weighted least squares over the items, and `centre`
//! is the mean of log(1 + n_i) over ratings. The equations are solved in turn. k is chosen from
//! a grid on held-out ratings, with caution.

use rayon::prelude::*;

use super::choice::Folds;
use crate::control::Control;
use crate::data::Ratings;
use crate::error::Result;
use crate::metric::Metric;
use crate::select::{best, cautious};

/// Rounds of solving the equations in turn.
const ROUNDS: usize = 15;
/// k_u. Users have more ratings than items, and rankings hardly depend on it.
const USER_SHRINKAGE: f64 = 8.0;
/// The grid of k, largest first. It ends at 10: held-out lists of a few
/// items say too little about long ones, which items of few ratings lead where k is small.
const GRID: &[f64] = &[40.0, 28.0, 20.0, 14.0, 10.0];

/// Fitted biases.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Biases {
    pub(super) mean: f64,
    pub(super) users: Vec<f64>,
    pub(super) items: Vec<f64>,
    /// Of an item without ratings.
    pub(super) unknown: f64,
    /// k
    pub(super) shrinkage: f64,
}

impl Biases {
    /// No biases.
    pub(super) fn none(ratings: &Ratings) -> Self {
        let (users, items) = (vec![0.0; ratings.n_users()], vec![0.0; ratings.n_items]);
        Self { mean: 0.0, users, items, unknown: 0.0, shrinkage: 0.0 }
    }

    /// The biases of ratings with these targets.
    pub(super) fn fit(ratings: &Ratings, targets: &[f64], shrinkage: f64) -> Self {
        let counts: Vec<f64> = ratings.counts().into_iter().map(|count| count as f64).collect();
        let n = targets.len().max(1) as f64;
        let mean = targets.iter().sum::<f64>() / n;
        let centre = counts.iter().map(|count| count * libm::log1p(*count)).sum::<f64>() / n;
        let popularity: Vec<f64> = counts.iter().map(|count| libm::log1p(*count) - centre).collect();
        let mut biases = Self { mean, shrinkage, ..Self::none(ratings) };
        for _ in 0..ROUNDS {
            biases.fit_users(ratings, targets);
            let beta = biases.fit_items(ratings, targets, &counts, &popularity);
            biases.unknown = -beta * centre;
        }
        biases
    }

    fn fit_users(&mut self, ratings: &Ratings, targets: &[f64]) {
        for user in 0..ratings.n_users() {
            let range = ratings.of_user(user);
            let n = range.len() as f64 + USER_SHRINKAGE;
            let rest = |rating| targets[rating] - self.mean - self.items[ratings.items[rating] as usize];
            self.users[user] = range.map(rest).sum::<f64>() / n.max(1.0);
        }
    }

    /// Fits b and answers with beta.
    fn fit_items(&mut self, ratings: &Ratings, targets: &[f64], counts: &[f64], popularity: &[f64]) -> f64 {
        let k = self.shrinkage;
        let mut sums = vec![0.0; ratings.n_items];
        for user in 0..ratings.n_users() {
            for rating in ratings.of_user(user) {
                sums[ratings.items[rating] as usize] += targets[rating] - self.mean - self.users[user];
            }
        }
        let (mut square, mut product) = (0.0, 0.0);
        for ((count, sum), x) in counts.iter().zip(&sums).zip(popularity) {
            let weight = k / (count + k);
            square += weight * count * x * x;
            product += weight * x * sum;
        }
        let beta = if square > 0.0 { product / square } else { 0.0 };
        for (item, bias) in self.items.iter_mut().enumerate() {
            *bias = (sums[item] + k * beta * popularity[item]) / (counts[item] + k);
        }
        beta
    }

    /// b, one per rating, times a factor.
    pub(super) fn offsets(&self, ratings: &Ratings, factor: f64) -> Vec<f64> {
        ratings.items.iter().map(|&item| factor * self.items[item as usize]).collect()
    }
}

/// The largest shrinkage under which held-out ratings are ranked as well as under the best one, but for one standard
/// error. Squared errors would choose a smaller one: they are mostly those of items with many ratings, while a list begins
/// with items of few ratings where these are shrunk too little.
///
/// # Errors
/// An interruption.
pub(super) fn choose(
    ratings: &Ratings,
    targets: &[f64],
    folds: &Folds,
    metric: &Metric,
    control: &Control,
) -> Result<f64> {
    let trials: Vec<Trial> =
        (0..folds.number).map(|fold| Trial::new(ratings, targets, folds, fold)).collect();
    let of_users = |shrinkage: &f64| -> Result<Vec<f64>> {
        control.check()?;
        let mut values = vec![0.0; ratings.n_users()];
        trials.iter().for_each(|trial| trial.add_values(ratings, *shrinkage, metric, &mut values));
        Ok(values)
    };
    let values: Vec<Vec<f64>> = GRID.par_iter().map(of_users).collect::<Result<_>>()?;
    let sums: Vec<Option<f64>> = values.iter().map(|values| Some(values.iter().sum())).collect();
    let higher_is_better = metric.def().higher_is_better;
    let winner = best(&sums, higher_is_better).unwrap_or(0);
    let by_user: Vec<Vec<f64>> =
        (0..ratings.n_users()).map(|user| values.iter().map(|values| values[user]).collect()).collect();
    Ok(GRID[cautious(&by_user, winner, higher_is_better)])
}

/// What is left when a fold is held out.
struct Trial {
    rest: Ratings,
    targets: Vec<f64>,
    /// What is held out.
    held: Ratings,
}

impl Trial {
    fn new(ratings: &Ratings, targets: &[f64], folds: &Folds, fold: usize) -> Self {
        let is_held = |rating: usize| folds.of_rating[rating] == Some(fold);
        Self {
            rest: ratings.only(|rating| !is_held(rating)),
            targets: (0..targets.len())
                .filter(|&rating| !is_held(rating))
                .map(|rating| targets[rating])
                .collect(),
            held: ratings.only(is_held),
        }
    }

    /// Adds the metric of each user, where it has one.
    fn add_values(&self, ratings: &Ratings, shrinkage: f64, metric: &Metric, values: &mut [f64]) {
        let biases = Biases::fit(&self.rest, &self.targets, shrinkage);
        let scores = biases.offsets(&self.held, 1.0);
        for (user, value) in values.iter_mut().enumerate().take(ratings.n_users()) {
            let held = self.held.of_user(user);
            *value += metric.value(&self.held.values[held.clone()], &scores[held]).unwrap_or(0.0);
        }
    }
}
