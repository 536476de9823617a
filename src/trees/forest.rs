//! The splits of an ensemble of oblivious trees, and the leaves of documents.
//!
//! The splits of all trees compare features with few different borders. A document is compared once with the borders of
//! a feature; its bin is the number of borders below its value. A split then compares bins, which are single bytes.

use std::cmp::Ordering;
use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::control::Control;
use crate::data::{Matrix, Slice};
use crate::error::{Result, require};
use crate::math::dense::Element;
use crate::math::order::{compare, sort_items};
use crate::math::search::Search;
use crate::math::simd::{Registers, simd};
use crate::memory::bytes_of;

/// Largest depth of a tree: the number of a leaf is a byte.
pub const MAX_DEPTH: usize = 8;

/// Largest number of different borders of a column.
const MOST_BORDERS: usize = 255;

/// Documents that are scored together.
const BLOCK: usize = 64;

/// The bin of a missing value that is above every border.
const ABOVE: u8 = u8::MAX;

/// A question about a document: is the value of a feature above a border? The bit of the leaf is
///
/// ```text
/// value is NaN (missing):  missing_above
/// otherwise:               value > border
/// ```
///
/// A split between missing and other values has the border [`f64::MAX`] with `missing_above`: no value is above it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Split {
    /// Number of the feature, from 0.
    pub feature: usize,
    /// The largest value that is not above; finite.
    pub border: f64,
    /// Whether a missing value counts as above. False for features without missing values in training: they are then
    /// below every border.
    pub missing_above: bool,
}

impl Split {
    /// The answer for a value; NaN is a missing one.
    pub fn is_above(&self, value: f64) -> bool {
        if value.is_nan() { self.missing_above } else { value > self.border }
    }

    /// What it shares with other splits.
    fn column(&self) -> (usize, bool) {
        (self.feature, self.missing_above)
    }

    fn order(&self, other: &Self) -> Ordering {
        self.column().cmp(&other.column()).then_with(|| compare(self.border, other.border))
    }
}

/// A feature with the borders that splits compare it with.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(from = "StoredColumn", into = "StoredColumn")]
struct Column {
    feature: usize,
    missing_above: bool,
    /// Ascending.
    borders: Vec<f64>,
    /// Their search tree.
    search: Search,
}

/// Feature, whether missing values are above, and borders.
type StoredColumn = (usize, bool, Vec<f64>);

impl From<StoredColumn> for Column {
    fn from((feature, missing_above, borders): StoredColumn) -> Self {
        Self { feature, missing_above, search: Search::new(&borders), borders }
    }
}

impl From<Column> for StoredColumn {
    fn from(column: Column) -> Self {
        (column.feature, column.missing_above, column.borders)
    }
}

impl PartialEq for Column {
    fn eq(&self, other: &Self) -> bool {
        (self.column(), &self.borders) == (other.column(), &other.borders)
    }
}

/// The trees of an ensemble, without the values of their leaves.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Forest {
    /// Splits of a tree.
    depth: usize,
    columns: Vec<Column>,
    /// Column and number of the border, level by level, tree by tree.
    splits: Vec<(u32, u8)>,
}

impl Forest {
    /// The trees with these splits, `depth` for each tree.
    pub fn new(depth: usize, splits: &[Split]) -> Self {
        // 1. The different questions, by feature and border.
        let mut known: Vec<Split> = splits.to_vec();
        sort_items(&mut known, Split::order);
        known.dedup_by(|a, b| a.order(b).is_eq());
        let same = |a: &Split, b: &Split| a.column() == b.column();
        let of_column = |questions: &[Split]| {
            let (feature, missing_above) = questions[0].column();
            let borders: Vec<f64> = questions.iter().map(|split| split.border).collect();
            (feature, missing_above, borders).into()
        };
        let columns: Vec<Column> = known.chunk_by(same).map(of_column).collect();
        // 2. The number of each split among them.
        let number = |split: &Split| {
            let column = columns.partition_point(|column: &Column| column.column() < split.column());
            let rank = columns[column].borders.partition_point(|border| *border < split.border);
            (column as u32, rank as u8)
        };
        let splits = splits.iter().map(number).collect();
        Self { depth, columns, splits }
    }

    /// Splits of a tree.
    pub fn depth(&self) -> usize {
        self.depth
    }

    /// Number of trees.
    pub fn trees(&self) -> usize {
        self.splits.len() / self.depth.max(1)
    }

    /// Number of leaves of all trees.
    pub fn leaves(&self) -> usize {
        let of_tree = 1_usize.checked_shl(self.depth as u32).unwrap_or(usize::MAX);
        self.trees().saturating_mul(of_tree)
    }

    /// Bytes that it takes.
    pub fn bytes(&self) -> u64 {
        let borders = self.columns.iter().map(|column| column.borders.len()).sum();
        bytes_of::<Column>(self.columns.len()) + bytes_of::<f64>(borders) + bytes_of::<u64>(self.splits.len())
    }

