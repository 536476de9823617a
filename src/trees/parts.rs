//! Binned features of documents that arrive in parts, such as packs.
//!
//! A first pass over the parts samples rows, from which bin edges are computed; a second pass bins them. Each
//! document has the row number that it has if all documents are in memory. So the sample, the edges and the bins
//! equal the results of [`BinEdges::find`] and [`BinEdges::bin`], for any parts in any order. A part may come again: it
//! writes the same values.

use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use ndarray::Array2;

use super::bins::{self, BinColumn, BinEdges, Binned, FeatureEdges, Sample};
use super::boost::{Prepared, WAY_OUT};
use crate::base::{Control, Error, Reservation, Result, TemporaryFile, Ticks, bytes_of, parallel, zeros};
use crate::data::{Matrix, Slice, shaped};
use crate::math::Element;

/// Row numbers of a part, query by query; the part stores the documents of a query one after the other.
pub type RowNumbers = [Range<usize>];

/// The rows from which bin edges are computed.
pub struct EdgeSample {
    /// Their numbers, ascending.
    drawn: Vec<usize>,
    /// Whether there are other rows.
    is_part: bool,
    found: Mutex<Found>,
    _memory: Reservation,
}

struct Found {
    /// Features of the drawn rows.
    values: Matrix,
    /// For each feature the smallest and the largest value of all rows, and whether one is missing.
    ranges: Vec<ValueRange>,
}

/// The smallest and the largest value of a feature, and whether one is missing.
type ValueRange = (f64, f64, bool);

const NOTHING: ValueRange = (f64::INFINITY, f64::NEG_INFINITY, false);

/// The bins of all documents.
pub struct BinnedParts {
    edges: BinEdges,
    columns: Mutex<Vec<BinColumn>>,
    memory: Reservation,
}

impl EdgeSample {
    /// An empty sample of `rows` rows with `features` features. `seed` chooses the rows.
    ///
    /// # Errors
    /// Too little memory.
    pub fn new(rows: usize, features: usize, is_double: bool, seed: u64, control: &Control) -> Result<Self> {
        let step = bins::sampling_step(rows);
        let drawn = bins::drawn_rows(rows, step, seed);
        let count = drawn.len().saturating_mul(features);
        let bytes = if is_double { bytes_of::<f64>(count) } else { bytes_of::<f32>(count) };
        let memory = control.reserve(bytes, "a sample of rows for the bin edges", WAY_OUT)?;
        let values = if is_double {
            Matrix::F64(shaped(drawn.len(), features, zeros(count)?))
        } else {
            Matrix::F32(shaped(drawn.len(), features, zeros(count)?))
        };
        let results = Mutex::new(Found { values, ranges: vec![NOTHING; features] });
        Ok(Self { drawn, is_part: step > 1, found: results, _memory: memory })
    }

    /// Adds the documents of a part.
    ///
    /// # Errors
    /// Features of another precision.
    pub fn add(&self, row_numbers: &RowNumbers, features: &Matrix) -> Result<()> {
        let ranges = match features.slice(0..features.rows()) {
            Some(Slice::F32(values)) => ranges(values, features.columns()),
            Some(Slice::F64(values)) => ranges(values, features.columns()),
            None => return Err(Error::Internal("a part whose rows are not contiguous".to_owned())),
        };
        let mut results = parallel::lock(&self.found);
        results.ranges.iter_mut().zip(ranges).for_each(|(range, of_part)| extend(range, of_part));
        match (&mut results.values, features) {
            (Matrix::F32(to), Matrix::F32(from)) => copy_drawn(&self.drawn, row_numbers, to, from),
            (Matrix::F64(to), Matrix::F64(from)) => copy_drawn(&self.drawn, row_numbers, to, from),
            _ => return Err(Error::Data("features whose precision differs from the first pass".to_owned())),
        }
        Ok(())
    }

