//! Users and items as rows of factors, scored by id.
//!
//! ```text
//! score(u, i) = scale b_i + v_i.u
//! ```
//!
//! A user that is not known has u = 0: its items are ranked by their biases. An item that is not known has v = 0 and the
//! bias of an item without ratings. The ratings' items are kept, for what a user has seen is not recommended again.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::codec::{Encoded, decode_header, encode_header};
use super::{Capabilities, Ranker, Target};
use crate::control::Control;
use crate::data::Id;
use crate::error::{Error, Result};
use crate::loss::Loss;
use crate::math::dense::dot;
use crate::math::order::compare;
use crate::solve::{Factors, HalfStep, UserLoss, gather};
use crate::space::{Function, FunctionKind, Space};

/// Name of the form.
pub(super) const FORM: &str = "factor";

/// How the rating of a new user becomes its factors: the choices of the training.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Folding {
    /// The loss.
    pub loss: Loss,
    /// What least squares sees of a rating.
    pub labels: Labels,
    /// Weight of |u|^2 / 2.
    pub lambda: f64,
    /// When a fit ends.
    pub tolerance: f64,
}

/// What least squares sees of a rating y: (y or 2^y - 1) / scale. Other losses see y.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Labels {
    /// Whether it is the gain.
    pub gain: bool,
    /// > 0.
    pub scale: f64,
}

/// Gains of higher ratings are too large to be squared and added up.
const HIGHEST_WITH_GAIN: f64 = 100.0;
/// Larger ones are themselves.
const LARGEST: f64 = 1e100;

impl Labels {
    /// The label of a rating.
    pub fn of(self, rating: f64) -> f64 {
        (if self.gain { libm::exp2(rating) - 1.0 } else { rating }) / self.scale
    }

    /// Refuses a rating that cannot be computed with, of `whom`.
    ///
    /// # Errors
    /// [`Error::Data`] with the rating and what is allowed.
    pub fn check(self, rating: f64, whom: impl FnOnce() -> String) -> Result<()> {
        if rating.abs() <= LARGEST && (!self.gain || rating <= HIGHEST_WITH_GAIN) {
            return Ok(());
        }
        let problem = if self.gain && rating <= LARGEST && rating > 0.0 {
            format!(
                "has no gain 2^y - 1 that can be used; allowed are at most {HIGHEST_WITH_GAIN}, or larger ones where the model is trained with \"target\": \"grade\""
            )
        } else {
            format!("is too large; allowed are at most {LARGEST:e} on both sides of 0")
        };
        let rating = if rating.abs() < 1e15 { format!("{rating}") } else { format!("{rating:e}") };
        Err(Error::Data(format!("{}: the rating {rating} {problem}", whom())))
    }
}

/// Most planes or iterations of a user's problem.
pub const MOST_STEPS: usize = 60;

impl Folding {
    /// What the loss sees of these ratings.
    pub fn labels(&self, ratings: &[f64]) -> Vec<f64> {
        match self.loss.shape() {
            crate::loss::Shape::Quadratic => ratings.iter().map(|&rating| self.labels.of(rating)).collect(),
            _ => ratings.to_vec(),
        }
    }

    /// When a half step ends.
    pub fn step(&self) -> HalfStep {
        HalfStep { tolerance: self.tolerance, most: MOST_STEPS }
    }
}

/// What training leaves behind.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Factored {
    /// Ids of users, ascending.
    pub users: Vec<Id>,
    /// Ids of items, ascending.
    pub items: Vec<Id>,
    /// U and V.
    pub factors: Factors,
    /// a, for people: no ranking depends on it.
    pub user_biases: Vec<f64>,
    /// b.
    pub item_biases: Vec<f64>,
    /// b of an item without ratings.
    pub unknown_bias: f64,
    /// What b counts in a score.
    pub scale: f64,
    /// The items that user u has rated are `seen[seen_offsets[u]..seen_offsets[u + 1]]`, ascending.
    pub seen_offsets: Vec<usize>,
    /// Numbers of items.
    pub seen: Vec<u32>,
    /// How a new user is folded in.
    pub folding: Folding,
}

