//! The documents that span the map of a kernel: which are candidates, their coordinates, the spread of distances.

use std::collections::BTreeSet;
use std::ops::Range;

use xxhash_rust::xxh3::xxh3_64_with_seed;

use super::def::Inner;
use crate::base::{Control, Result, matrix_bytes, parallel};
use crate::data::Matrix;
use crate::math::lanes::BLOCKS;
use crate::math::{LANES, Registers, SimdTask, TILE, Tile, dispatch, median, simd, tiles_for};

// Typical distances of documents: the units of the parameters of kernels.

/// Up to this number of documents, the median is taken over all pairs. For more documents, a sample of this size is
/// used.
const MEDIAN_DOCUMENTS: usize = 2000;
/// Rows summed at a time.
const BLOCK: usize = 4096;

/// v: the sum over features of their variance (mean square deviation from the mean) over all documents; 0
/// without any.
///
/// # Errors
/// An interrupt.
pub(super) fn total_variance(features: &Matrix, control: &Control) -> Result<f64> {
    let n = features.rows().max(1) as f64;
    let sums = summed(features, control, |column, x, sums| sums[column] += x)?;
    let means: Vec<f64> = sums.iter().map(|sum| sum / n).collect();
    let squares = summed(features, control, |column, x, sums| {
        let deviation = x - means[column];
        sums[column] += deviation * deviation;
    })?;
    Ok(squares.iter().sum::<f64>() / n)
}

/// Sums of `add` over every (column, value, sums), in fixed blocks of rows that are added in their order.
fn summed(
    features: &Matrix,
    control: &Control,
    add: impl Fn(usize, f64, &mut [f64]) + Sync,
) -> Result<Vec<f64>> {
    let dim = features.columns();
    let one = |block: usize| -> Result<Vec<f64>> {
        control.check()?;
        let rows = features.rows_f64(block * BLOCK..features.rows().min((block + 1) * BLOCK));
        let mut sums = vec![0.0; dim];
        for row in rows.chunks_exact(dim.max(1)) {
            row.iter().enumerate().for_each(|(column, x)| add(column, *x, &mut sums));
        }
        Ok(sums)
    };
    let blocks = features.rows().div_ceil(BLOCK);
    let parts: Result<Vec<Vec<f64>>> =
        if blocks < 2 { (0..blocks).map(one).collect() } else { parallel::try_map(blocks, one) };
    let mut total = vec![0.0; dim];
    for part in parts? {
        total.iter_mut().zip(part).for_each(|(sum, value)| *sum += value);
    }
    Ok(total)
}

/// The median distance between two documents: over all pairs of up to `MEDIAN_DOCUMENTS` documents, or of a sample of
/// this size, which the seed chooses. `None` with fewer than two documents, or for the dot product.
///
/// # Errors
/// An interrupt.
pub(super) fn median_distance(
    inner: Inner,
    features: &Matrix,
    seed: u64,
    control: &Control,
) -> Result<Option<f64>> {
    let chosen = features.select_rows(&sample(features.rows(), MEDIAN_DOCUMENTS, seed));
    let (n, dim) = (chosen.rows(), chosen.columns());
    let (what, way_out) = ("the median distance of documents", "give the kernel a width");
    let _memory = control.reserve(matrix_bytes(n, n + 4 * dim), what, way_out)?;
    let rows = chosen.rows_f64(0..n);
    let points = Points::new(&rows, n, dim);
    let mut distances = Vec::with_capacity(n * n.saturating_sub(1) / 2);
    for i in 0..n {
        control.check()?;
        let quantities = points.inner(inner, &rows[i * dim..(i + 1) * dim], 1);
        distances.extend(quantities[i + 1..].iter().filter_map(|q| inner.distance(*q)));
    }
    Ok(median(&distances))
}

// Memory layout of documents for a fast comparison of one document with all of them.

/// Documents in tiles, feature after feature.
///
/// Sums over features run in their order for each document apart, so q(x, z) has the same bits as q(z, x),
/// whatever else is compared.
#[derive(Debug, Clone, PartialEq)]
pub struct Points {
    count: usize,
    /// Number of features.
    pub dim: usize,
    /// Tile `t * dim + j` holds feature j of documents `t * TILE..`.
    tiles: Vec<Tile>,
}

