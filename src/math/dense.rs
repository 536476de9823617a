//! Dot products and distances of slices, and the bound of numbers for which such sums are finite.
//!
//! Term i of a sum is added to lane i mod `LANES`; the lanes are added pairwise at the end.

#![allow(clippy::inline_always, reason = "kernels are compiled again for wider registers")]

use super::lanes::{LANES, Lanes};
use super::select::single_at_least;
use super::simd::simd;

/// A feature value in the type of its source: `f32` from BLOB vectors, `f64` from columns and JSON.
pub trait Element: Copy + Send + Sync + 'static {
    /// Whether values are in single precision.
    const IS_SINGLE: bool = true;
    /// The value in double precision (exact).
    fn to_f64(self) -> f64;
    /// The nearest value of this type.
    fn from_f64(value: f64) -> Self;
    /// The smallest number in single precision that is at least the value: what searches compare with keys.
    #[inline(always)]
    fn key(self) -> f32 {
        single_at_least(self.to_f64())
    }
}

impl Element for f64 {
    const IS_SINGLE: bool = false;
    #[inline(always)]
    fn to_f64(self) -> f64 {
        self
    }
    #[inline(always)]
    fn from_f64(value: f64) -> Self {
        value
    }
}

/// The little-endian bytes of an `f32` in a BLOB, at any alignment.
impl Element for [u8; 4] {
    #[inline(always)]
    fn to_f64(self) -> f64 {
        f64::from(f32::from_le_bytes(self))
    }
    #[inline(always)]
    fn from_f64(value: f64) -> Self {
        (value as f32).to_le_bytes()
    }
    #[inline(always)]
    fn key(self) -> f32 {
        f32::from_le_bytes(self)
    }
}

impl Element for f32 {
    #[inline(always)]
    fn to_f64(self) -> f64 {
        f64::from(self)
    }
    #[inline(always)]
    fn from_f64(value: f64) -> Self {
        value as f32
    }
    #[inline(always)]
    fn key(self) -> f32 {
        self
    }
}

/// Sum of `value(i) * weights[i]` in the order of [`dot`].
#[inline(always)]
pub fn dot_by(weights: &[f64], value: impl Fn(usize) -> f64) -> f64 {
    let mut sums = Lanes::ZERO;
    add_products(&mut sums, weights, value);
    sums.fold()
}

/// Adds `value(i) * weights[i]` to lane i mod [`LANES`].
#[inline(always)]
pub fn add_products(sums: &mut Lanes, weights: &[f64], value: impl Fn(usize) -> f64) {
    let mut lanes = sums.0;
    let (blocks, rest) = weights.as_chunks::<LANES>();
    for (number, block) in blocks.iter().enumerate() {
        for lane in 0..LANES {
            lanes[lane] += value(number * LANES + lane) * block[lane];
        }
    }
    for (lane, weight) in rest.iter().enumerate() {
        lanes[lane] += value(blocks.len() * LANES + lane) * weight;
    }
    sums.0 = lanes;
}

/// Dot product; both slices have the same length.
#[inline(always)]
pub fn dot<T: Element>(values: &[T], weights: &[f64]) -> f64 {
    let values = &values[..weights.len()];
    dot_by(weights, |index| values[index].to_f64())
}

simd! {
    /// Squared Euclidean distance; both slices have the same length.
    fn squared_distance<'a>(a: &'a [f64], b: &'a [f64]) -> f64 {
        let mut lanes = [0.0; LANES];
        let square = |lane: &mut f64, x: f64, y: f64| *lane += (x - y) * (x - y);
        let ((blocks_a, rest_a), (blocks_b, rest_b)) = (a.as_chunks::<LANES>(), b.as_chunks::<LANES>());
        for (x, y) in blocks_a.iter().zip(blocks_b) {
            for lane in 0..LANES {
                square(&mut lanes[lane], x[lane], y[lane]);
            }
        }
        for (lane, (x, y)) in rest_a.iter().zip(rest_b).enumerate() {
            square(&mut lanes[lane], *x, *y);
        }
        Lanes(lanes).fold()
    }
}

/// Euclidean distance; both slices have the same length.
pub fn distance(a: &[f64], b: &[f64]) -> f64 {
    squared_distance(a, b).sqrt()
}

// Bound of the numbers in a model from which scores are computed.
//
// A product of two such numbers is at most 1e300, and a model of at most 1 GiB has fewer than 2^27 of them. So sums of
// products of weights and scaled features, or of factors, are finite.

/// Largest absolute value of weights, coefficients, factors, biases and scaled features in a model.
pub const LARGEST: f64 = 1e150;

/// The valid range, for error messages of decoders.
pub const BOUNDED: &str = "numbers from -1e150 to 1e150";

/// Whether these numbers are finite and at most [`LARGEST`] in absolute value.
pub fn are_bounded<'a>(numbers: impl IntoIterator<Item = &'a f64>) -> bool {
    numbers.into_iter().all(|number| number.abs() <= LARGEST)
}

/// Whether a number is above 0, not subnormal, and at most [`LARGEST`].
pub fn is_positive(number: f64) -> bool {
    (f64::MIN_POSITIVE..=LARGEST).contains(&number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dot_product_adds_all_terms_whatever_the_length() {
        for n in 0..40 {
            let a: Vec<f64> = (0..n).map(f64::from).collect();
            let expected = (0..n).map(|i| f64::from(i * i)).sum::<f64>();
            assert!((dot(&a, &a) - expected).abs() <= 1e-9 * (1.0 + expected));
        }
    }
}