    /// The splits, level by level, tree by tree.
    pub fn splits(&self) -> impl Iterator<Item = Split> + '_ {
        self.splits.iter().map(|&(column, rank)| {
            let Column { feature, missing_above, borders, .. } = &self.columns[column as usize];
            Split { feature: *feature, border: borders[usize::from(rank)], missing_above: *missing_above }
        })
    }

    /// Numbers of the features that splits compare, ascending.
    pub fn features(&self) -> Vec<usize> {
        let mut features: Vec<usize> = self.columns.iter().map(|column| column.feature).collect();
        features.dedup();
        features
    }

    /// Checks trees of documents with this many features.
    ///
    /// # Errors
    /// [`Error::Corrupt`](crate::error::Error::Corrupt) for what [`Self::new`] does not make.
    pub fn validate(&self, width: usize) -> Result<()> {
        let ordered = self.columns.windows(2).all(|pair| pair[0].column() < pair[1].column());
        let borders = |column: &Column| {
            (1..=MOST_BORDERS).contains(&column.borders.len())
                && column.borders.iter().all(|border| border.is_finite())
                && column.borders.windows(2).all(|pair| pair[0] < pair[1])
        };
        let known = |&(column, rank): &(u32, u8)| {
            let column = self.columns.get(column as usize);
            column.is_some_and(|column| usize::from(rank) < column.borders.len())
        };
        require(
            "trees",
            &[
                ((1..=MAX_DEPTH).contains(&self.depth), "a depth from 1 to 8"),
                (!self.splits.is_empty(), "a tree"),
                (self.depth > 0 && self.splits.len().is_multiple_of(self.depth), "full trees"),
                (self.columns.iter().all(|column| column.feature < width), "splits of its features"),
                (ordered, "features in ascending order"),
                (self.columns.iter().all(borders), "finite borders in ascending order"),
                (self.splits.iter().all(known), "borders of its features"),
            ],
        )
    }

    /// Sums of the values of the leaves of documents. `values`: those of the leaves, tree by tree.
    ///
    /// # Errors
    /// An interruption.
    pub fn scores(
        &self,
        features: &Matrix,
        rows: Range<usize>,
        values: &[f64],
        control: &Control,
    ) -> Result<Vec<f64>> {
        if let [row] = rows.clone().collect::<Vec<usize>>()[..] {
            return Ok(vec![match features.slice(row..row + 1) {
                Some(Slice::F32(document)) => self.score_of(document, values),
                Some(Slice::F64(document)) => self.score_of(document, values),
                None => self.score_of(&features.row_f64(row), values),
            }]);
        }
        let mut scores = Vec::with_capacity(rows.len());
        let mut bins = vec![[0; BLOCK]; self.columns.len()];
        for start in rows.clone().step_by(BLOCK) {
            control.check()?;
            let count = BLOCK.min(rows.end - start);
            for (bins, column) in bins.iter_mut().zip(&self.columns) {
                let mut lanes = [0.0; BLOCK];
                for (lane, row) in lanes.iter_mut().zip(start..start + count) {
                    *lane = features.at(row, column.feature);
                }
                find_bins(&lanes, &column.borders, column.missing_above, bins);
            }
            let mut sums = [0.0; BLOCK];
            add_leaves(&self.splits, self.depth, &bins, values, &mut sums);
            scores.extend(&sums[..count]);
        }
        Ok(scores)
    }

    /// The score of one document. The sum runs in the order of the trees, as that of many documents does.
    pub fn score_of<T: Element>(&self, document: &[T], values: &[f64]) -> f64 {
        let mut bins = vec![0; self.columns.len()];
        bins_of(&self.columns, document, &mut bins);
        // A loop for each depth, so that it has no end to check.
        match self.depth {
            1 => self.sum_of_leaves::<1>(&bins, values),
            2 => self.sum_of_leaves::<2>(&bins, values),
            3 => self.sum_of_leaves::<3>(&bins, values),
            4 => self.sum_of_leaves::<4>(&bins, values),
            5 => self.sum_of_leaves::<5>(&bins, values),
            6 => self.sum_of_leaves::<6>(&bins, values),
            7 => self.sum_of_leaves::<7>(&bins, values),
            _ => self.sum_of_leaves::<MAX_DEPTH>(&bins, values),
        }
    }

    /// The sum of the values of the leaves of a document with these bins, for trees of this depth.
    fn sum_of_leaves<const DEPTH: usize>(&self, bins: &[u8], values: &[f64]) -> f64 {
        let trees = self.splits.as_chunks::<DEPTH>().0.iter().zip(values.chunks_exact(1 << DEPTH));
        trees.fold(0.0, |sum, (splits, values)| {
            let mut leaf = 0;
            for (level, &(column, rank)) in splits.iter().enumerate() {
                leaf |= usize::from(bins[column as usize] > rank) << level;
            }
            sum + values[leaf]
        })
    }
}

impl Column {
    /// What it shares with the splits that compare it.
    fn column(&self) -> (usize, bool) {
        (self.feature, self.missing_above)
    }

