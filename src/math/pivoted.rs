//! Pivoted Cholesky factor of a symmetric positive semidefinite matrix that is computed column by column.
//!
//! ```text
//! K ~ L L',  L of shape (n, r),  the rows of L at the pivots lower triangular
//!
//! p_k        pivot k: the row with the largest remaining diagonal, the first one of equals
//! d          remaining diagonal, K_ii - sum_k L_ik^2
//! L_ik       (K(i, p_k) - sum over j < k of L_ij L_(p_k)j) / sqrt(d_(p_k))
//! ```
//!
//! It ends at a rank, or when no remaining diagonal exceeds a multiple of the largest one (Harbrecht, Peters &
//! Schneider 2012). Only the columns of pivots are computed; the rest costs n r^2 / 2.
//!
//! A matrix that is not positive semidefinite has negative remaining diagonals; they, and NaN, never become pivots. Nor
//! does a row whose column of L would have an entry above `LONGEST` times the largest diagonal (squared): a positive
//! semidefinite matrix has none above 1. So the factor of the pivots' own matrix exists for any matrix, and L stays
//! small.
#![allow(clippy::inline_always, reason = "kernels are compiled again for wider registers")]

use std::ops::Range;

use super::lanes::{TILE, Tile, tiles_for};
use super::simd::simd;
use crate::base::{Control, FEWER_LANDMARKS, Result, grown_bytes, parallel};

/// Largest square of an entry of L, in largest diagonals.
const LONGEST: f64 = 2.0;
/// Tiles that one thread takes at a time.
const TILES_PER_TASK: usize = 8;

/// A symmetric matrix by its entries.
pub trait Gram: Sync {
    fn len(&self) -> usize;
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// Entry i of the diagonal.
    fn diagonal(&self, i: usize) -> f64;
    /// Writes the entries of `rows` in column `pivot`. Ranges start at multiples of [`TILE`] and are no
    /// longer.
    fn column(&self, pivot: usize, rows: Range<usize>, out: &mut [f64]);
}

/// When the factor is good enough.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Largest rank.
    pub rank: usize,
    /// Largest remaining diagonal, in largest diagonals of K.
    pub tolerance: f64,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Pivoted {
    /// Rows that are pivots, in the order in which they were taken (r).
    pub pivots: Vec<usize>,
    /// Rows of L at the pivots, packed as in [`super::cholesky`]: K at the pivots is L L'.
    pub factor: Vec<f64>,
    /// Largest remaining diagonal, in largest diagonals of K; 0 if nothing remains.
    pub remaining: f64,
    /// Minus the smallest remaining diagonal, in largest diagonals of K, at least 0. It exceeds rounding only
    /// if the matrix is not positive semidefinite.
    pub negative: f64,
}

/// Rows of L for the documents of one tile.
struct Chunk {
    start: usize,
    end: usize,
    /// Remaining diagonal.
    diagonal: Tile,
    /// Rows that may no longer become pivots.
    closed: [bool; TILE],
    /// Columns of L.
    columns: Vec<Tile>,
    /// The next column.
    next: Tile,
}

simd! {
    /// Subtracts the previous columns from the next one and divides it by `root`.
    fn reduce<'a>(chunk: &'a mut Chunk, pivot_row: &'a [f64], root: f64) {
        let mut sum = chunk.next;
        for (entry, column) in pivot_row.iter().zip(&chunk.columns) {
            sum.add_scaled(-entry, column);
        }
        sum.scale(1.0 / root);
        chunk.next = sum;
    }
}

impl Chunk {
    fn new(gram: &impl Gram, start: usize) -> Self {
        let end = (start + TILE).min(gram.len());
        let mut diagonal = Tile::ZERO;
        (start..end).for_each(|row| *diagonal.get_mut(row - start) = gram.diagonal(row));
        Self { start, end, diagonal, closed: [false; TILE], columns: Vec::new(), next: Tile::ZERO }
    }

    /// Computes the next column and returns its largest square; infinity if one is not a number.
    fn prepare(&mut self, gram: &impl Gram, pivot: usize, pivot_row: &[f64], root: f64) -> f64 {
        let mut values = [0.0; TILE];
        let len = self.end - self.start;
        gram.column(pivot, self.start..self.end, &mut values[..len]);
        values.iter().enumerate().for_each(|(lane, value)| *self.next.get_mut(lane) = *value);
        reduce(self, pivot_row, root);
        let largest =
            |sum: f64, value: f64| if value.is_finite() { sum.max(value * value) } else { f64::INFINITY };
        self.next.values().take(len).fold(0.0, largest)
    }

