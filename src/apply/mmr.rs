//! Maximal marginal relevance (Carbonell and Goldstein 1998): the next document is always the one with the largest
//!
//! ```text
//! (1 - w) * relevance - w * max over the documents before it of the cosine of the two vectors
//! ```
//!
//! Relevance is the score, scaled to 0..1 within the query. A document whose vector is missing or zero is similar to no
//! other. Ties are broken by score, then by position.
#![allow(clippy::needless_range_loop, reason = "the packaged library inlines few iterators (`math::lanes`)")]

use crate::base::{Ticks, bytes_of};
use crate::math::{compare, descending, dot, simd};

/// Vectors of unit length, for cosines.
pub struct UnitVectors {
    width: usize,
    /// Numbers of all vectors, each padded to whole lanes.
    values: Vec<f32>,
}

/// Width of the lanes in which numbers are added.
const LANES: usize = 16;

impl UnitVectors {
    /// Bytes for a number of vectors.
    pub fn bytes(vectors: usize, width: usize) -> u64 {
        bytes_of::<f32>(vectors.saturating_mul(width.next_multiple_of(LANES)))
    }

    /// No vector yet.
    pub fn new(vectors: usize, width: usize) -> Self {
        let width = width.next_multiple_of(LANES);
        Self { width, values: Vec::with_capacity(vectors * width) }
    }

    /// Adds a vector; empty if the document has none.
    pub fn push(&mut self, vector: &[f64]) {
        // Squares of the largest numbers would overflow.
        let largest = vector.iter().fold(0.0, |largest: f64, value| largest.max(value.abs()));
        let unit = if largest > 0.0 { 1.0 / largest } else { 0.0 };
        let scaled: Vec<f64> = vector.iter().map(|value| value * unit).collect();
        let factor = 1.0 / dot(&scaled, &scaled).sqrt();
        let start = self.values.len();
        if factor.is_finite() {
            self.values.extend(scaled.iter().map(|value| (value * factor) as f32));
        }
        self.values.resize(start + self.width, 0.0);
    }
}

simd! {
    /// Updates each row's largest cosine with its cosine to a chosen row.
    fn raise<'a>(values: &'a [f32], width: usize, chosen: usize, rows: &'a [usize], nearest: &'a mut [f64]) {
        let of = |row: usize| values[row * width..(row + 1) * width].as_chunks::<LANES>().0;
        let chosen = of(chosen);
        for &row in rows {
            let mut sums = [0.0_f32; LANES];
            for (a, b) in chosen.iter().zip(of(row)) {
                for lane in 0..LANES {
                    sums[lane] += a[lane] * b[lane];
                }
            }
            let cosine = sums.iter().copied().map(f64::from).sum::<f64>();
            nearest[row] = nearest[row].max(cosine);
        }
    }
}

/// The first `k` documents in the order of maximal marginal relevance with the weight `w` of diversity, from 0 to 1.
pub fn mmr(scores: &[f64], vectors: &UnitVectors, w: f64, k: usize) -> Vec<usize> {
    let mut left = descending(scores);
    let (Some(&best), Some(&worst)) = (left.first(), left.last()) else { return left };
    // Halve first, so that differences of the largest numbers are finite.
    let range = scores[best] / 2.0 - scores[worst] / 2.0;
    let relevance =
        |row: usize| if range > 0.0 { (scores[row] / 2.0 - scores[worst] / 2.0) / range } else { 0.0 };
    let mut ticks = Ticks::default();
    let (mut nearest, mut order) = (vec![f64::NEG_INFINITY; scores.len()], Vec::new());
    while order.len() < k && !left.is_empty() {
        ticks.add(left.len() * vectors.width.max(1));
        let value = |row: usize| {
            let similarity = if order.is_empty() { 0.0 } else { nearest[row] };
            (1.0 - w) * relevance(row) - w * similarity
        };
        let mut first = 0;
        for at in 1..left.len() {
            if compare(value(left[at]), value(left[first])).is_gt() {
                first = at;
            }
        }
        let chosen = left.remove(first);
        order.push(chosen);
        if order.len() < k {
            raise(&vectors.values, vectors.width, chosen, &left, &mut nearest);
        }
    }
    order
}
