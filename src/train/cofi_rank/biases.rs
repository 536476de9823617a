//! Biases: the mean rating of each user and of each item.
//!
//! ```text
//! t_ui = mean + a_u + q_i + noise,     t the target of a rating, n_i ratings of item i, n_u of user u
//!
//! a_u = sum_i (t_ui - mean - q_i) / (n_u + k)
//! q_i = (sum_u (t_ui - mean - a_u) + k m_i) / (n_i + k),     m_i = beta p_i + gamma c_i
//! b_i = q_i - z s / sqrt(n_i + k),                           s the standard deviation of the noise
//!
//! p_i = log(1 + n_i),     c_i = sum_u (mean of q_j over the other items j of user u) / (n_i + k)
//! ```
//!
//! q_i is the mean rating of an item, corrected for user bias and shrunk toward its prior mean m_i as by k more ratings.
//! The prior mean depends on popularity p (items with many ratings are liked more) and on company c (items rated together
//! with liked items are liked more), both minus their means over ratings. Weighted least squares over items gives beta and
//! gamma. The equations are solved in turn.
//!
//! Items are ranked by b_i, a lower confidence bound of q_i. Without it, items with few ratings and a high mean by chance
//! would lead the lists (docs/adr/0013).

use crate::base::checkpoint;
use crate::data::Ratings;

/// Rounds of solving the equations in turn.
const ROUNDS: usize = 15;
/// k. Rankings hardly change from 6 to 10.
const SHRINKAGE: f64 = 8.0;
/// z, in standard errors.
const CAUTION: f64 = 1.5;
/// Two predictors count as one if at most this fraction of the second's squared norm is orthogonal to the first.
const OWN_SHARE: f64 = 1e-6;

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Biases {
    pub(super) mean: f64,
    pub(super) users: Vec<f64>,
    pub(super) items: Vec<f64>,
    /// The bias of an item without ratings.
    pub(super) unknown: f64,
}

impl Biases {
    /// No biases.
    pub(super) fn none(ratings: &Ratings) -> Self {
        let (users, items) = (vec![0.0; ratings.n_users()], vec![0.0; ratings.n_items]);
        Self { mean: 0.0, users, items, unknown: 0.0 }
    }

    /// The biases of ratings with these targets.
    pub(super) fn fit(ratings: &Ratings, targets: &[f64]) -> Self {
        let counts: Vec<f64> = ratings.counts().into_iter().map(|count| count as f64).collect();
        let mean = targets.iter().sum::<f64>() / targets.len().max(1) as f64;
        let popularity = Predictor::new(counts.iter().map(|count| libm::log1p(*count)).collect(), &counts);
        let mut biases = Self { mean, ..Self::none(ratings) };
        for _ in 0..ROUNDS {
            checkpoint();
            biases.fit_users(ratings, targets);
            checkpoint();
            let company = Predictor::new(biases.company(ratings, &counts), &counts);
            biases.fit_items(ratings, targets, &counts, [&popularity, &company]);
        }
        biases.lower(biases.noise(ratings, targets), &counts);
        biases
    }

    fn fit_users(&mut self, ratings: &Ratings, targets: &[f64]) {
        for user in 0..ratings.n_users() {
            let range = ratings.of_user(user);
            let n = range.len() as f64 + SHRINKAGE;
            let rest = |rating| targets[rating] - self.mean - self.items[ratings.items[rating] as usize];
            self.users[user] = range.map(rest).sum::<f64>() / n;
        }
    }

    /// c
    fn company(&self, ratings: &Ratings, counts: &[f64]) -> Vec<f64> {
        let mut sums = vec![0.0; ratings.n_items];
        for user in 0..ratings.n_users() {
            let rated = &ratings.items[ratings.of_user(user)];
            let total: f64 = rated.iter().map(|&item| self.items[item as usize]).sum();
            let others = rated.len().saturating_sub(1).max(1) as f64;
            for &item in rated {
                sums[item as usize] += (total - self.items[item as usize]) / others;
            }
        }
        sums.iter().zip(counts).map(|(sum, count)| sum / (count + SHRINKAGE)).collect()
    }