    /// Appends the prepared column to L.
    fn accept(&mut self) {
        for lane in 0..self.end - self.start {
            let value = self.next.get(lane);
            *self.diagonal.get_mut(lane) -= value * value;
        }
        self.columns.push(self.next);
    }

    /// Remaining diagonals of rows that are not pivots.
    fn open(&self) -> impl Iterator<Item = (usize, f64)> + '_ {
        (self.start..self.end)
            .filter(|row| !self.closed[row - self.start])
            .map(|row| (row, self.diagonal.get(row - self.start)))
    }
}

/// The state of a factorization.
struct Work<'a, G> {
    gram: &'a G,
    chunks: Vec<Chunk>,
    /// Largest diagonal of the matrix.
    largest: f64,
    pivots: Vec<usize>,
    factor: Vec<f64>,
}

impl<'a, G: Gram> Work<'a, G> {
    fn new(gram: &'a G) -> Self {
        let chunks: Vec<Chunk> =
            (0..tiles_for(gram.len())).map(|tile| Chunk::new(gram, tile * TILE)).collect();
        let diagonals = chunks.iter().flat_map(Chunk::open).map(|(_, value)| value);
        let largest = diagonals.filter(|value| value.is_finite()).fold(0.0, f64::max);
        Self { gram, chunks, largest, pivots: Vec::new(), factor: Vec::new() }
    }

    /// Bytes of L with one more column, and of its rows at the pivots.
    fn bytes(&self) -> u64 {
        let columns = self.chunks.first().map_or(0, |chunk| grown_bytes(&chunk.columns, 1));
        columns.saturating_mul(self.chunks.len() as u64) + grown_bytes(&self.factor, self.pivots.len() + 1)
    }

    /// The open row with the largest remaining diagonal above `least`, the first one of equals.
    fn best(&self, least: f64) -> Option<(usize, f64)> {
        let better = |best: Option<(usize, f64)>, row: (usize, f64)| {
            let bar = best.map_or(least, |(_, value)| value);
            if row.1 > bar && row.1.is_finite() { Some(row) } else { best }
        };
        self.chunks.iter().flat_map(Chunk::open).fold(None, better)
    }

    /// Makes `pivot` the next pivot, or closes it if its column would be too long.
    fn take(&mut self, pivot: usize, diagonal: f64, control: &Control) -> Result<()> {
        let (home, lane) = (pivot / TILE, pivot % TILE);
        let mut pivot_row: Vec<f64> =
            self.chunks[home].columns.iter().map(|column| column.get(lane)).collect();
        // 1. The next column, from the column of K and the previous columns of L.
        let (gram, root) = (self.gram, diagonal.sqrt());
        let prepare = |chunks: &mut [Chunk]| -> Result<f64> {
            control.check()?;
            let squares = chunks.iter_mut().map(|chunk| chunk.prepare(gram, pivot, &pivot_row, root));
            Ok(squares.fold(0.0, f64::max))
        };
        let squares: Result<Vec<f64>> = if self.chunks.len() <= TILES_PER_TASK {
            prepare(&mut self.chunks).map(|square| vec![square])
        } else {
            let tasks = self.chunks.chunks_mut(TILES_PER_TASK).collect();
            parallel::map_of(tasks, |_, chunks| prepare(chunks)).into_iter().collect()
        };
        // 2. It becomes part of L unless it is too long; its row is closed in any case.
        let longest = squares?.into_iter().fold(0.0, f64::max);
        self.chunks[home].closed[lane] = true;
        if longest <= LONGEST * self.largest {
            *self.chunks[home].next.get_mut(lane) = root;
            self.chunks.iter_mut().for_each(Chunk::accept);
            self.pivots.push(pivot);
            pivot_row.push(root);
            self.factor.append(&mut pivot_row);
        }
        Ok(())
    }

    fn finish(self) -> Pivoted {
        let open = || self.chunks.iter().flat_map(Chunk::open).map(|(_, value)| value);
        let relative = |value: f64| if self.largest > 0.0 { value / self.largest } else { value };
        let remaining = relative(open().fold(0.0, f64::max));
        let negative = relative(open().fold(0.0, |sum: f64, value| sum.max(0.0 - value)));
        Pivoted { pivots: self.pivots, factor: self.factor, remaining, negative }
    }
}

