//! The thresholds that splits compare a feature with.
//!
//! All trees together compare a feature with few different thresholds. A document is compared once with the thresholds of
//! a feature; its bin is the number of thresholds below its value. A split then compares bins of one byte.

#![allow(clippy::inline_always, reason = "compiled again for wider registers")]

use serde::{Deserialize, Serialize};

use crate::math::select::Search;
use crate::math::{Element, Registers, simd, single_above};

/// Values of a feature whose bins are found together.
pub const BLOCK: usize = 64;

/// The bin of a missing value that is above every threshold.
const ABOVE: u8 = u8::MAX;

/// A feature with the thresholds of its splits.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(from = "StoredColumn", into = "StoredColumn")]
pub struct Column {
    pub feature: usize,
    pub missing_above: bool,
    /// Ascending.
    pub thresholds: Vec<f64>,
    /// For each threshold the smallest `f32` above it: a value in single precision is at least this key if
    /// it is above the threshold.
    search: Search,
}

/// Feature, whether missing values are above, and thresholds.
type StoredColumn = (usize, bool, Vec<f64>);

impl From<StoredColumn> for Column {
    fn from((feature, missing_above, thresholds): StoredColumn) -> Self {
        let search = Search::new(thresholds.iter().map(|threshold| single_above(*threshold)));
        Self { feature, missing_above, thresholds, search }
    }
}

impl From<Column> for StoredColumn {
    fn from(column: Column) -> Self {
        (column.feature, column.missing_above, column.thresholds)
    }
}

impl PartialEq for Column {
    fn eq(&self, other: &Self) -> bool {
        (self.column(), &self.thresholds) == (other.column(), &other.thresholds)
    }
}

/// A type of values that are compared with keys of the same type.
pub trait Keyed: Element + PartialOrd {
    /// The smallest number above threshold number `index` of a column.
    fn key_above(column: &Column, index: usize) -> Self;
}

impl Keyed for f32 {
    #[inline(always)]
    fn key_above(column: &Column, index: usize) -> Self {
        column.search.key(index)
    }
}

impl Keyed for f64 {
    #[inline(always)]
    fn key_above(column: &Column, index: usize) -> Self {
        column.thresholds[index].next_up()
    }
}

impl Column {
    /// The column that it shares with other splits.
    pub fn column(&self) -> (usize, bool) {
        (self.feature, self.missing_above)
    }

    /// The bin of a missing value.
    #[inline(always)]
    fn bin_of_missing(&self) -> u8 {
        if self.missing_above { ABOVE } else { 0 }
    }

    /// The bin of a value.
    #[inline(always)]
    pub fn bin<R: Registers, T: Element>(&self, value: T) -> u8 {
        let mut bin = self.search.at_most::<R>(value.key());
        let value = value.to_f64();
        if value.is_nan() {
            return self.bin_of_missing();
        }
        // Numbers in double precision can have the same key.
        if !T::IS_SINGLE && bin > 0 && self.thresholds[bin - 1] >= value {
            bin = self.thresholds.partition_point(|threshold| *threshold < value);
        }
        bin as u8
    }
}

simd! {
    /// Bins for a block of values.
    pub fn find_bins<'a; T: Keyed>(column: &'a Column, values: &'a [T; BLOCK], bins: &'a mut [u8; BLOCK]) {
        let mut counts = [0_u32; BLOCK];
        for index in 0..column.thresholds.len() {
            let key = T::key_above(column, index);
            for lane in 0..BLOCK {
                counts[lane] += u32::from(values[lane] >= key);
            }
        }
        let missing = column.bin_of_missing();
        for lane in 0..BLOCK {
            bins[lane] = if values[lane].to_f64().is_nan() { missing } else { counts[lane] as u8 };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::Baseline;

    #[test]
    fn a_bin_is_the_number_of_thresholds_below() {
        let thresholds = [
            vec![0.5],
            (0..255).map(|i| f64::from(i) * 0.1).collect(),
            // Numbers with the same key in single precision.
            (0..40).map(|i| 1.0 + f64::from(i) * 1e-12).collect(),
            vec![-1e300, -1e-300, 1e-300, 1e300],
            vec![-1.0, -0.0, 1.0, f64::MAX],
        ];
        for thresholds in thresholds {
            let column = Column::from((0, false, thresholds.clone()));
            let near = thresholds.iter().flat_map(|x| [*x, x.next_up(), x.next_down(), f64::from(*x as f32)]);
            for x in near.chain([f64::MIN, f64::MAX, -0.0]).filter(|x| x.is_finite()) {
                let count = |x: f64| thresholds.iter().filter(|threshold| **threshold < x).count() as u8;
                assert_eq!(column.bin::<Baseline, f64>(x), count(x), "{x}");
                let mut bins = [0; BLOCK];
                find_bins(&column, &[x; BLOCK], &mut bins);
                assert_eq!(bins, [count(x); BLOCK], "{x}");
                let single = (x as f32).clamp(f32::MIN, f32::MAX);
                assert_eq!(column.bin::<Baseline, f32>(single), count(single.into()), "{single}");
                find_bins(&column, &[single; BLOCK], &mut bins);
                assert_eq!(bins, [count(single.into()); BLOCK], "{single}");
            }
            assert_eq!(column.bin::<Baseline, f64>(f64::NAN), 0);
        }
    }
}
