//! Treatment of missing feature values, and a record of filled values.

use ndarray::Array2;
use serde::{Deserialize, Serialize};

use crate::base::{Ticks, named};
use crate::data::ListConstraint;
use crate::math::{Element, simd};

/// Treatment of a missing feature.
#[derive(Debug, Clone, Copy, PartialEq, Default, Eq, Serialize, Deserialize)]
pub enum Missing {
    #[default]
    Error,
    /// 0.
    Zero,
    /// The mean of the training documents.
    Mean,
    /// NaN; each split of a tree chooses a side for it.
    Branch,
}

named!(Missing { Error = "error", Zero = "zero", Mean = "mean", Branch = "branch" });

/// The rows without a value, for each feature.
#[derive(Debug, Default)]
pub struct MissingValues {
    columns: Vec<MissingRows>,
}

/// The rows without a value, one bit each. There are no bits after the last such row.
#[derive(Debug, Default)]
pub struct MissingRows {
    words: Vec<u64>,
}

/// A feature without missing values.
static NONE: MissingRows = MissingRows { words: Vec::new() };

impl MissingValues {
    /// The rows without a value of a feature.
    pub fn of(&self, column: usize) -> &MissingRows {
        self.columns.get(column).unwrap_or(&NONE)
    }

    /// Adds a row without a value of a feature.
    pub(super) fn add(&mut self, column: usize, row: usize) {
        if self.columns.len() <= column {
            self.columns.resize_with(column + 1, MissingRows::default);
        }
        let words = &mut self.columns[column].words;
        if words.len() <= row / 64 {
            words.resize(row / 64 + 1, 0);
        }
        words[row / 64] |= 1 << (row % 64);
    }

    /// Bytes in use for `columns` features with missing values among `rows` rows.
    pub(super) fn bytes(rows: usize, columns: usize) -> u64 {
        // A growing vector has up to twice the capacity it needs.
        (rows as u64 / 4).saturating_mul(columns as u64)
    }
}

impl MissingRows {
    /// The rows, ascending.
    pub(super) fn rows(&self) -> impl Iterator<Item = usize> {
        let rows_of = |(number, word): (usize, &u64)| {
            let word = *word;
            (0..64).filter(move |bit| word >> bit & 1 == 1).map(move |bit| number * 64 + bit)
        };
        self.words.iter().enumerate().flat_map(rows_of)
    }

    /// Their number.
    pub fn count(&self) -> u64 {
        self.words.iter().map(|word| u64::from(word.count_ones())).sum()
    }

    /// Whether a row has no value.
    #[inline]
    pub fn contains(&self, row: usize) -> bool {
        self.words.get(row / 64).is_some_and(|word| word >> (row % 64) & 1 == 1)
    }
}

// Options for finishing a data set, and summaries of its columns.

/// The order of a data set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum RowOrder {
    /// Queries by id, documents by (id, features, relevance, weight). Does not depend on the order of the rows.
    #[default]
    Canonical,
    /// Queries by first appearance, the documents of each in the order of their rows.
    Stream,
}

/// Treatment of columns without any number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum TextColumns {
    /// They are not features.
    Ignore,
    /// An error, because a model names these columns.
    #[default]
    Refuse,
    /// An error, because the option `columns` lists them as features.
    RefuseListed,
}

/// Sum and number of the values of one feature that are not missing.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct ColumnSummary {
    pub sum: f64,
    pub count: u64,
}

impl ColumnSummary {
    /// The mean; 0 without values.
    pub fn mean(&self) -> f64 {
        if self.count == 0 { 0.0 } else { self.sum / self.count as f64 }
    }
}

/// How [`DatasetBuilder::finish`](super::DatasetBuilder::finish) treats the rows.
#[derive(Debug, Clone, Copy, Default)]
pub struct FinishOptions<'a> {
    /// Treatment of missing features.
    pub missing: Missing,
    /// Treatment of text columns.
    pub text_columns: TextColumns,
    /// Whether missing features stay NaN.
    pub keep_missing: bool,
    /// Replacements for missing values under [`Missing::Mean`]; by default, the means of these rows.
    pub means: Option<&'a [f64]>,
    /// The order of the data set.
    pub order: RowOrder,
    /// The kind of row groups.
    pub constraint: ListConstraint,
    /// Summaries of the rows of earlier calls, one per feature; may be empty.
    pub previous: &'a [ColumnSummary],
    /// The baseline column ([`names_column`]), which must have a value in every row.
    pub baseline: Option<&'a str>,
    /// Whether [`ReadReport::summaries`](super::ReadReport::summaries) and means are needed. Without them, they may be empty.
    pub summarized: bool,
}

/// Whether the option `baseline` names this column, maybe after a minus sign.
pub fn names_column(baseline: &str, name: &str) -> bool {
    let is_name = |text: &str| text.eq_ignore_ascii_case(name);
    is_name(baseline) || baseline.strip_prefix('-').is_some_and(is_name)
}

/// Adds each column's present values, in this row order, to the previous summaries. `missing` records the others.
pub(super) fn summarize_columns<T: Element>(
    array: &Array2<T>,
    order: &[usize],
    previous: &[ColumnSummary],
    missing: &mut MissingValues,
) -> Vec<ColumnSummary> {
    let mut ticks = Ticks::default();
    let mut summaries = previous.to_vec();
    summaries.resize(array.ncols(), ColumnSummary::default());
    let (mut sums, mut counts): (Vec<f64>, Vec<u64>) =
        summaries.iter().map(|summary| (summary.sum, summary.count)).unzip();
    for (position, &row) in order.iter().enumerate() {
        ticks.add(array.ncols());
        let row = array.row(row);
        let copy = if row.as_slice().is_none() { row.to_vec() } else { Vec::new() };
        let row = row.as_slice().unwrap_or(&copy);
        if add_row(row, &mut sums, &mut counts) {
            let is_missing = |column: &usize| row[*column].to_f64().is_nan();
            (0..row.len()).filter(is_missing).for_each(|column| missing.add(column, position));
        }
    }
    let totals = sums.into_iter().zip(counts);
    totals.map(|(sum, count)| ColumnSummary { sum, count }).collect()
}

simd! {
    /// Adds values other than NaN to column sums and counts. Returns whether there is a NaN.
    fn add_row<'a; T: Element>(row: &'a [T], sums: &'a mut [f64], counts: &'a mut [u64]) -> bool {
        let mut missing = false;
        for ((value, sum), count) in row.iter().zip(sums).zip(counts) {
            let value = value.to_f64();
            let is_nan = value.is_nan();
            missing |= is_nan;
            *sum = if is_nan { *sum } else { *sum + value };
            *count = count.saturating_add(u64::from(!is_nan));
        }
        missing
    }
}
