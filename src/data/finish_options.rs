//! Options for finishing a data set, and summaries of its columns.

use ndarray::Array2;
use serde::{Deserialize, Serialize};

use super::missing::{Missing, MissingValues};
use crate::base::Ticks;
use crate::data::ListConstraint;
use crate::math::{Element, simd};

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
