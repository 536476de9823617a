//! Quantiles of one feature, which map its values to normal scores.
//!
//! Each stored pair (x, z) has a training value and the normal score of its mid-rank. Between pairs the score is linear.

#![allow(clippy::inline_always, reason = "kernels are compiled again for wider registers")]

use serde::{Deserialize, Serialize};

use crate::base::Ticks;
use crate::math::select::Search;
use crate::math::{
    Element, LANES, Lanes, Registers, are_bounded, compare, dot_by, normal, simd, single_at_least,
    sort_ascending,
};

/// Cost in operations, for [`Ticks`], of a quantile of the normal distribution.
const NORMAL_COST: usize = 64;

/// Operations, for [`Ticks`], of a value with its count.
const TIE_COST: usize = 4;

/// Maximum number of stored quantiles.
const MAX_QUANTILES: usize = 256;

/// Quantiles of one feature with their search tree.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(from = "Vec<(f64, f64)>", into = "Vec<(f64, f64)>")]
pub struct Quantiles {
    /// The quantiles rounded up, so that a single-precision value is at least the key if and only if it is at least the
    /// quantile.
    search: Search,
    /// A line for values below the first quantile, then a line per quantile. The values increase strictly.
    lines: Vec<Line>,
}

/// Scores between a quantile and the next.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Line {
    /// The value of the quantile.
    pub x: f64,
    /// The score of x.
    pub z: f64,
    /// The slope to the next quantile; 0 after the last.
    pub slope: f64,
}

impl From<Vec<(f64, f64)>> for Quantiles {
    fn from(pairs: Vec<(f64, f64)>) -> Self {
        let slope = |index: usize| {
            let ((x0, z0), next) = (pairs[index], pairs.get(index + 1));
            // Neighboring subnormal values have no finite slope.
            next.map_or(0.0, |(x1, z1)| ((z1 - z0) / (x1 - x0)).min(f64::MAX))
        };
        let line = |index: usize| Line { x: pairs[index].0, z: pairs[index].1, slope: slope(index) };
        let below = Line { x: -f64::MAX, z: pairs.first().map_or(0.0, |(_, z)| *z), slope: 0.0 };
        let search = Search::new(pairs.iter().map(|(x, _)| single_at_least(*x)));
        Self { search, lines: std::iter::once(below).chain((0..pairs.len()).map(line)).collect() }
    }
}

impl PartialEq for Quantiles {
    fn eq(&self, other: &Self) -> bool {
        self.lines == other.lines
    }
}

impl From<Quantiles> for Vec<(f64, f64)> {
    fn from(quantiles: Quantiles) -> Self {
        quantiles.lines().iter().map(|line| (line.x, line.z)).collect()
    }
}

impl Quantiles {
    /// The quantiles of at least one training value.
    pub fn fit(mut values: Vec<f64>) -> Self {
        sort_ascending(&mut values);
        let ties = values.chunk_by(|a, b| compare(*a, *b).is_eq());
        Self::of_ties(values.len() as f64, ties.map(|tie| (tie[0], tie.len() as f64)))
    }

    /// The quantiles of values in ascending order with their counts, at least one.
    pub fn of_counts(counts: &[(f64, f64)]) -> Self {
        let ties = counts.chunk_by(|a, b| a.0 >= b.0);
        let n = counts.iter().map(|(_, count)| count).sum();
        Self::of_ties(n, ties.map(|tie| (tie[0].0, tie.iter().map(|(_, count)| count).sum())))
    }

    fn of_ties(n: f64, ties: impl Iterator<Item = (f64, f64)>) -> Self {
        let (mut below, mut ticks) = (0.0, Ticks::default());
        let distinct: Vec<(f64, f64)> = ties
            .map(|(value, count)| {
                ticks.add(TIE_COST);
                let fraction = (below + 0.5 * count) / n;
                below += count;
                (value, fraction)
            })
            .collect();
        thin(&distinct).into()
    }

    /// The lines between quantiles. The score of x is z + slope (x - line.x) for the last line that is not above x, and
    /// the first score below the first line.
    pub fn lines(&self) -> &[Line] {
        &self.lines[1..]
    }

    /// Whether all numbers are finite, scores are bounded like all stored numbers, and values and scores increase.
    pub fn is_valid(&self) -> bool {
        let lines = self.lines();
        let is_line = |line: &Line| line.x.is_finite() && are_bounded([&line.z]) && line.slope.is_finite();
        !lines.is_empty()
            && lines.len() <= MAX_QUANTILES + 1
            && lines.iter().all(|line| is_line(line) && line.slope >= 0.0)
            && lines.windows(2).all(|pair| pair[0].x < pair[1].x)
    }

