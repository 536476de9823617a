//! How rows become a data set: their order, what missing values count as, and what is counted of features.

use ndarray::Array2;
use serde::{Deserialize, Serialize};

use super::builder::Missing;
use crate::error::Result;
use crate::math::dense::Element;

/// The order of a data set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RowOrder {
    /// Queries by id, documents by (id, features, relevance): the same whatever the order of rows was.
    Canonical,
    /// Queries by first appearance, the documents of each in the order of their rows.
    Stream,
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

/// How [`DatasetBuilder::finish`] settles the rows.
#[derive(Debug, Clone, Copy)]
pub struct FinishOptions<'a> {
    /// What a missing feature counts as.
    pub missing: Missing,
    /// Whether every column must be numeric (ranking); otherwise columns without any number are left out.
    pub required: bool,
    /// What missing values become under [`Missing::Mean`]; the means of these rows unless given.
    pub means: Option<&'a [f64]>,
    /// The order of the data set.
    pub order: RowOrder,
    /// Tallies of rows that came before, one per feature; empty where there are none.
    pub before: &'a [ColumnSummary],
}

/// The values of each column that are not missing, added in this order of rows to those before.
pub(super) fn summarize_columns<T: Element>(
    array: &Array2<T>,
    order: &[usize],
    before: &[ColumnSummary],
    check_interrupt: &dyn Fn() -> Result<()>,
) -> Result<Vec<ColumnSummary>> {
    let mut summaries = before.to_vec();
    summaries.resize(array.ncols(), ColumnSummary::default());
    for &row in order {
        check_interrupt()?;
        for (tally, value) in summaries.iter_mut().zip(array.row(row)) {
            let value = value.to_f64();
            if !value.is_nan() {
                tally.sum += value;
                tally.count = tally.count.saturating_add(1);
            }
        }
    }
    Ok(summaries)
}
