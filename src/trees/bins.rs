//! Binned features: the values between two edges form a bin.
//!
//! A feature with few values has an edge between any two of them. Otherwise the edges divide the rows into bins of
//! about equal size. With many rows, edges are computed from a sample: one random row of each block, and the
//! rows with the smallest and the largest value.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use crate::base::{Control, Result, TemporaryFile, bytes_of, grow, parallel, zeros};
use crate::data::{Matrix, Slice};
use crate::math::{Element, Random, sort_ascending};

/// Largest number of bins of a feature, including the bin of missing values: a bin is a byte.
pub const MAX_BINS: usize = 255;

/// Rows from which bin edges are computed.
const MOST_SAMPLED: usize = 1 << 16;

/// Features that a thread reads together, so that it reads each row once for all of them.
const BLOCK: usize = 8;

/// Bytes of a file that are read together.
const FILE_CHUNK: usize = 1 << 22;

/// Rows that are read together.
const CHUNK: usize = 512;

/// The bin of missing values.
pub const MISSING: u8 = 0;

/// The bin edges of all features.
#[derive(Debug, Clone)]
pub struct BinEdges(Vec<FeatureEdges>);

/// The bin edges of a feature.
#[derive(Debug, Clone, Default)]
pub struct FeatureEdges {
    /// Ascending; a value belongs to the bin 1 + number of edges below it.
    pub edges: Vec<f64>,
    /// Whether a value is missing.
    pub has_missing: bool,
}

/// Documents with features in bins.
pub struct Binned {
    /// One per feature; empty for features that are not used.
    pub columns: Vec<BinColumn>,
}

/// The bin of each row for a feature. A clone is cheap.
#[derive(Clone)]
pub enum BinColumn {
    Memory(Arc<Vec<u8>>),
    /// In a file: the file, the start and the number of bytes.
    File(Arc<TemporaryFile>, u64, usize),
}

impl BinColumn {
    /// The bins; bins read from a file are copied.
    ///
    /// # Errors
    /// A failure of the disk; an interrupt.
    pub fn bins(&self, control: &Control) -> Result<Cow<'_, [u8]>> {
        let (file, start, rows) = match self {
            Self::Memory(bins) => return Ok(Cow::Borrowed(bins)),
            Self::File(file, start, rows) => (file, *start, *rows),
        };
        let mut bins: Vec<u8> = zeros(rows)?;
        for (number, part) in bins.chunks_mut(FILE_CHUNK).enumerate() {
            control.check()?;
            file.read(part, start + (number * FILE_CHUNK) as u64)?;
        }
        Ok(Cow::Owned(bins))
    }

    /// Writes the bins of rows.
    ///
    /// # Errors
    /// A failure of the disk.
    pub fn write(&mut self, row: usize, bins: &[u8]) -> Result<()> {
        match self {
            Self::Memory(all) => Arc::make_mut(all)[row..row + bins.len()].copy_from_slice(bins),
            Self::File(file, start, _) => file.write(bins, *start + row as u64)?,
        }
        Ok(())
    }
}

impl BinEdges {
    /// At most `bins` bins for each feature, from 2 to [`MAX_BINS`]. NaN is missing. `seed` chooses the sample of more than
    /// 65,536 rows.
    ///
    /// # Errors
    /// An interrupt.
    pub fn find(features: &Matrix, bins: usize, seed: u64, control: &Control) -> Result<Self> {
        let (n, blocks) = (features.rows(), features.columns().div_ceil(BLOCK));
        let step = sampling_step(n);
        let drawn = drawn_rows(n, step, seed);
        let find = |block: usize| {
            let columns = columns_of(block, features);
            let mut samples = vec![Sample::new(drawn.len()); columns.len()];
            each_chunk(features, columns, control, |column, rows, values| {
                let first = drawn.partition_point(|row| *row < rows.start);
                let last = drawn.partition_point(|row| *row < rows.end);
                samples[column].add(values, drawn[first..last].iter().map(|row| row - rows.start));
            })?;
            let of_feature = |sample: Sample| {
                control.check()?;
                Ok(sample.edges(step > 1, bins))
            };
            samples.into_iter().map(of_feature).collect::<Result<Vec<FeatureEdges>>>()
        };
        Ok(Self(parallel::try_map(blocks, find)?.concat()))
    }

    /// The bin edges of these features.
    pub fn of_features(features: Vec<FeatureEdges>) -> Self {
        Self(features)
    }

    /// Number of features.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Appends the edges of further features.
    pub fn append(&mut self, other: Self) {
        self.0.extend(other.0);
    }

    /// Removes the edges of all but the first features.
    pub fn truncate(&mut self, features: usize) {
        self.0.truncate(features);
    }

    /// The edges of a feature.
    pub fn of(&self, feature: usize) -> &FeatureEdges {
        &self.0[feature]
    }

