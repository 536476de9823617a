//! Choosing lambda on held-out ratings of every user, or on a source.
//!
//! A user has few held-out ratings. A short list does not show that with a small lambda the top of a long list has items
//! that score high by chance. So the held-out ratings of many users form one list.

use std::ops::Range;

use super::factors::{Fit, Purpose};
use super::spec::{CofiRankSpec, Session, no_rate};
use crate::base::{Result, checkpoint, parallel};
use crate::cost::loss::Shape;
use crate::cost::metric::Better;
use crate::data::{Dataset, Id, Ratings};
use crate::math::Random;
use crate::train::select::{
    Selection, SelectionRule, Split, TunedValue, Validation, Values, is_below, rating_folds,
};

/// At each lambda, smallest first, the metric of each list; `None` if it is undefined. Empty at lambdas that were skipped.
type ListValues = Vec<Vec<Option<f64>>>;

/// Folds, each held out once.
const FOLDS: usize = 5;
/// Lambda if nothing can be held out. The factors are almost 0.
const FALLBACK_LAMBDA: f64 = 10.0;
/// Approximate number of held-out ratings in a list.
const LIST: usize = 100;
/// Minimum number of lists in a fold.
const LISTS: usize = 5;
/// Number of partitions of a fold's users into lists.
const PARTITIONS: usize = 4;
/// Folds with all lambdas. The other folds skip the smallest lambdas if all of them are clearly worse: fits with small
/// lambdas take the most time.
const FIRST_FOLDS: usize = 2;
/// Standard errors between a lambda and the best one that make it clearly worse. All partitions of a fold have the same
/// ratings, so the true error is up to sqrt([`PARTITIONS`]) times as large.
const CLEARLY: f64 = 4.0;

/// Which fold holds out each rating.
pub(super) struct Folds {
    pub(super) of_rating: Vec<Option<usize>>,
    pub(super) number: usize,
}

/// Five folds, or one fold with a fraction of each user's ratings.
pub(super) fn folds(users: &[Id], items: &[Id], ratings: &Ratings, spec: &CofiRankSpec) -> Folds {
    let (size, number) = match spec.validation.data {
        Validation::Queries(fraction) => ((1.0 / fraction).max(1.0), 1),
        Validation::Documents | Validation::Source(_) => (FOLDS as f64, FOLDS),
    };
    let of_rating = (0..ratings.n_users()).flat_map(|user| {
        let rated: Vec<&Id> =
            ratings.items[ratings.of_user(user)].iter().map(|&item| &items[item as usize]).collect();
        rating_folds(&users[user], &rated, size, spec.seed)
    });
    let of_rating = of_rating.map(|fold| fold.filter(|fold| *fold < number)).collect();
    Folds { of_rating, number }
}

/// A rating to judge by: indices of user and item in the training, and the rating. The item may be unknown.
type Rated = (usize, Option<usize>, f64);

/// Lists to judge by.
pub(super) struct ValidationLists {
    lists: Vec<Vec<Rated>>,
    /// Number of unknown users, which are skipped.
    pub(super) unknown: usize,
}

impl ValidationLists {
    /// The lists of another data set, one for each user that is known.
    pub(super) fn of(data: &Dataset, users: &[Id], items: &[Id]) -> Self {
        let judged_users = (0..data.n_queries()).filter_map(|query| {
            let user = users.binary_search(&data.query_ids[query]).ok()?;
            let item = |row: usize| items.binary_search(&data.doc_ids[row]).ok();
            Some(data.rows(query).map(|row| (user, item(row), data.relevance[row])).collect())
        });
        let lists: Vec<Vec<Rated>> = judged_users.collect();
        Self { unknown: data.n_queries() - lists.len(), lists }
    }

    fn held_out(ratings: &Ratings, folds: &Folds, fold: usize, seed: u64) -> Self {
        let of_user = |user: usize| -> Vec<Rated> {
            checkpoint();
            let held = ratings.of_user(user).filter(|&rating| folds.of_rating[rating] == Some(fold));
            held.map(|at| (user, Some(ratings.items[at] as usize), ratings.values[at])).collect()
        };
        let mut users: Vec<Vec<Rated>> = (0..ratings.n_users()).map(of_user).collect();
        let mut random = Random::new(seed);
        let mut lists = Vec::new();
        for _ in 0..PARTITIONS {
            random.shuffle(&mut users);
            lists.extend(partition(&users));
        }
        Self { lists, unknown: 0 }
    }

    /// True without a list of two ratings.
    fn is_empty(&self) -> bool {
        self.lists.iter().all(|list| list.len() < 2)
    }

