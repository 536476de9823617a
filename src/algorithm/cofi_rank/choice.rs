//! The choice of lambda on held-out ratings of every user, or on a source.
//!
//! A user has few held-out ratings, and a list of a few items says nothing about the head of a long one, where items
//! stand that are good by luck: the smaller lambda, the more of them. So held-out ratings of many users make one list.

use rayon::prelude::*;

use super::Session;
use super::factors::Fit;
use crate::algorithm::{Choice, LambdaChoice, Recipe, Validation};
use crate::data::{Dataset, Id, Ratings};
use crate::error::Result;
use crate::loss::Shape;
use crate::math::random::Random;
use crate::metric::Mean;
use crate::select::{argmax, one_standard_error, rating_folds};

/// Folds of which each is held out once.
const FOLDS: usize = 5;
/// Lambda where nothing can be held out: factors are 0, or almost.
const FALLBACK_LAMBDA: f64 = 10.0;
/// Held-out ratings of a list, about.
const LIST: usize = 100;
/// Lists that a fold has at least.
const LISTS: usize = 5;
/// Times that the users of a fold are dealt to lists.
const DEALINGS: usize = 4;

/// Which fold holds out each rating.
pub(super) struct Folds {
    pub(super) of_rating: Vec<Option<usize>>,
    pub(super) number: usize,
}

/// The folds that the recipe asks for: five, or one of a share of the ratings of each user.
pub(super) fn folds(users: &[Id], items: &[Id], ratings: &Ratings, recipe: &Recipe) -> Folds {
    let (size, number) = match recipe.validation {
        Validation::Queries(share) => ((1.0 / share).max(1.0), 1),
        Validation::Documents | Validation::Source(_) => (FOLDS as f64, FOLDS),
    };
    let of_rating = (0..ratings.n_users()).flat_map(|user| {
        let rated: Vec<&Id> =
            ratings.items[ratings.of_user(user)].iter().map(|&item| &items[item as usize]).collect();
        rating_folds(&users[user], &rated, size, recipe.seed)
    });
    let of_rating = of_rating.map(|fold| fold.filter(|fold| *fold < number)).collect();
    Folds { of_rating, number }
}

/// A rating to judge by: user and item of the training, by number, and the rating. The item may be unknown.
type Rated = (usize, Option<usize>, f64);

/// Lists to judge by.
pub(super) struct Judged {
    lists: Vec<Vec<Rated>>,
    /// Users that are not known, left out.
    pub(super) unknown: usize,
}

impl Judged {
    /// Those of another data set, one for each user that is known.
    pub(super) fn of(data: &Dataset, users: &[Id], items: &[Id]) -> Self {
        let known = (0..data.n_queries()).filter_map(|query| {
            let user = users.binary_search(&data.query_ids[query]).ok()?;
            let item = |row: usize| items.binary_search(&data.doc_ids[row]).ok();
            Some(data.rows(query).map(|row| (user, item(row), data.relevance[row])).collect())
        });
        let lists: Vec<Vec<Rated>> = known.collect();
        Self { unknown: data.n_queries() - lists.len(), lists }
    }

    fn held_out(ratings: &Ratings, folds: &Folds, fold: usize, seed: u64) -> Self {
        let of_user = |user: usize| -> Vec<Rated> {
            let held = ratings.of_user(user).filter(|&rating| folds.of_rating[rating] == Some(fold));
            held.map(|at| (user, Some(ratings.items[at] as usize), ratings.values[at])).collect()
        };
        let mut users: Vec<Vec<Rated>> = (0..ratings.n_users()).map(of_user).collect();
        let mut random = Random::new(seed);
        let mut lists = Vec::new();
        for _ in 0..DEALINGS {
            random.shuffle(&mut users);
            lists.extend(dealt(&users));
        }
        Self { lists, unknown: 0 }
    }

    /// True without a list of two ratings.
    fn is_empty(&self) -> bool {
        self.lists.iter().all(|list| list.len() < 2)
    }

    /// The metric of each list.
    fn values(&self, fit: &Fit, recipe: &Recipe) -> Vec<Option<f64>> {
        let score = |&(user, item, _): &Rated| {
            item.map_or(fit.scale * fit.biases.unknown, |item| fit.score(user, item))
        };
        let of_list = |list: &Vec<Rated>| {
            recipe.metric.value(&labels(list), &list.iter().map(score).collect::<Vec<f64>>())
        };
        self.lists.iter().map(of_list).collect()
    }

    fn add(&self, values: &[Option<f64>], mean: &mut Mean) {
        self.lists.iter().zip(values).for_each(|(list, value)| mean.add(*value, &labels(list)));
    }
}

