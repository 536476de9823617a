//! Learns from a column's rows whether it is a category, and which values get a feature (rule 2.18).
//!
//! | a text column becomes a category automatically if | this |
//! |---|---|
//! | distinct values are at most half of its rows with a value, and at most [`MOST_DISTINCT`] | excludes texts and ids |
//! | distinct values are at most half of the documents, or the rows of a document differ | excludes titles |
//! | two values, or one and NULL, have [`FEWEST_ROWS_OF_VALUE`] rows, values in [`FEWEST_QUERIES_OF_VALUE`] queries | leaves something to learn |
//! | it differs within a query | it can order the documents of a query |
//! | without document ids, or named like an id, two rows of a query share a value | excludes names of documents |
//! | its texts are neither JSON nor quantities (`ColumnFacts::are_better_converted`) | excludes texts that should be numbers |
//!
//! Values with enough rows and queries get a feature, at most the [`MOST_VALUES`] most frequent ones. If there are more
//! values, in more than [`MANY_ROWS`] rows, only [`VALUES_OF_MANY`] get one, and the mean relevance of the value covers
//! the others (docs/adr/0028-categories.md).
//! Nothing depends on the order of the rows.

use std::collections::HashMap;
use std::sync::Arc;

use super::super::category_limits::{
    FEWEST_QUERIES_OF_VALUE, FEWEST_ROWS_OF_VALUE, LONGEST_VALUE, MOST_DISTINCT, ValueCount,
};
use super::means::{self, LearnedMeans, Means, NO_VALUE};
use super::{Category, RowsOfCodes};
use crate::base::{Ticks, bytes_of, grown_bytes};
use crate::data::{CategoryRows, ColumnFacts, is_like_id};
use crate::math::sort_items;

/// Most values of a category with a separate feature.
const MOST_VALUES: usize = 100;
/// The same, in a category with more values and many rows.
const VALUES_OF_MANY: usize = 25;
/// Above this number of rows, separate features of many values are slow.
const MANY_ROWS: usize = 20_000;
/// Fewest values of a category with means. With fewer, separate features are as good.
const FEWEST_VALUES_WITH_MEANS: usize = 20;

/// Rows without a value.
const NULL: u32 = u32::MAX;

/// Operations, for [`Ticks`], of a row of a column.
const ROW_COST: usize = 8;

/// The values of a column as numbers, row by row.
#[derive(Debug, Clone)]
#[expect(clippy::struct_field_names, reason = "codes are the main content")]
pub struct Codes {
    dictionary: Dictionary,
    /// For each row, the number of its value or of its feature.
    codes: Vec<u32>,
    /// For each row, the mean of its value, in a known category with means.
    means: Vec<f64>,
    /// Bytes of the texts in the dictionary.
    text_bytes: u64,
    /// Rows whose value is not in the known category.
    unknown: CategoryRows,
}

/// How a value becomes a number.
#[derive(Debug, Clone)]
enum Dictionary {
    /// Values get numbers in the order of their first rows.
    New(HashMap<Box<str>, u32>),
    /// There were more than [`MOST_DISTINCT`] values, so they were dropped.
    TooMany,
    /// Values are numbered by their features.
    Known(Arc<Category>),
}

/// A column that is a category because the option `columns` or a model says so.
pub struct CategoryColumn {
    pub name: String,
    /// The values.
    pub codes: Codes,
    /// Facts about its rows; `None` with a model.
    pub facts: Option<Box<ColumnFacts>>,
}

/// A category and, for each row, the number of the feature that is 1.
#[derive(Debug)]
pub struct Learned {
    pub category: Arc<Category>,
    /// The numbers.
    pub codes: Vec<u32>,
    /// For each row, the mean of its value; empty without means.
    pub means: Vec<f64>,
    /// For each row, the number of its value, where means were learned.
    pub mean_codes: Vec<u32>,
    /// Rows whose value is not in the category; none if it was learned from these rows.
    pub unknown: CategoryRows,
}

impl Codes {
    /// Codes that learn values, for a column with `missing` rows without a value so far.
    pub fn new(missing: usize) -> Self {
        let dictionary = Dictionary::New(HashMap::new());
        let (codes, means, unknown) = (vec![NULL; missing], Vec::new(), CategoryRows::default());
        Self { dictionary, codes, means, text_bytes: 0, unknown }
    }

