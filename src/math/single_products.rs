//! Symmetric products of rows in double precision, computed in single precision, for directions that are corrected anyway.
//!
//! ```text
//! H += scale A'B      rows of A and B wait until there are 512; then tiles of 48 x 48 entries on and above the diagonal
//! ```
//!
//! The order of the sums depends on the rows alone.
#![allow(clippy::inline_always, reason = "kernels are compiled again for wider registers")]
#![allow(clippy::needless_range_loop, reason = "the packaged library inlines few iterators (`lanes`)")]

use super::lanes::{LANES, Lanes};
use super::single::{PANEL, Row, add_product};
use crate::base::control::checkpoint;
use crate::base::memory::bytes_of;

/// Rows that wait, so that entries of H are read and written less often.
const ROWS: usize = 512;

/// Blocks of eight numbers in a panel.
const BLOCKS: usize = PANEL / LANES;

/// The waiting rows of A and B.
pub struct SingleProducts {
    width: usize,
    scale: f64,
    rows: usize,
    /// Panel after panel, each with [`ROWS`] rows.
    left: Vec<Row>,
    right: Vec<Row>,
}

impl SingleProducts {
    /// No rows of `width` blocks.
    pub fn new(width: usize, scale: f64) -> Self {
        let numbers = width.div_ceil(BLOCKS) * ROWS;
        Self { width, scale, rows: 0, left: vec![Row::ZERO; numbers], right: vec![Row::ZERO; numbers] }
    }

    /// What products are multiplied by.
    pub fn scale(&self) -> f64 {
        self.scale
    }

    /// Bytes for rows of so many columns.
    pub fn bytes(columns: usize) -> u64 {
        bytes_of::<Row>(columns.div_ceil(PANEL).saturating_mul(2 * ROWS))
    }

    /// Adds a row: number `j` of A is `left(j)`, a block of eight, that of B `right(j)`.
    #[inline(always)]
    pub fn push(&mut self, left: impl Fn(usize) -> Lanes, right: impl Fn(usize) -> Lanes, h: &mut [Lanes]) {
        for block in 0..self.width {
            let (row, first) = (block / BLOCKS * ROWS + self.rows, block % BLOCKS * LANES);
            let (a, b) = (left(block), right(block));
            let (left, right) = (self.left[row].values_mut(), self.right[row].values_mut());
            let (left, right) = (&mut left[first..first + LANES], &mut right[first..first + LANES]);
            for lane in 0..LANES {
                left[lane] = a.0[lane] as f32;
                right[lane] = b.0[lane] as f32;
            }
        }
        self.rows += 1;
        if self.rows == ROWS {
            self.finish(h);
        }
    }

    /// Multiplies the waiting rows. H has the shape `(8 width, 8 width)`; its blocks below the diagonal are not complete.
    #[inline(never)]
    pub fn finish(&mut self, h: &mut [Lanes]) {
        let (panels, width, scale) = (self.width.div_ceil(BLOCKS), self.width, self.scale);
        let rows = |panel: usize| panel * ROWS..panel * ROWS + self.rows;
        for i in 0..panels {
            let columns = (LANES * width - i * PANEL).min(PANEL);
            for j in i..panels {
                checkpoint();
                let mut tile = [Row::ZERO; PANEL];
                add_product(&self.left[rows(i)], &self.right[rows(j)], columns, &mut tile);
                let blocks = (width - j * BLOCKS).min(BLOCKS);
                for (r, row) in tile.iter().enumerate().take(columns) {
                    let start = (i * PANEL + r) * width + j * BLOCKS;
                    for (target, values) in
                        h[start..start + blocks].iter_mut().zip(row.values().chunks(LANES))
                    {
                        for lane in 0..LANES {
                            target.0[lane] += scale * f64::from(values[lane]);
                        }
                    }
                }
            }
        }
        self.rows = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::gram;
    use crate::math::lanes::{get, tests::matrix};

    #[test]
    fn products_are_those_in_double_precision() {
        for (n, width) in [(3, 1), (ROWS, 6), (ROWS + 9, 13)] {
            let (a, scale) = (matrix(n, width, 0.7), 3.0);
            let [mut found, mut expected] = [(); 2].map(|()| vec![Lanes::ZERO; LANES * width * width]);
            let mut products = SingleProducts::new(width, scale);
            for k in 0..n {
                let row = &a[k * width..(k + 1) * width];
                products.push(|block| row[block], |block| row[block].map(|value| 2.0 * value), &mut found);
            }
            products.finish(&mut found);
            gram::add_gram(&a, &a, width, n, &mut expected);
            for i in 0..LANES * width {
                for j in i..LANES * width {
                    let [found, expected] = [&found, &expected].map(|h| get(&h[i * width..], j));
                    assert!((found - 2.0 * scale * expected).abs() < 1e-5 * n as f64, "{n} {i} {j}");
                }
            }
        }
    }
}
