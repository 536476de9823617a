//! Factors of users and items, scored by id.
//!
//! ```text
//! score(u, i) = scale b_i + v_i.u
//! ```
//!
//! An unknown user has u = 0, so its items are ranked by their biases b. An unknown item has v = 0 and the bias of an item
//! without ratings. The model stores which items each user has rated, so they are not recommended again.
//!
//! Ratings of 1 represent pairs without ratings ([`Implicit`]). With all other items as negatives the scale is 0, and b_i, the
//! fraction of users that have the item, ranks for unknown users only.

#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};

use super::codec::{decode_header, encode_header};
use super::implicit::Implicit;
use crate::base::{Error, Result, Ticks, require};
use crate::cost::loss::{Loss, Shape};
use crate::data::{Id, ListConstraint};
use crate::learn::solve::{Factors, HalfStep, Side, UserLoss, gather, no_solution};
use crate::math::{BOUNDED, are_bounded, dot, is_positive, keep_smallest, sort_items};

pub(super) const TAG: &str = "factor";

/// The form of models of pairs without ratings.
pub(super) const IMPLICIT_TAG: &str = "implicit";

/// Largest number of iterations per user's fit.
pub const MAX_STEPS: usize = 60;

/// How the ratings of a user are fitted to its factors.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FoldIn {
    pub loss: Loss,
    /// How least squares transforms a rating.
    pub transform: RatingTransform,
    /// Weight of |u|^2 / 2.
    pub lambda: f64,
    /// Relative gap at which a fit ends.
    pub tolerance: f64,
}

/// Maps a rating y to (y or 2^y - 1) / scale, the target of least squares. Other losses take y itself.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct RatingTransform {
    /// Use the gain 2^y - 1.
    pub gain: bool,
    /// > 0.
    pub scale: f64,
}

/// The squared gains of higher ratings would overflow.
const MAX_RATING_WITH_GAIN: f64 = 100.0;
/// So would larger ratings.
const MAX_RATING: f64 = 1e100;

impl RatingTransform {
    /// The target for a rating.
    pub fn apply(self, rating: f64) -> f64 {
        (if self.gain { libm::exp2(rating) - 1.0 } else { rating }) / self.scale
    }

    /// Refuses a rating that is too large to compute with; `origin` says where it comes from.
    ///
    /// # Errors
    /// [`Error::Data`] with the rating and the allowed values.
    pub fn check(self, rating: f64, origin: impl FnOnce() -> String) -> Result<()> {
        if rating.abs() <= MAX_RATING && (!self.gain || rating <= MAX_RATING_WITH_GAIN) {
            return Ok(());
        }
        let problem = if self.gain && rating <= MAX_RATING && rating > 0.0 {
            format!(
                "is too large for the gain 2^y - 1; expected at most {MAX_RATING_WITH_GAIN}, or larger ones if the model is trained with \"target\": \"grade\"; counts of plays or purchases need \"feedback\": \"implicit\""
            )
        } else {
            format!("is too large; expected {MAX_RATING:e} and less on both sides of 0")
        };
        let rating = if rating.abs() < 1e15 { format!("{rating}") } else { format!("{rating:e}") };
        Err(Error::Data(format!("{}: the rating {rating} {problem}", origin())))
    }
}

impl FoldIn {
    /// The targets of the loss for these ratings.
    pub fn targets(&self, ratings: &[f64]) -> Vec<f64> {
        match self.loss.shape() {
            Shape::Quadratic => ratings.iter().map(|&rating| self.transform.apply(rating)).collect(),
            _ => ratings.to_vec(),
        }
    }

    /// When a user's fit ends.
    pub fn step(&self) -> HalfStep {
        HalfStep { lambda: self.lambda, tolerance: self.tolerance, most: MAX_STEPS }
    }
}

/// Factors of users and items.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Factored {
    /// Ids of users, ascending.
    pub users: Vec<Id>,
    /// Ids of items, ascending.
    pub items: Vec<Id>,
    /// U and V.
    pub factors: Factors,
    /// a. Rankings do not depend on it; it is kept for display.
    pub user_biases: Vec<f64>,
    /// b.
    pub item_biases: Vec<f64>,
    /// b of an item without ratings.
    pub unknown_bias: f64,
    /// Factor of b in a score.
    pub scale: f64,
    /// User u has rated the items `rated[rated_offsets[u]..rated_offsets[u + 1]]`, ascending.
    pub rated_offsets: Vec<usize>,
    /// Indices of items.
    pub rated: Vec<u32>,
    /// How a new user is fitted.
    pub fold_in: FoldIn,
    /// How pairs without ratings were learned; `None` for ratings.
    #[serde(skip)]
    pub implicit: Option<Implicit>,
}

