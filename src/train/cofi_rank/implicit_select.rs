//! Choosing lambda on held-out pairs: among all items that a user has no other pair with, items of held-out pairs should come first.

use super::factors::{Fit, Purpose};
use super::implicit::ImplicitSpec;
use super::{
    select_lambda,
    spec::{Known, Session},
};
use crate::base::{Result, Ticks, parallel};
use crate::cost::metric::Mean;
use crate::data::{Dataset, Ratings};
use crate::math::Random;
use crate::model::Implicit;
use crate::train::select::{Selection, SelectionRule, Split, TunedValue, Values};

/// Largest number of users with held-out pairs that are measured.
const MOST_USERS: usize = 2000;
/// Lambda if nothing can be held out, as an index of the candidates: one that serves most data.
const FALLBACK: usize = 3;
/// Operations, for [`Ticks`], of finding an item among a user's items.
const SEARCH_COST: usize = 32;

/// Pairs to judge by, which no fit of the candidates knows.
pub(super) struct Held {
    /// Users by their indices in the training, with the items of their pairs, ascending.
    users: Vec<(usize, Vec<u32>)>,
    split: Split,
    /// Pairs whose user or item is not in the training, or that are training pairs themselves.
    left_out: usize,
}

impl Held {
    /// The pairs of another data set.
    ///
    /// # Errors
    /// A count that is not a valid pair weight.
    pub(super) fn of(data: &Dataset, implicit: Implicit, known: &Known) -> Result<Self> {
        let Known { users, items, ratings: pairs } = known;
        let mut held = Self { users: Vec::new(), split: Split::SourceRatings, left_out: 0 };
        for query in 0..data.n_queries() {
            for row in data.rows(query) {
                let origin =
                    || format!("validation: user {}, item {}", data.query_ids[query], data.doc_ids[row]);
                implicit.check(data.relevance[row], origin)?;
            }
            let user = users.binary_search(&data.query_ids[query]).ok();
            let known = |user: usize| {
                let seen = &pairs.items[pairs.of_user(user)];
                let item = |row| items.binary_search(&data.doc_ids[row]).ok().map(|item| item as u32);
                data.rows(query).filter_map(item).filter(|item| seen.binary_search(item).is_err()).collect()
            };
            let mut liked: Vec<u32> = user.map(known).unwrap_or_default();
            held.left_out += data.rows(query).len() - liked.len();
            liked.sort_unstable();
            liked.dedup();
            held.users.extend(user.map(|user| (user, liked)).filter(|(_, liked)| !liked.is_empty()));
        }
        Ok(held)
    }

    /// Keeps the pairs of a sample of users.
    fn of_users(mut self, seed: u64) -> Self {
        Random::new(seed).shuffle(&mut self.users);
        self.users.truncate(MOST_USERS);
        self.users.sort_unstable();
        self
    }

    /// Value and weight of the metric for each user; `None` if it is undefined. `known`: the pairs of the fit.
    fn values(&self, session: &Session<'_>, fit: &Fit, known: &Ratings) -> Result<Vec<Option<(f64, f64)>>> {
        let validation = &session.spec.validation;
        let mean = Mean::new(validation.metric.def(), validation.undefined);
        parallel::try_map(self.users.len(), |index| {
            session.control.check()?;
            let (user, liked) = &self.users[index];
            let seen = &known.items[known.of_user(*user)];
            let (mut labels, mut scores, mut ticks) = (Vec::new(), Vec::new(), Ticks::default());
            for item in (0..known.n_items).filter(|item| seen.binary_search(&(*item as u32)).is_err()) {
                ticks.add(fit.factors.rank + SEARCH_COST);
                labels.push(if liked.binary_search(&(item as u32)).is_ok() { 1.0 } else { 0.0 });
                scores.push(fit.score(*user, item));
            }
            Ok(mean.weighted(validation.metric.finite_value(&labels, &scores)?, &labels))
        })
    }
}

