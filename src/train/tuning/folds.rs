//! Which rows each fold trains on and holds out.
//!
//! | split | fold i of n trains on | and holds out |
//! |---|---|---|
//! | by query (default) | all queries but part i of n | part i |
//! | by time (`split_by`) | parts 1 to i of n + 1, in the order of the column | part i + 1 |
//!
//! Only queries with documents of different relevance are held out. Without features (ratings), parts are parts of the
//! ratings: of each user, or of all in the order of the column.

use crate::base::{Error, Params, Result};
use crate::cost::loss::pair_count;
use crate::data::{Dataset, Id};
use crate::train::algorithm::FoldUnit;
use crate::train::options::count;
use crate::train::select::{fold_numbers, parts_in_order, rating_folds};

/// The parts of the rows.
pub struct Folds {
    /// The part of each row (`n_docs`); `None` for rows that are in every training part.
    part: Vec<Option<usize>>,
    /// Whether a row is held out in its turn (`n_docs`).
    judged: Vec<bool>,
    number: usize,
    unit: FoldUnit,
    order: Order,
    /// What is held out, for reports.
    held_out: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Order {
    Random,
    Forward,
}

/// The number of folds that the options ask for.
pub(super) fn number(options: &Params) -> usize {
    count(options, "folds")
}

impl Folds {
    /// Divides the rows. `split`: the value of the column `split_by` in each row.
    ///
    /// # Errors
    /// Fewer queries or values than parts.
    pub(super) fn new(
        data: &Dataset,
        unit: FoldUnit,
        split: Option<&[Id]>,
        options: &Params,
    ) -> Result<Self> {
        let number = number(options);
        let seed = options.seed();
        let order = if split.is_some() { Order::Forward } else { Order::Random };
        let mut folds = match unit {
            FoldUnit::Queries => Self::of_queries(data, number, split, seed),
            FoldUnit::Documents => Self::of_ratings(data, number, split, seed),
        };
        folds.order = order;
        folds.check()?;
        Ok(folds)
    }

    fn of_queries(data: &Dataset, number: usize, split: Option<&[Id]>, seed: u64) -> Self {
        let n = data.n_queries();
        let judged: Vec<bool> = (0..n).map(|query| pair_count(data.labels(query)) > 0).collect();
        let part: Vec<Option<usize>> = if let Some(split) = split {
            // A query is as late as its latest row.
            let latest = |query: usize| split[data.rows(query)].iter().max().cloned().unwrap_or_default();
            let all: Vec<Id> = (0..n).map(latest).collect();
            let counted: Vec<Id> =
                (0..n).filter(|query| judged[*query]).map(|query| all[query].clone()).collect();
            parts_in_order(&counted, &all, number + 1).into_iter().map(Some).collect()
        } else {
            fold_numbers(&data.query_ids, &judged, number, seed)
        };
        let rows = |query: usize| data.rows(query).map(move |_| query);
        let query_of: Vec<usize> = (0..n).flat_map(rows).collect();
        let held = judged.iter().filter(|judged| **judged).count();
        Self {
            part: query_of.iter().map(|query| part[*query]).collect(),
            judged: query_of.iter().map(|query| judged[*query]).collect(),
            number,
            unit: FoldUnit::Queries,
            order: Order::Random,
            held_out: format!("{held} of {n} queries"),
        }
    }

    fn of_ratings(data: &Dataset, number: usize, split: Option<&[Id]>, seed: u64) -> Self {
        let part = if let Some(split) = split {
            parts_in_order(split, split, number + 1).into_iter().map(Some).collect()
        } else {
            let of_user = |user: usize| {
                let items: Vec<&Id> = data.doc_ids[data.rows(user)].iter().collect();
                rating_folds(&data.query_ids[user], &items, number as f64, seed)
            };
            (0..data.n_queries()).flat_map(of_user).collect()
        };
        let judged = vec![true; data.n_docs()];
        let held_out = format!("the ratings of {} users", data.n_queries());
        Self { part, judged, number, unit: FoldUnit::Documents, order: Order::Random, held_out }
    }

    /// Refuses folds without rows to train on or to hold out.
    fn check(&self) -> Result<()> {
        let parts = self.number + usize::from(self.order == Order::Forward);
        let first = usize::from(self.order == Order::Forward);
        let has = |part: usize| {
            (0..self.part.len()).any(|row| self.part[row] == Some(part) && (part < first || self.judged[row]))
        };
        if (0..parts).all(has) {
            return Ok(());
        }
        let number = self.number;
        Err(Error::Data(match (self.order, self.unit) {
            (Order::Forward, _) => format!(
                "option 'split_by': the rows that can be held out have fewer than {parts} different values in the column; lower \
                 'folds' (now {number}), which needs one value more than folds"
            ),
            (Order::Random, FoldUnit::Queries) => format!(
                "{} have documents of different relevance, too few for {number} folds; lower 'folds'",
                self.held_out
            ),
            (Order::Random, FoldUnit::Documents) => {
                format!("no user has {number} ratings, too few for {number} folds; lower 'folds'")
            }
        }))
    }

    /// The number of folds.
    pub fn count(&self) -> usize {
        self.number
    }

    /// Whether queries are held out with all their documents.
    pub(super) fn are_of_queries(&self) -> bool {
        self.unit == FoldUnit::Queries
    }

    /// What is held out, for reports.
    pub fn held_out(&self) -> String {
        let how = if self.order == Order::Forward { "each time the next part in order" } else { "each once" };
        format!("{}, {how}, in {} folds", self.held_out, self.number)
    }

    /// The rows that a fold trains on, and those that it holds out, both ascending.
    pub(super) fn rows(&self, data: &Dataset, fold: usize) -> (Vec<usize>, Vec<usize>) {
        let holds = if self.order == Order::Forward { fold + 1 } else { fold };
        let trains = |part: Option<usize>| match self.order {
            Order::Random => part != Some(fold),
            Order::Forward => part.is_some_and(|part| part <= fold),
        };
        let rows = || 0..data.n_docs();
        let training = rows().filter(|row| trains(self.part[*row])).collect();
        let held_out = rows().filter(|row| self.part[*row] == Some(holds) && self.judged[*row]).collect();
        (training, held_out)
    }
}
