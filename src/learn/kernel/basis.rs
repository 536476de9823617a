//! The documents that a function is made of: f(x) = sum over p of beta_p K(x, x_p). This and the coefficients
//! beta are all that a model of one function needs. [`SpanFactor`] is the span of documents that are added one by one.
//! Rows of many documents are computed in blocks, on all threads.

use std::cmp::Ordering;
use std::ops::Range;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::kernel::Kernel;
use super::points::{Compared, Points};
use super::sample::sample;
use super::{MapOptions, coefficients, not_finite};
use crate::base::param::list::Numbers;
use crate::base::{Control, Error, Result, Ticks, check_size, grow, parallel, zeros};
use crate::data::Matrix;
use crate::math::dense::add_products;
use crate::math::{Lanes, TILE, Tile, are_bounded, cholesky, dot, simd, sort_indices};

/// A model with more scaled features is damaged.
const MOST_FEATURES: usize = 2_000_000;

/// A kernel and r documents with d features.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Stored<Numbers<'_>>", into = "Stored<Vec<f64>>")]
pub struct Basis {
    pub kernel: Kernel,
    pub points: Arc<Points>,
}

/// A basis in a model.
#[derive(Serialize, Deserialize)]
struct Stored<R> {
    kernel: Kernel,
    count: usize,
    dim: usize,
    /// Documents, row-major (count, dim).
    rows: R,
}

impl From<Basis> for Stored<Vec<f64>> {
    fn from(basis: Basis) -> Self {
        let (count, dim) = (basis.points.len(), basis.points.dim);
        Self { rows: basis.points.rows(), kernel: basis.kernel, count, dim }
    }
}

impl TryFrom<Stored<Numbers<'_>>> for Basis {
    type Error = Error;

    fn try_from(Stored { kernel, count, dim, rows }: Stored<Numbers<'_>>) -> Result<Self> {
        Self::checked(kernel, count, dim, rows.0.len(), |index| f64::from_le_bytes(rows.0[index]))
    }
}

impl Basis {
    /// A basis of the documents `rows`, shape `(count, dim)`, row-major.
    ///
    /// # Panics
    /// If there are fewer values.
    pub fn new(kernel: Kernel, rows: &[f64], count: usize, dim: usize) -> Self {
        Self { kernel, points: Arc::new(Points::new(rows, count, dim)) }
    }

    /// A basis of documents that are not trusted: the numbers `at` each index below `len`.
    ///
    /// # Errors
    /// [`Error::Corrupt`] for numbers that do not fit the sizes or the bound of stored numbers.
    pub fn checked(
        kernel: Kernel,
        count: usize,
        dim: usize,
        len: usize,
        at: impl Fn(usize) -> f64,
    ) -> Result<Self> {
        let fits = count.checked_mul(dim) == Some(len);
        // Documents are laid out in tiles, so that a few of many features take more memory than bytes.
        let narrow = dim <= MOST_FEATURES;
        // Without features the number of documents takes no bytes, so it is not trusted.
        let counted = dim > 0 || count <= 1;
        if !(fits && narrow && counted && (0..len).all(|index| are_bounded(&[at(index)]))) {
            return Err(Error::Corrupt("the documents of a kernel do not fit their sizes".to_owned()));
        }
        Ok(Self { kernel, points: Arc::new(Points::from_fn(count, dim, at)) })
    }

    /// All documents, or a sample of `landmarks` documents drawn with the seed.
    ///
    /// # Errors
    /// A kernel that is not a finite number on a document.
    pub fn of_documents(kernel: &Kernel, features: &Matrix, options: &MapOptions) -> Result<Self> {
        let chosen = sample(features.rows(), options.landmarks, options.seed);
        let (rows, dim) = (features.select_rows(&chosen).rows_f64(0..chosen.len()), features.columns());
        if !rows.chunks_exact(dim).all(|row| kernel.of(row, row).is_finite()) {
            return Err(not_finite());
        }
        Ok(Self::new(kernel.clone(), &rows, chosen.len(), dim))
    }

    /// Adds a document of d features.
    pub(super) fn push(&mut self, row: &[f64]) {
        Arc::make_mut(&mut self.points).push(row);
    }

    /// sqrt K(x, x), a document's norm in the kernel's space; 0 if K(x, x) is negative.
    pub fn norm(&self, row: &[f64]) -> f64 {
        self.kernel.of(row, row).max(0.0).sqrt()
    }

    /// The kernel with the documents of another basis.
    #[must_use]
    pub fn with_points_of(&self, other: &Self) -> Self {
        Self { kernel: self.kernel.clone(), points: Arc::clone(&other.points) }
    }

