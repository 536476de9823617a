//! The normal scores of documents by the quantiles of their features.

#![allow(clippy::inline_always, reason = "kernels are compiled again for wider registers")]

use super::quantiles::Quantiles;
use crate::math::dense::{Element, dot_by};
use crate::math::lanes::{LANES, Lanes};
use crate::math::simd::{Registers, simd};

/// The normal score of a value; NaN where the distance to its quantile is not finite.
#[inline(always)]
fn score<R: Registers, T: Element>(quantiles: &Quantiles, value: T) -> f64 {
    let line = quantiles.line::<R, T>(value);
    line.z + line.slope * (value.to_f64() - line.x)
}

/// [`score`] of several features.
#[inline(always)]
fn scores<R: Registers, T: Element>(of: &[Quantiles; LANES], values: &[T; LANES]) -> [f64; LANES] {
    // Arrays of what was found, so that the second loop is vectorized.
    let (mut x, mut z, mut slopes) = ([0.0; LANES], [0.0; LANES], [0.0; LANES]);
    for lane in 0..LANES {
        let line = of[lane].line::<R, T>(values[lane]);
        x[lane] = line.x;
        z[lane] = line.z;
        slopes[lane] = line.slope;
    }
    for lane in 0..LANES {
        z[lane] += slopes[lane] * (values[lane].to_f64() - x[lane]);
    }
    z
}

/// The weighted sum of the normal scores of a document, in the order of [`dot`](crate::math::dense::dot). NaN if a value is not
/// finite.
pub fn weighted_scores<T: Element>(of: &[Quantiles], document: &[T], weights: &[f64]) -> f64 {
    let sum = fast_weighted_scores(of, document, weights);
    if sum.is_nan() { careful_weighted_scores(of, document, weights) } else { sum }
}

/// Rows whose sums are added together.
const ROWS: usize = 64;

/// [`weighted_scores`] of documents, row-major: the tables of a few features serve many documents at a time.
pub fn all_weighted_scores<T: Element>(
    of: &[Quantiles],
    documents: &[T],
    weights: &[f64],
    scores: &mut Vec<f64>,
) {
    let width = of.len().max(1);
    for rows in documents.chunks(ROWS * width) {
        let mut sums = [0.0; ROWS];
        fast_sums(of, rows, weights, &mut sums);
        for (document, sum) in rows.chunks_exact(width).zip(sums) {
            scores.push(if sum.is_nan() { careful_weighted_scores(of, document, weights) } else { sum });
        }
    }
}

#[cold]
#[inline(never)]
fn careful_weighted_scores<T: Element>(of: &[Quantiles], document: &[T], weights: &[f64]) -> f64 {
    let score =
        |value: f64, of: &Quantiles| if value.is_finite() { of.normal_score(value) } else { f64::NAN };
    dot_by(weights, |index| T::from_f64(score(document[index].to_f64(), &of[index])).to_f64())
}

simd! {
    /// The normal scores of documents, row-major, one value per feature.
    pub fn normal_scores<'a; T: Element>(of: &'a [Quantiles], documents: &'a [T], out: &'a mut [T]) {
        let width = of.len().max(1);
        let (blocks, rest) = of.as_chunks::<LANES>();
        for (document, out) in documents.chunks_exact(width).zip(out.chunks_exact_mut(width)) {
            let (values, values_rest) = document.as_chunks::<LANES>();
            let (outs, outs_rest) = out.as_chunks_mut::<LANES>();
            // Zeros, or NaN beside a score that is NaN.
            let mut zeros = Lanes::ZERO;
            for ((of, values), out) in blocks.iter().zip(values).zip(outs) {
                let scores = scores::<R, T>(of, values);
                for lane in 0..LANES {
                    zeros.0[lane] += scores[lane] * 0.0;
                    out[lane] = T::from_f64(scores[lane]);
                }
            }
            for (lane, ((of, value), out)) in rest.iter().zip(values_rest).zip(outs_rest).enumerate() {
                let score = score::<R, T>(of, *value);
                zeros.0[lane] += score * 0.0;
                *out = T::from_f64(score);
            }
            if zeros.fold().is_nan() {
                careful_scores(of, document, out);
            }
        }
    }
}

#[cold]
#[inline(never)]
fn careful_scores<T: Element>(of: &[Quantiles], document: &[T], out: &mut [T]) {
    for ((of, value), out) in of.iter().zip(document).zip(out) {
        *out = T::from_f64(of.normal_score(value.to_f64()));
    }
}