    /// The normal score of a value: linear between quantiles, constant outside.
    pub fn normal_score(&self, value: f64) -> f64 {
        let line = self.searched_line(value);
        // The distance is finite below the first quantile and above the last, where the slope is 0.
        line.z + line.slope * (value - line.x).clamp(0.0, f64::MAX)
    }

    fn searched_line(&self, value: f64) -> &Line {
        &self.lines[self.lines().partition_point(|line| line.x <= value)]
    }

    /// The line of a value, searched with these registers. The score is z + slope (value - x), and NaN if that distance
    /// is not finite.
    #[allow(clippy::inline_always, reason = "compiled again for wider registers")]
    #[inline(always)]
    pub(super) fn line<R: Registers, T: Element>(&self, value: T) -> &Line {
        let line = &self.lines[self.search.at_most::<R>(value.key())];
        // Double-precision numbers can share a key.
        if !T::IS_SINGLE && line.x > value.to_f64() { self.rare_line(value.to_f64()) } else { line }
    }

    #[cold]
    #[inline(never)]
    fn rare_line(&self, value: f64) -> &Line {
        self.searched_line(value)
    }
}

/// Selects from values (with their fractions) both ends and, between them, quantiles at about equal distances in rank
/// and in normal score. Returns them with their scores.
fn thin(all: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let mut ticks = Ticks::default();
    let mut score = |fraction: f64| {
        ticks.add(NORMAL_COST);
        normal::quantile(fraction)
    };
    if all.len() <= MAX_QUANTILES {
        return all.iter().map(|(x, fraction)| (*x, score(*fraction))).collect();
    }
    let last = all.len() - 1;
    let [first_score, last_score] = [0, last].map(|index| score(all[index].1));
    let widest = last_score.abs().max(first_score.abs());
    let position = |z: f64| 0.5 * z / widest + 0.5 * libm::erf(z * 0.5f64.sqrt());
    let step = (position(last_score) - position(first_score)) / (MAX_QUANTILES - 1) as f64;
    let mut next = position(first_score);
    let mut kept = Vec::with_capacity(MAX_QUANTILES);
    // Positions of neighbors differ by at least 1 / n, far more than their rounding errors. So they are ascending.
    let mut index = 0;
    while index < last {
        let is_before = |(_, fraction): &(f64, f64)| position(score(*fraction)) < next;
        index += all[index..last].partition_point(is_before);
        let (x, z) = (all[index].0, score(all[index].1));
        kept.push((x, z));
        next = (next + step).max(position(z) + 0.5 * step);
        index += 1;
    }
    if index == last {
        kept.push((all[last].0, last_score));
    }
    kept
}

// Normal scores of documents, from the quantiles of their features.

/// The normal score of a value; NaN where the distance to its quantile is not finite.
#[inline(always)]
fn score<R: Registers, T: Element>(quantiles: &Quantiles, value: T) -> f64 {
    let line = quantiles.line::<R, T>(value);
    line.z + line.slope * (value.to_f64() - line.x)
}