    /// The edges of at most `bins` bins for each feature, once all parts are added.
    ///
    /// # Errors
    /// An interrupt.
    pub fn edges(self, bins: usize, control: &Control) -> Result<BinEdges> {
        let Self { drawn, is_part, found, .. } = self;
        let Found { values, ranges } = found.into_inner().unwrap_or_else(PoisonError::into_inner);
        let of_feature = |feature: usize| -> Result<FeatureEdges> {
            control.check()?;
            let at = |number: usize| values.at(number, feature);
            let (low, high, has_missing) = ranges[feature];
            let values = (0..drawn.len()).map(at).filter(|value| !value.is_nan()).collect();
            Ok(Sample { values, range: (low, high), has_missing }.edges(is_part, bins))
        };
        Ok(BinEdges::of_features(parallel::try_map(ranges.len(), of_feature)?))
    }
}

/// The feature ranges of some rows, row-major.
fn ranges<T: Element>(values: &[T], width: usize) -> Vec<ValueRange> {
    let (mut ranges, mut ticks) = (vec![NOTHING; width], Ticks::default());
    for row in values.chunks_exact(width.max(1)) {
        ticks.add(width);
        for (range, value) in ranges.iter_mut().zip(row) {
            let value = value.to_f64();
            extend(range, (value, value, value.is_nan()));
        }
    }
    ranges
}

/// Minimum and maximum ignore NaN.
fn extend(range: &mut ValueRange, by: ValueRange) {
    *range = (range.0.min(by.0), range.1.max(by.1), range.2 | by.2);
}

/// Copies the drawn rows of a part.
fn copy_drawn<T: Copy>(drawn: &[usize], row_numbers: &RowNumbers, to: &mut Array2<T>, from: &Array2<T>) {
    let mut first = 0;
    for rows in row_numbers {
        let start = drawn.partition_point(|row| *row < rows.start);
        for (number, row) in drawn.iter().enumerate().skip(start).take_while(|(_, row)| **row < rows.end) {
            to.row_mut(number).assign(&from.row(first + row - rows.start));
        }
        first += rows.len();
    }
}

impl BinnedParts {
    /// Bins of `rows` rows with these edges, before any part is added. Bins that would take more than half of the
    /// memory that is left are in a temporary file.
    ///
    /// # Errors
    /// No temporary file can be made.
    pub fn new(edges: BinEdges, rows: usize, control: &Control) -> Result<Self> {
        let varying = edges.varying();
        let mut memory = control.memory().nothing();
        let mut columns: Vec<BinColumn> =
            (0..edges.len()).map(|_| BinColumn::Memory(Arc::default())).collect();
        let bytes = bytes_of::<u8>(rows).saturating_mul(varying.len() as u64);
        if bytes <= control.memory().available() / 2 {
            memory.resize(bytes, format_args!("{rows} documents in bins"), WAY_OUT)?;
            for feature in varying {
                columns[feature] = BinColumn::Memory(Arc::new(zeros(rows)?));
            }
        } else {
            let file = Arc::new(TemporaryFile::new()?);
            for (number, feature) in varying.into_iter().enumerate() {
                columns[feature] = BinColumn::File(Arc::clone(&file), number as u64 * rows as u64, rows);
            }
        }
        Ok(Self { edges, columns: Mutex::new(columns), memory })
    }

    /// Adds the documents of a part.
    ///
    /// # Errors
    /// An interrupt; too little memory; a full disk.
    pub fn add(&self, row_numbers: &RowNumbers, features: &Matrix, control: &Control) -> Result<()> {
        let part = self.edges.bin(features, control)?;
        let mut columns = parallel::lock(&self.columns);
        for feature in self.edges.varying() {
            let (bins, mut first) = (part.columns[feature].bins(control)?, 0);
            for rows in row_numbers {
                columns[feature].write(rows.start, &bins[first..first + rows.len()])?;
                first += rows.len();
            }
        }
        Ok(())
    }

    /// All documents in bins, once all parts were added.
    pub fn prepared(self) -> Prepared {
        let columns = self.columns.into_inner().unwrap_or_else(PoisonError::into_inner);
        Prepared::of_bins(self.edges, Binned { columns }, self.memory)
    }
}

