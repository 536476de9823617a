//! The choice of lambda on held-out ratings of every user, or on a source.

use rayon::prelude::*;

use super::Session;
use super::factors::Fit;
use crate::algorithm::{Choice, LambdaChoice, Recipe, Validation};
use crate::data::{Dataset, Id, Ratings};
use crate::error::Result;
use crate::metric::Mean;
use crate::select::{best, cautious, rating_folds};

/// Folds of which each is held out once.
const FOLDS: usize = 5;
/// Lambda where nothing can be held out: factors are 0, or almost.
const FALLBACK_LAMBDA: f64 = 10.0;

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

/// Ratings to judge by: of users and items of the training, by number.
pub(super) struct Judged {
    users: Vec<(usize, Vec<Option<usize>>, Vec<f64>)>,
}

impl Judged {
    /// Those of another data set, users that are not known left out.
    pub(super) fn of(data: &Dataset, users: &[Id], items: &[Id]) -> Self {
        let known = (0..data.n_queries()).filter_map(|query| {
            let user = users.binary_search(&data.query_ids[query]).ok()?;
            let item = |row: usize| items.binary_search(&data.doc_ids[row]).ok();
            Some((user, data.rows(query).map(item).collect(), data.labels(query).to_vec()))
        });
        Self { users: known.collect() }
    }

    fn held_out(ratings: &Ratings, folds: &Folds, fold: usize) -> Self {
        let users = (0..ratings.n_users()).map(|user| {
            let held: Vec<usize> =
                ratings.of_user(user).filter(|&rating| folds.of_rating[rating] == Some(fold)).collect();
            let items = held.iter().map(|&rating| Some(ratings.items[rating] as usize)).collect();
            (user, items, held.iter().map(|&rating| ratings.values[rating]).collect())
        });
        Self { users: users.filter(|(_, items, _): &(_, Vec<_>, _)| items.len() > 1).collect() }
    }

    /// The metric of each user.
    fn values(&self, fit: &Fit, recipe: &Recipe) -> Vec<Option<f64>> {
        let of_user = |(user, items, labels): &(usize, Vec<Option<usize>>, Vec<f64>)| {
            let score = |item: &Option<usize>| {
                item.map_or(fit.scale * fit.biases.unknown, |item| fit.score(*user, item))
            };
            recipe.metric.value(labels, &items.iter().map(score).collect::<Vec<f64>>())
        };
        self.users.iter().map(of_user).collect()
    }

    fn add(&self, values: &[Option<f64>], mean: &mut Mean) {
        self.users.iter().zip(values).for_each(|((_, _, labels), value)| mean.add(*value, labels));
    }
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
        let ascending: Vec<f64> = lambdas.iter().rev().copied().collect();
        let of_fold = |fold: usize| -> Result<(Judged, Vec<Vec<Option<f64>>>)> {
            let held = |rating: usize| judged.is_none() && folds.of_rating[rating] == Some(fold);
            let own = Judged::held_out(ratings, folds, fold);
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
        let winner = best(&values, higher_is_better)
            .map(|winner| if cautious(&paired, winner, higher_is_better) == 0 { 0 } else { winner });
        let lambda = winner.map_or(FALLBACK_LAMBDA, |winner| lambdas[winner]);
        let held_out = match (judged, number) {
            (Some(_), _) => "a source".to_owned(),
            (None, 1) => "a share of the ratings of every user".to_owned(),
            (None, folds) => format!("the ratings of every user in {folds} parts"),
        };
        Ok((lambda, Some(Choice { metric: self.recipe.metric.name(), held_out, curve, winner })))
    }

    /// The values at every lambda, largest first, of the users that have all; `values` begins with the smallest.
    fn paired(&self, values: &[Vec<Option<f64>>]) -> Vec<Vec<f64>> {
        let users = values.first().map_or(0, Vec::len);
        let of_user = |user: usize| {
            values.iter().rev().map(|values| self.recipe.undefined.resolve(values[user])).collect()
        };
        (0..users).filter_map(of_user).collect()
    }

    /// The lambdas through which a fit goes to this one.
    pub(super) fn path_to(&self, lambda: f64) -> Vec<f64> {
        let LambdaChoice::Among(lambdas) = &self.recipe.lambda else { return vec![lambda] };
        let mut path: Vec<f64> = lambdas.iter().rev().copied().filter(|other| *other < lambda).collect();
        path.push(lambda);
        path
    }
}
