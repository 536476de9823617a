//! The documents and the loss of one query, prepared once for all problems that use the query; and products of the documents
//! with a vector.
#![allow(clippy::inline_always, reason = "kernels are compiled again for wider registers")]
#![allow(clippy::needless_range_loop, reason = "the packaged library inlines few iterators (`math::lanes`)")]

use std::ops::Range;
use std::sync::Arc;

use crate::base::{Error, Result, Ticks, check_size};
use crate::cost::loss::{ListLoss, QueryLoss};
use crate::data::{Dataset, ListConstraint, Matrix, RowGroup, Slice, shaped};
use crate::learn::solve::checks;
use crate::math::{Element, LANES, Lanes, simd};

/// The documents of one query (N, b).
#[derive(Debug)]
pub enum Rows {
    /// All rows of a matrix.
    Own(Matrix),
    /// Some rows of a data set, without a copy.
    Of(Arc<Dataset>, Range<usize>),
}

#[derive(Debug)]
pub struct ListBlock {
    rows: Rows,
    n: usize,
    /// Number of features b.
    pub dim: usize,
    loss: Arc<dyn QueryLoss>,
}

impl Rows {
    fn matrix(&self) -> (&Matrix, Range<usize>) {
        match self {
            Self::Own(matrix) => (matrix, 0..matrix.rows()),
            Self::Of(data, rows) => (&data.features, rows.clone()),
        }
    }

    fn slice(&self) -> Slice<'_> {
        let (matrix, range) = self.matrix();
        matrix.slice(range).unwrap_or(Slice::F64(&[]))
    }
}

impl ListBlock {
    /// Prepares the documents of one query with a label each, and a row group each if the loss needs them.
    ///
    /// # Errors
    /// Sizes that differ, a number that is not finite, labels or row groups that the loss refuses.
    pub fn new(rows: Rows, labels: &[f64], row_groups: &[RowGroup], loss: &ListLoss) -> Result<Self> {
        let (matrix, range) = rows.matrix();
        let (n, dim) = (range.len(), matrix.columns());
        check_size(&"labels of a query", labels.len(), n)?;
        if loss.constraint() != ListConstraint::None {
            check_size(&"row groups of a query", row_groups.len(), n)?;
        }
        // Products need contiguous rows. Other layouts are copied.
        let rows = if matrix.slice(range.clone()).is_some() {
            rows
        } else {
            Rows::Own(Matrix::F64(shaped(n, dim, matrix.rows_f64(range))))
        };
        let finite = match rows.slice() {
            Slice::F32(values) => values.iter().all(|value| value.is_finite()),
            Slice::F64(values) => values.iter().all(|value| value.is_finite()),
        };
        let finite = finite && labels.iter().all(|label| label.is_finite());
        checks::finite("labels and features of a query", finite)?;
        loss.check_query(labels, row_groups)?;
        Ok(Self { rows, n, dim, loss: loss.prepare(labels, row_groups).into() })
    }

    /// The same query with document weights; empty if all are 1.
    ///
    /// # Errors
    /// A wrong number of weights; a loss that does not support document weights.
    pub fn weighted(mut self, labels: &[f64], weights: &[f64], loss: &ListLoss) -> Result<Self> {
        if !weights.is_empty() {
            check_size(&"weights of the documents of a query", weights.len(), self.n)?;
            let weighted = loss.prepare_weighted(labels, weights).ok_or_else(|| {
                Error::Unsupported(format!("the loss '{}' does not weigh documents", loss.def().name))
            })?;
            self.loss = weighted.into();
        }
        Ok(self)
    }

    /// The same query with the first `dim` features.
    #[must_use]
    pub fn leading(&self, dim: usize) -> Self {
        let (mut values, mut ticks) = (Vec::with_capacity(self.n * dim), Ticks::default());
        for row in 0..self.n {
            ticks.add(dim);
            let range = row * self.dim..row * self.dim + dim;
            match self.slice() {
                Slice::F32(x) => values.extend(x[range].iter().map(|x| f64::from(*x))),
                Slice::F64(x) => values.extend(&x[range]),
            }
        }
        let rows = Rows::Own(Matrix::F64(shaped(self.n, dim, values)));
        Self { rows, n: self.n, dim, loss: Arc::clone(&self.loss) }
    }

    /// Number of documents N.
    pub fn n_docs(&self) -> usize {
        self.n
    }

    pub(super) fn check_dim(&self, dim: usize) -> Result<()> {
        check_size(&"number of features of a query", self.dim, dim)
    }

    pub fn loss(&self) -> &dyn QueryLoss {
        &*self.loss
    }

    /// X w.
    pub fn scores(&self, w: &[f64]) -> Vec<f64> {
        let mut scores = vec![0.0; self.n];
        rows_times(self.slice(), w, &mut scores);
        scores
    }

    pub(super) fn slice(&self) -> Slice<'_> {
        self.rows.slice()
    }
}

// Products of a query's documents with a vector: s = X w and g += X' h.
//
// Four rows at a time share the loads of w and g. A score has the bits of `math::dense::dot`. A gradient adds four rows
// as `(h0 x0 + h1 x1) + (h2 x2 + h3 x3)`, then the remaining rows one by one. The order does not depend on the width of
// registers.

/// Rows at a time.
const ROWS: usize = 4;

/// s = X w; X is row-major with a row for each number of s.
pub(super) fn rows_times(x: Slice<'_>, w: &[f64], scores: &mut [f64]) {
    match x {
        Slice::F32(x) => score_rows(x, w, scores),
        Slice::F64(x) => score_rows(x, w, scores),
    }
}

