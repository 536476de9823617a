//! Document scores: sums of leaf values, in the order of the trees.

use std::ops::Range;

use super::Forest;
use super::columns::{BLOCK, Column, Keyed, find_bins};
use super::score_layout::{LevelSplits, MOST_COLUMNS};
use crate::base::{Control, Result};
use crate::data::{Matrix, Slice};
use crate::math::{BYTES, Element, PART, simd};

impl Forest {
    /// Each document's sum of leaf values. `values`: leaf values, tree by tree.
    ///
    /// # Errors
    /// An interrupt.
    pub fn scores(
        &self,
        features: &Matrix,
        rows: Range<usize>,
        values: &[f64],
        control: &Control,
    ) -> Result<Vec<f64>> {
        let width = features.columns();
        match (features.slice(rows.clone()), features) {
            (Some(Slice::F32(documents)), _) => self.scores_of(documents, width, values, control),
            (Some(Slice::F64(documents)), _) => self.scores_of(documents, width, values, control),
            // Rows that are not contiguous are copied.
            (None, Matrix::F32(_)) => self.scores_of(&features.rows_f32(rows), width, values, control),
            (None, Matrix::F64(_)) => self.scores_of(&features.rows_f64(rows), width, values, control),
        }
    }

    /// [`Self::scores`] of documents of `width` features, row-major.
    ///
    /// # Errors
    /// An interrupt.
    pub fn scores_of<T: Keyed + Default>(
        &self,
        documents: &[T],
        width: usize,
        values: &[f64],
        control: &Control,
    ) -> Result<Vec<f64>> {
        let width = width.max(1);
        if documents.len() == width {
            return Ok(vec![self.score_of(documents, values)]);
        }
        let mut scores = Vec::with_capacity(documents.len() / width);
        let mut bins = vec![[0; BLOCK]; self.columns.len()];
        let mut lanes = [T::default(); BLOCK];
        for block in documents.chunks(BLOCK * width) {
            control.check()?;
            for (bins, column) in bins.iter_mut().zip(&self.columns) {
                for row in 0..block.len() / width {
                    lanes[row] = block[row * width + column.feature];
                }
                find_bins(column, &lanes, bins);
            }
            let mut sums = [0.0; BLOCK];
            add_leaves(&self.splits, self.depth, &bins, values, &mut sums);
            scores.extend(&sums[..block.len() / width]);
        }
        Ok(scores)
    }

    /// The score of one document. The sum runs in the order of the trees, as for many documents.
    pub fn score_of<T: Element>(&self, document: &[T], values: &[f64]) -> f64 {
        if self.levels.is_empty() {
            return self.score_by_splits(document, values);
        }
        score_by_levels(&self.columns, &self.levels, self.depth, document, values)
    }

    /// [`Self::score_of`] by trees with more columns than [`MOST_COLUMNS`].
    fn score_by_splits<T: Element>(&self, document: &[T], values: &[f64]) -> f64 {
        let mut bins = vec![0; self.columns.len()];
        bins_of(&self.columns, document, &mut bins);
        let trees = self.splits.chunks_exact(self.depth).zip(values.chunks_exact(1 << self.depth));
        trees.fold(0.0, |sum, (splits, values)| {
            let mut leaf = 0;
            for (level, &(column, rank)) in splits.iter().enumerate() {
                leaf |= usize::from(bins[column as usize] > rank) << level;
            }
            sum + values[leaf]
        })
    }
}

simd! {
    /// The bins of a document.
    fn bins_of<'a; T: Element>(columns: &'a [Column], document: &'a [T], bins: &'a mut [u8]) {
        for index in 0..columns.len() {
            bins[index] = columns[index].bin::<R, T>(document[columns[index].feature]);
        }
    }
}