    /// k(x, P) of some documents: shape `(rows, r)`, row-major.
    ///
    /// # Errors
    /// A different number of features, or an interrupt.
    pub fn columns(&self, features: &Matrix, rows: Range<usize>, control: &Control) -> Result<Vec<f64>> {
        check_width(features.columns(), self.points.dim)?;
        let r = self.points.len();
        in_blocks(rows.len(), r, control, |block, out| {
            let mut compared = self.compared(features, shifted(&block, rows.start));
            compared.by_tiles(block.len(), |tile, q| {
                for (out, q) in out.chunks_exact_mut(r).zip(q.chunks_exact(tile.len())) {
                    out[tile.clone()].copy_from_slice(q);
                }
            });
            self.kernel.outer(out);
        })
    }

    /// Some documents, to be compared with one tile after the other for scores.
    fn compared(&self, features: &Matrix, rows: Range<usize>) -> Compared<'_> {
        let def = self.kernel.def;
        Compared::new(&self.points, def.inner, features.rows_f64(rows), def.factorizes)
    }

    /// Writes k(x, P) of up to a tile of documents.
    pub(super) fn fill(&self, features: &Matrix, rows: &Range<usize>, out: &mut [f64]) {
        let x = features.rows_f64(rows.clone());
        self.points.inner_of(self.kernel.def.inner, &x, 0..self.points.len(), out);
        self.kernel.outer(out);
    }

    /// f(x) of some documents, given beta (r).
    ///
    /// # Errors
    /// A different number of features or coefficients, or an interrupt.
    pub fn scores(
        &self,
        features: &Matrix,
        rows: Range<usize>,
        coefficients: &[f64],
        control: &Control,
    ) -> Result<Vec<f64>> {
        Ok(self.scores_by(features, rows, &[(&self.kernel, coefficients)], control)?.concat())
    }

    /// [`Self::scores`] by several functions, with kernels of the name of this one: all use the same q.
    ///
    /// # Errors
    /// As [`Self::scores`].
    pub fn scores_by(
        &self,
        features: &Matrix,
        rows: Range<usize>,
        functions: &[(&Kernel, &[f64])],
        control: &Control,
    ) -> Result<Vec<Vec<f64>>> {
        let (r, n) = (self.points.len(), rows.len());
        functions.iter().try_for_each(|(_, beta)| check_coefficients(beta.len(), r))?;
        check_width(features.columns(), self.points.dim)?;
        let scores = in_blocks(n, functions.len(), control, |block, out| {
            let mut compared = self.compared(features, shifted(&block, rows.start));
            // Sums run in the order of `dot`.
            let mut values = [0.0; TILE * TILE];
            let mut sums = vec![[Lanes::ZERO; TILE]; functions.len()];
            compared.by_tiles(block.len(), |tile, q| {
                for ((kernel, beta), sums) in functions.iter().zip(&mut sums) {
                    let values = &mut values[..q.len()];
                    values.copy_from_slice(q);
                    kernel.outer(values);
                    add_weighted(values, &beta[tile.clone()], sums);
                }
            });
            for (row, out) in out.chunks_exact_mut(functions.len()).enumerate() {
                out.iter_mut().zip(&sums).for_each(|(score, sums)| *score = sums[row].fold());
            }
        })?;
        let of_function = |number| scores.iter().skip(number).step_by(functions.len()).copied().collect();
        Ok((0..functions.len()).map(of_function).collect())
    }

    /// The basis of all features but the last ones, which are fixed at these values, and what each coefficient is multiplied
    /// by. For kernels that are products over features.
    pub fn at(&self, last: &[f64]) -> (Self, Vec<f64>) {
        let (count, dim) = (self.points.len(), self.points.dim - last.len());
        let (mut rows, mut factors) = (Vec::with_capacity(count * dim), Vec::with_capacity(count));
        for document in 0..count {
            let row: Vec<f64> = self.points.row(document).collect();
            rows.extend(&row[..dim]);
            factors.push(self.kernel.inner_of(last, &row[dim..]));
        }
        self.kernel.outer(&mut factors);
        (Self::new(self.kernel.clone(), &rows, count, dim), factors)
    }

    /// A function with these coefficients (r), with its documents in ascending order, and its coefficients.
    pub fn sorted(&self, coefficients: &[f64]) -> (Self, Vec<f64>) {
        let rows: Vec<Vec<f64>> = (0..self.points.len()).map(|l| self.points.row(l).collect()).collect();
        let mut order: Vec<usize> = (0..rows.len()).collect();
        sort_indices(&mut order, &|a, b| rows[a].partial_cmp(&rows[b]).unwrap_or(Ordering::Equal));
        let documents: Vec<f64> = order.iter().flat_map(|l| &rows[*l]).copied().collect();
        let basis = Self::new(self.kernel.clone(), &documents, rows.len(), self.points.dim);
        (basis, order.iter().map(|l| coefficients[*l]).collect())
    }
}