    /// Codes of the features of a category.
    pub fn of(category: &Arc<Category>) -> Self {
        Self { dictionary: Dictionary::Known(Arc::clone(category)), ..Self::new(0) }
    }

    /// Adds the value of a row; `None` is NULL.
    pub fn push(&mut self, value: Option<&str>) {
        let code = match (&mut self.dictionary, value) {
            (Dictionary::TooMany, _) => return,
            (Dictionary::Known(category), value) => {
                let mean = category.means().map(|means| means.find(value));
                self.means.extend(mean.map(Option::unwrap_or_default));
                let feature = category.feature_of(value);
                if feature >= category.values.len() && (value.is_none() || mean.flatten().is_none()) {
                    self.unknown.add(value);
                }
                feature as u32
            }
            (Dictionary::New(_), None) => NULL,
            (Dictionary::New(_), Some(value)) if value.len() > LONGEST_VALUE => NO_VALUE,
            (Dictionary::New(known), Some(value)) => match known.get(value) {
                Some(code) => *code,
                None if known.len() == MOST_DISTINCT => {
                    (self.dictionary, self.codes, self.text_bytes) = (Dictionary::TooMany, Vec::new(), 0);
                    return;
                }
                None => {
                    let code = known.len() as u32;
                    known.insert(value.into(), code);
                    self.text_bytes += bytes_of::<(Box<str>, u32, u64)>(1) + value.len() as u64;
                    code
                }
            },
        };
        self.codes.push(code);
    }

    /// Bytes after a row is added.
    pub fn grown_bytes(&self) -> u64 {
        let entry = (bytes_of::<(Box<str>, u32, u64)>(1)) + LONGEST_VALUE as u64;
        grown_bytes(&self.codes, 1) + grown_bytes(&self.means, 1) + 2 * self.text_bytes + entry
    }

    /// The codes of a known category.
    pub fn known(self) -> Option<Learned> {
        match self.dictionary {
            Dictionary::Known(category) => {
                let Self { codes, means, unknown, .. } = self;
                Some(Learned { category, codes, means, mean_codes: Vec::new(), unknown })
            }
            _ => None,
        }
    }

    /// The category of a column that the caller lists.
    ///
    /// # Errors
    /// Why it cannot be one.
    pub fn listed(self, name: &str, rows: RowsOfCodes<'_>) -> Result<Learned, String> {
        let Dictionary::New(known) = &self.dictionary else {
            return Err(format!(
                "more than {MOST_DISTINCT} different values; a category has fewer: group them in the source, or leave it out"
            ));
        };
        let counts = self.counts(known.len(), rows);
        let values = frequent(known, &counts, rows);
        if values.is_empty() {
            return Err(format!(
                "no value with {FEWEST_ROWS_OF_VALUE} rows in {FEWEST_QUERIES_OF_VALUE} queries, so nothing can be learned from it; leave it out"
            ));
        }
        Ok(self.learned(name, values, rows))
    }

    /// The category of a text column that should not be converted to numbers, if it becomes one automatically.
    pub fn found(self, name: &str, rows: RowsOfCodes<'_>) -> Option<Learned> {
        let Dictionary::New(known) = &self.dictionary else { return None };
        let counts = self.counts(known.len(), rows);
        let with_value: u64 = counts.iter().map(|count| count.rows).sum();
        let are_few = 2 * known.len() as u64 <= with_value
            && rows.documents.is_none_or(|documents| !self.names_documents(documents, known.len()));
        let values = frequent(known, &counts, rows);
        let missing = self.codes.iter().filter(|code| **code == NULL).count() as u64;
        let states = values.len() + usize::from(missing >= FEWEST_ROWS_OF_VALUE);
        let is_category = !values.is_empty()
            && states >= 2
            && are_few
            && !is_constant_within(&self.codes, rows.queries, rows.query_ids.len())
            && (rows.documents.is_some() && !is_like_id(name) || self.repeats_within_query(rows));
        is_category.then(|| self.learned(name, values, rows))
    }

    fn counts(&self, values: usize, rows: RowsOfCodes<'_>) -> Vec<ValueCount> {
        let (mut counts, mut ticks) = (vec![ValueCount::default(); values], Ticks::default());
        for (&code, &query) in self.codes.iter().zip(rows.queries) {
            ticks.add(ROW_COST);
            if let Some(count) = counts.get_mut(code as usize) {
                count.add(query);
            }
        }
        counts
    }