simd! {
    /// The score of a document by trees with at most [`MOST_COLUMNS`] columns.
    fn score_by_levels<'a; T: Element>(
        columns: &'a [Column],
        levels: &'a [LevelSplits],
        depth: usize,
        document: &'a [T],
        values: &'a [f64],
    ) -> f64 {
        let mut table = [[0; PART]; MOST_COLUMNS / PART];
        for index in 0..columns.len() {
            let bin = columns[index].bin::<R, T>(document[columns[index].feature]);
            table[index / PART][index % PART] = bin;
        }
        let table = &table[..columns.len().div_ceil(PART)];
        let (mut sum, trees) = (0.0, values.len() >> depth);
        for first in (0..trees).step_by(BYTES) {
            let mut leaves = [0; BYTES];
            for number in 0..depth {
                let level = &levels[first / BYTES * depth + number];
                let above = R::are_above(table, &level.columns, &level.ranks);
                for tree in 0..BYTES {
                    leaves[tree] |= above[tree] & 1 << number;
                }
            }
            for tree in 0..BYTES.min(trees - first) {
                sum += values[((first + tree) << depth) + usize::from(leaves[tree])];
            }
        }
        sum
    }
}

simd! {
    /// Adds the leaf values of a block of documents to their sums.
    fn add_leaves<'a>(
        splits: &'a [(u32, u8)],
        depth: usize,
        bins: &'a [[u8; BLOCK]],
        values: &'a [f64],
        sums: &'a mut [f64; BLOCK],
    ) {
        for tree in 0..splits.len() / depth {
            let mut leaves = [0u8; BLOCK];
            for level in 0..depth {
                let (column, rank) = splits[tree * depth + level];
                let (bins, bit) = (&bins[column as usize], 1 << level);
                for lane in 0..BLOCK {
                    leaves[lane] |= if bins[lane] > rank { bit } else { 0 };
                }
            }
            let values = &values[tree << depth..(tree + 1) << depth];
            for lane in 0..BLOCK {
                sums[lane] += values[usize::from(leaves[lane])];
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Split;
    use super::super::score_layout::MAX_DEPTH;
    use super::*;

    #[test]
    fn one_document_scores_as_many_do() {
        for (depth, trees, width) in (1..=MAX_DEPTH).map(|depth| (depth, 9, 5)).chain([
            (6, 64, 40),
            (6, 65, 136),
            (3, 200, 256),
            (2, 300, 400),
        ]) {
            check(depth, trees, width);
        }
    }

    fn check(depth: usize, trees: usize, width: usize) {
        const N: usize = 130;
        let split = |i: usize| {
            let feature = i * 7 % width;
            // Some features of the narrow documents have two columns.
            let missing_above = if width < 10 { i } else { feature }.is_multiple_of(3);
            Split { feature, threshold: (i * 13 % 11) as f64 * 0.1, missing_above }
        };
        let splits: Vec<Split> = (0..depth * trees).map(split).collect();
        let forest = Forest::new(depth, &splits);
        let values: Vec<f64> = (0..forest.leaves()).map(|i| (i as f64).sin()).collect();
        let value = |(row, column): (usize, usize)| match (row * 31 + column * 17) % 12 {
            11 => f64::NAN,
            tenths => tenths as f64 * 0.1,
        };
        let wide = Matrix::F64(ndarray::Array2::from_shape_fn((N, width), value));
        let single = Matrix::F32(ndarray::Array2::from_shape_fn((N, width), |at| value(at) as f32));
        let control = Control::default();
        for features in [wide, single] {
            let all = forest.scores(&features, 0..N, &values, &control).unwrap();
            for (row, score) in all.iter().enumerate() {
                let leaf = |tree: usize| -> usize {
                    let bit = |level: usize| {
                        let split = splits[tree * depth + level];
                        usize::from(split.is_above(features.at(row, split.feature))) << level
                    };
                    (tree << depth) + (0..depth).map(bit).sum::<usize>()
                };
                let expected = (0..trees).fold(0.0, |sum: f64, tree| sum + values[leaf(tree)]);
                let alone = forest.scores(&features, row..row + 1, &values, &control).unwrap()[0];
                assert_eq!([score.to_bits(), alone.to_bits()], [expected.to_bits(); 2], "{depth} {row}");
            }
        }
    }
}
