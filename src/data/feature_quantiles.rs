//! The quantiles of all features, and the normal scores of documents: eight features at a time.

#![allow(clippy::inline_always, reason = "kernels are compiled again for wider registers")]

use std::ops::Deref;

use serde::{Deserialize, Serialize};

use super::cells::cell;
use super::quantiles::Quantiles;
use crate::math::dense::Element;
use crate::math::lanes::{LANES, Lanes};
use crate::math::simd::simd;

/// The quantiles of each feature.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(from = "Vec<Quantiles>", into = "Vec<Quantiles>")]
pub struct FeatureQuantiles {
    features: Vec<Quantiles>,
    /// The cells of features, `LANES` at a time; the last features that are fewer have none.
    blocks: Vec<CellBlock>,
}

/// The cells of `LANES` features, part by part.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
struct CellBlock {
    centers: Lanes,
    scales: Lanes,
    shifts: [u32; LANES],
}

impl From<Vec<Quantiles>> for FeatureQuantiles {
    fn from(features: Vec<Quantiles>) -> Self {
        let block = |features: &[Quantiles; LANES]| {
            let mut block = CellBlock::default();
            for (lane, quantiles) in features.iter().enumerate() {
                let cells = quantiles.cells();
                block.centers.0[lane] = cells.center;
                block.scales.0[lane] = cells.scale;
                block.shifts[lane] = cells.shift;
            }
            block
        };
        Self { blocks: features.as_chunks::<LANES>().0.iter().map(block).collect(), features }
    }
}

impl From<FeatureQuantiles> for Vec<Quantiles> {
    fn from(quantiles: FeatureQuantiles) -> Self {
        quantiles.features
    }
}

impl Deref for FeatureQuantiles {
    type Target = [Quantiles];

    fn deref(&self) -> &[Quantiles] {
        &self.features
    }
}

impl CellBlock {
    /// The normal scores of these values of these features, rounded to the type of the values.
    #[inline(always)]
    fn scores<T: Element>(&self, features: &[Quantiles; LANES], values: &[T; LANES]) -> [f64; LANES] {
        // Arrays of intermediate results, so that the first two loops are vectorized.
        let (mut numbers, mut cells) = ([0.0; LANES], [0; LANES]);
        for lane in 0..LANES {
            numbers[lane] = values[lane].to_f64();
        }
        for lane in 0..LANES {
            cells[lane] = cell(numbers[lane], self.centers.0[lane], self.scales.0[lane], self.shifts[lane]);
        }
        let mut scores = [0.0; LANES];
        for lane in 0..LANES {
            scores[lane] = rounded::<T>(features[lane].score_in(cells[lane] as usize, numbers[lane]));
        }
        scores
    }
}

#[inline(always)]
fn rounded<T: Element>(value: f64) -> f64 {
    T::from_f64(value).to_f64()
}

simd! {
    /// The normal scores of documents, row-major, one value per feature.
    pub fn normal_scores<'a; T: Element>(of: &'a FeatureQuantiles, documents: &'a [T], out: &'a mut [T]) {
        let width = of.features.len().max(1);
        let (features, rest) = of.features.as_chunks::<LANES>();
        for (values, out) in documents.chunks_exact(width).zip(out.chunks_exact_mut(width)) {
            let ((values, last_values), (out, last_out)) = (values.as_chunks::<LANES>(), out.as_chunks_mut::<LANES>());
            for (((block, features), values), out) in of.blocks.iter().zip(features).zip(values).zip(out) {
                for (out, score) in out.iter_mut().zip(block.scores(features, values)) {
                    *out = T::from_f64(score);
                }
            }
            for ((quantiles, value), out) in rest.iter().zip(last_values).zip(last_out) {
                *out = T::from_f64(quantiles.normal_score(value.to_f64()));
            }
        }
    }
}

simd! {
    /// The weighted sum of the normal scores of a document, in the order of [`dot`](crate::math::dense::dot).
    pub fn weighted_scores<'a; T: Element>(of: &'a FeatureQuantiles, document: &'a [T], weights: &'a [f64]) -> f64 {
        let (features, rest) = of.features.as_chunks::<LANES>();
        let ((values, last_values), (weights, last_weights)) = (document.as_chunks::<LANES>(), weights.as_chunks::<LANES>());
        let mut sums = Lanes::ZERO;
        for (((block, features), values), weights) in of.blocks.iter().zip(features).zip(values).zip(weights) {
            sums.add_product(&Lanes(block.scores(features, values)), &Lanes(*weights));
        }
        for (((sum, quantiles), value), weight) in sums.0.iter_mut().zip(rest).zip(last_values).zip(last_weights) {
            *sum += rounded::<T>(quantiles.normal_score(value.to_f64())) * weight;
        }
        sums.fold()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::dense::dot_by;

    #[test]
    fn blocks_have_the_bits_of_single_look_ups() {
        for n in [1, 7, 8, 9, 29] {
            let feature = |seed: usize| {
                let value = |i: usize| ((i * 31 + seed * 7) % 997) as f64;
                let spread = |x: f64| if seed.is_multiple_of(2) { x } else { (x / 60.0).exp() };
                Quantiles::fit((0..600).map(|i| spread(value(i))).collect())
            };
            let quantiles = FeatureQuantiles::from((0..n).map(feature).collect::<Vec<_>>());
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

    fn check<T: Element + Default>(of: &FeatureQuantiles, documents: &[T], weights: &[f64]) {
        let mut scores = vec![T::default(); documents.len()];
        normal_scores(of, documents, &mut scores);
        let same = |a: f64, b: f64| a.to_bits() == b.to_bits() || a.is_nan() && b.is_nan();
        for (document, scores) in documents.chunks_exact(of.len()).zip(scores.chunks_exact(of.len())) {
            let score = |index: usize| rounded::<T>(of[index].normal_score(document[index].to_f64()));
            assert!((0..of.len()).all(|index| same(scores[index].to_f64(), score(index))));
            assert!(same(weighted_scores(of, document, weights), dot_by(weights, score)));
        }
    }
}
