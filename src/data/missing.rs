//! Treatment of missing feature values, and a record of filled values.
//!
//! | values | filled by |
//! |---|---|
//! | the rows of a source | `finish.rs` |
//! | a vector given as an argument | `sqlite/glue/vector_argument.rs` |
//! | columns in exported SQL | `exchange/sql/columns.rs` |
//! | packs of rows | `buckets/grid/statistics.rs` |

use serde::{Deserialize, Serialize};

use crate::base::named;

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
