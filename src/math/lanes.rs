//! Vectors and matrices in blocks of eight numbers, for code that compilers vectorize. A [`Tile`] has thirty-two numbers, one
//! lane per document.
//!
//! A vector of length b has ceil(b / 8) blocks; the last one is padded with zeros. A matrix has its rows one after the
//! other in the same form. So there are no remainder loops. The eight partial sums of a sum are added pairwise at the
//! end.
//!
//! The functions are always inlined, so a caller compiled for wider registers gets wider code (`math::simd`). Loops over the
//! eight numbers count from 0 to 7: the packaged library inlines little (docs/adr/0016-packages.md), and an iterator of an
//! array by value, or its `map`, would be called for every number. They read all eight numbers before they write
//! any: a compiler that cannot prove that two blocks do not overlap would otherwise handle the numbers one by one.

#![allow(clippy::inline_always, reason = "kernels are compiled again for wider registers")]

use super::simd::simd;

/// Numbers per block.
pub const LANES: usize = 8;

/// Eight numbers, aligned to a cache line.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
#[repr(align(64))]
pub struct Lanes(pub [f64; LANES]);

impl Lanes {
    /// Eight zeros.
    pub const ZERO: Self = Self([0.0; LANES]);

    /// Sum of the eight numbers, pairwise.
    #[inline(always)]
    pub fn fold(self) -> f64 {
        let [a, b, c, d, e, f, g, h] = self.0;
        ((a + e) + (c + g)) + ((b + f) + (d + h))
    }

    /// self += factor * x.
    #[inline(always)]
    pub fn add_scaled(&mut self, factor: f64, x: &Self) {
        let (mut sums, x) = (self.0, x.0);
        for lane in 0..LANES {
            sums[lane] += factor * x[lane];
        }
        self.0 = sums;
    }

    /// self += a * b, lane by lane.
    #[inline(always)]
    pub fn add_product(&mut self, a: &Self, b: &Self) {
        let (mut sums, a, b) = (self.0, a.0, b.0);
        for lane in 0..LANES {
            sums[lane] += a[lane] * b[lane];
        }
        self.0 = sums;
    }

    /// Applies a function to each number.
    #[inline(always)]
    #[must_use]
    pub fn map(mut self, function: impl Fn(f64) -> f64) -> Self {
        for lane in 0..LANES {
            self.0[lane] = function(self.0[lane]);
        }
        self
    }
}

/// Number of blocks that hold `len` numbers.
#[inline(always)]
pub const fn blocks_for(len: usize) -> usize {
    len.div_ceil(LANES)
}

/// Number `index` of a vector.
#[inline(always)]
pub fn get(x: &[Lanes], index: usize) -> f64 {
    x[index / LANES].0[index % LANES]
}

/// Number `index` of a vector, mutable.
#[inline(always)]
pub fn get_mut(x: &mut [Lanes], index: usize) -> &mut f64 {
    &mut x[index / LANES].0[index % LANES]
}

/// The vector of the given numbers.
pub fn from_slice(values: &[f64]) -> Vec<Lanes> {
    let mut vector = vec![Lanes::ZERO; blocks_for(values.len())];
    for (block, chunk) in vector.iter_mut().zip(values.chunks(LANES)) {
        block.0[..chunk.len()].copy_from_slice(chunk);
    }
    vector
}

/// The first `len` numbers of a vector.
pub fn to_vec(x: &[Lanes], len: usize) -> Vec<f64> {
    x.iter().flat_map(|block| block.0).take(len).collect()
}

/// Dot product of vectors of equal length.
#[inline(always)]
pub fn dot(a: &[Lanes], b: &[Lanes]) -> f64 {
    let mut sum = Lanes::ZERO;
    for (x, y) in a.iter().zip(b) {
        sum.add_product(x, y);
    }
    sum.fold()
}

/// y += factor * x.
#[inline(always)]
pub fn axpy(factor: f64, x: &[Lanes], y: &mut [Lanes]) {
    for (target, value) in y.iter_mut().zip(x) {
        target.add_scaled(factor, value);
    }
}

/// factor * x.
pub fn scaled(x: &[Lanes], factor: f64) -> Vec<Lanes> {
    x.iter().map(|block| block.map(|value| factor * value)).collect()
}