    /// Whether values belong to documents, each to one or two of them, like titles.
    fn names_documents(&self, documents: &[usize], values: usize) -> bool {
        let count = documents.iter().max().map_or(0, |last| last + 1);
        2 * values > count && is_constant_within(&self.codes, documents, count)
    }

    /// Whether two rows of a query have the same value.
    fn repeats_within_query(&self, rows: RowsOfCodes<'_>) -> bool {
        let with_value = self.codes.iter().zip(rows.queries).filter(|(code, _)| **code != NULL);
        let mut pairs: Vec<(usize, u32)> = with_value.map(|(code, query)| (*query, *code)).collect();
        sort_items(&mut pairs, Ord::cmp);
        pairs.windows(2).any(|pair| pair[0] == pair[1])
    }

    /// The category with these values: texts and their codes.
    fn learned(self, name: &str, values: Vec<(String, u32)>, rows: RowsOfCodes<'_>) -> Learned {
        let known = match self.dictionary {
            Dictionary::New(known) => known,
            Dictionary::TooMany | Dictionary::Known(_) => HashMap::new(),
        };
        // 1. Means, if there are many values.
        let has_means = values.len() >= FEWEST_VALUES_WITH_MEANS
            && rows.query_ids.len() >= means::FEWEST_QUERIES
            && rows.relevance.len() == self.codes.len();
        let learn = || {
            let mut texts = vec![""; known.len()];
            known.iter().for_each(|(value, code)| texts[*code as usize] = value);
            let number = |code: &u32| if *code == NULL { texts.len() as u32 } else { *code };
            Means::learn(self.codes.iter().map(number).collect(), &texts, rows)
        };
        let (means, of_rows, mean_codes) = match has_means.then(learn).flatten() {
            Some(LearnedMeans { means, of_rows, codes }) => (Some(means), of_rows, codes),
            None => (None, Vec::new(), Vec::new()),
        };
        // 2. The features of the rows.
        let (other, null) = (values.len() as u32, values.len() as u32 + 1);
        let mut features = vec![other; known.len()];
        for (feature, (_, code)) in (0..).zip(&values) {
            features[*code as usize] = feature;
        }
        let mut ticks = Ticks::default();
        let feature = |code: u32| {
            ticks.add(ROW_COST);
            if code == NULL { null } else { features.get(code as usize).copied().unwrap_or(other) }
        };
        let codes = self.codes.into_iter().map(feature).collect();
        let values = values.into_iter().map(|(value, _)| value).collect();
        let category = Arc::new(Category { name: name.to_owned(), values, means });
        Learned { category, codes, means: of_rows, mean_codes, unknown: CategoryRows::default() }
    }
}

/// Bytes that learning a category takes besides its codes.
pub fn learning_bytes(rows: usize) -> u64 {
    // Codes, sorted rows, relevance by query, and the means of rows.
    bytes_of::<(u32, (u32, usize, f64), f64, f64, usize)>(rows)
}

/// Whether all rows of each group have the same value. `groups`: the group of each row, below `count`.
fn is_constant_within(codes: &[u32], groups: &[usize], count: usize) -> bool {
    let (mut firsts, mut ticks) = (vec![None; count], Ticks::default());
    codes.iter().zip(groups).all(|(code, group)| {
        ticks.add(ROW_COST);
        firsts[*group].get_or_insert(code) == &code
    })
}

/// The values that get a feature, sorted, with their codes.
fn frequent(
    known: &HashMap<Box<str>, u32>,
    counts: &[ValueCount],
    rows: RowsOfCodes<'_>,
) -> Vec<(String, u32)> {
    let is_frequent = |count: &ValueCount| count.is_frequent(rows.query_ids.len());
    let entries = known.iter().map(|(value, code)| (counts[*code as usize], value, *code));
    let mut values: Vec<(ValueCount, &Box<str>, u32)> =
        entries.filter(|(count, ..)| is_frequent(count)).collect();
    sort_items(&mut values, |a, b| b.0.rows.cmp(&a.0.rows).then_with(|| a.1.cmp(b.1)));
    if values.len() > MOST_VALUES {
        values.truncate(if rows.queries.len() > MANY_ROWS { VALUES_OF_MANY } else { MOST_VALUES });
    }
    let mut values: Vec<(String, u32)> =
        values.into_iter().map(|(_, value, code)| (value.to_string(), code)).collect();
    sort_items(&mut values, |a, b| a.0.cmp(&b.0));
    values
}