/// The index of each id among the known ids, which are ascending; `None` for a new id.
///
/// # Errors
/// [`Error::Value`] for an id known with a different type (42 for '42'), or whose type no known id has, and for a REAL
/// beyond 2^53 that equals a known INTEGER, since several integers round to it.
fn indices(known: &[Id], ids: &[Id], what: &str) -> Result<Vec<Option<usize>>> {
    let mut ticks = Ticks::default();
    let mut types: Vec<&str> = Vec::new();
    let mut indices = Vec::with_capacity(ids.len());
    for id in ids {
        ticks.add(100);
        let index = known.binary_search(id).ok();
        indices.push(index);
        if let Some(index) = index {
            if id.is_rounded() && !known[index].is_rounded() {
                let allowed = "an INTEGER: a REAL beyond 2^53 means several";
                return Err(Error::value(what, id.describe(), allowed));
            }
            continue;
        }
        let same = id.in_other_types().iter().find_map(|other| known.binary_search(other).ok());
        if types.is_empty() {
            for name in known.iter().map(Id::type_name) {
                if types.last() != Some(&name) && !types.contains(&name) {
                    types.push(name);
                }
            }
        }
        let (advice, example) = match same {
            Some(same) => ("the id as in the training data,", same),
            None if types.contains(&id.type_name()) => continue,
            None => ("an id of a type in the training data, such as", 0),
        };
        let example = known.get(example).map(Id::describe).unwrap_or_default();
        return Err(Error::value(what, id.describe(), format!("{advice} {example}")));
    }
    Ok(indices)
}

/// A user to score items for.
#[derive(Debug, Clone, PartialEq)]
pub struct User {
    /// u (rank).
    pub factors: Vec<f64>,
    /// Indices of the user's rated items, ascending.
    pub rated: Vec<u32>,
    /// Whether items are ranked only by their biases for this user, who is not in the training data and has rated too few
    /// items of the model for an order.
    pub is_new: bool,
}

/// Which items may be recommended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Candidates {
    /// All items.
    All,
    /// Items that the user has not rated.
    Unrated,
}

impl Factored {
    pub fn user_index(&self, id: &Id) -> Option<usize> {
        self.users.binary_search(id).ok()
    }

    pub fn item_index(&self, id: &Id) -> Option<usize> {
        self.items.binary_search(id).ok()
    }

    /// User indices, `None` for new users; `what` names the ids in messages.
    ///
    /// # Errors
    /// As [`indices`].
    pub fn user_indices(&self, ids: &[Id], what: &str) -> Result<Vec<Option<usize>>> {
        indices(&self.users, ids, what)
    }

    /// Item indices, `None` for new items; `what` names the ids in messages.
    ///
    /// # Errors
    /// As [`indices`].
    fn item_indices(&self, ids: &[Id], what: &str) -> Result<Vec<Option<usize>>> {
        indices(&self.items, ids, what)
    }

    /// A training user, by index; a new user has zero factors and no ratings.
    pub fn user(&self, index: Option<usize>) -> User {
        let rank = self.factors.rank;
        match index {
            None => User { factors: vec![0.0; rank], rated: Vec::new(), is_new: true },
            Some(user) => User {
                factors: self.factors.users[user * rank..][..rank].to_vec(),
                rated: self.rated[self.rated_offsets[user]..self.rated_offsets[user + 1]].to_vec(),
                is_new: false,
            },
        }
    }

    /// A new user with these ratings of items (ascending indices), for fixed V.
    pub fn fold_in(&self, ratings: &[(u32, f64)]) -> User {
        let rank = self.factors.rank;
        let (rated, ratings): (Vec<u32>, Vec<f64>) = ratings.iter().copied().unzip();
        let start = vec![0.0; rank];
        let factors = match UserLoss::new(&self.fold_in.loss, &self.fold_in.targets(&ratings)) {
            None => start,
            Some(loss) => {
                let rows = gather(&self.factors.items, &rated, rank);
                let offsets: Vec<f64> = rated.iter().map(|&item| self.offset(item as usize)).collect();
                loss.fit_user(&rows, &offsets, &start, self.fold_in.step())
            }
        };
        User { factors, is_new: rated.len() < self.fewest_ratings(), rated }
    }

    /// Fewest ratings of known items that determine an order. For pairs without ratings one is enough: it ranks above
    /// all other items.
    pub fn fewest_ratings(&self) -> usize {
        if self.implicit.is_some() { 1 } else { 2 }
    }