/// One user, as scores need it.
#[derive(Debug, Clone, PartialEq)]
pub struct User {
    /// u (rank).
    pub factors: Vec<f64>,
    /// Numbers of the items that it has rated, ascending.
    pub seen: Vec<u32>,
}

impl Factored {
    /// The number of a user.
    pub fn user_number(&self, id: &Id) -> Option<usize> {
        self.users.binary_search(id).ok()
    }

    /// The number of an item.
    pub fn item_number(&self, id: &Id) -> Option<usize> {
        self.items.binary_search(id).ok()
    }

    /// A user of the training; one that is not known has no factors and has seen nothing.
    pub fn user(&self, id: &Id) -> User {
        let rank = self.factors.rank;
        match self.user_number(id) {
            None => User { factors: vec![0.0; rank], seen: Vec::new() },
            Some(user) => User {
                factors: self.factors.users[user * rank..][..rank].to_vec(),
                seen: self.seen[self.seen_offsets[user]..self.seen_offsets[user + 1]].to_vec(),
            },
        }
    }

    /// A user with these ratings of items (ascending numbers), V as it is.
    pub fn fold_in(&self, rated: &[(u32, f64)]) -> User {
        let rank = self.factors.rank;
        let seen: Vec<u32> = rated.iter().map(|(item, _)| *item).collect();
        let ratings: Vec<f64> = rated.iter().map(|(_, rating)| *rating).collect();
        let start = vec![0.0; rank];
        let factors = match UserLoss::new(&self.folding.loss, &self.folding.labels(&ratings)) {
            None => start,
            Some(loss) => {
                let rows = gather(&self.factors.items, &seen, rank);
                let offsets: Vec<f64> = seen.iter().map(|&item| self.offset(item as usize)).collect();
                loss.user(&rows, &offsets, &start, self.folding.lambda, self.folding.step())
            }
        };
        User { factors, seen }
    }

    fn offset(&self, item: usize) -> f64 {
        self.scale * self.item_biases[item]
    }

    /// The score of an item, by its number where it is known.
    pub fn score(&self, user: &User, item: Option<usize>) -> f64 {
        let rank = self.factors.rank;
        match item {
            Some(item) => self.offset(item) + dot(&user.factors, &self.factors.items[item * rank..][..rank]),
            None => self.scale * self.unknown_bias,
        }
    }

    /// The best `k` items with their scores, best first, equal ones by id; those that the user has rated are left out
    /// unless `include_seen`.
    pub fn best(&self, user: &User, k: usize, seen: bool) -> Vec<(usize, f64)> {
        let fresh = |item: &usize| seen || user.seen.binary_search(&(*item as u32)).is_err();
        let mut scored: Vec<(usize, f64)> =
            (0..self.items.len()).filter(fresh).map(|item| (item, self.score(user, Some(item)))).collect();
        let before = |a: &(usize, f64), b: &(usize, f64)| compare(b.1, a.1).then(a.0.cmp(&b.0));
        if k < scored.len() {
            scored.select_nth_unstable_by(k, before);
            scored.truncate(k);
        }
        scored.sort_unstable_by(before);
        scored
    }