    #[allow(clippy::inline_always, reason = "compiled again for wider registers")]
    #[inline(always)]
    fn bin<R: Registers>(&self, value: f64) -> u8 {
        if value.is_nan() {
            return if self.missing_above { ABOVE } else { 0 };
        }
        let mut bin = self.search.at_most::<R>(value);
        // The last border is not below the value if it is equal, or has the same key.
        if bin > 0 && self.borders[bin - 1] >= value {
            bin = self.borders.partition_point(|border| *border < value);
        }
        bin as u8
    }
}

simd! {
    /// The bins of a document.
    fn bins_of<'a; T: Element>(columns: &'a [Column], document: &'a [T], bins: &'a mut [u8]) {
        for (bin, column) in bins.iter_mut().zip(columns) {
            *bin = column.bin::<R>(document[column.feature].to_f64());
        }
    }
}

simd! {
    /// The bins of a block of values.
    fn find_bins<'a>(values: &'a [f64; BLOCK], borders: &'a [f64], missing_above: bool, bins: &'a mut [u8; BLOCK]) {
        let mut counts = [0.0; BLOCK];
        for border in borders {
            for (count, value) in counts.iter_mut().zip(values) {
                *count += f64::from(u8::from(value > border));
            }
        }
        let missing = if missing_above { ABOVE } else { 0 };
        for ((bin, count), value) in bins.iter_mut().zip(counts).zip(values) {
            *bin = if value.is_nan() { missing } else { count as u8 };
        }
    }
}

simd! {
    /// Adds the values of the leaves of a block of documents to their sums.
    fn add_leaves<'a>(
        splits: &'a [(u32, u8)],
        depth: usize,
        bins: &'a [[u8; BLOCK]],
        values: &'a [f64],
        sums: &'a mut [f64; BLOCK],
    ) {
        for (splits, values) in splits.chunks_exact(depth).zip(values.chunks_exact(1 << depth)) {
            let mut leaves = [0u8; BLOCK];
            for (level, (column, rank)) in splits.iter().enumerate() {
                for (leaf, bin) in leaves.iter_mut().zip(&bins[*column as usize]) {
                    *leaf |= u8::from(bin > rank) << level;
                }
            }
            for (sum, leaf) in sums.iter_mut().zip(leaves) {
                *sum += values[usize::from(leaf)];
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::simd::Baseline;

    #[test]
    fn a_bin_is_the_number_of_borders_below() {
        let borders = [
            vec![0.5],
            (0..255).map(|i| f64::from(i) * 0.1).collect(),
            // Numbers with the same key in single precision.
            (0..40).map(|i| 1.0 + f64::from(i) * 1e-12).collect(),
            vec![-1e300, -1e-300, 1e-300, 1e300],
        ];
        for borders in borders {
            let column = Column::from((0, false, borders.clone()));
            let near = borders.iter().flat_map(|x| [*x, x.next_up(), x.next_down(), f64::from(*x as f32)]);
            for x in near.chain([f64::MIN, f64::MAX, -0.0]) {
                let expected = borders.iter().filter(|border| **border < x).count();
                assert_eq!(usize::from(column.bin::<Baseline>(x)), expected, "{x}");
            }
            assert_eq!(column.bin::<Baseline>(f64::NAN), 0);
        }
    }

    #[test]
    fn one_document_scores_as_many_do() {
        const N: usize = 130;
        for depth in 1..=MAX_DEPTH {
            let split = |i: usize| Split {
                feature: i * 7 % 5,
                border: (i * 13 % 11) as f64 * 0.1,
                missing_above: i.is_multiple_of(3),
            };
            let splits: Vec<Split> = (0..depth * 9).map(split).collect();
            let forest = Forest::new(depth, &splits);
            let values: Vec<f64> = (0..forest.leaves()).map(|i| (i as f64).sin()).collect();
            let value = |(row, column): (usize, usize)| match (row * 31 + column * 17) % 12 {
                11 => f64::NAN,
                tenths => tenths as f64 * 0.1,
            };
            let features = Matrix::F64(ndarray::Array2::from_shape_fn((N, 5), value));
            let control = Control::default();
            let all = forest.scores(&features, 0..N, &values, &control).unwrap();
            for (row, score) in all.iter().enumerate() {
                let leaf = |tree: usize| -> usize {
                    let bit = |level: usize| {
                        let Split { feature, border, missing_above } = splits[tree * depth + level];
                        let x = value((row, feature));
                        usize::from(if x.is_nan() { missing_above } else { x > border }) << level
                    };
                    (tree << depth) + (0..depth).map(bit).sum::<usize>()
                };
                let expected = (0..9).fold(0.0, |sum: f64, tree| sum + values[leaf(tree)]);
                let alone = forest.scores(&features, row..row + 1, &values, &control).unwrap()[0];
                assert_eq!([score.to_bits(), alone.to_bits()], [expected.to_bits(); 2], "{depth} {row}");
            }
        }
    }
}