/// out = A w for the first `n` rows of A, shape `(n, 8 width)`; entries of `out` beyond `n` are unchanged.
#[inline(always)]
pub fn rows_times(a: &[Lanes], width: usize, n: usize, w: &[Lanes], out: &mut [Lanes]) {
    // Eight rows at a time. The lanes are stored before they are folded, so that they stay in wide registers.
    let mut sums = [Lanes::ZERO; LANES];
    for (block, target) in out.iter_mut().enumerate().take(blocks_for(n)) {
        let count = LANES.min(n - block * LANES);
        for (r, sum) in sums.iter_mut().enumerate().take(count) {
            let i = block * LANES + r;
            let mut lanes = Lanes::ZERO;
            for (x, y) in a[i * width..(i + 1) * width].iter().zip(w) {
                lanes.add_product(x, y);
            }
            *sum = lanes;
        }
        for (value, sum) in target.0.iter_mut().zip(&sums).take(count) {
            *value = sum.fold();
        }
    }
}

/// out += A' g for the first `n` rows of A, shape `(n, 8 width)`; even and odd rows have separate sums.
#[inline(always)]
pub fn columns_times(a: &[Lanes], width: usize, n: usize, g: &[Lanes], out: &mut [Lanes]) {
    for (j, target) in out.iter_mut().enumerate().take(width) {
        let (mut even, mut odd) = (*target, Lanes::ZERO);
        for pair in 0..n / 2 {
            even.add_scaled(get(g, 2 * pair), &a[2 * pair * width + j]);
            odd.add_scaled(get(g, 2 * pair + 1), &a[(2 * pair + 1) * width + j]);
        }
        if n % 2 == 1 {
            even.add_scaled(get(g, n - 1), &a[(n - 1) * width + j]);
        }
        even.add_scaled(1.0, &odd);
        *target = even;
    }
}

/// exp(-x) for x > -700, with a relative error of at most 5e-16; 0 from 700 on. With k = x / log 2 rounded and r = k log 2 - x
/// it is the Taylor polynomial of exp(r) of degree 12, by pairs of terms, times 2^-k. Additions and multiplications only, so it
/// has the same bits everywhere.
#[inline(always)]
pub fn exp_of_minus(x: &Lanes) -> Lanes {
    const MOST: f64 = 700.0;
    /// Adding 1.5 * 2^52 rounds to an integer and leaves it in the lowest bits.
    const ROUND: f64 = 6_755_399_441_055_744.0;
    /// log 2 in two parts, the first with so few bits that k times it is exact.
    const LN_2_HIGH: f64 = 0.693_147_180_369_123_8;
    const LN_2_LOW: f64 = 1.908_214_929_270_587_7e-10;
    let (mut rest, mut power) = (Lanes::ZERO, Lanes::ZERO);
    for lane in 0..LANES {
        // Comparisons that keep NaN.
        let cut = if x.0[lane] >= MOST { MOST } else { x.0[lane] };
        let rounded = cut * std::f64::consts::LOG2_E + ROUND;
        let k = rounded - ROUND;
        rest.0[lane] = k * LN_2_LOW - (cut - k * LN_2_HIGH);
        let bits = (1023 + ROUND.to_bits()).wrapping_sub(rounded.to_bits()) << 52;
        power.0[lane] = if x.0[lane] >= MOST { 0.0 } else { f64::from_bits(bits) };
    }
    for lane in 0..LANES {
        let r = rest.0[lane];
        let (r2, c) = (r * r, &INVERSE_FACTORIALS);
        let (r4, low) = (r2 * r2, (c[2] + c[3] * r) * r2);
        let middle = (c[4] + c[5] * r) + (c[6] + c[7] * r) * r2;
        let high = (c[8] + c[9] * r) + (c[10] + c[11] * r) * r2 + c[12] * r4;
        power.0[lane] *= 1.0 + (r + (low + (middle * r4 + high * (r4 * r4))));
    }
    power
}

/// 1 / k! for k from 0 to 12.
const INVERSE_FACTORIALS: [f64; 13] = {
    let (mut inverses, mut factorial, mut k) = ([1.0; 13], 1.0, 1);
    while k < inverses.len() {
        factorial *= k as f64;
        inverses[k] = 1.0 / factorial;
        k += 1;
    }
    inverses
};