fn labels(list: &[Rated]) -> Vec<f64> {
    list.iter().map(|(_, _, rating)| *rating).collect()
}

/// The ratings of users in this order, in lists of about the same length; what is left at the end joins the last one.
fn dealt(users: &[Vec<Rated>]) -> Vec<Vec<Rated>> {
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

impl Session<'_> {
    /// The lambda to use, and how it was chosen.
    pub(super) fn lambda(
        &self,
        ratings: &Ratings,
        folds: &Folds,
        judged: Option<&Judged>,
    ) -> Result<(f64, Option<Choice>)> {
        let lambdas = match &self.recipe.lambda {
            LambdaChoice::Fixed(lambda) => return Ok((*lambda, None)),
            LambdaChoice::Among(lambdas) => lambdas,
        };
        let number = if judged.is_some() { 1 } else { folds.number };
        self.control.expect(number * lambdas.len() * self.choices.epochs);
        let less = if judged.is_some() { 1.0 } else { self.share(number) };
        let ascending: Vec<f64> = lambdas.iter().rev().map(|lambda| less * lambda).collect();
        let of_fold = |fold: usize| -> Result<(Judged, Vec<Vec<Option<f64>>>)> {
            let held = |rating: usize| judged.is_none() && folds.of_rating[rating] == Some(fold);
            let own = Judged::held_out(ratings, folds, fold, self.recipe.seed);
            let by = judged.unwrap_or(&own);
            let mut values = Vec::with_capacity(lambdas.len());
            self.fit(&ratings.only(|rating| !held(rating)), &ascending, &mut |_, fit| {
                values.push(by.values(fit, self.recipe));
                Ok(())
            })?;
            Ok((own, values))
        };
        let trials: Vec<(Judged, Vec<Vec<Option<f64>>>)> =
            (0..number).into_par_iter().map(of_fold).collect::<Result<_>>()?;
        let mean_at = |place: usize| {
            let mut mean = Mean::new(self.recipe.metric.def(), self.recipe.undefined);
            for (own, values) in &trials {
                judged.unwrap_or(own).add(&values[lambdas.len() - 1 - place], &mut mean);
            }
            mean.value()
        };
        let curve: Vec<(f64, Option<f64>)> =
            lambdas.iter().enumerate().map(|(place, lambda)| (*lambda, mean_at(place))).collect();
        let values: Vec<Option<f64>> = curve.iter().map(|(_, value)| *value).collect();
        let higher_is_better = self.recipe.metric.def().higher_is_better;
        let paired: Vec<Vec<f64>> = trials.iter().flat_map(|(_, values)| self.paired(values)).collect();
        // Under the largest lambda the biases rank, which is left for a clear advantage only.
        let winner = argmax(&values, higher_is_better).map(|winner| {
            if one_standard_error(&paired, winner, higher_is_better) == 0 { 0 } else { winner }
        });
        let lambda = winner.map_or(FALLBACK_LAMBDA, |winner| lambdas[winner]);
        let nothing = trials.iter().all(|(own, _)| judged.unwrap_or(own).is_empty());
        let held_out = match (judged, number) {
            _ if nothing => Choice::NOTHING.to_owned(),
            (Some(_), _) => "a source".to_owned(),
            (None, 1) => "a share of the ratings of every user".to_owned(),
            (None, folds) => format!("the ratings of every user in {folds} parts"),
        };
        Ok((lambda, Some(Choice { metric: self.recipe.metric.name(), held_out, curve, winner })))
    }

    /// The share of a lambda that does in a fit without one of so many folds what the whole does in a fit of all
    /// ratings: the singular values of noise grow with the root of the number of ratings. Losses that are means of
    /// users stay as they are.
    fn share(&self, folds: usize) -> f64 {
        match self.choices.loss.shape() {
            Shape::Quadratic if folds > 1 => (1.0 - 1.0 / folds as f64).sqrt(),
            _ => 1.0,
        }
    }

    /// The values at every lambda, largest first, of the lists that have all; `values` begins with the smallest.
    fn paired(&self, values: &[Vec<Option<f64>>]) -> Vec<Vec<f64>> {
        let lists = values.first().map_or(0, Vec::len);
        let of_list = |list: usize| {
            values.iter().rev().map(|values| self.recipe.undefined.resolve(values[list])).collect()
        };
        (0..lists).filter_map(of_list).collect()
    }

    /// The lambdas through which a fit goes to this one.
    pub(super) fn path_to(&self, lambda: f64) -> Vec<f64> {
        let LambdaChoice::Among(lambdas) = &self.recipe.lambda else { return vec![lambda] };
        let mut path: Vec<f64> = lambdas.iter().rev().copied().filter(|other| *other < lambda).collect();
        path.push(lambda);
        path
    }
}