simd! {
    /// Adds the products of each row with the weights, lane by lane.
    fn add_weighted<'a>(rows: &'a [f64], weights: &'a [f64], sums: &'a mut [Lanes]) {
        for (row, sum) in rows.chunks_exact(weights.len()).zip(sums) {
            add_products(sum, weights, |index| row[index]);
        }
    }
}

/// A range moved up.
pub(super) fn shifted(range: &Range<usize>, start: usize) -> Range<usize> {
    range.start + start..range.end + start
}

// Span of documents in the space of a kernel. Documents are added one by one.
//
// ```text
// S            r documents, linearly independent; L L' = K(S, S), L lower triangular (r, r)
// f            sum over S of beta_j K(x_j, .), a function of the span;  |f|^2 = |L' beta|^2
// projection   the function of the span nearest to f' has L L' beta = f'(S)
// ```
//
// A row of L depends on the rows above it only. So a factor that is made again from the same documents has the same bits.

/// A document whose squared distance from the span is at most this fraction of K(x, x) counts as one of the span.
const INDEPENDENT: f64 = 1e-12;

/// L of a basis's documents, packed as in `math::triangular`.
#[derive(Debug, Clone, Default)]
pub struct SpanFactor(Vec<f64>);

impl SpanFactor {
    /// The factor of these documents.
    ///
    /// # Errors
    /// A kernel that is not finite on them; no memory.
    pub fn of(basis: &Basis) -> Result<Self> {
        let mut factor = Self::default();
        for document in 0..basis.points.len() {
            let row: Vec<f64> = basis.points.row(document).collect();
            let (mut entries, square) = factor.entries(basis, &row, document)?;
            let distance = square - dot(&entries, &entries);
            // Documents that are independent on one machine may be so only up to rounding on another.
            entries.push(distance.max(INDEPENDENT * square).max(f64::MIN_POSITIVE).sqrt());
            factor.append(&entries)?;
        }
        Ok(factor)
    }

    /// Adds a document with these features to the basis, unless it is in the span. Returns whether it was added.
    ///
    /// # Errors
    /// A kernel that is not finite on it; no memory.
    pub fn add(&mut self, basis: &mut Basis, row: &[f64]) -> Result<bool> {
        let (mut entries, square) = self.entries(basis, row, basis.points.len())?;
        let distance = square - dot(&entries, &entries);
        if distance <= INDEPENDENT * square || square <= 0.0 {
            return Ok(false);
        }
        entries.push(distance.sqrt());
        self.append(&entries)?;
        basis.push(row);
        Ok(true)
    }

    /// Coefficients of the projection of a function with these values at the documents.
    ///
    /// # Errors
    /// A number of values that differs from the number of documents.
    pub fn projected(&self, mut values: Vec<f64>) -> Result<Vec<f64>> {
        cholesky::forward_vector(&self.0, &mut values);
        coefficients(&self.0, values.len(), &values)
    }

    /// |f|^2 of a function with these coefficients.
    pub fn square_norm(&self, coefficients: &[f64]) -> f64 {
        let product = self.coordinates(coefficients);
        dot(&product, &product)
    }

    /// L' beta: the coordinates of a function in an orthonormal basis of the span. The inner product of two functions
    /// equals the inner product of their coordinates.
    pub fn coordinates(&self, coefficients: &[f64]) -> Vec<f64> {
        let mut product = vec![0.0; coefficients.len()];
        let mut ticks = Ticks::default();
        for (i, coefficient) in coefficients.iter().enumerate().filter(|(_, beta)| **beta != 0.0) {
            ticks.add(i);
            let entries = cholesky::row(&self.0, i);
            product.iter_mut().zip(entries).for_each(|(sum, entry)| *sum += coefficient * entry);
        }
        product
    }

    /// The entries left of the diagonal in the row of L for one more document after the first `r`, and K(x, x).
    fn entries(&self, basis: &Basis, row: &[f64], r: usize) -> Result<(Vec<f64>, f64)> {
        let square = basis.kernel.of(row, row);
        let mut entries = basis.kernel.block(row, 1, &basis.points);
        entries.truncate(r);
        cholesky::forward_vector(&self.0, &mut entries);
        if square.is_finite() && entries.iter().all(|entry| entry.is_finite()) {
            Ok((entries, square))
        } else {
            Err(not_finite())
        }
    }

    fn append(&mut self, entries: &[f64]) -> Result<()> {
        grow(&mut self.0, entries.len())?;
        self.0.extend(entries);
        Ok(())
    }
}

// Rows written in blocks of one tile, on all threads of the caller's pool. The bits do not depend on the number of
// threads.