    /// q, and the bias of an item without ratings.
    fn fit_items(
        &mut self,
        ratings: &Ratings,
        targets: &[f64],
        counts: &[f64],
        [popularity, company]: [&Predictor; 2],
    ) {
        let mut sums = vec![0.0; ratings.n_items];
        for user in 0..ratings.n_users() {
            for rating in ratings.of_user(user) {
                sums[ratings.items[rating] as usize] += targets[rating] - self.mean - self.users[user];
            }
        }
        let [beta, gamma] = slopes([popularity, company], counts, &sums);
        for (item, bias) in self.items.iter_mut().enumerate() {
            let expected = beta * popularity.values[item] + gamma * company.values[item];
            *bias = (sums[item] + SHRINKAGE * expected) / (counts[item] + SHRINKAGE);
        }
        self.unknown = -beta * popularity.center - gamma * company.center;
    }

    /// s
    fn noise(&self, ratings: &Ratings, targets: &[f64]) -> f64 {
        let of_user = |user: usize| -> f64 {
            let rest = |rating| {
                targets[rating] - self.mean - self.users[user] - self.items[ratings.items[rating] as usize]
            };
            ratings.of_user(user).map(|rating| rest(rating) * rest(rating)).sum()
        };
        let squares: f64 = (0..ratings.n_users()).map(of_user).sum();
        (squares / targets.len().max(1) as f64).sqrt()
    }

    /// From q to b.
    fn lower(&mut self, noise: f64, counts: &[f64]) {
        let error = |count: f64| noise / (count + SHRINKAGE).sqrt();
        self.items.iter_mut().zip(counts).for_each(|(item, count)| *item -= CAUTION * error(*count));
        self.unknown -= CAUTION * error(0.0);
    }

    /// b, one per rating, times a factor.
    pub(super) fn offsets(&self, ratings: &Ratings, factor: f64) -> Vec<f64> {
        ratings.items.iter().map(|&item| factor * self.items[item as usize]).collect()
    }
}

/// A property of every item minus its mean over ratings. Items without ratings have the property 0.
struct Predictor {
    values: Vec<f64>,
    center: f64,
}

impl Predictor {
    fn new(mut values: Vec<f64>, counts: &[f64]) -> Self {
        let n: f64 = counts.iter().sum();
        let center = counts.iter().zip(&values).map(|(count, value)| count * value).sum::<f64>() / n.max(1.0);
        values.iter_mut().for_each(|value| *value -= center);
        Self { values, center }
    }
}

/// beta and gamma: least squares of the means of items, weighted with the k n_i / (n_i + k) that shrinking leaves to
/// them.
fn slopes(predictors: [&Predictor; 2], counts: &[f64], sums: &[f64]) -> [f64; 2] {
    let [p, c] = predictors.map(|predictor| &predictor.values);
    let (mut pp, mut pc, mut cc, mut ps, mut cs) = (0.0, 0.0, 0.0, 0.0, 0.0);
    for (item, (count, sum)) in counts.iter().zip(sums).enumerate() {
        let weight = SHRINKAGE / (count + SHRINKAGE);
        pp += weight * count * p[item] * p[item];
        pc += weight * count * p[item] * c[item];
        cc += weight * count * c[item] * c[item];
        ps += weight * p[item] * sum;
        cs += weight * c[item] * sum;
    }
    let determinant = pp * cc - pc * pc;
    if determinant > OWN_SHARE * pp * cc {
        return [(cc * ps - pc * cs) / determinant, (pp * cs - pc * ps) / determinant];
    }
    [if pp > 0.0 { ps / pp } else { 0.0 }, 0.0]
}