// Fast path: shared documents are equal.
impl Eq for Points {}

impl Points {
    /// The documents of `rows`, shape `(count, dim)`, row-major.
    ///
    /// # Panics
    /// Where there are fewer values than that.
    pub fn new(rows: &[f64], count: usize, dim: usize) -> Self {
        Self::from_fn(count, dim, |index| rows[index])
    }

    /// The documents of the numbers `at` each index of `rows`.
    pub fn from_fn(count: usize, dim: usize, at: impl Fn(usize) -> f64) -> Self {
        let tile = |number: usize| {
            let (first, j) = (number / dim * TILE, number % dim);
            let mut tile = Tile::ZERO;
            for lane in 0..TILE.min(count - first) {
                *tile.get_mut(lane) = at((first + lane) * dim + j);
            }
            tile
        };
        Self { count, dim, tiles: (0..tiles_for(count) * dim).map(tile).collect() }
    }

    /// Adds a document of `dim` features.
    pub fn push(&mut self, row: &[f64]) {
        let (tile, lane) = (self.count / TILE, self.count % TILE);
        if lane == 0 {
            self.tiles.resize(self.tiles.len() + self.dim, Tile::ZERO);
        }
        for (tile, value) in self.tiles[tile * self.dim..].iter_mut().zip(row) {
            *tile.get_mut(lane) = *value;
        }
        self.count += 1;
    }

    pub fn len(&self) -> usize {
        self.count
    }

    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    pub fn row(&self, document: usize) -> impl Iterator<Item = f64> + '_ {
        let start = document / TILE * self.dim;
        self.tiles[start..start + self.dim].iter().map(move |tile| tile.get(document % TILE))
    }

    /// All documents, row-major.
    pub fn rows(&self) -> Vec<f64> {
        (0..self.count).flat_map(|document| self.row(document)).collect()
    }

    /// q of every row of `x`, shape `(n, dim)`, with every document: shape `(n, len)`, row-major.
    pub fn inner(&self, inner: Inner, x: &[f64], n: usize) -> Vec<f64> {
        let mut out = vec![0.0; n * self.count];
        self.inner_of(inner, x, 0..self.count, &mut out);
        out
    }

    /// q of x with every document over some features alone (len).
    pub(super) fn inner_over(&self, inner: Inner, x: &[f64], features: &[usize]) -> Vec<f64> {
        let mut out = vec![0.0; self.count];
        for feature in features {
            let tiles = self.tiles.iter().skip(*feature).step_by(self.dim);
            let values = tiles.flat_map(Tile::values);
            out.iter_mut().zip(values).for_each(|(q, z)| *q += inner.term(x[*feature], z));
        }
        out
    }

    /// q of every row of `x` with the documents of a range that starts at a multiple of [`TILE`], row-major
    /// in `out`.
    pub(super) fn inner_of(&self, inner: Inner, x: &[f64], documents: Range<usize>, out: &mut [f64]) {
        let (dim, width) = (self.dim, documents.len());
        let groups = &grouped(x, dim);
        dispatch(Inners { tiles: self.tiles_of(&documents), dim, inner, x, groups, width, out });
    }

    pub(super) fn tiles_of(&self, documents: &Range<usize>) -> &[Tile] {
        &self.tiles[documents.start / TILE * self.dim..documents.end.div_ceil(TILE) * self.dim]
    }
}

/// Rows that are compared with one tile of documents after the other.
///
/// q has the bits of a row and a document alone. [`Inner::SquaredDistance`] is |x|^2 + |z|^2 - 2 x.z, documents minus a
/// center, which takes two operations for each number instead of three. The error is about 1e-16 of |x|^2 + |z|^2.
pub(super) struct Compared<'a> {
    points: &'a Points,
    inner: Inner,
    x: Vec<f64>,
    groups: Vec<[f64; ROWS]>,
    /// The mean of the first tile of documents, squared norms of the rows, and a tile minus the center.
    centered: Option<(Vec<f64>, Vec<f64>, Vec<Tile>)>,
}

