//! How the rows of a data set are finished.

use serde::{Deserialize, Serialize};

use super::missing::Missing;
use crate::data::arrange::ListConstraint;

/// The order of a data set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RowOrder {
    /// Queries by id, documents by (id, features, relevance, weight). Does not depend on the order of the rows.
    Canonical,
    /// Queries by first appearance, the documents of each in the order of their rows.
    Stream,
}

/// What happens to columns without any number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TextColumns {
    /// They are no features.
    Ignore,
    /// They are an error: a model or the caller names these columns.
    Refuse,
}

/// Sum and number of the values of one feature that are not missing.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct ColumnSummary {
    /// The sum.
    pub sum: f64,
    /// The number.
    pub count: u64,
}

impl ColumnSummary {
    /// The mean; 0 without values.
    pub fn mean(&self) -> f64 {
        if self.count == 0 { 0.0 } else { self.sum / self.count as f64 }
    }
}

/// How [`DatasetBuilder::finish`](super::DatasetBuilder::finish) treats the rows.
#[derive(Debug, Clone, Copy)]
pub struct FinishOptions<'a> {
    /// What a missing feature counts as.
    pub missing: Missing,
    /// What happens to columns of text.
    pub text_columns: TextColumns,
    /// Whether missing features stay missing, as NaN.
    pub keep_missing: bool,
    /// Replacements of missing values under [`Missing::Mean`]; by default the means of these rows.
    pub means: Option<&'a [f64]>,
    /// The order of the data set.
    pub order: RowOrder,
    /// What the groups of the rows are.
    pub constraint: ListConstraint,
    /// Summaries of the rows of earlier calls, one per feature; may be empty.
    pub previous: &'a [ColumnSummary],
    /// Whether [`ReadReport::summaries`](super::ReadReport::summaries) and means are needed. Without them, they may be empty.
    pub summarized: bool,
}