/// Factors a matrix on all threads of the caller's pool; the bits do not depend on their number.
///
/// # Errors
/// An interrupt.
pub fn factor(gram: &impl Gram, limits: Limits, control: &Control) -> Result<Pivoted> {
    let mut work = Work::new(gram);
    let mut memory = control.memory().nothing();
    let least = limits.tolerance * work.largest;
    while work.pivots.len() < limits.rank {
        control.check()?;
        let Some((pivot, diagonal)) = work.best(least) else { break };
        let rank = work.pivots.len() + 1;
        memory.resize(work.bytes(), format_args!("a kernel space of {rank} landmarks"), FEWER_LANDMARKS)?;
        work.take(pivot, diagonal, control)?;
    }
    Ok(work.finish())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::Error;
    use crate::math::cholesky;

    struct Dense(Vec<Vec<f64>>);

    impl Gram for Dense {
        fn len(&self) -> usize {
            self.0.len()
        }
        fn diagonal(&self, i: usize) -> f64 {
            self.0[i][i]
        }
        fn column(&self, pivot: usize, rows: Range<usize>, out: &mut [f64]) {
            out.copy_from_slice(&self.0[pivot][rows]);
        }
    }

    /// A A' for a matrix of `n` rows and `rank` columns.
    fn product(n: usize, rank: usize) -> Dense {
        let at =
            |i: usize, j: usize| ((i * rank + j) as f64 * 0.71).sin() + f64::from(u8::from(i % rank == j));
        let entry = |i: usize, j: usize| (0..rank).map(|k| at(i, k) * at(j, k)).sum();
        Dense((0..n).map(|i| (0..n).map(|j| entry(i, j)).collect()).collect())
    }

    fn limits(rank: usize) -> Limits {
        Limits { rank, tolerance: 1e-12 }
    }

    #[test]
    fn the_factor_matches_the_pivots_and_ends_at_the_rank() {
        let gram = product(300, 7);
        let found = factor(&gram, limits(100), &Control::default()).unwrap();
        assert_eq!(found.pivots.len(), 7);
        assert!(found.remaining < 1e-12 && found.negative < 1e-12);
        for i in 0..7 {
            for j in 0..=i {
                let (a, b) = (cholesky::row(&found.factor, i), cholesky::row(&found.factor, j));
                let product: f64 = a.iter().zip(b).map(|(x, y)| x * y).sum();
                assert!((product - gram.0[found.pivots[i]][found.pivots[j]]).abs() < 1e-12);
            }
        }
        let two = factor(&gram, limits(2), &Control::default()).unwrap();
        assert_eq!(two.pivots, found.pivots[..2]);
        assert!(two.remaining > 0.01);
    }

    #[test]
    fn equal_diagonals_go_to_the_first_row() {
        let identity =
            |n: usize| (0..n).map(|i| (0..n).map(|j| f64::from(u8::from(i == j))).collect()).collect();
        let found = factor(&Dense(identity(40)), limits(40), &Control::default()).unwrap();
        assert_eq!(found.pivots, (0..40).collect::<Vec<_>>());
    }

    #[test]
    fn negative_and_undefined_diagonals_are_not_pivots() {
        let found = factor(
            &Dense(vec![vec![-1.0, 0.5, 0.0], vec![0.5, 1.0, 0.0], vec![0.0, 0.0, f64::NAN]]),
            limits(3),
            &Control::default(),
        );
        let found = found.unwrap();
        assert_eq!(found.pivots, [1]);
        assert!((found.negative - 1.25).abs() < 1e-15);
    }

    #[test]
    fn a_row_whose_column_would_be_too_long_is_not_a_pivot() {
        // Eigenvalues 1 and about +-1: the second row has a tiny diagonal and a large entry.
        let gram = Dense(vec![vec![1.0, 0.0, 0.0], vec![0.0, 1e-6, 1.0], vec![0.0, 1.0, 1e-7]]);
        let found = factor(&gram, limits(3), &Control::default()).unwrap();
        assert_eq!(found.pivots, [0]);
    }

    #[test]
    fn without_rows_or_pivots_the_factor_is_empty() {
        for gram in [Dense(Vec::new()), Dense(vec![vec![0.0]])] {
            assert!(factor(&gram, limits(3), &Control::default()).unwrap().pivots.is_empty());
        }
    }

    #[test]
    fn an_interruption_ends_it() {
        let control = Control::default();
        control.cancel();
        assert_eq!(factor(&product(3, 2), limits(3), &control), Err(Error::Interrupted));
    }
}