    /// A new user with these pairs of items (ascending indices) and counts, for fixed V.
    fn fold_in_pairs(&self, implicit: Implicit, counts: &[(u32, f64)]) -> Result<User> {
        let rated: Vec<u32> = counts.iter().map(|(item, _)| *item).collect();
        if rated.is_empty() {
            return Ok(self.user(None));
        }
        let Implicit::AllItems { count_weight } = implicit else {
            let drawn = implicit.negatives(self.users.len(), &rated, self.items.len());
            let mut ratings: Vec<(u32, f64)> = rated.iter().map(|item| (*item, 1.0)).collect();
            ratings.extend(drawn.into_iter().map(|item| (item, 0.0)));
            sort_items(&mut ratings, |a, b| a.0.cmp(&b.0));
            return Ok(User { rated, ..self.fold_in(&ratings) });
        };
        let pairs: Vec<(u32, f64)> =
            counts.iter().map(|(item, count)| (*item, count_weight * count)).collect();
        let lambda = self.fold_in.lambda;
        let factors = Side::new(&self.factors.items, self.factors.rank).solve(&pairs, lambda);
        Ok(User { factors: factors.ok_or_else(|| no_solution(lambda))?, rated, is_new: false })
    }

    /// A new user with these ratings, and the number of ratings of items that are not in the model. `what` names the ratings.
    ///
    /// # Errors
    /// An item twice, a rating that is too large, an id as in [`Self::item_indices`].
    pub fn user_of_ratings(&self, mut ratings: Vec<(Id, f64)>, what: &str) -> Result<(User, usize)> {
        for (id, rating) in &ratings {
            let origin = || format!("{what}, item {id}");
            match self.implicit {
                Some(implicit) => implicit.check(*rating, origin)?,
                None => self.fold_in.transform.check(*rating, origin)?,
            }
        }
        sort_items(&mut ratings, |a, b| a.0.cmp(&b.0));
        if let Some(pair) = ratings.windows(2).find(|pair| pair[0].0 == pair[1].0) {
            return Err(Error::Data(format!("{what}: item {} appears twice", pair[0].0)));
        }
        let (ids, ratings): (Vec<Id>, Vec<f64>) = ratings.into_iter().unzip();
        let indices = self.item_indices(&ids, what)?;
        let known = |(index, rating): (&Option<usize>, &f64)| Some(((*index)? as u32, *rating));
        let rated: Vec<(u32, f64)> = indices.iter().zip(&ratings).filter_map(known).collect();
        let user = match self.implicit {
            Some(implicit) => self.fold_in_pairs(implicit, &rated)?,
            None => self.fold_in(&rated),
        };
        Ok((user, ratings.len() - rated.len()))
    }

    /// Indices of items to choose from, ascending, and the number of ids that are not in the model. `what` names the ids.
    ///
    /// # Errors
    /// An id as in [`Self::item_indices`].
    pub fn candidates(&self, ids: &[Id], what: &str) -> Result<(Vec<u32>, usize)> {
        let indices = self.item_indices(ids, what)?;
        let mut items: Vec<u32> = indices.into_iter().flatten().map(|item| item as u32).collect();
        let unknown = ids.len() - items.len();
        items.sort_unstable();
        items.dedup();
        Ok((items, unknown))
    }

    fn offset(&self, item: usize) -> f64 {
        self.scale * self.item_biases[item]
    }

    /// The score of an item, given by its index; `None` is an unknown item.
    pub fn score(&self, user: &User, item: Option<usize>) -> f64 {
        let rank = self.factors.rank;
        let scale = match self.implicit {
            Some(Implicit::AllItems { .. }) if user.is_new => 1.0,
            _ => self.scale,
        };
        match item {
            Some(item) => {
                scale * self.item_biases[item]
                    + dot(&user.factors, &self.factors.items[item * rank..][..rank])
            }
            None => scale * self.unknown_bias,
        }
    }