    /// The metric of each list.
    fn values(&self, fit: &Fit, spec: &CofiRankSpec) -> Result<Vec<Option<f64>>> {
        let score = |&(user, item, _): &Rated| {
            item.map_or(fit.scale * fit.biases.unknown, |item| fit.score(user, item))
        };
        let of_list = |list: &Vec<Rated>| {
            checkpoint();
            spec.validation.metric.finite_value(&labels(list), &list.iter().map(score).collect::<Vec<f64>>())
        };
        self.lists.iter().map(of_list).collect()
    }

    /// Adds the values of each list. `values`: for each lambda, smallest first, the values of all lists.
    fn add(&self, values: &[Vec<Option<f64>>], table: &mut Values<'_>) {
        for (index, list) in self.lists.iter().enumerate() {
            checkpoint();
            let list_values: Vec<Option<f64>> = values.iter().rev().map(|values| values[index]).collect();
            table.add(&list_values, &labels(list));
        }
    }
}

fn labels(list: &[Rated]) -> Vec<f64> {
    list.iter().map(|(_, _, rating)| *rating).collect()
}

/// The ratings of users in this order, in lists of about the same size. The remaining ratings join the last list.
fn partition(users: &[Vec<Rated>]) -> Vec<Vec<Rated>> {
    let mut left: usize = users.iter().map(Vec::len).sum();
    let length = LIST.min(left / LISTS).max(2);
    let mut lists: Vec<Vec<Rated>> = vec![Vec::new()];
    for user in users {
        let full = lists.last().is_some_and(|list| list.len() >= length);
        if full && left >= length {
            lists.push(Vec::new());
        }
        left -= user.len();
        if let Some(list) = lists.last_mut() {
            list.extend(user);
        }
    }
    lists
}

/// The values of all folds.
struct Trials {
    /// The held-out lists of each fold, and their values.
    folds: Vec<(ValidationLists, ListValues)>,
    /// Number of lambdas, the smallest ones, that only the first folds tried.
    left_out: usize,
}

/// The lambda of a training.
pub(super) struct Selected {
    pub(super) lambda: f64,
    /// The lambdas to fit in sequence, smallest first; the chosen one is the last.
    pub(super) path: Vec<f64>,
    /// How lambda was chosen.
    pub(super) selection: Option<Selection>,
}

impl Session<'_> {
    pub(super) fn select(
        &self,
        ratings: &Ratings,
        folds: &Folds,
        judged: Option<&ValidationLists>,
    ) -> Result<Selected> {
        let lambdas = match &self.spec.lambda {
            TunedValue::Fixed(lambda) => {
                return Ok(Selected { lambda: *lambda, path: vec![*lambda], selection: None });
            }
            TunedValue::Rate | TunedValue::Fractions(_) => return Err(no_rate()),
            TunedValue::Among(lambdas) => lambdas,
        };
        let Trials { folds: trials, left_out } = self.trials(ratings, folds, judged, lambdas)?;
        let validation = &self.spec.validation;
        // 1. The values of all lists at each lambda that all folds tried. Trials begin with the smallest lambda.
        let tried = &lambdas[..lambdas.len() - left_out];
        let mut table = Values::new(validation, tried);
        for (own, values) in &trials {
            judged.unwrap_or(own).add(&values[left_out..], &mut table);
        }
        // 2. The best. With the largest lambda the biases alone rank; factors need a clear advantage.
        let chosen = table.best(SelectionRule::FirstUnlessClearlyWorse);
        let lambda = chosen.map_or(FALLBACK_LAMBDA, |chosen| lambdas[chosen]);
        // 3. The report. A list of held-out ratings isn't one user's.
        let nothing = trials.iter().all(|(own, _)| judged.unwrap_or(own).is_empty());
        let split = match (judged, trials.len()) {
            _ if nothing => Split::Nothing,
            (Some(_), _) => Split::SourceRatings,
            (None, 1) => Split::RatingFraction,
            (None, folds) => Split::RatingFolds(folds),
        };
        let mut selection = table.selection(split, chosen);
        selection.curve.extend(lambdas[tried.len()..].iter().map(|lambda| (*lambda, None)));
        // 4. The path of the model begins where the folds' paths do.
        let begins = tried.iter().rev().copied();
        let path = begins.filter(|other| *other < lambda).chain([lambda]).collect();
        Ok(Selected { lambda, path, selection: Some(selection) })
    }

    /// The values of all folds, or on the lists of a source.
    fn trials(
        &self,
        ratings: &Ratings,
        folds: &Folds,
        judged: Option<&ValidationLists>,
        lambdas: &[f64],
    ) -> Result<Trials> {
        let number = if judged.is_some() { 1 } else { folds.number };
        self.control.expect(number * lambdas.len() * self.spec.max_rounds);
        let factor = if judged.is_some() { 1.0 } else { self.lambda_factor(number) };
        let ascending: Vec<f64> = lambdas.iter().rev().map(|lambda| factor * lambda).collect();
        let of_fold = |fold: usize, left_out: usize| -> Result<(ValidationLists, ListValues)> {
            let held = |rating: usize| judged.is_none() && folds.of_rating[rating] == Some(fold);
            let own = ValidationLists::held_out(ratings, folds, fold, self.spec.seed);
            let by = judged.unwrap_or(&own);
            let mut values = vec![Vec::new(); left_out];
            let mut observe = |_: f64, fit: &Fit| {
                values.push(by.values(fit, self.spec)?);
                Ok(())
            };
            let training = ratings.only(|rating| !held(rating));
            self.fit(&training, &ascending[left_out..], Purpose::Validation(&mut observe))?;
            Ok((own, values))
        };
        // Folds are fitted sequentially if memory is short.
        let first = number.min(FIRST_FOLDS);
        let together = first.max(number - first);
        let needed = self.fit_bytes(ratings).saturating_mul(together as u64);
        let short = self.control.memory().available() < needed;
        let of_folds = |folds: Range<usize>, left_out: usize| {
            if short {
                return folds.map(|fold| of_fold(fold, left_out)).collect();
            }
            parallel::try_map(folds.len(), |index| of_fold(folds.start + index, left_out))
        };
        let mut trials: Vec<_> = of_folds(0..first, 0)?;
        let left_out = if first < number {
            let paired: Vec<Vec<f64>> = trials.iter().flat_map(|(_, values)| self.paired(values)).collect();
            clearly_worse(&paired, self.spec.validation.metric.def().better)
        } else {
            0
        };
        trials.extend(of_folds(first..number, left_out)?);
        Ok(Trials { folds: trials, left_out })
    }

    /// Lambda of a fit without one of `folds`, relative to the equivalent lambda of a fit on all ratings. Singular values
    /// of noise grow with the root of the number of ratings. Losses that are means over users need no factor.
    fn lambda_factor(&self, folds: usize) -> f64 {
        match self.spec.loss.shape() {
            Shape::Quadratic if folds > 1 => (1.0 - 1.0 / folds as f64).sqrt(),
            _ => 1.0,
        }
    }

    /// Values at every lambda, largest first, for lists with a value at all lambdas. `values`: smallest first.
    fn paired(&self, values: &[Vec<Option<f64>>]) -> Vec<Vec<f64>> {
        let lists = values.first().map_or(0, Vec::len);
        let of_list = |list: usize| {
            values.iter().rev().map(|values| self.spec.validation.undefined.resolve(values[list])).collect()
        };
        (0..lists).filter_map(of_list).collect()
    }
}