/// g += X' h; X is row-major with a row for each number of h.
pub(super) fn add_columns_times(x: Slice<'_>, h: &[f64], gradient: &mut [f64]) {
    match x {
        Slice::F32(x) => add_columns(x, h, gradient),
        Slice::F64(x) => add_columns(x, h, gradient),
    }
}

simd! {
    fn score_rows<'a; T: Element>(x: &'a [T], w: &'a [f64], scores: &'a mut [f64]) {
        let dim = w.len();
        let (fours, rest) = scores.as_chunks_mut::<ROWS>();
        let mut ticks = Ticks::default();
        for (number, scores) in fours.iter_mut().enumerate() {
            ticks.add(dim);
            *scores = dots(four(x, number, dim), w);
        }
        let start = fours.len() * ROWS;
        for (row, score) in (start..).zip(rest) {
            [*score] = dots([&x[row * dim..(row + 1) * dim]], w);
        }
    }
}

simd! {
    fn add_columns<'a; T: Element>(x: &'a [T], h: &'a [f64], gradient: &'a mut [f64]) {
        let dim = gradient.len();
        let (fours, rest) = h.as_chunks::<ROWS>();
        let mut ticks = Ticks::default();
        for (number, h) in fours.iter().enumerate() {
            ticks.add(dim);
            if h.iter().any(|h| *h != 0.0) {
                add_four(four(x, number, dim), h, gradient);
            }
        }
        for (row, h) in (fours.len() * ROWS..).zip(rest).filter(|(_, h)| **h != 0.0) {
            let row = &x[row * dim..(row + 1) * dim];
            gradient.iter_mut().zip(row).for_each(|(g, x)| *g += h * x.to_f64());
        }
    }
}

/// Rows 4 number .. 4 number + 4.
#[inline(always)]
fn four<T>(x: &[T], number: usize, dim: usize) -> [&[T]; ROWS] {
    let start = number * ROWS * dim;
    let x = &x[start..start + ROWS * dim];
    [&x[..dim], &x[dim..2 * dim], &x[2 * dim..3 * dim], &x[3 * dim..]]
}

/// Dot products of R rows with w.
#[inline(always)]
fn dots<T: Element, const R: usize>(rows: [&[T]; R], w: &[f64]) -> [f64; R] {
    let mut sums = [Lanes::ZERO; R];
    let (weights, rest) = w.as_chunks::<LANES>();
    for block in 0..weights.len() {
        let y = Lanes(weights[block]);
        for r in 0..R {
            let values = &rows[r][block * LANES..(block + 1) * LANES];
            let mut x = Lanes::ZERO;
            for lane in 0..LANES {
                x.0[lane] = values[lane].to_f64();
            }
            sums[r].add_product(&x, &y);
        }
    }
    if !rest.is_empty() {
        // Padded: sums with a lane of any number would not stay in registers.
        let y = padded(rest);
        for r in 0..R {
            let x = padded(&rows[r][weights.len() * LANES..w.len()]);
            sums[r].add_product(&x, &y);
        }
    }
    folded(&sums)
}

/// The numbers, then zeros.
#[inline(never)]
fn padded<T: Element>(values: &[T]) -> Lanes {
    let mut lanes = Lanes::ZERO;
    for (lane, value) in values.iter().enumerate() {
        lanes.0[lane] = value.to_f64();
    }
    lanes
}

/// The sum of each. Not inlined, so that compilers keep sums in wide registers until they are stored.
#[inline(never)]
fn folded<const R: usize>(sums: &[Lanes; R]) -> [f64; R] {
    let mut products = [0.0; R];
    for r in 0..R {
        products[r] = sums[r].fold();
    }
    products
}

#[inline(always)]
fn add_four<T: Element>([a, b, c, d]: [&[T]; ROWS], h: &[f64; ROWS], gradient: &mut [f64]) {
    let n = gradient.len();
    let (a, b, c, d) = (&a[..n], &b[..n], &c[..n], &d[..n]);
    for j in 0..n {
        let first = h[0] * a[j].to_f64() + h[1] * b[j].to_f64();
        let second = h[2] * c[j].to_f64() + h[3] * d[j].to_f64();
        gradient[j] += first + second;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::dot;

    #[test]
    fn products_hold_all_terms_whatever_the_sizes() {
        for (n, dim) in (0..10).flat_map(|n| [1, 3, 8, 13, 17].map(|dim| (n, dim))) {
            let number = |i: usize| (i as f64 * 0.37).sin();
            let x: Vec<f64> = (0..n * dim).map(number).collect();
            let single: Vec<f32> = x.iter().map(|x| *x as f32).collect();
            let w: Vec<f64> = (0..dim).map(|i| number(i + 7)).collect();
            let h: Vec<f64> = (0..n).map(|i| if i == 1 { 0.0 } else { number(i + 3) }).collect();
            let mut scores = vec![0.0; n];
            rows_times(Slice::F64(&x), &w, &mut scores);
            let expected: Vec<f64> = x.chunks_exact(dim).map(|row| dot(row, &w)).collect();
            assert_eq!(scores, expected);
            let mut gradient = vec![0.5; dim];
            add_columns_times(Slice::F64(&x), &h, &mut gradient);
            for (index, g) in gradient.iter().enumerate() {
                let sum: f64 = (0..n).map(|row| h[row] * x[row * dim + index]).sum();
                assert!((g - 0.5 - sum).abs() < 1e-13);
            }
            rows_times(Slice::F32(&single), &w, &mut scores);
            let expected: Vec<f64> = single.chunks_exact(dim).map(|row| dot(row, &w)).collect();
            assert_eq!(scores, expected);
            let mut rounded = vec![0.5; dim];
            add_columns_times(Slice::F32(&single), &h, &mut rounded);
            assert!(rounded.iter().zip(&gradient).all(|(a, b)| (a - b).abs() < 1e-5));
        }
    }
}
