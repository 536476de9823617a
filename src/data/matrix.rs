//! The feature matrix in the type of its source.

use std::ops::Range;

use ndarray::{Array2, Axis, s};

use crate::base::Ticks;
use crate::math::{Element, dot};

/// A dense row-major matrix of documents by features: `f32` from BLOBs, `f64` from columns and JSON.
#[derive(Debug, Clone, PartialEq)]
pub enum Matrix {
    /// Single precision.
    F32(Array2<f32>),
    /// Double precision.
    F64(Array2<f64>),
}

impl Default for Matrix {
    fn default() -> Self {
        Self::F64(Array2::default((0, 0)))
    }
}

/// Contiguous rows of a matrix, row-major.
#[derive(Debug, Clone, Copy)]
pub enum Slice<'a> {
    /// Single precision.
    F32(&'a [f32]),
    /// Double precision.
    F64(&'a [f64]),
}

/// One-hot columns, and possibly a last column of numbers.
#[derive(Debug, Clone, Copy)]
pub struct ColumnGroup<'a> {
    /// Number of columns.
    pub width: usize,
    /// For each row, the index of the column that is 1.
    pub ones: &'a [u32],
    /// Values of the last column; empty if it is binary too.
    pub last: &'a [f64],
}

/// Columns whose values come together from other rows, in several row orders.
#[derive(Debug, Clone)]
pub struct Shuffle {
    /// Column indices.
    pub columns: Vec<usize>,
    /// For each order, the rows that the values come from.
    pub orders: Vec<Vec<usize>>,
}

/// Advice for BLOBs of 64-bit numbers.
pub const ADVICE_ON_64_BITS: &str = "the vectors look like 64-bit floats, but each feature takes 4 bytes: make them with ltr_vec, \
                                     struct.pack('<3f', ...) or numpy.asarray(x, 'float32').tobytes()";

/// How many numbers are checked.
const CHECKED: usize = 1 << 16;

/// Whether vectors of this width, read as 32-bit numbers, look like 64-bit numbers: the 64-bit numbers are all
/// ordinary, and their low halves are not ordinary numbers, or are all 0.
pub fn are_64_bits(values: &[f32], width: usize) -> bool {
    let ordinary = |x: f64| x.abs() <= 0.0 || (1e-12..1e12).contains(&x.abs());
    let (mut odd, mut pairs, mut zeros, mut large) = (0, 0, 0, true);
    for pair in values[..values.len().min(CHECKED)].chunks_exact(2) {
        let [low, high] = [pair[0], pair[1]].map(f32::to_bits);
        let double = f64::from_bits(u64::from(high) << 32 | u64::from(low));
        if !ordinary(double) {
            return false;
        }
        pairs += 1;
        zeros += usize::from(low == 0);
        // A missing value is the usual NaN.
        odd += usize::from(!ordinary(f64::from(pair[0])) && low << 1 != f32::NAN.to_bits() << 1);
        large &= double.abs() <= 0.0 || double.abs() >= 0.1;
    }
    let has_numbers = values.iter().any(|value| value.abs() > 0.0);
    width.is_multiple_of(2) && has_numbers && (16 * odd > pairs || width >= 4 && zeros == pairs && large)
}

/// Evaluates an expression on the array, whichever its type.
macro_rules! on_array {
    ($matrix:expr, $array:ident => $body:expr) => {
        match $matrix {
            Matrix::F32($array) => $body,
            Matrix::F64($array) => $body,
        }
    };
}

/// Applies an expression to the array, and makes the result a matrix.
macro_rules! map_array {
    ($matrix:expr, $array:ident => $body:expr) => {
        match $matrix {
            Matrix::F32($array) => Matrix::F32($body),
            Matrix::F64($array) => Matrix::F64($body),
        }
    };
}

impl Matrix {
    pub fn rows(&self) -> usize {
        on_array!(self, array => array.nrows())
    }

    pub fn columns(&self) -> usize {
        on_array!(self, array => array.ncols())
    }

    /// Bytes of one element: 4 or 8.
    pub fn element_bytes(&self) -> usize {
        match self {
            Self::F32(_) => 4,
            Self::F64(_) => 8,
        }
    }

    /// Bytes of all elements.
    pub fn bytes(&self) -> u64 {
        (self.element_bytes() as u64).saturating_mul(self.rows() as u64).saturating_mul(self.columns() as u64)
    }

    /// One element in double precision.
    pub fn at(&self, row: usize, column: usize) -> f64 {
        on_array!(self, array => array[[row, column]].to_f64())
    }

    /// These rows in double precision, row-major.
    pub fn rows_f64(&self, rows: Range<usize>) -> Vec<f64> {
        on_array!(self, array => array.slice(s![rows, ..]).iter().map(|value| value.to_f64()).collect())
    }

    /// These rows in single precision, row-major; rounded if they are in double precision.
    pub fn rows_f32(&self, rows: Range<usize>) -> Vec<f32> {
        on_array!(self, array => array.slice(s![rows, ..]).iter().map(|value| value.to_f64() as f32).collect())
    }

