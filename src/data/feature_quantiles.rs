//! The normal scores of documents by the quantiles of their features.

#![allow(clippy::inline_always, reason = "kernels are compiled again for wider registers")]

use super::quantiles::Quantiles;
use crate::math::dense::{Element, dot_by};
use crate::math::lanes::{LANES, Lanes};
use crate::math::simd::{Registers, simd};

#[inline(always)]
fn score<R: Registers, T: Element>(quantiles: &Quantiles, value: T) -> T {
    let value = value.to_f64();
    let score = quantiles.score_by::<R>(value);
    T::from_f64(if score.is_nan() { quantiles.normal_score(value) } else { score })
}

/// The weighted sum of the normal scores of a document, in the order of [`dot`](crate::math::dense::dot).
pub fn weighted_scores<T: Element>(of: &[Quantiles], document: &[T], weights: &[f64]) -> f64 {
    let sum = fast_weighted_scores(of, document, weights);
    if sum.is_nan() { careful_weighted_scores(of, document, weights) } else { sum }
}

#[cold]
#[inline(never)]
fn careful_weighted_scores<T: Element>(of: &[Quantiles], document: &[T], weights: &[f64]) -> f64 {
    dot_by(weights, |index| T::from_f64(of[index].normal_score(document[index].to_f64())).to_f64())
}

simd! {
    /// The normal scores of documents, row-major, one value per feature.
    pub fn normal_scores<'a; T: Element>(of: &'a [Quantiles], documents: &'a [T], out: &'a mut [T]) {
        let width = of.len().max(1);
        for (values, out) in documents.chunks_exact(width).zip(out.chunks_exact_mut(width)) {
            for ((quantiles, value), out) in of.iter().zip(values).zip(out) {
                *out = score::<R, T>(quantiles, *value);
            }
        }
    }
}

simd! {
    /// [`careful_weighted_scores`] if no distance overflows, else NaN.
    fn fast_weighted_scores<'a; T: Element>(of: &'a [Quantiles], document: &'a [T], weights: &'a [f64]) -> f64 {
        let (of, of_rest) = of.as_chunks::<LANES>();
        let (values, values_rest) = document.as_chunks::<LANES>();
        let (weights, weights_rest) = weights.as_chunks::<LANES>();
        let mut sums = Lanes::ZERO;
        for ((of, values), weights) in of.iter().zip(values).zip(weights) {
            // Arrays of intermediate results, so that the second loop is vectorized.
            let mut scores = [0.0; LANES];
            for lane in 0..LANES {
                scores[lane] = of[lane].score_by::<R>(values[lane].to_f64());
            }
            for lane in 0..LANES {
                sums.0[lane] += T::from_f64(scores[lane]).to_f64() * weights[lane];
            }
        }
        for (((sum, of), value), weight) in sums.0.iter_mut().zip(of_rest).zip(values_rest).zip(weights_rest) {
            *sum += T::from_f64(of.score_by::<R>(value.to_f64())).to_f64() * weight;
        }
        sums.fold()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wide_registers_have_the_bits_of_single_look_ups() {
        for n in [1, 7, 8, 9, 29] {
            let feature = |seed: usize| {
                let value = |i: usize| ((i * 31 + seed * 7) % 997) as f64;
                let spread = |x: f64| if seed.is_multiple_of(2) { x } else { (x / 60.0).exp() };
                Quantiles::fit((0..600).map(|i| spread(value(i))).collect())
            };
            let quantiles: Vec<Quantiles> = (0..n).map(feature).collect();
            let hostile = [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, -0.0, 1e-45, f32::MAX, f32::MIN];
            let documents: Vec<f32> = (0..40 * n)
                .map(|i| if i % 5 == 0 { hostile[i / 5 % 7] } else { ((i * 53) % 1009) as f32 })
                .collect();
            let wide: Vec<f64> = documents.iter().map(|value| f64::from(*value) * 1.000_1).collect();
            let weights: Vec<f64> = (0..n).map(|i| (i as f64).sin()).collect();
            check(&quantiles, &documents, &weights);
            check(&quantiles, &wide, &weights);
        }
    }

    fn check<T: Element + Default>(of: &[Quantiles], documents: &[T], weights: &[f64]) {
        let mut scores = vec![T::default(); documents.len()];
        normal_scores(of, documents, &mut scores);
        let same = |a: f64, b: f64| a.to_bits() == b.to_bits() || a.is_nan() && b.is_nan();
        for (document, scores) in documents.chunks_exact(of.len()).zip(scores.chunks_exact(of.len())) {
            let score = |index: usize| T::from_f64(of[index].normal_score(document[index].to_f64())).to_f64();
            assert!((0..of.len()).all(|index| same(scores[index].to_f64(), score(index))));
            assert!(same(weighted_scores(of, document, weights), dot_by(weights, score)));
        }
    }
}
