//! Which rows each fold trains on and holds out.
//!
//! | split | fold i of n trains on | and holds out |
//! |---|---|---|
//! | by query (default) | all queries but part i of n | part i |
//! | by time (`split_by`) | parts 1 to i of n + 1, in the order of the column | part i + 1 |
//!
//! Only queries with documents of different relevance are held out. With `group_by` a part has whole groups. Without features
//! (ratings), parts divide each user's ratings, or all ratings in the order of the column.

use crate::base::{Error, Params, Result};
use crate::cost::loss::pair_count;
use crate::data::{Dataset, Id};
use crate::train::algorithm::FoldUnit;
use crate::train::options::count;
use crate::train::select::{self, parts_in_order, rating_folds};

/// The folds of a search.
pub struct Folds {
    parts: Parts,
    pub number: usize,
    /// Whether each fold trains on what comes before.
    is_forward: bool,
    /// The kind of held-out data, for reports.
    held_out: String,
}

/// The units that the folds divide.
enum Parts {
    Queries(select::Folds),
    /// Ratings: the part of each row (`n_docs`); `None` for rows that every fold trains on.
    Ratings(Vec<Option<usize>>),
}

/// The number of folds that the options ask for.
pub(super) fn number(options: &Params) -> usize {
    count(options, "folds")
}

impl Folds {
    /// Divides the rows. `split`: the value of the column `split_by` in each row.
    ///
    /// # Errors
    /// Fewer queries, groups or values than parts.
    pub(super) fn new(
        data: &Dataset,
        unit: FoldUnit,
        split: Option<&[Id]>,
        options: &Params,
    ) -> Result<Self> {
        let (number, seed) = (number(options), options.seed());
        let (parts, held_out) = match unit {
            FoldUnit::Queries => {
                let judged = |query| pair_count(data.labels(query)) > 0;
                let judged: Vec<bool> = (0..data.n_queries()).map(judged).collect();
                let held = judged.iter().filter(|judged| **judged).count();
                let folds = select::Folds::of_number(data, &judged, number, seed)?;
                (Parts::Queries(folds), format!("{held} of {} queries", data.n_queries()))
            }
            FoldUnit::Documents => {
                let parts = Parts::Ratings(of_ratings(data, number, split, seed));
                (parts, format!("the ratings of {} users", data.n_queries()))
            }
        };
        let is_forward = split.is_some() || !data.fold_keys.order.is_empty();
        let folds = Self { parts, number, is_forward, held_out };
        folds.check(data)?;
        Ok(folds)
    }

    /// Refuses folds without rows to train on or to hold out.
    fn check(&self, data: &Dataset) -> Result<()> {
        let number = self.number;
        let parts_used = match &self.parts {
            Parts::Queries(folds) => folds.count,
            Parts::Ratings(part) => {
                let parts = number + usize::from(self.is_forward);
                let count = (0..parts).take_while(|number| part.contains(&Some(*number))).count();
                count - usize::from(self.is_forward).min(count)
            }
        };
        if parts_used == number {
            return Ok(());
        }
        Err(Error::Data(match &self.parts {
            _ if self.is_forward => format!(
                "option 'split_by': the rows that can be held out have fewer than {} different values in the column; lower \
                 'folds' (now {number}), which needs one value more than folds",
                number + 1
            ),
            Parts::Queries(_) if !data.fold_keys.groups.is_empty() => format!(
                "option 'group_by': the queries that can be held out have {parts_used} different values in the column, too few for \
                 {number} folds; lower 'folds'"
            ),
            Parts::Queries(_) => format!(
                "{} have documents of different relevance, too few for {number} folds; lower 'folds'",
                self.held_out
            ),
            Parts::Ratings(_) => {
                format!("no user has {number} ratings, too few for {number} folds; lower 'folds'")
            }
        }))
    }

    /// Whether queries are held out with all their documents.
    pub(super) fn are_of_queries(&self) -> bool {
        matches!(self.parts, Parts::Queries(_))
    }

    /// The kind of held-out data, for reports.
    pub fn held_out(&self) -> String {
        let how = if self.is_forward { "each time the next part in order" } else { "each once" };
        format!("{}, {how}, in {} folds", self.held_out, self.number)
    }

    /// The rows that a fold trains on, and those that it holds out, both ascending.
    pub(super) fn rows(&self, data: &Dataset, fold: usize) -> (Vec<usize>, Vec<usize>) {
        match &self.parts {
            Parts::Queries(folds) => {
                let trains = (0..data.n_queries()).filter(|query| folds.trains(fold, *query));
                let training = trains.flat_map(|query| data.rows(query)).collect();
                (training, folds.held_out(fold).into_iter().flat_map(|query| data.rows(query)).collect())
            }
            Parts::Ratings(part) => {
                let holds = fold + usize::from(self.is_forward);
                let trains = |part: Option<usize>| {
                    if self.is_forward { part.is_some_and(|part| part < holds) } else { part != Some(holds) }
                };
                let training = (0..part.len()).filter(|row| trains(part[*row])).collect();
                (training, (0..part.len()).filter(|row| part[*row] == Some(holds)).collect())
            }
        }
    }
}

/// The part of each rating.
fn of_ratings(data: &Dataset, number: usize, split: Option<&[Id]>, seed: u64) -> Vec<Option<usize>> {
    if let Some(split) = split {
        return parts_in_order(split, split, number + 1).into_iter().map(Some).collect();
    }
    let of_user = |user: usize| {
        let items: Vec<&Id> = data.doc_ids[data.rows(user)].iter().collect();
        rating_folds(&data.query_ids[user], &items, number as f64, seed)
    };
    (0..data.n_queries()).flat_map(of_user).collect()
}