/// Sums of a document in lanes, and zeros, which are NaN beside a value that is not finite: its score may be finite.
type Sums = [Lanes; 2];

/// Adds the terms of eight features.
#[inline(always)]
fn add_terms<R: Registers, T: Element>(
    of: &[Quantiles; LANES],
    values: &[T; LANES],
    weights: &[f64; LANES],
    [sums, zeros]: &mut Sums,
) {
    let scores = scores::<R, T>(of, values);
    for lane in 0..LANES {
        sums.0[lane] += T::from_f64(scores[lane]).to_f64() * weights[lane];
        zeros.0[lane] += values[lane].to_f64() * 0.0;
    }
}

/// Adds the terms of the last features, less than eight.
#[inline(always)]
fn add_last_terms<R: Registers, T: Element>(
    of: &[Quantiles],
    values: &[T],
    weights: &[f64],
    [sums, zeros]: &mut Sums,
) {
    for lane in 0..of.len() {
        sums.0[lane] += T::from_f64(score::<R, T>(&of[lane], values[lane])).to_f64() * weights[lane];
        zeros.0[lane] += values[lane].to_f64() * 0.0;
    }
}

simd! {
    /// [`careful_weighted_scores`] if no distance overflows, else NaN.
    fn fast_weighted_scores<'a; T: Element>(of: &'a [Quantiles], document: &'a [T], weights: &'a [f64]) -> f64 {
        let (of, of_rest) = of.as_chunks::<LANES>();
        let (values, values_rest) = document.as_chunks::<LANES>();
        let (weights, weights_rest) = weights.as_chunks::<LANES>();
        let mut sums = [Lanes::ZERO; 2];
        for ((of, values), weights) in of.iter().zip(values).zip(weights) {
            add_terms::<R, T>(of, values, weights, &mut sums);
        }
        add_last_terms::<R, T>(of_rest, values_rest, weights_rest, &mut sums);
        sums[0].fold() + sums[1].fold()
    }
}

simd! {
    /// [`fast_weighted_scores`] of at most [`ROWS`] documents.
    fn fast_sums<'a; T: Element>(
        of: &'a [Quantiles],
        documents: &'a [T],
        weights: &'a [f64],
        totals: &'a mut [f64; ROWS],
    ) {
        let (width, rows) = (of.len(), documents.len() / of.len().max(1));
        let (of, of_rest) = of.as_chunks::<LANES>();
        let (weights, weights_rest) = weights.as_chunks::<LANES>();
        let mut sums = [[Lanes::ZERO; 2]; ROWS];
        for block in 0..of.len() {
            for row in 0..rows {
                let values = &documents[row * width..(row + 1) * width].as_chunks::<LANES>().0[block];
                add_terms::<R, T>(&of[block], values, &weights[block], &mut sums[row]);
            }
        }
        for row in 0..rows {
            let values = documents[row * width..(row + 1) * width].as_chunks::<LANES>().1;
            add_last_terms::<R, T>(of_rest, values, weights_rest, &mut sums[row]);
            totals[row] = sums[row][0].fold() + sums[row][1].fold();
        }
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
            let documents: Vec<f32> =
                (0..140 * n)
                    .map(|i| {
                        if i % 5 == 0 && i / n % 2 == 0 {
                            hostile[i / 5 % 7]
                        } else {
                            ((i * 53) % 1009) as f32
                        }
                    })
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
        let mut sums = Vec::new();
        all_weighted_scores(of, documents, weights, &mut sums);
        assert_eq!(sums.len(), documents.len() / of.len());
        let mut sums = sums.into_iter();
        let same = |a: f64, b: f64| a.to_bits() == b.to_bits() || a.is_nan() && b.is_nan();
        for (document, scores) in documents.chunks_exact(of.len()).zip(scores.chunks_exact(of.len())) {
            let score = |index: usize| T::from_f64(of[index].normal_score(document[index].to_f64())).to_f64();
            assert!((0..of.len()).all(|index| same(scores[index].to_f64(), score(index))));
            let is_finite = document.iter().all(|value| value.to_f64().is_finite());
            let expected = if is_finite { dot_by(weights, score) } else { f64::NAN };
            assert!(same(weighted_scores(of, document, weights), expected));
            assert!(same(sums.next().unwrap(), expected));
        }
    }
}