/// [`score`] of several features.
#[inline(always)]
fn scores<R: Registers, T: Element>(of: &[Quantiles; LANES], values: &[T; LANES]) -> [f64; LANES] {
    // Store the lines in arrays, so that the second loop is vectorized.
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

/// Number of rows whose sums are computed together.
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
            // Zeros, or NaN if the score is NaN.
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

/// A document's sums in lanes, and zeros that become NaN for a value that is not finite, because its score may be finite.
type LaneSums = [Lanes; 2];

/// Adds the terms of eight features.
#[inline(always)]
fn add_terms<R: Registers, T: Element>(
    of: &[Quantiles; LANES],
    values: &[T; LANES],
    weights: &[f64; LANES],
    [sums, zeros]: &mut LaneSums,
) {
    let scores = scores::<R, T>(of, values);
    for lane in 0..LANES {
        sums.0[lane] += T::from_f64(scores[lane]).to_f64() * weights[lane];
        zeros.0[lane] += values[lane].to_f64() * 0.0;
    }
}

/// Adds the terms of the last features, fewer than eight.
#[inline(always)]
fn add_last_terms<R: Registers, T: Element>(
    of: &[Quantiles],
    values: &[T],
    weights: &[f64],
    [sums, zeros]: &mut LaneSums,
) {
    for lane in 0..of.len() {
        sums.0[lane] += T::from_f64(score::<R, T>(&of[lane], values[lane])).to_f64() * weights[lane];
        zeros.0[lane] += values[lane].to_f64() * 0.0;
    }
}

simd! {
    /// Same as [`careful_weighted_scores`] if no distance overflows, otherwise NaN.
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
mod quantiles_tests {
    use super::*;
    use crate::math::Baseline;

    #[test]
    fn scores_are_symmetric_monotone_and_constant_outside() {
        let quantiles = Quantiles::fit((0..1001).map(f64::from).collect());
        assert!(quantiles.is_valid());
        assert!(quantiles.normal_score(500.0).abs() < 1e-3);
        assert!((quantiles.normal_score(-7.0) + quantiles.normal_score(2000.0)).abs() < 1e-12);
        let scores: Vec<f64> = (-10..1100).map(|x| quantiles.normal_score(f64::from(x))).collect();
        assert!(scores.is_sorted());
    }

    #[test]
    fn a_tie_has_the_score_of_its_middle_rank() {
        let quantiles = Quantiles::fit(vec![0.0, 0.0, 0.0, 1.0]);
        assert!((quantiles.normal_score(0.0) - normal::quantile(0.375)).abs() < 1e-15);
        assert!((quantiles.normal_score(1.0) - normal::quantile(0.875)).abs() < 1e-15);
    }

    #[test]
    fn values_at_the_ends_of_the_range_have_finite_scores() {
        for ends in [[0.0, 5e-324], [-f64::MAX, f64::MAX], [f64::MAX; 2], [-f64::MAX; 2]] {
            let quantiles = Quantiles::fit(ends.to_vec());
            assert!(quantiles.is_valid(), "{ends:?}");
            for x in [-f64::MAX, 0.0, 5e-324, 1e308, f64::MAX] {
                assert!(quantiles.normal_score(x).is_finite(), "{ends:?}: {x}");
            }
        }
    }

    #[test]
    fn a_look_up_finds_what_a_search_finds() {
        let skewed = |i: u32| f64::from(i % 700).powi(5) - f64::from(i % 3);
        let log_normal = |i: u32| (4.0 * normal::quantile((f64::from(i) + 0.5) / 5000.0)).exp();
        let heavy = |i: u32| ((f64::from(i) + 0.5) / 5000.0 - 0.5).tan() / (f64::from(i % 7) + 0.01);
        let clustered = |i: u32| 1.0 + f64::from(i % 50) * 1e-14 + f64::from(i / 4999) * 1e9;
        let data = [
            (0..5000).map(skewed).collect::<Vec<f64>>(),
            (0..5000).map(log_normal).collect(),
            (0..5000).map(heavy).collect(),
            (0..5000).map(clustered).collect(),
            (0..5000).map(|i| f64::from(i) * 0.37).collect(),
            vec![-1e308, 0.0, 1e-300, 1.0, 1e308],
            vec![-f64::MAX, f64::MAX],
            vec![-0.0, 0.0, 5e-324],
            vec![0.1; 4],
            (0..1000).map(|i| f64::from(i) * 1e-310).collect(),
        ];
        for values in data {
            let quantiles = Quantiles::fit(values.clone());
            assert!(quantiles.is_valid());
            let stored = quantiles.lines();
            let search = |v: f64| {
                let line = stored[stored.partition_point(|line| line.x <= v).saturating_sub(1)];
                line.z + line.slope * (v - line.x).clamp(0.0, f64::MAX)
            };
            let more = [f64::MIN, f64::MAX, f64::NAN, -0.0, 1e-320, f64::INFINITY, f64::NEG_INFINITY];
            for value in values.iter().flat_map(|v| [*v, v.next_up(), v.next_down(), 0.5 * v, -v]).chain(more)
            {
                let expected = search(value);
                let same =
                    |found: f64| found.to_bits() == expected.to_bits() || value.is_nan() && found.is_nan();
                assert!(same(quantiles.normal_score(value)), "{value}");
                let line = quantiles.line::<Baseline, f64>(value);
                let found = line.z + line.slope * (value - line.x);
                assert!(found.is_nan() || same(found), "{value}");
                assert!(!found.is_nan() || value.abs() > 1e291 || value.is_nan(), "{value}");
                let single = value as f32;
                let line = quantiles.line::<Baseline, f32>(single);
                let interpolated = line.z + line.slope * (f64::from(single) - line.x);
                assert!(
                    !single.is_finite() || interpolated.to_bits() == search(single.into()).to_bits(),
                    "{single}"
                );
            }
        }
    }

    #[test]
    fn equal_values_have_the_score_zero() {
        assert!(Quantiles::fit(vec![3.0; 9]).normal_score(17.0).abs() < 1e-15);
    }
}

#[cfg(test)]
mod feature_quantiles_tests {
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