    /// The first thing that does not fit together, if any.
    fn problem(&self) -> Option<&'static str> {
        let Factors { rank, users, items } = &self.factors;
        let ascend = |ids: &[Id]| ids.windows(2).all(|pair| pair[0] < pair[1]);
        let (n_users, n_items) = (self.users.len(), self.items.len());
        let numbers = [&users[..], items, &self.user_biases, &self.item_biases];
        let finite = numbers.iter().all(|list| list.iter().all(|number| number.is_finite()));
        let checks = [
            (*rank > 0, "a rank"),
            (ascend(&self.users) && ascend(&self.items), "ids in order"),
            (Some(users.len()) == rank.checked_mul(n_users), "a row of factors for each user"),
            (Some(items.len()) == rank.checked_mul(n_items), "a row of factors for each item"),
            (self.user_biases.len() == n_users && self.item_biases.len() == n_items, "a bias for each id"),
            (finite && self.scale.is_finite() && self.unknown_bias.is_finite(), "finite numbers"),
            (self.seen_fit(), "rated items that it knows, in order"),
            (self.folding.is_sound(), "a convex loss and its numbers in their ranges"),
        ];
        checks.into_iter().find(|(holds, _)| !holds).map(|(_, needed)| needed)
    }

    fn seen_fit(&self) -> bool {
        let offsets = &self.seen_offsets;
        let ends = offsets.first() == Some(&0) && offsets.last() == Some(&self.seen.len());
        let rises = |pair: &[usize]| {
            self.seen.get(pair[0]..pair[1]).is_some_and(|seen| seen.windows(2).all(|two| two[0] < two[1]))
        };
        ends && offsets.len() == self.users.len() + 1
            && offsets.windows(2).all(rises)
            && self.seen.iter().all(|&item| (item as usize) < self.items.len())
    }
}

impl Folding {
    fn is_sound(&self) -> bool {
        let sound = match &self.loss {
            Loss::Pair(_) => true,
            Loss::List(loss) => loss.is_sound(),
        };
        let positive = |number: f64| number > 0.0 && number.is_finite();
        sound
            && self.loss.shape().is_convex()
            && [self.labels.scale, self.lambda, self.tolerance].into_iter().all(positive)
    }
}

/// The ranker.
#[derive(Debug)]
pub struct Factor {
    space: Space,
    function: Arc<Function>,
    factored: Factored,
}

impl Factor {
    /// A ranker of what was fitted.
    pub fn new(factored: Factored) -> Self {
        let function = Arc::new(Function { weights: Vec::new(), objective: 0.0, gap: 0.0 });
        Self { space: Space::linear(0, FunctionKind::Pointwise), function, factored }
    }
}

impl Ranker for Factor {
    fn form(&self) -> &'static str {
        FORM
    }

    fn space(&self) -> &Space {
        &self.space
    }

    fn query_dependent(&self) -> bool {
        true
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities { pointwise: false, linear: false, has_features: false, query_dependent: true }
    }

    fn stored(&self, _target: &Target<'_>) -> Option<Arc<Function>> {
        Some(Arc::clone(&self.function))
    }

    fn fit(&self, _features: &[f64], _control: &Control) -> Result<Function> {
        Ok((*self.function).clone())
    }

    fn factored(&self) -> Option<&Factored> {
        Some(&self.factored)
    }

    fn encode(&self) -> Result<Encoded<'_>> {
        Ok(Encoded { header: encode_header(&self.factored)?, blocks: Vec::new() })
    }
}

