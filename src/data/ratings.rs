//! Ratings of items by users: a sparse matrix with users as rows.

use std::ops::Range;

use super::dataset::Dataset;
use super::id::Id;
use crate::base::{Error, Result, Ticks};
use crate::math::sort_items;

/// Operations, for [`Ticks`], of finding an id.
const SEARCH_COST: usize = 512;

/// The observed entries of a matrix of users and items. A rating of 0 is a rating.
#[derive(Debug, Clone, PartialEq)]
pub struct Ratings {
    /// Ratings of user u are `offsets[u]..offsets[u + 1]` (`n_users` + 1).
    pub offsets: Vec<usize>,
    /// The item of each rating, ascending for each user.
    pub items: Vec<u32>,
    pub values: Vec<f64>,
    pub n_items: usize,
}

impl Ratings {
    /// The ratings of a data set (queries are users, documents are items), and the ids of the items in order. Several
    /// ratings of an item by one user are replaced by their mean.
    ///
    /// # Errors
    /// An item without an id.
    pub fn of(data: &Dataset) -> Result<(Self, Vec<Id>)> {
        Self::combined(data, |sum, number| sum / number as f64)
    }

    /// Like [`Self::of`], for counts of pairs: repeated pairs are replaced by the sum of their counts.
    ///
    /// # Errors
    /// As [`Self::of`].
    pub fn counted(data: &Dataset) -> Result<(Self, Vec<Id>)> {
        Self::combined(data, |sum, _| sum)
    }

    /// `value`: computes the value from the sum and the number of a pair's ratings.
    fn combined(data: &Dataset, value: fn(f64, usize) -> f64) -> Result<(Self, Vec<Id>)> {
        let mut ids = data.doc_ids.clone();
        let mut ticks = Ticks::default();
        sort_items(&mut ids, Ord::cmp);
        ids.dedup();
        if ids.first() == Some(&Id::Null) {
            return Err(Error::Data("an item id is NULL; every rating needs the id of its item".to_owned()));
        }
        let mut ratings =
            Self { offsets: vec![0], items: Vec::new(), values: Vec::new(), n_items: ids.len() };
        for user in 0..data.n_queries() {
            let mut index = |row: usize| {
                ticks.add(SEARCH_COST);
                ids.partition_point(|id| *id < data.doc_ids[row]) as u32
            };
            let mut rated: Vec<(u32, f64)> =
                data.rows(user).map(|row| (index(row), data.relevance[row])).collect();
            sort_items(&mut rated, |a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
            for same in rated.chunk_by(|a, b| a.0 == b.0) {
                ratings.push(same[0].0, value(same.iter().map(|(_, value)| value).sum(), same.len()));
            }
            ratings.offsets.push(ratings.items.len());
        }
        Ok((ratings, ids))
    }

    /// Adds a rating to the last user, whose ratings end at the next offset.
    pub fn push(&mut self, item: u32, value: f64) {
        self.items.push(item);
        self.values.push(value);
    }

    pub fn n_users(&self) -> usize {
        self.offsets.len() - 1
    }

    pub fn len(&self) -> usize {
        self.items.len()
    }

    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// Indices of a user's ratings.
    pub fn of_user(&self, user: usize) -> Range<usize> {
        self.offsets[user]..self.offsets[user + 1]
    }

    /// Keeps the flagged ratings, with the same users and items.
    #[must_use]
    pub fn only(&self, keep: impl Fn(usize) -> bool) -> Self {
        let kept: Vec<usize> = (0..self.len()).filter(|rating| keep(*rating)).collect();
        let offsets = self.offsets.iter().map(|offset| kept.partition_point(|rating| rating < offset));
        Self {
            offsets: offsets.collect(),
            items: kept.iter().map(|&rating| self.items[rating]).collect(),
            values: kept.iter().map(|&rating| self.values[rating]).collect(),
            n_items: self.n_items,
        }
    }

    /// Number of ratings of each item.
    pub fn counts(&self) -> Vec<usize> {
        let mut counts = vec![0; self.n_items];
        self.items.iter().for_each(|&item| counts[item as usize] += 1);
        counts
    }
}
