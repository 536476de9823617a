//! Recommendations in Rust, by models of users and items (`cofi_rank`).

use super::Answer;
use super::model::{Model, RankOptions, run};
use crate::apply::{DEFAULT_K, candidate_items, new_users, user_of_ratings};
use crate::base::{Error, Result};
use crate::data::Id;
use crate::model::{Candidates, Ranker};

/// Options of a recommendation.
#[derive(Debug, Clone)]
pub struct RecommendOptions {
    /// Largest number of items; 10 by default.
    pub k: usize,
    /// Whether to recommend items that the user has already rated; false by default.
    pub include_seen: bool,
    /// The items to choose from; all items of the model by default. Items that are not in the model are ignored.
    pub candidates: Option<Vec<Id>>,
    /// Ratings by the user, which replace the ratings in the training data; for a model of pairs without ratings,
    /// counts. The user is fitted to them. Items that are not in the model are ignored.
    pub ratings: Option<Vec<(Id, f64)>>,
}

impl Default for RecommendOptions {
    fn default() -> Self {
        Self { k: DEFAULT_K, include_seen: false, candidates: None, ratings: None }
    }
}

/// A recommended item.
#[derive(Debug, Clone, PartialEq)]
pub struct Recommended {
    /// The item.
    pub doc_id: Id,
    /// The score; higher is better. Scores of different users are not comparable.
    pub score: f64,
    /// The rank, from 1.
    pub rank: usize,
    /// Whether the list is the same for every new user: the user is not in the model, and fewer than two ratings of known
    /// items are given (for a model of pairs without ratings, not one pair).
    pub new_user: bool,
}

impl Model {
    /// Recommends items for a user, like `ltr_recommend` in SQL.
    ///
    /// ```
    /// use sqlite_ltr::{Dataset, RecommendOptions, Trainer};
    ///
    /// let ratings = [(1, 1, 5.0), (1, 2, 1.0), (2, 1, 4.0), (2, 2, 2.0), (2, 3, 1.0), (3, 2, 1.0), (3, 3, 5.0)];
    /// let users = ratings.map(|(user, _, _)| user);
    /// let data = Dataset::from_ratings(users, ratings.map(|(_, item, _)| item), &ratings.map(|(_, _, rating)| rating))?;
    /// let model = Trainer::new("cofi_rank").option("factors", 1).option("lambda", 1).fit(&data)?;
    /// let best = model.recommend(1, &RecommendOptions::default())?;
    /// assert!(best[0].doc_id == 3.into() && !best[0].new_user);
    /// assert!(model.recommend("1", &RecommendOptions::default()).is_err(), "the user is a number");
    /// # Ok::<(), sqlite_ltr::Error>(())
    /// ```
    ///
    /// # Errors
    /// A model without users and items; an id with a different type than in training, such as the text `"1"` for 1; an item that
    /// is rated twice; a rating that is too large.
    pub fn recommend(&self, user: impl Into<Id>, options: &RecommendOptions) -> Result<Answer<Recommended>> {
        let Ranker::Factored(factored) = &self.inner().ranker else {
            let name = &self.inner().card.algorithm;
            return Err(Error::Unsupported(format!("a model of '{name}' has no users and items")));
        };
        let mut warnings = Vec::new();
        let among = options.candidates.as_ref();
        let among =
            among.map(|ids| candidate_items(factored, ids, "candidates", &mut warnings)).transpose()?;
        let user = if let Some(ratings) = &options.ratings {
            user_of_ratings(self.inner(), factored, ratings.clone(), "ratings", &mut warnings)?
        } else {
            let ids = [user.into()];
            let indices = factored.user_indices(&ids, "user")?;
            warnings.extend(new_users(&ids, &indices));
            factored.user(indices[0])
        };
        let rated = if options.include_seen { Candidates::All } else { Candidates::Unrated };
        let best =
            run(&RankOptions::default(), |_| factored.best(&user, options.k, rated, among.as_deref()))?;
        let new_user = user.is_new;
        let item = |((item, score), rank): ((usize, f64), usize)| Recommended {
            doc_id: factored.items[item].clone(),
            score,
            rank,
            new_user,
        };
        Ok(Answer { rows: best.into_iter().zip(1..).map(item).collect(), warnings })
    }
}