simd! {
    /// Turns each number x into exp(-factor x); see [`exp_of_minus`].
    pub fn decays<'a>(factor: f64, values: &'a mut [f64]) {
        let (blocks, rest) = values.as_chunks_mut::<LANES>();
        for block in blocks {
            let mut scaled = Lanes(*block);
            for lane in 0..LANES {
                scaled.0[lane] *= factor;
            }
            *block = exp_of_minus(&scaled).0;
        }
        let mut padded = Lanes::ZERO;
        padded.0[..rest.len()].copy_from_slice(rest);
        for lane in 0..LANES {
            padded.0[lane] *= factor;
        }
        rest.copy_from_slice(&exp_of_minus(&padded).0[..rest.len()]);
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub fn matrix(n: usize, width: usize, factor: f64) -> Vec<Lanes> {
        let values: Vec<f64> = (0..n * width * LANES).map(|i| (i as f64 * factor).sin()).collect();
        from_slice(&values)
    }

    #[test]
    fn the_exponential_matches_libm_in_any_lane() {
        let x: Vec<f64> = (0..7003).map(|number| f64::from(number) * 0.1).collect();
        let mut found = x.clone();
        decays(1.0, &mut found);
        for (x, found) in x.iter().zip(found) {
            let exact = if *x < 700.0 { libm::exp(-x) } else { 0.0 };
            assert!((found - exact).abs() <= 5e-16 * exact, "{x}: {found}, not {exact}");
            let mut alone = [*x];
            decays(1.0, &mut alone);
            assert_eq!(alone[0].to_bits(), found.to_bits());
        }
        let mut ends = [f64::INFINITY, f64::NAN, 1e300, -690.0];
        decays(1.0, &mut ends);
        assert!(ends[0] == 0.0 && ends[1].is_nan() && ends[2] == 0.0 && ends[3] > 1e299, "{ends:?}");
    }

    #[test]
    fn products_with_a_matrix_and_its_transpose_agree() {
        for n in 0..11 {
            let width = 3;
            let a = matrix(n, width, 0.3);
            let w = matrix(1, width, 0.9);
            let g = matrix(1, blocks_for(n), 1.1);
            let mut scores = vec![Lanes::ZERO; blocks_for(n)];
            rows_times(&a, width, n, &w, &mut scores);
            let mut product = vec![Lanes::ZERO; width];
            columns_times(&a, width, n, &g, &mut product);
            assert!((dot(&product, &w) - dot(&scores, &g)).abs() < 1e-12, "n = {n}");
        }
    }
}

// Wide lanes: thirty-two numbers, one lane per document, so that no sum is added across lanes.
//
// A sum over features or pivots runs in their order, lane by lane. The bits of a lane depend on its document alone.

/// Blocks of eight in a tile. The sums take eight AVX2 registers; seven are left for the rest.
pub const BLOCKS: usize = 4;

/// Numbers per tile.
pub const TILE: usize = BLOCKS * LANES;

/// One number for each of [`TILE`] documents.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Tile(pub [Lanes; BLOCKS]);

impl Tile {
    pub const ZERO: Self = Self([Lanes::ZERO; BLOCKS]);

    /// self += factor * x.
    #[inline(always)]
    pub fn add_scaled(&mut self, factor: f64, x: &Self) {
        for block in 0..BLOCKS {
            self.0[block].add_scaled(factor, &x.0[block]);
        }
    }

    /// self *= factor.
    #[inline(always)]
    pub fn scale(&mut self, factor: f64) {
        self.0.iter_mut().flat_map(|lanes| lanes.0.iter_mut()).for_each(|value| *value *= factor);
    }

    /// The number of one lane.
    #[inline(always)]
    pub fn get(&self, lane: usize) -> f64 {
        self.0[lane / LANES].0[lane % LANES]
    }

    /// The number of one lane, mutable.
    #[inline(always)]
    pub fn get_mut(&mut self, lane: usize) -> &mut f64 {
        &mut self.0[lane / LANES].0[lane % LANES]
    }

    /// All numbers in order.
    #[inline(always)]
    pub fn values(&self) -> impl Iterator<Item = f64> + '_ {
        self.0.iter().flat_map(|lanes| lanes.0)
    }
}

/// Number of tiles that hold `len` numbers.
pub const fn tiles_for(len: usize) -> usize {
    len.div_ceil(TILE)
}