/// The rows that `work` writes: shape `(count, width)`, row-major. It is given the numbers of up to [`TILE`]
/// rows and their positions. A single block stays on the calling thread.
///
/// # Errors
/// An interrupt, noticed between blocks.
pub(super) fn in_blocks(
    count: usize,
    width: usize,
    control: &Control,
    work: impl Fn(Range<usize>, &mut [f64]) + Sync,
) -> Result<Vec<f64>> {
    let mut out = zeros(count.saturating_mul(width))?;
    if width == 0 {
        return Ok(out);
    }
    let one = |block: usize, position: &mut [f64]| -> Result<()> {
        control.check()?;
        let start = block * TILE;
        work(start..start + position.len() / width, position);
        Ok(())
    };
    if count <= TILE {
        one(0, &mut out)?;
    } else {
        parallel::try_each_of(out.chunks_mut(TILE * width).collect(), one)?;
    }
    Ok(out)
}

/// Replaces each of up to [`TILE`] rows k of `r` numbers by the solution of L phi = k.
pub(super) fn solve_rows(factor: &[f64], r: usize, rows: &mut [f64]) {
    let mut tiles = vec![Tile::ZERO; r];
    for (lane, row) in rows.chunks_exact(r).enumerate() {
        tiles.iter_mut().zip(row).for_each(|(tile, value)| *tile.get_mut(lane) = *value);
    }
    cholesky::forward(factor, &mut tiles);
    for (lane, row) in rows.chunks_exact_mut(r).enumerate() {
        tiles.iter().zip(row).for_each(|(tile, value)| *value = tile.get(lane));
    }
}

/// Refuses a matrix whose number of features differs from the pivots'.
pub(super) fn check_width(found: usize, expected: usize) -> Result<()> {
    check_size(&"number of features for the kernel", found, expected)
}

/// Refuses a number of coefficients that differs from the number of pivots.
pub(super) fn check_coefficients(found: usize, expected: usize) -> Result<()> {
    check_size(&"number of coefficients of a kernel function", found, expected)
}

/// Whether a packed factor of `r` rows has the right size, finite numbers and a positive diagonal.
pub(super) fn is_valid_factor(factor: &[f64], r: usize) -> bool {
    cholesky::packed_len(r) == Some(factor.len())
        && factor.iter().all(|value| value.is_finite())
        && (0..r).all(|i| cholesky::row(factor, i)[i] > 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::learn::kernel::Kernel;
    use crate::math::Random;

    /// A Gaussian kernel and random documents with three features.
    fn example(count: usize) -> (Basis, Vec<Vec<f64>>) {
        let mut random = Random::new(3);
        let rows = (0..count).map(|_| (0..3).map(|_| random.symmetric()).collect()).collect();
        (Basis::new(Kernel::new("gaussian", vec![0.7]).unwrap(), &[], 0, 3), rows)
    }

    #[test]
    fn a_projection_agrees_with_the_function_at_the_documents_and_is_at_most_as_long() {
        let (mut basis, rows) = example(9);
        let mut factor = SpanFactor::default();
        for row in &rows[..6] {
            assert!(factor.add(&mut basis, row).unwrap());
        }
        assert!(!factor.add(&mut basis, &rows[2]).unwrap(), "a document of the span");
        // K(x, .) of a document outside of the span.
        let values = basis.kernel.block(&rows[8], 1, &basis.points);
        let beta = factor.projected(values.clone()).unwrap();
        for (document, value) in values.iter().enumerate() {
            let row: Vec<f64> = basis.points.row(document).collect();
            let at = dot(&basis.kernel.block(&row, 1, &basis.points), &beta);
            assert!((at - value).abs() < 1e-12);
        }
        // <g, f> = g(S)' beta, also if g is much longer than f: (|f + g|^2 - |f|^2 - |g|^2) / 2 would have no digit right.
        let far: Vec<f64> = beta.iter().map(|beta| 1e9 * (beta - 0.1)).collect();
        let product = dot(&factor.coordinates(&far), &factor.coordinates(&beta));
        assert!((product - dot(&values, &far)).abs() < 1e-12 * product.abs());
        // |P f|^2 = <f, P f> <= |f|^2 = 1.
        let square = factor.square_norm(&beta);
        assert!((square - dot(&values, &beta)).abs() < 1e-12 && square < 1.0);
    }

    #[test]
    fn a_factor_that_is_made_again_has_the_same_bits() {
        let (mut basis, rows) = example(70);
        let mut factor = SpanFactor::default();
        for row in &rows {
            factor.add(&mut basis, row).unwrap();
        }
        assert!(basis.points.len() > 40);
        assert_eq!(SpanFactor::of(&basis).unwrap().0, factor.0);
    }

    #[test]
    fn kernels_that_are_not_finite_are_refused() {
        let mut basis = Basis::new(Kernel::new("polynomial", vec![3.0, 1.0, 0.0]).unwrap(), &[], 0, 1);
        assert!(SpanFactor::default().add(&mut basis, &[1e200]).is_err());
        assert!(!SpanFactor::default().add(&mut basis, &[0.0]).unwrap());
    }
}