    /// The best `k` items with their scores, best first. Items with equal scores are ordered by id. `among`: ascending indices of
    /// the items to choose from; `None` for all items.
    ///
    /// # Errors
    /// [`Error::Data`] for a score that is not finite: the ratings that the user was fitted to are too large.
    pub fn best(
        &self,
        user: &User,
        k: usize,
        candidates: Candidates,
        among: Option<&[u32]>,
    ) -> Result<Vec<(usize, f64)>> {
        let is_candidate = |item: &usize| {
            candidates == Candidates::All || user.rated.binary_search(&(*item as u32)).is_err()
        };
        let items = (0..among.map_or(self.items.len(), <[u32]>::len))
            .map(|position| among.map_or(position, |among| among[position] as usize));
        let mut ticks = Ticks::default();
        let mut scored: Vec<(usize, f64)> = Vec::new();
        for item in items.filter(is_candidate) {
            ticks.add(self.factors.rank + 10);
            scored.push((item, self.score(user, Some(item))));
        }
        if let Some((item, _)) = scored.iter().find(|(_, score)| !score.is_finite()) {
            let item = &self.items[*item];
            return Err(Error::Data(format!(
                "the score of item {item} is beyond the range of numbers; the ratings of the user are too large"
            )));
        }
        // The largest scores are the smallest negative ones.
        let negate = |scored: &mut [(usize, f64)]| scored.iter_mut().for_each(|(_, score)| *score = -*score);
        negate(&mut scored);
        keep_smallest(&mut scored, k);
        negate(&mut scored);
        Ok(scored)
    }

    /// Name of the form in stored models.
    pub(super) fn tag(&self) -> &'static str {
        if self.implicit.is_some() { IMPLICIT_TAG } else { TAG }
    }

    pub(super) fn encode(&self) -> Result<Vec<u8>> {
        match self.implicit {
            Some(implicit) => encode_header(&(implicit, self)),
            None => encode_header(self),
        }
    }

    pub(super) fn decode(header: &[u8]) -> Result<Self> {
        let factored: Self = decode_header(header)?;
        factored.validate()?;
        Ok(factored)
    }

    pub(super) fn decode_implicit(header: &[u8]) -> Result<Self> {
        let (implicit, factored): (Implicit, Self) = decode_header(header)?;
        let factored = Self { implicit: Some(implicit), ..factored };
        factored.validate()?;
        Ok(factored)
    }

    fn validate(&self) -> Result<()> {
        let Factors { rank, users, items } = &self.factors;
        let ascend = |ids: &[Id]| ids.windows(2).all(|pair| pair[0] < pair[1]);
        let (n_users, n_items) = (self.users.len(), self.items.len());
        let numbers = [&users[..], items, &self.user_biases, &self.item_biases];
        let all_items = matches!(self.implicit, Some(Implicit::AllItems { .. }));
        let bounded = numbers.iter().all(|list| are_bounded(*list));
        require(
            "factors",
            &[
                (*rank > 0, "a rank above 0"),
                (ascend(&self.users) && ascend(&self.items), "ids in order"),
                (Some(users.len()) == rank.checked_mul(n_users), "a row of factors for each user"),
                (Some(items.len()) == rank.checked_mul(n_items), "a row of factors for each item"),
                (
                    self.user_biases.len() == n_users && self.item_biases.len() == n_items,
                    "a bias for each id",
                ),
                (bounded && are_bounded(&[self.scale, self.unknown_bias]), BOUNDED),
                (self.rated_items_are_valid(), "ascending indices of rated items"),
                (self.implicit.is_none_or(Implicit::is_valid), "a weight of counts or a number of negatives"),
                (!all_items || self.shares_are_valid(), "the shares of users of each item"),
            ],
        )?;
        self.fold_in.validate()
    }

    /// Whether each item's bias is the fraction of users that have rated it.
    fn shares_are_valid(&self) -> bool {
        let (mut users, n) = (vec![0.0; self.items.len()], self.users.len() as f64);
        self.rated.iter().for_each(|item| users.get_mut(*item as usize).map_or((), |users| *users += 1.0));
        let is_share = |(users, bias): (&f64, &f64)| (users - n * bias).abs() < 0.5;
        self.scale == 0.0 && users.iter().zip(&self.item_biases).all(is_share)
    }

    fn rated_items_are_valid(&self) -> bool {
        let offsets = &self.rated_offsets;
        let ends = offsets.first() == Some(&0) && offsets.last() == Some(&self.rated.len());
        let ascends = |pair: &[usize]| {
            let rated = self.rated.get(pair[0]..pair[1]);
            rated.is_some_and(|rated| rated.windows(2).all(|two| two[0] < two[1]))
        };
        ends && offsets.len() == self.users.len() + 1
            && offsets.windows(2).all(ascends)
            && self.rated.iter().all(|&item| (item as usize) < self.items.len())
    }
}

impl FoldIn {
    fn validate(&self) -> Result<()> {
        let numbers = [self.transform.scale, self.lambda, self.tolerance];
        require(
            "fit of new users",
            &[
                (self.loss.shape().is_convex(), "a convex loss"),
                (self.loss.constraint() == ListConstraint::None, "a loss of lists without groups"),
                (numbers.into_iter().all(is_positive), "positive numbers"),
            ],
        )
    }
}
