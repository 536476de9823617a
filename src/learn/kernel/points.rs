//! Memory layout of documents for a fast comparison of one document with all of them.

use std::ops::Range;

use super::def::Inner;
use crate::math::lanes::BLOCKS;
use crate::math::{LANES, Registers, SimdTask, TILE, Tile, dispatch, simd, tiles_for};

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

#[cfg(test)]
mod tests {
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