/// Number of lambdas, the smallest ones, that are clearly worse than the best one. The largest of them is not counted: paths
/// begin there. `values` holds for each list the values at all lambdas, largest first.
fn clearly_worse(values: &[Vec<f64>], better: Better) -> usize {
    let lambdas = values.first().map_or(0, Vec::len);
    // At each lambda, smallest first, the value of each list.
    let of_lambda = |index: usize| -> Vec<Option<f64>> {
        values.iter().map(|values| Some(better.sign() * values[index])).collect()
    };
    let lambda_values: Vec<Vec<Option<f64>>> = (0..lambdas).rev().map(of_lambda).collect();
    let sum = |values: &Vec<Option<f64>>| values.iter().flatten().sum::<f64>();
    let Some(best) = lambda_values.iter().max_by(|a, b| sum(a).total_cmp(&sum(b))) else { return 0 };
    let worse = lambda_values.iter().take_while(|values| is_below(values, best, CLEARLY)).count();
    worse.saturating_sub(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_lambdas_are_left_out_only_if_all_of_them_are_clearly_worse() {
        // Values of 40 lists at five lambdas, largest first.
        let of_lists = |at: [f64; 5]| -> Vec<Vec<f64>> {
            (0..40).map(|list| at.iter().map(|value| value + 0.01 * f64::from(list % 3)).collect()).collect()
        };
        let noisy = |mut values: Vec<Vec<f64>>| {
            // The smallest lambda is better on every other list, and much worse on the others.
            values
                .iter_mut()
                .enumerate()
                .for_each(|(list, values)| values[4] += if list % 2 == 0 { 0.5 } else { -0.6 });
            values
        };
        let falling = of_lists([0.9, 0.8, 0.5, 0.4, 0.3]);
        assert_eq!(clearly_worse(&falling, Better::Higher), 3);
        assert_eq!(clearly_worse(&falling, Better::Lower), 0);
        assert_eq!(clearly_worse(&of_lists([0.4, 0.5, 0.9, 0.8, 0.7]), Better::Higher), 1);
        assert_eq!(clearly_worse(&of_lists([0.4, 0.5, 0.9, 0.8, 0.95]), Better::Higher), 0);
        assert_eq!(clearly_worse(&noisy(of_lists([0.9; 5])), Better::Higher), 0);
        assert_eq!(clearly_worse(&falling[..1], Better::Higher), 0);
        assert_eq!(clearly_worse(&[], Better::Higher), 0);
    }
}
