//! Products of matrices in blocks (`math::lanes`). All callers share them: a copy takes 5 kB, and in long functions compilers
//! spill a tile's numbers from registers.
#![allow(clippy::inline_always)]

use super::lanes::{LANES, Lanes};
use super::simd::simd;
use crate::base::Ticks;

/// Cost in operations, for [`Ticks`], of a row in a product of two block columns.
const ROW_COST: usize = 8;

simd! {
    /// H += A' B for a symmetric product; A and B have `n` rows of `width` blocks.
    ///
    /// Only the blocks on and above the diagonal of H, shape `(8 width, 8 width)`, are written.
    pub fn add_gram<'m>(a: &'m [Lanes], b: &'m [Lanes], width: usize, n: usize, h: &'m mut [Lanes]) {
        let mut ticks = Ticks::default();
        for block in 0..width {
            for column in block..width {
                ticks.add(ROW_COST * n);
                add_tiles(BlockColumn::of(a, width, block), BlockColumn::of(b, width, column), n, h);
            }
        }
    }
}

simd! {
    /// C += A' B; A has `n` rows of `rows` blocks, B has `n` rows of `width` blocks and C the shape `(8 rows, 8 width)`.
    pub fn add_product<'m>(a: &'m [Lanes], rows: usize, b: &'m [Lanes], width: usize, n: usize, c: &'m mut [Lanes]) {
        let mut ticks = Ticks::default();
        for block in 0..rows {
            for column in 0..width {
                ticks.add(ROW_COST * n);
                add_tiles(BlockColumn::of(a, rows, block), BlockColumn::of(b, width, column), n, c);
            }
        }
    }
}

/// A column of blocks of a matrix with `width` blocks per row.
#[derive(Clone, Copy)]
struct BlockColumn<'a> {
    matrix: &'a [Lanes],
    width: usize,
    block: usize,
}

impl<'a> BlockColumn<'a> {
    #[inline(always)]
    fn of(matrix: &'a [Lanes], width: usize, block: usize) -> Self {
        Self { matrix, width, block }
    }
}

/// One block of A' B, given a column of each matrix. A tile of 4 x 8 entries stays in registers during the loop over rows.
#[inline(always)]
fn add_tiles(a: BlockColumn<'_>, b: BlockColumn<'_>, n: usize, c: &mut [Lanes]) {
    for half in 0..2 {
        let mut tile = [Lanes::ZERO; 4];
        for k in 0..n {
            let left = &a.matrix[k * a.width + a.block].0;
            let right = &b.matrix[k * b.width + b.block];
            for r in 0..4 {
                tile[r].add_scaled(left[4 * half + r], right);
            }
        }
        for (r, row) in tile.iter().enumerate() {
            let i = LANES * a.block + 4 * half + r;
            c[i * b.width + b.block].add_scaled(1.0, row);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::lanes::get;
    use crate::math::lanes::tests::matrix;

    #[test]
    fn a_gram_matrix_holds_all_products_above_the_diagonal() {
        let (n, width) = (7, 2);
        let a = matrix(n, width, 0.7);
        let mut h = vec![Lanes::ZERO; LANES * width * width];
        add_gram(&a, &a, width, n, &mut h);
        for i in 0..LANES * width {
            for j in i..LANES * width {
                let at = |k: usize, c: usize| get(&a[k * width..(k + 1) * width], c);
                let expected: f64 = (0..n).map(|k| at(k, i) * at(k, j)).sum();
                assert!((get(&h[i * width..(i + 1) * width], j) - expected).abs() < 1e-12);
            }
        }
    }

    #[test]
    fn a_product_holds_all_entries() {
        let (n, rows, width) = (5, 2, 3);
        let (a, b) = (matrix(n, rows, 0.7), matrix(n, width, 0.4));
        let mut c = vec![Lanes::ZERO; LANES * rows * width];
        add_product(&a, rows, &b, width, n, &mut c);
        for i in 0..LANES * rows {
            for j in 0..LANES * width {
                let expected: f64 = (0..n).map(|k| get(&a[k * rows..], i) * get(&b[k * width..], j)).sum();
                assert!((get(&c[i * width..], j) - expected).abs() < 1e-12);
            }
        }
    }
}