#[cfg(test)]
mod tests {
    use super::super::boost::{Boosting, Fitted, RowWeights, TreeOptions};
    use super::super::rows::Targets;
    use super::*;
    use crate::base::Memory;
    use crate::math::Random;

    /// More rows than a sample has, in two parts of alternating queries.
    #[test]
    fn parts_in_any_order_have_the_edges_and_bins_of_all_rows() {
        const ROWS: usize = 150_000;
        let mut random = Random::new(1);
        let mut value = |column: usize| match column {
            0 => random.symmetric(),
            1 => (random.symmetric() * 3.0).round(),
            _ if random.symmetric() > 0.9 => f64::NAN,
            _ => random.symmetric().powi(3),
        };
        let all: Vec<f64> = (0..3 * ROWS).map(|number| value(number % 3)).collect();
        let control = Control::default();
        let queries: Vec<Range<usize>> =
            (0..ROWS).step_by(70).map(|start| start..ROWS.min(start + 70)).collect();
        let part = |odd: usize| {
            let row_numbers: Vec<Range<usize>> = queries.iter().skip(odd).step_by(2).cloned().collect();
            let rows: Vec<f64> =
                row_numbers.iter().flat_map(|rows| all[3 * rows.start..3 * rows.end].to_vec()).collect();
            (row_numbers, Matrix::F64(shaped(rows.len() / 3, 3, rows)))
        };
        let all_rows = Matrix::F64(shaped(ROWS, 3, all.clone()));
        let expected = Prepared::new(&all_rows, 40, 5, &control).unwrap();
        let grades: Vec<f64> = (0..ROWS).map(|row| (all[3 * row] * 3.0 + all[3 * row + 1]).round()).collect();
        let offsets: Vec<usize> = queries.iter().map(|rows| rows.start).chain([ROWS]).collect();
        let query_weights = vec![1.0; queries.len()];
        let trees = |prepared: &Prepared| {
            let targets = Targets {
                offsets: &offsets,
                grades: &grades,
                query_weights: &query_weights,
                row_weights: &[],
                start: &[],
                loss: None,
            };
            let options = TreeOptions {
                depth: 4,
                learning_rate: Some(0.3),
                trees: 2,
                feature_fraction: None,
                bins: 40,
                row_weights: RowWeights::Exponential,
                seed: 5,
            };
            let mut training = Boosting::new(prepared, targets, options, &control).unwrap();
            (0..2).for_each(|_| drop(training.step(&control).unwrap()));
            let Fitted { forest, values } = Boosting::mean(vec![training]);
            (forest, values)
        };
        // The second time the bins are in a file.
        for (order, limit) in [([0, 1, 0], None), ([1, 1, 0], Some(4_000_000))] {
            let control = Control::with_memory(Memory::limited(limit));
            let sample = EdgeSample::new(ROWS, 3, true, 5, &control).unwrap();
            order.map(part).iter().for_each(|(row_numbers, part)| sample.add(row_numbers, part).unwrap());
            let edges = sample.edges(40, &control).unwrap();
            let _rest = limit.map(|_| control.reserve(3_500_000, "the rest", "").unwrap());
            let bins = BinnedParts::new(edges, ROWS, &control).unwrap();
            order
                .map(part)
                .iter()
                .for_each(|(row_numbers, part)| bins.add(row_numbers, part, &control).unwrap());
            let prepared = bins.prepared();
            for feature in 0..3 {
                assert_eq!(prepared.edges.of(feature).edges, expected.edges.of(feature).edges);
                let [prepared, expected] = [&prepared, &expected].map(|of| &of.binned.columns[feature]);
                assert_eq!(matches!(prepared, BinColumn::File(..)), limit.is_some());
                assert!(prepared.bins(&control).unwrap() == expected.bins(&control).unwrap(), "{feature}");
            }
            assert!(trees(&prepared) == trees(&expected));
        }
    }
}
