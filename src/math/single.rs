//! Matrices of `f32` in panels of 48 columns, and their products; symmetric products of `f64` rows ([`SingleProducts`]).
//!
//! ```text
//! panel p      columns 48 p, ..., 48 p + 47 of all rows, row after row; the last one is padded with zeros
//! product      C += A'B for one panel of A and one of B, C of shape (48, 48)
//! differences  C_ij += sum over rows of |a_i - b_j|
//! ```
//!
//! An entry of a product is a sum over the rows in their order, each term by one fused multiply-add. Products of more than
//! [`SLAB`] rows are sums over slabs. So the bits do not depend on the width of registers.

#![allow(clippy::inline_always, reason = "kernels are compiled again for wider registers")]
#![allow(clippy::needless_range_loop, reason = "the packaged library inlines few iterators (`lanes`)")]

use super::lanes::{self, Lanes};
use super::simd::{has_many_registers, simd};
use crate::base::{bytes_of, checkpoint};

/// Columns of a panel.
pub const PANEL: usize = 48;

/// Rows that a product adds in single precision. Two panels of a slab fit into the first-level cache.
pub const SLAB: usize = 128;

/// Columns of A whose products with B stay in registers.
const STRIP: usize = 6;

/// Numbers of a vector register, or of several.
const LANES: usize = 16;

/// A row of a panel. Not an array of blocks: the packaged library would call the function that makes it one slice, and keep
/// no sum in a register.
#[derive(Debug, Clone, Copy, PartialEq)]
#[repr(align(64))]
pub struct Row([f32; PANEL]);

impl Row {
    pub const ZERO: Self = Self([0.0; PANEL]);

    /// The numbers.
    #[inline(always)]
    pub fn values(&self) -> &[f32] {
        &self.0
    }

    #[inline(always)]
    pub fn values_mut(&mut self) -> &mut [f32] {
        &mut self.0
    }
}

/// Number of panels that hold `columns` columns.
pub const fn panels_for(columns: usize) -> usize {
    columns.div_ceil(PANEL)
}

/// C += A'B for the first `columns` columns of a panel of A, and a panel of B with the same number of rows. C has the
/// shape (48, 48). The number of its rows that are written is `columns`, rounded up to a multiple of six.
pub fn add_product(a: &[Row], b: &[Row], columns: usize, c: &mut [Row]) {
    for (a, b) in a.chunks(SLAB).zip(b.chunks(SLAB)) {
        add_slab(a, b, columns, c, has_many_registers());
    }
}

/// C += sums of absolute differences of a column of A and one of B, instead of their products; see [`add_product`].
pub fn add_differences(a: &[Row], b: &[Row], columns: usize, c: &mut [Row]) {
    add_absolute(a, b, columns, c, has_many_registers());
}

simd! {
    fn add_slab<'m>(a: &'m [Row], b: &'m [Row], columns: usize, c: &'m mut [Row], many_registers: bool) {
        add_strips::<false>(a, b, columns, c, many_registers);
    }
}

simd! {
    fn add_absolute<'m>(a: &'m [Row], b: &'m [Row], columns: usize, c: &'m mut [Row], many_registers: bool) {
        add_strips::<true>(a, b, columns, c, many_registers);
    }
}

/// The products, or sums of differences, of columns of A with a panel of B, six columns at a time.
#[inline(always)]
fn add_strips<const DIFFERENCES: bool>(
    a: &[Row],
    b: &[Row],
    columns: usize,
    c: &mut [Row],
    many_registers: bool,
) {
    for (strip, c) in c.chunks_exact_mut(STRIP).enumerate().take(columns.div_ceil(STRIP)) {
        if many_registers {
            add_strip::<3, DIFFERENCES>(a, strip * STRIP, b, 0, c);
        } else {
            for block in 0..PANEL / LANES {
                add_strip::<1, DIFFERENCES>(a, strip * STRIP, b, block, c);
            }
        }
    }
}

/// The products, or sums of differences, of six columns of A with N blocks of sixteen columns of B, from a column and a block
/// on.
#[inline(always)]
fn add_strip<const N: usize, const DIFFERENCES: bool>(
    a: &[Row],
    column: usize,
    b: &[Row],
    block: usize,
    c: &mut [Row],
) {
    let mut sums = [[[0.0_f32; LANES]; N]; STRIP];
    for (x, y) in a.iter().zip(b) {
        let x = &x.0[column..column + STRIP];
        let y = &y.0[block * LANES..(block + N) * LANES];
        for r in 0..STRIP {
            for n in 0..N {
                add_term::<DIFFERENCES>(&mut sums[r][n], x[r], &y[n * LANES..(n + 1) * LANES]);
            }
        }
    }
    for r in 0..STRIP {
        for n in 0..N {
            for lane in 0..LANES {
                c[r].0[(block + n) * LANES + lane] += sums[r][n][lane];
            }
        }
    }
}

