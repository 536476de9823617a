//! The paired randomization test: if both series are alike, each difference could as well have the other sign (Fisher 1935,
//! "The Design of Experiments", section 21).
//!
//! A sign pattern is the set A of pairs whose signs are flipped. It makes the sum of the differences at most -(sum) or at
//! least the sum if the sum over A, or over its complement, is at most 0. The interval has all values that the same test,
//! of differences minus the value, does not refuse. Its limits are order statistics of the means of the sets A (Hartigan
//! 1969, "Using subsample values as typical values"), so that it contains 0 exactly if p > 1 - confidence.

use super::{Outcome, PairedTest, TIE, absolute_sum};
use crate::base::control::Ticks;
use crate::math::order::sort_ascending;
use crate::math::random::Random;

/// Up to this many pairs all sign patterns are counted.
const EXACT: usize = 16;

/// p-value and interval of the mean of `differences`.
///
/// With all 2^n patterns p = 2 (1 + c) / 2^n, where c is the number of nonempty proper subsets whose sum is at most 0 (for
/// a positive mean). With B random patterns p = (1 + c) / (1 + B) for the sets and their complements (Davison and Hinkley
/// 1997, equation 4.11).
pub(super) fn test(differences: &[f64], test: &PairedTest) -> Outcome {
    let total: f64 = differences.iter().sum();
    // 1. Sums and means of subsets, for a sum of at least 0.
    let sign = if total < 0.0 { -1.0 } else { 1.0 };
    let subsets = if differences.len() <= EXACT {
        Subsets::all(differences)
    } else {
        Subsets::random(differences, total, test.samples, test.seed)
    };
    // 2. p-value.
    let tie = TIE * absolute_sum(differences);
    let extreme = subsets.sums.iter().filter(|sum| sign * **sum <= tie).count();
    let p_value = ((1 + extreme) as f64 / subsets.patterns as f64).min(1.0);
    // 3. Limits: the k-th smallest and the k-th largest mean. The addend is for a confidence that is rounded.
    let k = ((1.0 - test.confidence) * subsets.patterns as f64 + 1e-9) as usize;
    (subsets.limits(k), Some(p_value))
}

/// Sums over subsets of the differences and over their complements.
struct Subsets {
    sums: Vec<f64>,
    means: Vec<f64>,
    /// Number of pairs of a pattern and its opposite, with the observed one.
    patterns: usize,
}

impl Subsets {
    fn with_capacity(pairs: usize) -> Self {
        Self {
            sums: Vec::with_capacity(2 * pairs),
            means: Vec::with_capacity(2 * pairs),
            patterns: pairs + 1,
        }
    }

    fn push(&mut self, sum: f64, count: usize) {
        self.sums.push(sum);
        self.means.push(sum / count as f64);
    }

    /// All nonempty proper subsets. A sum is that of a subset of the first 8 differences and of one of the others.
    fn all(differences: &[f64]) -> Self {
        let (first, rest) = differences.split_at(differences.len().min(EXACT / 2));
        let (first, rest) = (sums(first), sums(rest));
        let patterns = first.len() * rest.len();
        let mut subsets = Self::with_capacity(patterns / 2 - 1);
        for subset in 1..patterns - 1 {
            let sum = first[subset % first.len()] + rest[subset / first.len()];
            subsets.push(sum, subset.count_ones() as usize);
        }
        subsets
    }

    /// Random subsets and their complements. The empty subset counts as one that is as extreme as the observed pattern.
    fn random(differences: &[f64], total: f64, samples: usize, seed: u64) -> Self {
        let mut subsets = Self::with_capacity(samples);
        let (mut random, mut ticks) = (Random::new(seed), Ticks::default());
        for _ in 0..samples {
            let (sum, count) = random_subset(differences, &mut random, &mut ticks);
            let others = differences.len() - count;
            if count == 0 || others == 0 {
                subsets.sums.push(0.0);
                subsets.means.extend([f64::NEG_INFINITY, f64::INFINITY]);
            } else {
                subsets.push(sum, count);
                subsets.push(total - sum, others);
            }
        }
        subsets
    }

    /// The k-th smallest and the k-th largest mean, if there are finite ones.
    fn limits(mut self, k: usize) -> Option<(f64, f64)> {
        let (first, last) = (k.checked_sub(1)?, self.means.len().checked_sub(k)?);
        sort_ascending(&mut self.means);
        let (low, high) = (self.means[first], self.means[last]);
        (low.is_finite() && high.is_finite()).then_some((low.min(high), low.max(high)))
    }
}

/// The sums of all subsets: bit i of the index says whether value i is in it.
fn sums(values: &[f64]) -> Vec<f64> {
    values.iter().fold(vec![0.0], |mut sums, value| {
        sums.extend_from_within(..);
        let half = sums.len() / 2;
        sums[half..].iter_mut().for_each(|sum| *sum += value);
        sums
    })
}

/// Sum and number of the differences in a random subset. One random number decides on 64 of them.
fn random_subset(differences: &[f64], random: &mut Random, ticks: &mut Ticks) -> (f64, usize) {
    let (mut lanes, mut count) = ([0.0; 4], 0);
    for chunk in differences.chunks(64) {
        let bits = random.bits() & (u64::MAX >> (64 - chunk.len()));
        count += bits.count_ones() as usize;
        for (index, value) in chunk.iter().enumerate() {
            // All bits of the value, or none.
            let mask = 0_u64.wrapping_sub(bits >> index & 1);
            lanes[index % 4] += f64::from_bits(value.to_bits() & mask);
        }
        ticks.add(chunk.len());
    }
    ((lanes[0] + lanes[1]) + (lanes[2] + lanes[3]), count)
}
