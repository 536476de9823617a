//! Factorization of ratings with a ranking loss per user (Le, Smola, Chapelle & Teo, section 7.2, equation 42; Weimer et
//! al. 2008).
//!
//! ```text
//! min over U, V   lambda_u / 2 |U|^2 + lambda_v / 2 |V|^2 + sum_u w_u l_u(V_u u + b_u)
//! ```
//!
//! V_u are the rows of V for the items that user u rated, and b_u fixed offsets. Only rated items count: a rating of 0 is
//! a rating. Users with fewer than two ratings have no loss. For fixed V each user has a convex problem of its own. For
//! fixed U all items have one convex problem. Half steps solve them in turn: smooth losses by Newton-CG, others by cutting
//! planes (`cuts` for U, `bundle` for V). The objective never increases.
//!
//! w_u is 1, except for least squares: there it turns means over ratings into sums, so that a rating of a user with many
//! ratings has the same weight as others. Then `squared` and `pair_squared` are the same function.

use super::bundle::{BestItems, ItemSearch};
use super::cuts::{Cuts, OfItems, OfUser};
use super::factors::Factors;
use crate::base::{Control, Result, checkpoint, parallel};
use crate::cost::loss::{Loss, PairDef, QueryLoss};
use crate::data::Ratings;
use crate::math::{Objective, Ridge, axpy, dot, newton_cg};

/// Most new planes of a user in a half step. The next one starts with them.
pub(super) const MOST_USER_PLANES: usize = 6;

/// Numbers in the kept planes of all users, and in their products; smallest and largest number of kept planes of a user.
const KEPT_NUMBERS: usize = 4_000_000;

const KEPT: [usize; 2] = [12, 250];

/// Most kept planes of a user; 0 for smooth losses.
pub fn kept_planes(loss: &Loss, ratings: &Ratings) -> usize {
    if loss.is_smooth_list() {
        return 0;
    }
    let by_products = (KEPT_NUMBERS / ratings.n_users().max(1)).isqrt();
    (KEPT_NUMBERS / ratings.len().max(1)).min(by_products).clamp(KEPT[0], KEPT[1])
}

/// The penalty of a half step, and when it ends.
#[derive(Debug, Clone, Copy)]
pub struct HalfStep {
    /// The penalty is lambda / 2 times the squared length of the fitted rows.
    pub lambda: f64,
    /// Requested gap, relative to the objective, of the problem of a user and of that of all items.
    pub tolerance: f64,
    /// Most planes or iterations.
    pub most: usize,
}

/// The loss of one user with its weight.
pub struct UserLoss {
    loss: Box<dyn QueryLoss>,
    weight: f64,
    smooth: bool,
}

impl UserLoss {
    /// The loss of a user with these ratings; `None` if there are fewer than two or they are not informative.
    pub fn new(loss: &Loss, ratings: &[f64]) -> Option<Self> {
        if ratings.len() < 2 || !loss.is_informative(ratings, &[]) {
            return None;
        }
        let query: Box<dyn QueryLoss> = match loss {
            Loss::List(loss) => loss.prepare(ratings, &[]),
            Loss::Pair(pair, _) => Box::new(Ordinal { def: pair.def(), ratings: ratings.to_vec() }),
        };
        let weight = query.quadratic().map_or(1.0, |quadratic| 1.0 / quadratic.factor);
        Some(Self { loss: query, weight, smooth: loss.is_smooth_list() })
    }

    /// Value at these scores; writes a subgradient.
    pub(super) fn value_and_subgradient(&self, scores: &[f64], subgradient: &mut [f64]) -> f64 {
        let value = self.loss.value_and_subgradient(scores, subgradient);
        subgradient.iter_mut().for_each(|slope| *slope *= self.weight);
        self.weight * value
    }

    pub(super) fn hessian_times(&self, scores: &[f64], direction: &[f64], product: &mut [f64]) {
        if !self.loss.hessian_times(scores, direction, product) {
            product.fill(0.0);
        }
        product.iter_mut().for_each(|value| *value *= self.weight);
    }

    /// Fits u to the rows of the rated items (N rows) and their offsets (N), from `start`.
    pub fn fit_user(&self, rows: &[f64], offsets: &[f64], start: &[f64], step: HalfStep) -> Vec<f64> {
        let risk = OfUser { loss: self, rows, offsets, rank: start.len() };
        step.fit_user(&risk, start, &mut Cuts::new(MOST_USER_PLANES), &Control::default())
    }
}

impl HalfStep {
    fn fit_user(self, risk: &OfUser<'_>, start: &[f64], cuts: &mut Cuts, control: &Control) -> Vec<f64> {
        if risk.loss.smooth {
            self.newton(risk, start, control)
        } else {
            super::cuts::minimize(risk, start, self, cuts)
        }
    }

    fn newton(self, risk: &dyn Objective, start: &[f64], control: &Control) -> Vec<f64> {
        newton_cg::minimize_roughly(&self.ridge(risk), start.to_vec(), self.tolerance, self.most, control)
    }