impl<'a> Compared<'a> {
    /// `x`: shape `(n, dim)`. `by_products`: whether squared distances are sums of products.
    pub(super) fn new(points: &'a Points, inner: Inner, mut x: Vec<f64>, by_products: bool) -> Self {
        let by_products = by_products && inner == Inner::SquaredDistance;
        let centered = by_products.then(|| {
            let count = points.count.min(TILE);
            let mean = |tile: &Tile| tile.values().take(count).sum::<f64>() / count.max(1) as f64;
            let center: Vec<f64> = points.tiles_of(&(0..count)).iter().map(mean).collect();
            let square = |row: &mut [f64]| {
                row.iter_mut().zip(&center).for_each(|(x, center)| *x -= center);
                row.iter().fold(0.0, |sum, x| sum + x * x)
            };
            let squares = x.chunks_exact_mut(points.dim.max(1)).map(square).collect();
            (center, squares, vec![Tile::ZERO; points.dim])
        });
        Self { points, inner, groups: grouped(&x, points.dim), x, centered }
    }

    /// Hands on q of every row (at most [`TILE`]) with one tile of documents after the other, row-major, with their range.
    pub(super) fn by_tiles(&mut self, rows: usize, mut each: impl FnMut(Range<usize>, &[f64])) {
        let mut q = [0.0; TILE * TILE];
        for first in (0..self.points.count).step_by(TILE) {
            let tile = first..self.points.count.min(first + TILE);
            let q = &mut q[..rows * tile.len()];
            self.with(tile.clone(), q);
            each(tile, q);
        }
    }

    /// q of every row with the documents of a range in one tile, row-major.
    fn with(&mut self, documents: Range<usize>, out: &mut [f64]) {
        let (dim, width, x, groups) = (self.points.dim, documents.len(), &self.x, &self.groups);
        let (mut tiles, mut inner) = (self.points.tiles_of(&documents), self.inner);
        let mut squares_of_tile = Tile::ZERO;
        if let Some((center, _, tile)) = &mut self.centered {
            less_center(tiles, center, tile, &mut squares_of_tile);
            (tiles, inner) = (tile, Inner::Dot);
        }
        dispatch(Inners { tiles, dim, inner, x, groups, width, out });
        if let Some((_, squares, _)) = &self.centered {
            distances(squares, &squares_of_tile, width, out);
        }
    }
}

simd! {
    /// Subtracts the center from a tile; adds the squares.
    fn less_center<'a>(tile: &'a [Tile], center: &'a [f64], out: &'a mut [Tile], squares: &'a mut Tile) {
        for ((out, tile), center) in out.iter_mut().zip(tile).zip(center) {
            for block in 0..BLOCKS {
                let (z, mut sums) = (tile.0[block].0, squares.0[block].0);
                let mut less = [0.0; LANES];
                for lane in 0..LANES {
                    less[lane] = z[lane] - center;
                    sums[lane] += less[lane] * less[lane];
                }
                (out.0[block].0, squares.0[block].0) = (less, sums);
            }
        }
    }
}

simd! {
    /// Squared distances from products. NaN means overflow.
    fn distances<'a>(rows: &'a [f64], documents: &'a Tile, width: usize, out: &'a mut [f64]) {
        let mut squares = [0.0; TILE];
        squares.iter_mut().zip(documents.values()).for_each(|(square, value)| *square = value);
        for (row, out) in rows.iter().zip(out.chunks_exact_mut(width)) {
            for (value, square) in out.iter_mut().zip(&squares) {
                let q = (row + square) - 2.0 * *value;
                let positive = if q > 0.0 { q } else { 0.0 };
                *value = if q.is_nan() { f64::INFINITY } else { positive };
            }
        }
    }
}

/// q of rows with documents in tiles.
struct Inners<'a> {
    tiles: &'a [Tile],
    dim: usize,
    inner: Inner,
    x: &'a [f64],
    /// The rows in groups; see [`grouped`].
    groups: &'a [[f64; ROWS]],
    /// Number of documents.
    width: usize,
    out: &'a mut [f64],
}

/// Rows whose sums with a block of documents stay in registers.
const ROWS: usize = 4;

/// Rows in groups of [`ROWS`], feature after feature; the last rows may be in no group.
fn grouped(x: &[f64], dim: usize) -> Vec<[f64; ROWS]> {
    let group =
        |rows: &[f64]| (0..dim).map(|feature| std::array::from_fn(|r| rows[r * dim + feature])).collect();
    x.chunks_exact((ROWS * dim).max(1)).flat_map(|rows| -> Vec<[f64; ROWS]> { group(rows) }).collect()
}