/// The lambda chosen by validation.
pub(super) struct ChosenLambda {
    pub(super) lambda: f64,
    /// The lambdas of the last fit, smallest first.
    pub(super) path: Vec<f64>,
    pub(super) selection: Option<Selection>,
    left_out: usize,
}

impl ChosenLambda {
    /// A warning about pairs of the validation source that were not used.
    pub(super) fn left_out(&self) -> Option<String> {
        (self.left_out > 0).then(|| {
            format!(
                "{} pairs of the validation source are ignored: their user or item is not in the training, or they are training pairs",
                self.left_out
            )
        })
    }
}

impl ImplicitSpec {
    /// The lambda to use among candidates, largest first, and how it was chosen.
    pub(super) fn select(
        &self,
        session: &Session<'_>,
        known: &Known,
        source: Option<Held>,
        lambdas: Vec<f64>,
    ) -> Result<ChosenLambda> {
        let left_out = source.as_ref().map_or(0, |held| held.left_out);
        if let (TunedValue::Fixed(lambda), _) | (_, [lambda]) = (&self.lambda, &lambdas[..]) {
            return Ok(ChosenLambda { lambda: *lambda, path: lambdas, selection: None, left_out });
        }
        // 1. The pairs that candidates are fitted to, and those that judge them.
        let (known, held) = match source {
            Some(held) => (known.ratings.clone(), held),
            None => self.hold_out(known),
        };
        let held = held.of_users(self.ranking.seed);
        // 2. The values of each user at each lambda.
        let ascending: Vec<f64> = lambdas.iter().rev().copied().collect();
        let mut values = Vec::with_capacity(lambdas.len());
        if !held.users.is_empty() {
            session.control.expect(lambdas.len() * session.spec.max_rounds);
            let mut observe = |_: f64, fit: &Fit| {
                values.push(held.values(session, fit, &known)?);
                Ok(())
            };
            self.fit_pairs(session, &known, &ascending, Purpose::Validation(&mut observe))?;
        }
        let mut table = Values::new(&self.ranking.validation, &lambdas);
        for user in 0..held.users.len() {
            let user_values: Vec<Option<f64>> =
                values.iter().rev().map(|of| of[user].map(|(value, _)| value)).collect();
            table.add_weighted(user_values, values[0][user].map_or(1.0, |(_, weight)| weight));
        }
        // 3. The best. With a loss the largest lambda leaves the biases alone to rank; factors need a clear advantage.
        let biases_rank = self.draws() && self.ranking.biases;
        let chosen = table.best(if biases_rank {
            SelectionRule::FirstUnlessClearlyWorse
        } else {
            SelectionRule::Best
        });
        let lambda = lambdas[chosen.unwrap_or(FALLBACK.min(lambdas.len() - 1))];
        let split = if held.users.is_empty() { Split::Nothing } else { held.split };
        let selection = table.selection(split, chosen);
        let mut path: Vec<f64> = ascending.into_iter().filter(|other| *other < lambda).collect();
        path.push(lambda);
        Ok(ChosenLambda { lambda, path, selection: Some(selection), left_out })
    }

    /// The pairs that stay, and those that are held out of every user.
    fn hold_out(&self, known: &Known) -> (Ratings, Held) {
        let Known { users, items, ratings: pairs } = known;
        let folds = select_lambda::folds(users, items, pairs, &self.ranking);
        let out = |pair: usize| folds.of_rating[pair] == Some(0);
        let of_user = |user: usize| {
            let liked: Vec<u32> =
                pairs.of_user(user).filter(|pair| out(*pair)).map(|pair| pairs.items[pair]).collect();
            (user, liked)
        };
        let users = (0..pairs.n_users()).map(of_user).filter(|(_, liked)| !liked.is_empty()).collect();
        (pairs.only(|pair| !out(pair)), Held { users, split: Split::RatingFraction, left_out: 0 })
    }
}