    pub(super) fn ridge(self, risk: &dyn Objective) -> Ridge<'_> {
        Ridge { risk, lambda: 0.5 * self.lambda, center: None }
    }
}

/// A pairwise loss as a function of a user's scores.
struct Ordinal {
    def: &'static PairDef,
    ratings: Vec<f64>,
}

impl QueryLoss for Ordinal {
    fn value_and_subgradient(&self, scores: &[f64], subgradient: &mut [f64]) -> f64 {
        self.def.value_and_subgradient(&self.ratings, scores, subgradient)
    }
}

/// The problem.
pub struct Factorization<'a> {
    pub(super) ratings: &'a Ratings,
    /// One per user; `None` for users without a loss.
    pub(super) losses: Vec<Option<UserLoss>>,
    /// b, one per rating.
    pub(super) offsets: Vec<f64>,
    /// User and number of each rating of item i: `by_item[item_offsets[i]..item_offsets[i + 1]]`.
    by_item: Vec<(u32, u32)>,
    item_offsets: Vec<usize>,
    smooth: bool,
    /// Planes of each user.
    cuts: Vec<Cuts>,
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

    /// Whether the loss has Hessians. Others have corners.
    pub fn is_smooth(&self) -> bool {
        self.smooth
    }

    /// Replaces the offsets.
    pub fn set_offsets(&mut self, offsets: Vec<f64>) {
        self.offsets = offsets;
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

    /// The objective.
    pub fn objective(&self, factors: &Factors, lambdas: [f64; 2]) -> f64 {
        let penalty = |lambda: f64, rows: &[f64]| 0.5 * lambda * dot(rows, rows);
        penalty(lambdas[0], &factors.users)
            + penalty(lambdas[1], &factors.items)
            + self.loss(&self.scores(&factors.users, &factors.items, factors.rank))
    }

    /// Subgradients of the objective with respect to U and V.
    pub fn gradients(&self, factors: &Factors, lambdas: [f64; 2]) -> (Vec<f64>, Vec<f64>) {
        let scores = self.scores(&factors.users, &factors.items, factors.rank);
        let mut slopes = vec![0.0; scores.len()];
        self.value_at(&scores, &mut slopes);
        let mut items = self.to_items(&slopes, &factors.users, factors.rank);
        let mut users: Vec<f64> = factors.users.iter().map(|value| lambdas[0] * value).collect();
        for (user, row) in users.chunks_mut(factors.rank).enumerate() {
            for rating in self.ratings.of_user(user) {
                let item = self.ratings.items[rating] as usize;
                axpy(slopes[rating], &factors.items[item * factors.rank..][..factors.rank], row);
            }
        }
        axpy(lambdas[1], &factors.items, &mut items);
        (users, items)
    }

    /// Fits U to V, users in parallel.
    ///
    /// # Errors
    /// An interruption.
    pub fn fit_users(&mut self, factors: &mut Factors, step: HalfStep, control: &Control) -> Result<()> {
        let Factors { rank, users, items } = factors;
        let (rank, items) = (*rank, &*items);
        let most = if self.smooth { step.most } else { step.most.min(MOST_USER_PLANES) };
        let step = HalfStep { most, ..step };
        let mut all_cuts = std::mem::take(&mut self.cuts);
        let parts = users.chunks_mut(rank).zip(&mut all_cuts).collect();
        let fitted = parallel::map_of(parts, |user, (row, cuts): (&mut [f64], &mut Cuts)| {
            control.check()?;
            let range = self.ratings.of_user(user);
            let Some(loss) = &self.losses[user] else {
                row.fill(0.0);
                return Ok(());
            };
            let rows = gather(items, &self.ratings.items[range.clone()], rank);
            let risk = OfUser { loss, rows: &rows, offsets: &self.offsets[range], rank };
            row.copy_from_slice(&step.fit_user(&risk, row, cuts, control));
            Ok(())
        });
        self.cuts = all_cuts;
        fitted.into_iter().collect::<Result<()>>().and_then(|()| control.check())
    }

    /// Fits V to U. Returns the certified gap, relative to the objective without the penalty of U; `None` for smooth
    /// losses.
    ///
    /// # Errors
    /// An interruption.
    pub fn fit_items(
        &mut self,
        factors: &mut Factors,
        step: HalfStep,
        control: &Control,
    ) -> Result<Option<f64>> {
        let Factors { rank, users, items } = factors;
        let rank = *rank;
        if self.smooth {
            let risk = OfItems { problem: self, users, rank };
            *items = step.newton(&risk, items, control);
            return control.check().map(|()| None);
        }
        let mut cuts = std::mem::take(&mut self.cuts);
        let mut search = ItemSearch { problem: self, cuts: &mut cuts, users, rank, step };
        let BestItems { items: found, relative_gap } = search.run(items, control);
        self.cuts = cuts;
        *items = found;
        control.check().map(|()| Some(relative_gap))
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

    /// The part of each user of a number per rating.
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