    /// Features with more than one bin.
    pub fn varying(&self) -> Vec<usize> {
        (0..self.0.len()).filter(|feature| self.0[*feature].bins() > 1).collect()
    }

    /// Largest number of bins of a feature, including the bin of missing values.
    pub fn stride(&self) -> usize {
        2 + self.0.iter().map(|feature| feature.edges.len()).max().unwrap_or(0)
    }

    /// Memory in bytes for binned documents, and for the values from which edges are computed.
    pub fn bytes_needed(rows: usize, columns: usize) -> u64 {
        let sampled = bytes_of::<[f64; 4 * BLOCK]>(rows.min(2 * MOST_SAMPLED) + 1);
        let bins = bytes_of::<u8>(rows).saturating_mul(columns as u64);
        bins.saturating_add(sampled.saturating_mul(parallel::threads() as u64))
    }

    /// Documents in bins.
    ///
    /// # Errors
    /// An interrupt; too little memory.
    pub fn bin(&self, features: &Matrix, control: &Control) -> Result<Binned> {
        let (n, blocks) = (features.rows(), features.columns().div_ceil(BLOCK));
        let bin = |block: usize| {
            let columns = columns_of(block, features);
            let mut bins: Vec<Vec<u8>> = vec![Vec::new(); columns.len()];
            let varies = |column: usize| self.0[column].bins() > 1;
            for (_, bins) in columns.clone().zip(&mut bins).filter(|(column, _)| varies(*column)) {
                grow(bins, n)?;
            }
            each_chunk(features, columns.clone(), control, |column, _, values| {
                let edges = &self.0[columns.start + column];
                if edges.bins() > 1 {
                    bins[column].extend(values.iter().map(|value| edges.bin(*value)));
                }
            })?;
            Ok(bins)
        };
        let columns = parallel::try_map(blocks, bin)?.into_iter().flatten();
        Ok(Binned { columns: columns.map(|bins| BinColumn::Memory(Arc::new(bins))).collect() })
    }
}

impl FeatureEdges {
    /// Number of bins in use.
    fn bins(&self) -> usize {
        1 + self.edges.len() + usize::from(self.has_missing)
    }

    /// The bin of a value.
    pub fn bin(&self, value: f64) -> u8 {
        if value.is_nan() {
            return MISSING;
        }
        1 + self.edges.partition_point(|edge| *edge < value) as u8
    }
}

/// The features of a block.
fn columns_of(block: usize, features: &Matrix) -> Range<usize> {
    block * BLOCK..features.columns().min((block + 1) * BLOCK)
}

/// Number of rows from which one is drawn.
pub(super) fn sampling_step(rows: usize) -> usize {
    rows.div_ceil(MOST_SAMPLED).max(1)
}

/// A random row from each block of `step` rows, in ascending order.
pub(super) fn drawn_rows(rows: usize, step: usize, seed: u64) -> Vec<usize> {
    let mut random = Random::new(seed);
    let draw = |start: usize| start + random.below(step.min(rows - start));
    (0..rows).step_by(step).map(draw).collect()
}

/// Values of a feature from which edges are computed.
#[derive(Debug, Clone)]
pub(super) struct Sample {
    /// Values of the drawn rows that are not missing.
    pub values: Vec<f64>,
    /// The smallest and the largest value of all rows.
    pub range: (f64, f64),
    /// Whether a value is missing.
    pub has_missing: bool,
}

impl Sample {
    fn new(rows: usize) -> Self {
        Self {
            values: Vec::with_capacity(rows + 2),
            range: (f64::INFINITY, f64::NEG_INFINITY),
            has_missing: false,
        }
    }

    /// Adds the values of some rows, and samples among them.
    fn add(&mut self, values: &[f64], drawn: impl Iterator<Item = usize>) {
        for value in values {
            self.has_missing |= value.is_nan();
            // `min` and `max` ignore NaN.
            self.range = (self.range.0.min(*value), self.range.1.max(*value));
        }
        self.values.extend(drawn.map(|row| values[row]).filter(|value| !value.is_nan()));
    }

    /// The edges of at most `bins` bins. `is_part`: whether there are other rows.
    pub fn edges(self, is_part: bool, bins: usize) -> FeatureEdges {
        let has_missing = self.has_missing;
        let edges = between(&self.sorted(is_part), bins - usize::from(has_missing));
        FeatureEdges { edges, has_missing }
    }

    /// Values in ascending order, with the range if they are a sample.
    fn sorted(self, is_part: bool) -> Vec<f64> {
        let Self { mut values, range: (low, high), .. } = self;
        if is_part && low <= high {
            values.extend([low, high]);
        }
        sort_ascending(&mut values);
        values
    }
}