/// Reads the ranker, which has no blocks.
pub(super) fn decode(header: &[u8], blocks: usize, _whole: bool) -> Result<Box<dyn Ranker>> {
    let factored: Factored = decode_header(header)?;
    let problem = if blocks > 0 { Some("no blocks") } else { factored.problem() };
    match problem {
        None => Ok(Box::new(Factor::new(factored))),
        Some(needed) => Err(Error::Corrupt(format!("factors: they need {needed}"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::loss::find;
    use crate::param::Params;

    fn sound() -> Factored {
        let loss = (find("pair_squared").unwrap().make)(&Params::default()).unwrap();
        Factored {
            users: vec![Id::Integer(1), Id::Integer(2)],
            items: vec![Id::text("a"), Id::text("b"), Id::text("c")],
            factors: Factors {
                rank: 2,
                users: vec![1.0, 0.0, 0.0, 1.0],
                items: vec![2.0, 0.0, 0.0, 2.0, 1.0, 1.0],
            },
            user_biases: vec![0.0; 2],
            item_biases: vec![0.5, 0.0, 0.25],
            unknown_bias: -0.5,
            scale: 2.0,
            seen_offsets: vec![0, 2, 3],
            seen: vec![0, 2, 1],
            folding: Folding {
                loss,
                labels: Labels { gain: true, scale: 2.0 },
                lambda: 1.0,
                tolerance: 1e-3,
            },
        }
    }

    fn read(factored: &Factored) -> Result<Box<dyn Ranker>> {
        decode(&encode_header(factored).unwrap(), 0, true)
    }

    #[test]
    fn what_was_written_is_read() {
        assert_eq!(read(&sound()).unwrap().factored(), Some(&sound()));
    }

    type Change = (&'static str, fn(&mut Factored));

    const WRONG: &[Change] = &[
        ("no rank", |f| f.factors.rank = 0),
        ("a rank that overflows", |f| f.factors.rank = usize::MAX),
        ("users out of order", |f| f.users.reverse()),
        ("an item twice", |f| f.items[1] = f.items[0].clone()),
        ("a user too many", |f| f.users.push(Id::Integer(9))),
        ("a number too few", |f| f.factors.items.truncate(5)),
        ("a bias too few", |f| f.item_biases.truncate(2)),
        ("a factor that is NaN", |f| f.factors.users[0] = f64::NAN),
        ("an infinite bias", |f| f.item_biases[0] = f64::INFINITY),
        ("an infinite scale", |f| f.scale = f64::INFINITY),
        ("an unknown bias that is NaN", |f| f.unknown_bias = f64::NAN),
        ("no offsets", |f| f.seen_offsets.clear()),
        ("offsets that fall", |f| f.seen_offsets = vec![0, 9, 3]),
        ("an offset too few", |f| f.seen_offsets = vec![0, 3]),
        ("seen items out of order", |f| f.seen = vec![2, 0, 1]),
        ("a seen item that is not there", |f| f.seen[1] = 3),
        ("a lambda of 0", |f| f.folding.lambda = 0.0),
        ("a tolerance that is NaN", |f| f.folding.tolerance = f64::NAN),
        ("a scale of labels of 0", |f| f.folding.labels.scale = 0.0),
        ("a loss that is not convex", |f| f.folding.loss = Loss::Pair(crate::loss::PairLoss::Psi)),
    ];

    #[test]
    fn what_does_not_fit_together_is_refused() {
        for (what, change) in WRONG {
            let mut factored = sound();
            change(&mut factored);
            assert!(matches!(read(&factored), Err(Error::Corrupt(_))), "{what}");
        }
        assert!(decode(&encode_header(&sound()).unwrap(), 1, true).is_err(), "a block");
    }

    #[test]
    fn the_best_fresh_items_come_first() {
        let factored = sound();
        let user = factored.user(&Id::Integer(2));
        assert_eq!(factored.best(&user, 10, false), vec![(2, 1.5), (0, 1.0)]);
        assert_eq!(factored.best(&user, 2, true), vec![(1, 2.0), (2, 1.5)]);
        let nobody = factored.user(&Id::Integer(7));
        assert_eq!(factored.best(&nobody, 1, false), vec![(0, 1.0)]);
        assert!((factored.score(&nobody, None) + 1.0).abs() < 1e-12);
    }

    /// The folded user is the minimum of its own problem: ridge on centered labels.
    #[test]
    fn a_new_user_is_fitted_to_its_ratings() {
        let factored = sound();
        let user = factored.fold_in(&[(0, 2.0), (1, 1.0)]);
        // Labels (1.5, 0.5), offsets (1, 0): centered differences to explain are (0, 0).
        assert!(user.factors.iter().all(|value| value.abs() < 1e-12), "{:?}", user.factors);
        let user = factored.fold_in(&[(0, 3.0), (1, 1.0)]);
        // Labels (3.5, 0.5): residuals (1, -1) after centering; rows (1, -1), (-1, 1): u = 2 (1, -1) / (1 + 4).
        assert!(
            (user.factors[0] - 0.4).abs() < 1e-6 && (user.factors[1] + 0.4).abs() < 1e-6,
            "{:?}",
            user.factors
        );
    }
}