/// sum += x y, fused, or |x - y|.
#[inline(always)]
fn add_term<const DIFFERENCES: bool>(sum: &mut [f32; LANES], x: f32, y: &[f32]) {
    for lane in 0..LANES {
        sum[lane] = if DIFFERENCES { sum[lane] + (x - y[lane]).abs() } else { x.mul_add(y[lane], sum[lane]) };
    }
}

simd! {
    /// The products of each row with each of `weights`. A row is one row of the first panel with its parts in the other
    /// panels. `out` has one number per weight for each row. Panel p of weight w is `weights[w][p]`.
    pub fn rows_times<'m>(panels: &'m [&'m [Row]], weights: &'m [Vec<Row>], out: &'m mut [f64]) {
        let count = weights.len().max(1);
        for (row, out) in out.chunks_exact_mut(count).enumerate() {
            for (weight, out) in weights.iter().zip(out) {
                let mut sums = [[0.0_f32; LANES]; PANEL / LANES];
                for (panel, weight) in panels.iter().zip(weight) {
                    for n in 0..PANEL / LANES {
                        let block = n * LANES..(n + 1) * LANES;
                        add_products(&mut sums[n], &panel[row].0[block.clone()], &weight.0[block]);
                    }
                }
                let mut total = 0.0;
                for lane in 0..LANES {
                    total += f64::from(sums[0][lane]) + f64::from(sums[1][lane]) + f64::from(sums[2][lane]);
                }
                *out = total;
            }
        }
    }
}

/// sum += x y, lane by lane, fused.
#[inline(always)]
fn add_products(sum: &mut [f32; LANES], x: &[f32], y: &[f32]) {
    for lane in 0..LANES {
        sum[lane] = x[lane].mul_add(y[lane], sum[lane]);
    }
}

/// exp(-t) for t >= 0, with a relative error of at most 1.8e-7; exp(-87) for larger t and NaN.
#[inline(always)]
pub fn decay(t: f32) -> f32 {
    // Adding this rounds to a whole number, which is then in the lowest bits.
    const ROUND: f32 = 12_582_912.0;
    const LN_2: [f32; 2] = [0.693_359_4, -2.121_944_4e-4];
    // Taylor coefficients of exp from the seventh on down to the second.
    const TERMS: [f32; 6] = [1.0 / 5040.0, 1.0 / 720.0, 1.0 / 120.0, 1.0 / 24.0, 1.0 / 6.0, 0.5];
    let t = t.min(87.0);
    let shifted = t.mul_add(std::f32::consts::LOG2_E, ROUND);
    let whole = shifted - ROUND;
    // exp(-t) = 2^-whole exp(r), |r| <= ln(2) / 2
    let r = whole.mul_add(LN_2[1], whole.mul_add(LN_2[0], -t));
    let mut rest = 0.0_f32;
    for term in 0..TERMS.len() {
        rest = rest.mul_add(r, TERMS[term]);
    }
    let value = (rest * r).mul_add(r, r) + 1.0;
    let exponent = 127_u32.wrapping_sub(shifted.to_bits().wrapping_sub(ROUND.to_bits()));
    value * f32::from_bits(exponent << 23)
}

// Symmetric products of rows in double precision, computed in single precision. They give directions that are corrected
// later.
//
// ```text
// H += scale A'B      rows of A and B wait until there are 512; then tiles of 48 x 48 entries on and above the diagonal
// ```
//
// The order of the sums depends on the rows alone.

/// Rows that wait, so that entries of H are read and written less often.
const ROWS: usize = 512;

/// Blocks of eight numbers in a panel.
const BLOCKS: usize = PANEL / lanes::LANES;

/// The waiting rows of A and B.
pub struct SingleProducts {
    width: usize,
    pub scale: f64,
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

    /// Bytes for rows of `columns` columns.
    pub fn bytes(columns: usize) -> u64 {
        bytes_of::<Row>(columns.div_ceil(PANEL).saturating_mul(2 * ROWS))
    }

