//! The problem of a factorization: its objective, subgradients and products with the factors.

use super::cuts::Cuts;
use super::factors::Factors;
use super::user_loss::UserLoss;
use crate::base::{checkpoint, parallel};
use crate::cost::loss::Loss;
use crate::data::Ratings;
use crate::math::{axpy, dot};

/// Numbers in the kept planes of all users, and in their products; smallest and largest number of kept planes of a user.
const KEPT_NUMBERS: usize = 4_000_000;

const KEPT: [usize; 2] = [12, 250];

/// Largest number of planes kept per user; 0 for smooth losses.
pub fn kept_planes(loss: &Loss, ratings: &Ratings) -> usize {
    if loss.is_smooth_list() {
        return 0;
    }
    let by_products = (KEPT_NUMBERS / ratings.n_users().max(1)).isqrt();
    (KEPT_NUMBERS / ratings.len().max(1)).min(by_products).clamp(KEPT[0], KEPT[1])
}

pub struct Factorization<'a> {
    pub(super) ratings: &'a Ratings,
    /// One per user; `None` for users without a loss.
    pub(super) losses: Vec<Option<UserLoss>>,
    /// b, one per rating.
    pub offsets: Vec<f64>,
    /// User and number of each rating of item i: `by_item[item_offsets[i]..item_offsets[i + 1]]`.
    by_item: Vec<(u32, u32)>,
    item_offsets: Vec<usize>,
    /// Whether the loss has Hessians; otherwise it is nonsmooth.
    pub smooth: bool,
    /// Planes of each user.
    pub(super) cuts: Vec<Cuts>,
}

impl<'a> Factorization<'a> {
    /// The problem of these ratings, with a label for the loss and an offset of the score for each.
    pub fn new(ratings: &'a Ratings, loss: &Loss, labels: &[f64], offsets: Vec<f64>) -> Self {
        let user_loss = |user| {
            checkpoint();
            UserLoss::new(loss, &labels[ratings.of_user(user)])
        };
        let (item_offsets, by_item) = by_item(ratings);
        Self {
            ratings,
            losses: (0..ratings.n_users()).map(user_loss).collect(),
            offsets,
            by_item,
            item_offsets,
            smooth: loss.is_smooth_list(),
            cuts: vec![Cuts::new(kept_planes(loss, ratings).max(KEPT[0])); ratings.n_users()],
        }
    }

    /// sum_u w_u l_u at these scores, one per rating. Evaluations that are kept are not computed again.
    pub fn loss(&self, scores: &[f64]) -> f64 {
        let values = parallel::map(self.losses.len(), |user| {
            let Some(loss) = &self.losses[user] else { return 0.0 };
            let scores = &scores[self.ratings.of_user(user)];
            let compute = || loss.value_and_subgradient(scores, &mut vec![0.0; scores.len()]);
            self.cuts[user].known(scores).unwrap_or_else(compute)
        });
        values.iter().sum()
    }

    pub fn objective(&self, factors: &Factors, lambdas: [f64; 2]) -> f64 {
        let penalty = |lambda: f64, rows: &[f64]| 0.5 * lambda * dot(rows, rows);
        penalty(lambdas[0], &factors.users)
            + penalty(lambdas[1], &factors.items)
            + self.loss(&self.scores(&factors.users, &factors.items, factors.rank))
    }

    /// V_u u + b_u of one user.
    pub(super) fn user_scores(&self, user: usize, row: &[f64], items: &[f64]) -> Vec<f64> {
        let mut scores = self.user_products(user, row, items);
        axpy(1.0, &self.offsets[self.ratings.of_user(user)], &mut scores);
        scores
    }

    /// V_u u of one user.
    fn user_products(&self, user: usize, row: &[f64], items: &[f64]) -> Vec<f64> {
        checkpoint();
        let rated = self.ratings.items[self.ratings.of_user(user)].iter();
        rated.map(|&item| dot(row, &items[item as usize * row.len()..][..row.len()])).collect()
    }

    /// V_u u + b_u, one per rating.
    pub(super) fn scores(&self, users: &[f64], items: &[f64], rank: usize) -> Vec<f64> {
        let mut scores = self.products(users, items, rank);
        axpy(1.0, &self.offsets, &mut scores);
        scores
    }

    /// V_u u, one per rating.
    pub(super) fn products(&self, users: &[f64], items: &[f64], rank: usize) -> Vec<f64> {
        let of_user = |user: usize| self.user_products(user, &users[user * rank..][..rank], items);
        parallel::map(self.ratings.n_users(), of_user).concat()
    }

    /// The loss at these scores; writes its slopes. The losses of users are added in their order.
    pub(super) fn value_at(&self, scores: &[f64], slopes: &mut [f64]) -> f64 {
        let values = parallel::map_of(self.by_user(slopes), |user, slopes| match &self.losses[user] {
            Some(loss) => loss.value_and_subgradient(&scores[self.ratings.of_user(user)], slopes),
            None => 0.0,
        });
        values.iter().sum()
    }

    /// Splits one number per rating by user.
    pub(super) fn by_user<'s>(&self, mut rest: &'s mut [f64]) -> Vec<&'s mut [f64]> {
        let part = |user| rest.split_off_mut(..self.ratings.of_user(user).len()).unwrap_or_default();
        (0..self.ratings.n_users()).map(part).collect()
    }

    /// For each item the sum of slope * u over its ratings.
    pub(super) fn to_items(&self, slopes: &[f64], users: &[f64], rank: usize) -> Vec<f64> {
        let mut items = vec![0.0; self.ratings.n_items * rank];
        parallel::each_of(items.chunks_mut(rank).collect(), |item, row: &mut [f64]| {
            checkpoint();
            for &(user, rating) in &self.by_item[self.item_offsets[item]..self.item_offsets[item + 1]] {
                axpy(slopes[rating as usize], &users[user as usize * rank..][..rank], row);
            }
        });
        items
    }
}

/// The ratings by item, in the order of the users.
pub(super) fn by_item(ratings: &Ratings) -> (Vec<usize>, Vec<(u32, u32)>) {
    let mut offsets = vec![0; ratings.n_items + 1];
    for (item, count) in ratings.counts().into_iter().enumerate() {
        offsets[item + 1] = offsets[item] + count;
    }
    let mut next = offsets.clone();
    let mut by_item = vec![(0, 0); ratings.len()];
    for user in 0..ratings.n_users() {
        checkpoint();
        for rating in ratings.of_user(user) {
            let index = &mut next[ratings.items[rating] as usize];
            by_item[*index] = (user as u32, rating as u32);
            *index += 1;
        }
    }
    (offsets, by_item)
}

/// The rows of some items.
pub fn gather(items: &[f64], rated: &[u32], rank: usize) -> Vec<f64> {
    rated.iter().flat_map(|&item| &items[item as usize * rank..][..rank]).copied().collect()
}
