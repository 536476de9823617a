//! The choice of k, the shrinkage of biases, on held-out ratings.
//!
//! A user has few held-out ratings, and a list of a few items says too little about long ones, which items of few ratings
//! lead where k is small. Biases are the same for all users, so held-out ratings of many users make one list. (Squared
//! errors choose a k that is too small: they are mostly those of items with many ratings.)

use rayon::prelude::*;

use super::biases::Biases;
use super::choice::Folds;
use crate::control::Control;
use crate::data::Ratings;
use crate::error::Result;
use crate::math::random::Random;
use crate::metric::Metric;
use crate::select::{best, cautious};

/// The candidates, the usual one first; what is further away from it needs better reasons.
const GRID: &[f64] = &[14.0, 10.0, 20.0, 28.0, 7.0, 40.0, 5.0];
/// Held-out ratings of a list, at least.
const LIST: usize = 100;

/// The first k under which held-out ratings are ranked as well as under the best one, but for a standard error.
///
/// # Errors
/// An interruption.
pub(super) fn choose(
    ratings: &Ratings,
    targets: &[f64],
    folds: &Folds,
    metric: &Metric,
    seed: u64,
    control: &Control,
) -> Result<f64> {
    let trials: Vec<Trial> =
        (0..folds.number).map(|fold| Trial::new(ratings, targets, folds, fold, seed)).collect();
    let of_lists = |shrinkage: &f64| -> Result<Vec<f64>> {
        control.check()?;
        Ok(trials.iter().flat_map(|trial| trial.values(*shrinkage, metric)).collect())
    };
    let values: Vec<Vec<f64>> = GRID.par_iter().map(of_lists).collect::<Result<_>>()?;
    let means: Vec<Option<f64>> =
        values.iter().map(|values| (!values.is_empty()).then(|| values.iter().sum())).collect();
    let higher_is_better = metric.def().higher_is_better;
    let Some(winner) = best(&means, higher_is_better) else { return Ok(GRID[0]) };
    let of_list = |list: usize| values.iter().map(|values| values[list]).collect();
    let paired: Vec<Vec<f64>> = (0..values[0].len()).map(of_list).collect();
    Ok(GRID[cautious(&paired, winner, higher_is_better)])
}

/// What is left when a fold is held out.
struct Trial {
    rest: Ratings,
    targets: Vec<f64>,
    /// What is held out.
    held: Ratings,
    /// Its ratings in lists, by number.
    lists: Vec<Vec<usize>>,
}

impl Trial {
    fn new(ratings: &Ratings, targets: &[f64], folds: &Folds, fold: usize, seed: u64) -> Self {
        let is_held = |rating: usize| folds.of_rating[rating] == Some(fold);
        let held = ratings.only(is_held);
        let mut random = Random::new(seed);
        Self {
            rest: ratings.only(|rating| !is_held(rating)),
            targets: (0..targets.len())
                .filter(|&rating| !is_held(rating))
                .map(|rating| targets[rating])
                .collect(),
            lists: lists(&held, &mut random),
            held,
        }
    }

    /// The metric of each list that has one.
    fn values(&self, shrinkage: f64, metric: &Metric) -> Vec<f64> {
        let scores = Biases::fit(&self.rest, &self.targets, shrinkage).offsets(&self.held, 1.0);
        let pick =
            |values: &[f64], list: &[usize]| -> Vec<f64> { list.iter().map(|&at| values[at]).collect() };
        let value = |list: &Vec<usize>| metric.value(&pick(&self.held.values, list), &pick(&scores, list));
        self.lists.iter().filter_map(value).collect()
    }
}

/// Users in random order, cut into lists of at least so many ratings; a rest joins the last list.
fn lists(held: &Ratings, random: &mut Random) -> Vec<Vec<usize>> {
    let mut users: Vec<usize> = (0..held.n_users()).collect();
    random.shuffle(&mut users);
    let mut lists: Vec<Vec<usize>> = vec![Vec::new()];
    let mut left = held.len();
    for user in users {
        let full = lists.last().is_some_and(|list| list.len() >= LIST);
        if full && left >= LIST {
            lists.push(Vec::new());
        }
        if let Some(list) = lists.last_mut() {
            list.extend(held.of_user(user));
        }
        left -= held.of_user(user).len();
    }
    lists
}
