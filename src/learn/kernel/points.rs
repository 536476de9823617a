//! Documents laid out so that one more is compared with all of them fast.

use std::ops::Range;

use super::inner::Inner;
use crate::math::simd::{Registers, SimdTask, dispatch};
use crate::math::tile::{TILE, Tile, tiles_for};

/// Documents in tiles, feature after feature.
///
/// Sums over features run in their order for each document apart, so q(x, z) has the same bits as q(z, x),
/// whatever else is compared.
#[derive(Debug, Clone, PartialEq)]
pub struct Points {
    count: usize,
    dim: usize,
    /// Tile `t * dim + j` holds feature j of documents `t * TILE..`.
    tiles: Vec<Tile>,
}

impl Points {
    /// The documents of `rows`, shape `(count, dim)`, row-major.
    ///
    /// # Panics
    /// Where there are fewer values than that.
    pub fn new(rows: &[f64], count: usize, dim: usize) -> Self {
        let mut tiles = vec![Tile::ZERO; tiles_for(count) * dim];
        for document in 0..count {
            for (j, value) in rows[document * dim..(document + 1) * dim].iter().enumerate() {
                *tiles[document / TILE * dim + j].get_mut(document % TILE) = *value;
            }
        }
        Self { count, dim, tiles }
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

    /// Number of documents.
    pub fn len(&self) -> usize {
        self.count
    }

    /// True without documents.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Number of features.
    pub fn dim(&self) -> usize {
        self.dim
    }

    /// One document.
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

    /// q of every row of `x` with the documents of a range that starts at a multiple of [`TILE`], row-major
    /// in `out`.
    pub(super) fn inner_of(&self, inner: Inner, x: &[f64], documents: Range<usize>, out: &mut [f64]) {
        dispatch(Inners { points: self, inner, x, documents, out });
    }
}

/// The work of [`Points::inner_of`].
struct Inners<'a> {
    points: &'a Points,
    inner: Inner,
    x: &'a [f64],
    documents: Range<usize>,
    out: &'a mut [f64],
}

#[allow(clippy::inline_always, reason = "compiled again for wider registers")]
impl Inners<'_> {
    #[inline(always)]
    fn each(self, term: impl Fn(f64, f64) -> f64) {
        let (dim, width) = (self.points.dim, self.documents.len());
        for start in self.documents.clone().step_by(TILE) {
            let tiles = &self.points.tiles[start / TILE * dim..(start / TILE + 1) * dim];
            let position = start - self.documents.start;
            let len = TILE.min(width - position);
            for (number, row) in self.out.chunks_exact_mut(width).enumerate() {
                let mut sum = Tile::ZERO;
                for (x, z) in self.x[number * dim..(number + 1) * dim].iter().zip(tiles) {
                    sum.add_terms(z, |z| term(*x, z));
                }
                row[position..position + len].iter_mut().zip(sum.values()).for_each(|(out, q)| *out = q);
            }
        }
    }
}

#[allow(clippy::inline_always, reason = "compiled again for wider registers")]
impl SimdTask for Inners<'_> {
    type Output = ();

    #[inline(always)]
    fn run<R: Registers>(self) {
        match self.inner {
            Inner::Dot => self.each(|x, z| x * z),
            Inner::SquaredDistance => self.each(|x, z| (x - z) * (x - z)),
            Inner::Manhattan => self.each(|x, z| (x - z).abs()),
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