    /// These rows in memory, row-major; `None` if they are not contiguous.
    pub fn slice(&self, rows: Range<usize>) -> Option<Slice<'_>> {
        let values = rows.start * self.columns()..rows.end * self.columns();
        match self {
            Self::F32(array) => array.as_slice().and_then(|all| all.get(values)).map(Slice::F32),
            Self::F64(array) => array.as_slice().and_then(|all| all.get(values)).map(Slice::F64),
        }
    }

    /// One row in double precision.
    pub fn row_f64(&self, row: usize) -> Vec<f64> {
        self.rows_f64(row..row + 1)
    }

    /// Whether every element is finite.
    pub fn is_finite(&self) -> bool {
        on_array!(self, array => array.iter().all(|value| value.is_finite()))
    }

    /// The matrix with 0 instead of NaN.
    #[must_use]
    pub fn without_nan(mut self) -> Self {
        on_array!(&mut self, array => array.mapv_inplace(|value| if value.is_nan() { 0.0 } else { value }));
        self
    }

    /// Number of elements that are NaN.
    pub fn count_nan(&self) -> usize {
        on_array!(self, array => array.iter().filter(|value| value.to_f64().is_nan()).count())
    }

    /// Number of elements that are neither finite nor NaN.
    pub fn count_infinite(&self) -> usize {
        on_array!(self, array => array.iter().filter(|value| value.to_f64().is_infinite()).count())
    }

    /// Dot product of one row with `w`.
    pub fn row_dot(&self, row: usize, w: &[f64]) -> f64 {
        on_array!(self, array => {
            let row = array.row(row);
            // The order of additions must not depend on the memory layout.
            row.as_slice().map_or_else(|| dot(&row.to_vec(), w), |row| dot(row, w))
        })
    }

    /// The same rows, each followed by these numbers.
    #[must_use]
    pub fn followed_by(&self, last: &[f64]) -> Self {
        let x = |row: usize| (0..self.columns()).map(move |column| self.at(row, column));
        let values = (0..self.rows()).flat_map(|row| x(row).chain(last.iter().copied())).collect();
        Self::F64(shaped(self.rows(), self.columns() + last.len(), values))
    }

    /// The same rows, each followed by its value of a column.
    #[must_use]
    pub fn with_column(&self, last: &[f64]) -> Self {
        let x = |row: usize| (0..self.columns()).map(move |column| self.at(row, column));
        let values = (0..self.rows()).flat_map(|row| x(row).chain([last[row]])).collect();
        self.like(self.rows(), self.columns() + 1, values)
    }

    /// Reorders or selects rows.
    #[must_use]
    pub fn select_rows(&self, rows: &[usize]) -> Self {
        map_array!(self, array => select_rows(array, rows))
    }

    /// Copies some columns of a matrix of the same type and shape: row i gets the values of row `order[i]`.
    pub fn copy_columns(&mut self, from: &Self, columns: &[usize], order: &[usize]) {
        let mut ticks = Ticks::default();
        for (to, &row) in order.iter().enumerate() {
            ticks.add(columns.len());
            for &column in columns {
                match (&mut *self, from) {
                    (Self::F32(own), Self::F32(from)) => own[[to, column]] = from[[row, column]],
                    (Self::F64(own), Self::F64(from)) => own[[to, column]] = from[[row, column]],
                    _ => {}
                }
            }
        }
    }

    /// Reorders or selects columns.
    #[must_use]
    pub fn select_columns(&self, columns: &[usize]) -> Self {
        map_array!(self, array => array.select(Axis(1), columns))
    }

    /// Replaces the values of a column.
    pub fn set_column(&mut self, column: usize, values: impl Iterator<Item = f64>) {
        on_array!(self, array => {
            let column = array.column_mut(column);
            column.into_iter().zip(values).for_each(|(x, value)| *x = Element::from_f64(value));
        });
    }

    /// Some of the columns, followed by groups of columns.
    #[must_use]
    pub fn with_groups(&self, columns: &[usize], groups: &[ColumnGroup<'_>]) -> Self {
        map_array!(self, array => with_groups(array, columns, groups))
    }

    /// A matrix of these values, row-major, in double or single precision.
    pub fn of(rows: usize, columns: usize, values: Vec<f64>, is_double: bool) -> Self {
        if is_double {
            return Self::F64(shaped(rows, columns, values));
        }
        Self::F32(shaped(rows, columns, values.into_iter().map(|value| value as f32).collect()))
    }

    /// A matrix of the same type with these values (row-major), rounded to it.
    ///
    /// # Panics
    /// If the number of values is not rows times columns.
    #[must_use]
    pub fn like(&self, rows: usize, columns: usize, values: Vec<f64>) -> Self {
        Self::of(rows, columns, values, matches!(self, Self::F64(_)))
    }
}

fn select_rows<T: Copy>(array: &Array2<T>, rows: &[usize]) -> Array2<T> {
    let mut ticks = Ticks::default();
    let mut values = Vec::with_capacity(rows.len() * array.ncols());
    for &row in rows {
        ticks.add(array.ncols());
        values.extend(array.row(row));
    }
    shaped(rows.len(), array.ncols(), values)
}

fn with_groups<T: Element>(array: &Array2<T>, columns: &[usize], groups: &[ColumnGroup<'_>]) -> Array2<T> {
    let mut ticks = Ticks::default();
    let width = columns.len() + groups.iter().map(|group| group.width).sum::<usize>();
    let (zero, one) = (T::from_f64(0.0), T::from_f64(1.0));
    let mut values = Vec::with_capacity(array.nrows() * width);
    for row in 0..array.nrows() {
        ticks.add(width);
        values.extend(columns.iter().map(|column| array[[row, *column]]));
        for ColumnGroup { width, ones, last } in groups {
            let start = values.len();
            values.resize(start + width, zero);
            values[start + ones[row] as usize] = one;
            if let Some(last) = last.get(row) {
                values[start + width - 1] = T::from_f64(*last);
            }
        }
    }
    shaped(array.nrows(), width, values)
}

/// An array of rows * columns row-major values.
pub(crate) fn shaped<T>(rows: usize, columns: usize, values: Vec<T>) -> Array2<T> {
    #[expect(clippy::expect_used, reason = "callers pass rows * columns values")]
    Array2::from_shape_vec((rows, columns), values).expect("rows * columns values")
}
