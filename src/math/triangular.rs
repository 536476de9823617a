//! Systems with a lower triangular matrix L whose rows are stored one after the other.
//!
//! Row i has i + 1 numbers, the last one on the diagonal; r rows take r (r + 1) / 2.
#![allow(clippy::inline_always, reason = "kernels are compiled again for wider registers")]

use super::dense::dot;
use super::lanes::Lanes;
use super::simd::simd;
use super::tile::{self, Tile};
use crate::base::control::Ticks;

/// Numbers in r rows; `None` on overflow.
pub fn packed_len(r: usize) -> Option<usize> {
    r.checked_add(1)?.checked_mul(r).map(|twice| twice / 2)
}

/// Row i of the packed matrix, including its diagonal.
#[inline(always)]
pub fn row(factor: &[f64], i: usize) -> &[f64] {
    let start = i * (i + 1) / 2;
    &factor[start..=start + i]
}

/// Rows that [`forward`] solves at a time, so that it reads the solved ones less often.
const ROWS: usize = 4;

simd! {
    /// Solves L y = b in place for the right-hand sides of a tile: `tiles[i]` holds their numbers i.
    pub fn forward<'a>(factor: &'a [f64], tiles: &'a mut [Tile]) {
        let mut ticks = Ticks::default();
        for first in (0..tiles.len()).step_by(ROWS) {
            let (solved, rest) = tiles.split_at_mut(first);
            let count = ROWS.min(rest.len());
            ticks.add(ROWS * (first + ROWS));
            let rows: [&[f64]; ROWS] = std::array::from_fn(|r| row(factor, first + r.min(count - 1)));
            let heads = rows.map(|row| &row[..first]);
            for block in 0..tile::BLOCKS {
                let mut sums: [Lanes; ROWS] = std::array::from_fn(|r| rest[r.min(count - 1)].0[block]);
                for (j, y) in solved.iter().enumerate() {
                    for r in 0..ROWS {
                        sums[r].add_scaled(-heads[r][j], &y.0[block]);
                    }
                }
                for r in 0..count {
                    let mut sum = sums[r];
                    for (entry, y) in rows[r][first..].iter().zip(&sums[..r]) {
                        sum.add_scaled(-entry, y);
                    }
                    let scale = 1.0 / rows[r][first + r];
                    sums[r] = sum.map(|value| value * scale);
                    rest[r].0[block] = sums[r];
                }
            }
        }
    }
}

/// Solves L y = b in place.
pub fn forward_vector(factor: &[f64], b: &mut [f64]) {
    let mut ticks = Ticks::default();
    for i in 0..b.len() {
        ticks.add(i);
        let (solved, rest) = b.split_at_mut(i);
        let row = row(factor, i);
        rest[0] = (rest[0] - dot(&row[..i], solved)) / row[i];
    }
}

/// Solves L' y = b in place.
pub fn backward(factor: &[f64], b: &mut [f64]) {
    let mut ticks = Ticks::default();
    for i in (0..b.len()).rev() {
        ticks.add(i);
        let (before, rest) = b.split_at_mut(i);
        let row = row(factor, i);
        rest[0] /= row[i];
        before.iter_mut().zip(row).for_each(|(value, entry)| *value -= rest[0] * entry);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FACTOR: [f64; 6] = [2.0, 1.0, 4.0, -3.0, 0.5, 8.0];

    #[test]
    fn both_solutions_satisfy_their_equations() {
        let b = [3.0, -1.0, 5.0];
        let mut tiles = b.map(|value| {
            let mut tile = Tile::ZERO;
            *tile.get_mut(7) = value;
            tile
        });
        forward(&FACTOR, &mut tiles);
        let (mut back, mut alone) = (b, b);
        forward_vector(&FACTOR, &mut alone);
        backward(&FACTOR, &mut back);
        for i in 0..3 {
            let left: f64 = (0..=i).map(|j| row(&FACTOR, i)[j] * tiles[j].get(7)).sum();
            let right: f64 = (i..3).map(|j| row(&FACTOR, j)[i] * back[j]).sum();
            assert!((alone[i] - tiles[i].get(7)).abs() < 1e-14);
            assert!((left - b[i]).abs() < 1e-14 && (right - b[i]).abs() < 1e-14);
            assert!(tiles[i].get(8).abs() < 1e-300, "the other right-hand sides are 0");
        }
    }

    /// Each number by its formula, the terms in their order.
    #[test]
    fn the_solutions_of_a_tile_have_the_bits_of_the_plain_sums() {
        for dim in 0..14 {
            let at = |i: usize| (i as f64 * 0.83).sin() + 1.5;
            let factor: Vec<f64> = (0..dim * (dim + 1) / 2).map(at).collect();
            let mut tiles = vec![Tile::ZERO; dim];
            for (i, lane) in (0..dim).flat_map(|i| (0..tile::TILE).map(move |lane| (i, lane))) {
                *tiles[i].get_mut(lane) = at(i * 7 + lane);
            }
            forward(&factor, &mut tiles);
            for lane in 0..tile::TILE {
                let mut y = Vec::new();
                for i in 0..dim {
                    let row = row(&factor, i);
                    let sum = row
                        .iter()
                        .zip(&y)
                        .fold(at(i * 7 + lane), |sum, (entry, y): (_, &f64)| sum + -entry * y);
                    y.push(sum * (1.0 / row[i]));
                    assert_eq!(tiles[i].get(lane).to_bits(), y[i].to_bits(), "{dim}: {i}, {lane}");
                }
            }
        }
    }

    #[test]
    fn sizes_that_cannot_be_counted_are_not() {
        assert_eq!(packed_len(0), Some(0));
        assert_eq!(packed_len(3), Some(6));
        assert_eq!(packed_len(usize::MAX), None);
    }
}