    /// Adds a row: number `j` of A is `left(j)`, of B `right(j)`, a block of eight.
    #[inline(always)]
    pub fn push(&mut self, left: impl Fn(usize) -> Lanes, right: impl Fn(usize) -> Lanes, h: &mut [Lanes]) {
        for block in 0..self.width {
            let (row, first) = (block / BLOCKS * ROWS + self.rows, block % BLOCKS * lanes::LANES);
            let (a, b) = (left(block), right(block));
            let (left, right) = (self.left[row].values_mut(), self.right[row].values_mut());
            let (left, right) =
                (&mut left[first..first + lanes::LANES], &mut right[first..first + lanes::LANES]);
            for lane in 0..lanes::LANES {
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
            let columns = (lanes::LANES * width - i * PANEL).min(PANEL);
            for j in i..panels {
                checkpoint();
                let mut tile = [Row::ZERO; PANEL];
                add_product(&self.left[rows(i)], &self.right[rows(j)], columns, &mut tile);
                let blocks = (width - j * BLOCKS).min(BLOCKS);
                for (r, row) in tile.iter().enumerate().take(columns) {
                    let start = (i * PANEL + r) * width + j * BLOCKS;
                    for (target, values) in
                        h[start..start + blocks].iter_mut().zip(row.values().chunks(lanes::LANES))
                    {
                        for lane in 0..lanes::LANES {
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
mod single_tests {
    use super::*;

    /// Rows of a panel with numbers in -1..1.
    pub fn rows(n: usize, factor: f32) -> Vec<Row> {
        let at = |k: usize, j: usize| ((k * PANEL + j) as f32 * factor).sin();
        let row = |k: usize| {
            let mut row = Row::ZERO;
            row.values_mut().iter_mut().enumerate().for_each(|(j, value)| *value = at(k, j));
            row
        };
        (0..n).map(row).collect()
    }

    #[test]
    fn products_have_the_bits_of_the_sums_in_their_order() {
        for n in [0, 1, 7, SLAB, SLAB + 5, 3 * SLAB] {
            let (a, b) = (rows(n, 0.7), rows(n, 0.4));
            let mut c = vec![Row([0.5; PANEL]); PANEL];
            add_product(&a, &b, 9, &mut c);
            for (i, j) in (0..PANEL).flat_map(|i| (0..PANEL).map(move |j| (i, j))) {
                let slab = |(a, b): (&[Row], &[Row])| {
                    a.iter().zip(b).fold(0.0_f32, |sum, (a, b)| a.values()[i].mul_add(b.values()[j], sum))
                };
                let slabs = a.chunks(SLAB).zip(b.chunks(SLAB)).map(slab);
                let expected = if i < 12 { slabs.fold(0.5, |sum, slab| sum + slab) } else { 0.5 };
                assert_eq!(c[i].values()[j].to_bits(), expected.to_bits(), "{n}: {i}, {j}");
            }
        }
    }

    #[test]
    fn registers_of_any_number_give_the_same_bits() {
        let (a, b) = (rows(100, 0.7), rows(100, 0.4));
        let [mut few, mut many] = [vec![Row::ZERO; PANEL], vec![Row::ZERO; PANEL]];
        add_slab(&a, &b, PANEL, &mut few, false);
        add_slab(&a, &b, PANEL, &mut many, true);
        assert_eq!(few, many);
    }

    #[test]
    fn the_exponential_is_right_to_the_last_digits() {
        for step in 0..87_000 {
            let t = step as f32 * 1e-3;
            let exact = libm::exp(-f64::from(t));
            assert!((f64::from(decay(t)) - exact).abs() <= 1.8e-7 * exact, "{t}");
        }
        assert!((decay(0.0) - 1.0).abs() < f32::EPSILON);
        for far in [88.0, 1e30, f32::INFINITY, f32::NAN] {
            assert!(decay(far) > 0.0 && decay(far) < 1e-37);
        }
    }
}

#[cfg(test)]
mod single_products_tests {
    use super::*;
    use crate::math::gram;
    use crate::math::lanes::get;
    use crate::math::lanes::tests::matrix;

    #[test]
    fn products_are_those_in_double_precision() {
        for (n, width) in [(3, 1), (ROWS, 6), (ROWS + 9, 13)] {
            let (a, scale) = (matrix(n, width, 0.7), 3.0);
            let [mut found, mut expected] = [(); 2].map(|()| vec![Lanes::ZERO; lanes::LANES * width * width]);
            let mut products = SingleProducts::new(width, scale);
            for k in 0..n {
                let row = &a[k * width..(k + 1) * width];
                products.push(|block| row[block], |block| row[block].map(|value| 2.0 * value), &mut found);
            }
            products.finish(&mut found);
            gram::add_gram(&a, &a, width, n, &mut expected);
            for i in 0..lanes::LANES * width {
                for j in i..lanes::LANES * width {
                    let [found, expected] = [&found, &expected].map(|h| get(&h[i * width..], j));
                    assert!((found - 2.0 * scale * expected).abs() < 1e-5 * n as f64, "{n} {i} {j}");
                }
            }
        }
    }
}