#[allow(clippy::inline_always, reason = "compiled again for wider registers")]
#[allow(clippy::needless_range_loop, reason = "the packaged library inlines few iterators (`math::lanes`)")]
impl Inners<'_> {
    #[inline(always)]
    fn each(mut self, inner: Inner) {
        let (dim, rest) = (self.dim, self.out.len().checked_div(self.width).unwrap_or(0) % ROWS);
        let in_groups = self.groups.len() / dim.max(1) * ROWS;
        for tile in 0..tiles_for(self.width) {
            for group in 0..in_groups / ROWS {
                let x = &self.groups[group * dim..(group + 1) * dim];
                for block in 0..BLOCKS {
                    self.sums::<ROWS, 1>(inner, tile, block, x, group * ROWS);
                }
            }
            for row in in_groups..in_groups + rest {
                let x = self.x[row * dim..(row + 1) * dim].as_chunks().0;
                self.sums::<1, BLOCKS>(inner, tile, 0, x, row);
            }
        }
    }

    /// q of R rows from `row` on with B blocks of eight documents. `x`: the values of each feature.
    #[inline(always)]
    fn sums<const R: usize, const B: usize>(
        &mut self,
        inner: Inner,
        tile: usize,
        block: usize,
        x: &[[f64; R]],
        row: usize,
    ) {
        let mut sums = [[[0.0; LANES]; B]; R];
        for (x, z) in x.iter().zip(&self.tiles[tile * self.dim..]) {
            for r in 0..R {
                for b in 0..B {
                    let (z, mut lanes) = (z.0[block + b].0, sums[r][b]);
                    for lane in 0..LANES {
                        lanes[lane] += inner.term(x[r], z[lane]);
                    }
                    sums[r][b] = lanes;
                }
            }
        }
        // Without references to the sums, which would keep them in memory.
        for r in 0..R {
            for b in 0..B {
                let first = tile * TILE + (block + b) * LANES;
                let out = &mut self.out[(row + r) * self.width..(row + r + 1) * self.width];
                if let Some(out) = out.get_mut(first..).and_then(|out| out.first_chunk_mut()) {
                    *out = sums[r][b];
                } else {
                    for lane in 0..LANES {
                        if first + lane < out.len() {
                            out[first + lane] = sums[r][b][lane];
                        }
                    }
                }
            }
        }
    }
}

#[allow(clippy::inline_always, reason = "compiled again for wider registers")]
impl SimdTask for Inners<'_> {
    type Output = ();

    #[inline(always)]
    fn run<R: Registers>(self) {
        // Each is compiled for itself. A closure instead would be called for every number.
        match self.inner {
            Inner::Dot => self.each(Inner::Dot),
            Inner::SquaredDistance => self.each(Inner::SquaredDistance),
            Inner::Manhattan => self.each(Inner::Manhattan),
        }
    }
}

// Random samples that depend only on the seed and the number of things.

/// `size` different numbers below `n`, ascending, each as likely as any other; all of them where there are no
/// more.
///
/// Draw after draw by a hash of its number, so that a larger sample of the same seed holds the smaller one.
pub fn sample(n: usize, size: usize, seed: u64) -> Vec<usize> {
    if n <= size {
        return (0..n).collect();
    }
    let mut chosen = BTreeSet::new();
    let mut draw: u64 = 0;
    while chosen.len() < size {
        let hash = xxh3_64_with_seed(&draw.to_le_bytes(), seed);
        chosen.insert(((u128::from(hash) * n as u128) >> 64) as usize);
        draw += 1;
    }
    chosen.into_iter().collect()
}

#[cfg(test)]
mod spread_tests {
    use super::*;
    use crate::data::shaped;

    fn matrix(rows: usize, columns: usize, values: Vec<f64>) -> Matrix {
        Matrix::F64(shaped(rows, columns, values))
    }

    fn variance(features: &Matrix) -> f64 {
        total_variance(features, &Control::default()).unwrap()
    }

    fn median_of(inner: Inner, features: &Matrix, seed: u64) -> Option<f64> {
        median_distance(inner, features, seed, &Control::default()).unwrap()
    }