/// Calls `visit` with each column's values, one chunk of rows at a time. It gets the column's index in
/// `columns`, the rows and the values.
fn each_chunk(
    features: &Matrix,
    columns: Range<usize>,
    control: &Control,
    mut visit: impl FnMut(usize, Range<usize>, &[f64]),
) -> Result<()> {
    let (n, width) = (features.rows(), features.columns());
    let mut buffer = [0.0; CHUNK];
    for start in (0..n).step_by(CHUNK) {
        control.check()?;
        let rows = start..n.min(start + CHUNK);
        for (number, column) in columns.clone().enumerate() {
            let values = &mut buffer[..rows.len()];
            match features.slice(rows.clone()) {
                Some(Slice::F32(all)) => copy(all, column, width, values),
                Some(Slice::F64(all)) => copy(all, column, width, values),
                None => {
                    values.iter_mut().zip(rows.clone()).for_each(|(to, row)| *to = features.at(row, column));
                }
            }
            visit(number, rows.clone(), values);
        }
    }
    Ok(())
}

/// Copies a column of row-major values.
fn copy<T: Element>(all: &[T], column: usize, width: usize, values: &mut [f64]) {
    for (to, row) in values.iter_mut().zip(all.chunks_exact(width)) {
        *to = row[column].to_f64();
    }
}

/// Edges between sorted values that make at most `bins` bins.
fn between(values: &[f64], bins: usize) -> Vec<f64> {
    // 1. Where each value ends.
    let n = values.len();
    let ends: Vec<usize> = (1..=n).filter(|end| *end == n || values[end - 1] < values[*end]).collect();
    let mut edges = Vec::new();
    let mut start = 0;
    for (number, pair) in ends.windows(2).enumerate() {
        let left = bins.saturating_sub(edges.len());
        if left < 2 {
            break;
        }
        // 2. An edge after a value if each remaining value can have a bin, or if the bin is then nearer to its size.
        let size = (n - start) as f64 / left as f64;
        let (without, with) = ((pair[0] - start) as f64, (pair[1] - start) as f64);
        if ends.len() - number <= left || size - without < with - size {
            edges.push(middle(values[pair[0] - 1], values[pair[0]]));
            start = pair[0];
        }
    }
    edges
}

/// A number that is at least `low` and below `high`.
fn middle(low: f64, high: f64) -> f64 {
    let middle = low / 2.0 + high / 2.0;
    if low <= middle && middle < high { middle } else { low }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_values_have_a_bin_each_and_many_have_parts_of_equal_size() {
        assert_eq!(between(&[1.0, 1.0, 2.0, 4.0], 5), [1.5, 3.0]);
        assert_eq!(between(&[1.0, 1.0, 1.0], 5), [] as [f64; 0]);
        assert_eq!(between(&[], 5), [] as [f64; 0]);
        let values: Vec<f64> = (0..1000).map(f64::from).collect();
        let edges = between(&values, 10);
        assert_eq!(edges.len(), 9);
        for (number, edge) in edges.iter().enumerate() {
            assert!((edge - 100.0 * (number + 1) as f64).abs() <= 1.0, "{edges:?}");
        }
        // A value in most rows is a separate bin.
        let mut skewed = vec![0.0; 5000];
        skewed.extend(&values[1..]);
        let edges = between(&skewed, 11);
        assert_eq!((edges.len(), edges[0]), (10, 0.5), "{edges:?}");
    }

    #[test]
    fn a_sample_has_no_period_and_keeps_the_rarest_values() {
        // Every 4th row is 1, and a single row is 9: every n-th row would miss one or the other.
        let rows = 4 * MOST_SAMPLED;
        let drawn = drawn_rows(rows, 4, 7);
        assert!(drawn.iter().enumerate().all(|(block, row)| row / 4 == block));
        let ones = drawn.iter().filter(|row| row.is_multiple_of(4)).count() as f64 / drawn.len() as f64;
        assert!((ones - 0.25).abs() < 0.01, "{ones}");
        let value = |row: usize| if row == 5 { 9.0 } else { f64::from(u8::from(row.is_multiple_of(4))) };
        let features = Matrix::F64(crate::data::shaped(rows, 1, (0..rows).map(value).collect()));
        let find = |seed| BinEdges::find(&features, 8, seed, &Control::default()).unwrap().0[0].edges.clone();
        assert_eq!((find(0), find(1)), (vec![0.5, 5.0], vec![0.5, 5.0]));
    }

    #[test]
    fn an_edge_separates_neighbors_in_double_precision() {
        let low = 1.0_f64;
        let high = low.next_up();
        let edge = middle(low, high);
        assert!(low <= edge && edge < high);
        let edge = middle(f64::MIN, f64::MAX);
        assert!(edge.is_finite() && edge < f64::MAX);
    }
}