    #[test]
    fn the_total_variance_is_the_sum_over_features() {
        let features = matrix(4, 2, vec![0.0, 5.0, 2.0, 5.0, 0.0, 5.0, 2.0, 9.0]);
        assert!((variance(&features) - (1.0 + 3.0)).abs() < 1e-15);
        assert!(variance(&matrix(0, 2, vec![])).abs() < 1e-300);
        // Several blocks: 0 and 1 in turn have the variance 1/4.
        let many = matrix(10_000, 1, (0..10_000).map(|i| f64::from(i % 2)).collect());
        assert!((variance(&many) - 0.25).abs() < 1e-12);
    }

    #[test]
    fn the_median_is_over_pairs_and_in_the_distance_of_the_kernel() {
        let features = matrix(3, 2, vec![0.0, 0.0, 3.0, 4.0, 0.0, 1.0]);
        // Euclidean: 5, 1, sqrt(18); sums of absolute differences: 7, 1, 6.
        let euclidean = median_of(Inner::SquaredDistance, &features, 0).unwrap();
        assert!((euclidean - 18.0_f64.sqrt()).abs() < 1e-15);
        assert_eq!(median_of(Inner::Manhattan, &features, 0), Some(6.0));
        assert_eq!(median_of(Inner::Dot, &features, 0), None);
        assert_eq!(median_of(Inner::Manhattan, &matrix(1, 1, vec![2.0]), 0), None);
    }

    #[test]
    fn a_sample_of_many_documents_gives_nearly_the_median_of_all() {
        // Distances of uniform numbers on [0, 1] have the median 1 - sqrt(1/2).
        let n = 20_000_u32;
        let values = (0..n).map(|i| f64::from(i.wrapping_mul(7919) % n) / f64::from(n)).collect();
        let found = median_of(Inner::Manhattan, &matrix(n as usize, 1, values), 3).unwrap();
        assert!((found - (1.0 - 0.5_f64.sqrt())).abs() < 0.02, "{found}");
    }
}

#[cfg(test)]
mod points_tests {
    use super::*;

    #[test]
    fn quantities_equal_the_plain_sums_and_are_symmetric_to_the_bit() {
        let at = |i: usize| (i as f64 * 0.83).sin();
        for (count, dim) in [(1, 1), (33, 5), (64, 3), (70, 0)] {
            let rows: Vec<f64> = (0..count * dim).map(at).collect();
            let points = Points::new(&rows, count, dim);
            assert_eq!(points.rows(), rows);
            let mut pushed = Points::new(&[], 0, dim);
            (0..count).for_each(|i| pushed.push(&rows[i * dim..(i + 1) * dim]));
            assert_eq!(pushed, points);
            for inner in [Inner::Dot, Inner::SquaredDistance, Inner::Manhattan] {
                let found = points.inner(inner, &rows, count);
                for (i, j) in (0..count).flat_map(|i| (0..count).map(move |j| (i, j))) {
                    let terms = (0..dim).map(|k| inner.term(rows[i * dim + k], rows[j * dim + k]));
                    let sum = terms.fold(0.0, |sum, term| sum + term);
                    assert_eq!(found[i * count + j].to_bits(), sum.to_bits());
                    assert_eq!(found[i * count + j].to_bits(), found[j * count + i].to_bits());
                }
            }
        }
    }
}

#[cfg(test)]
mod sample_tests {
    use super::*;

    #[test]
    fn a_sample_has_its_size_and_follows_the_seed() {
        assert_eq!(sample(3, 5, 1), [0, 1, 2]);
        assert_eq!(sample(7, 6, 1).len(), 6);
        let chosen = sample(1000, 100, 1);
        assert!(chosen.len() == 100 && chosen.iter().all(|i| *i < 1000));
        assert!(chosen.is_sorted_by(|a, b| a < b));
        assert_eq!(chosen, sample(1000, 100, 1));
        assert_ne!(chosen, sample(1000, 100, 2));
        let low = chosen.iter().filter(|i| **i < 500).count();
        assert!((30..=70).contains(&low), "{low} in the first half");
        let larger = sample(1000, 200, 1);
        assert!(chosen.iter().all(|i| larger.contains(i)));
    }
}
