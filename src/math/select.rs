//! Order statistics of many numbers in a fraction of the time of sorting them.
//!
//! The bounds around the number that is looked for come from a sample of every n / 1024th number. A pass counts the numbers
//! below the bounds and keeps those between them, usually less than a tenth (Floyd and Rivest 1975, "Expected time bounds for
//! selection"). If the bounds miss it, all numbers are searched. So the result is exact for any numbers.

use super::lanes::LANES;
use super::order::compare;
use super::simd::simd;

/// Numbers in the sample.
const SAMPLE: usize = 1024;

/// Standard deviations of a rank in the sample between the rank that is expected and a bound.
const DEVIATIONS: f64 = 3.0;

/// The numbers of rank k - 1 and k, from 0, among those that are not NaN; the first is the second for k = 0. `None` without so
/// many numbers.
pub fn neighbors_in_order(values: &[f64], k: usize) -> Option<(f64, f64)> {
    between_bounds(values, k).or_else(|| {
        let all: Vec<f64> = values.iter().copied().filter(|value| !value.is_nan()).collect();
        in_order(all, k)
    })
}

/// The result by bounds from a sample; `None` if they miss it.
fn between_bounds(values: &[f64], k: usize) -> Option<(f64, f64)> {
    let step = values.len() / SAMPLE;
    if step < 4 {
        return None;
    }
    let mut sample: Vec<f64> = values.iter().copied().step_by(step).filter(|value| !value.is_nan()).collect();
    let count = values.iter().filter(|value| !value.is_nan()).count();
    let share = k as f64 / count as f64;
    let expected = share * sample.len() as f64;
    let slack = DEVIATIONS * (expected * (1.0 - share)).max(1.0).sqrt() + 2.0;
    let mut at = |rank: f64| {
        let rank = rank as usize;
        (rank < sample.len()).then(|| *sample.select_nth_unstable_by(rank, |a, b| compare(*a, *b)).1)
    };
    let low = if expected > slack { at(expected - slack)? } else { f64::NEG_INFINITY };
    let high = at(expected + slack).unwrap_or(f64::INFINITY);
    let (mut below, mut between) = (0, Vec::new());
    keep_between(values, low, high, &mut below, &mut between);
    in_order(between, k.checked_sub(below).filter(|rank| *rank > 0 || k == 0)?)
}

/// The numbers of rank k - 1 and k of these numbers.
fn in_order(mut values: Vec<f64>, k: usize) -> Option<(f64, f64)> {
    if k >= values.len() {
        return None;
    }
    let (lower, &mut found, _) = values.select_nth_unstable_by(k, |a, b| compare(*a, *b));
    let before = lower.iter().copied().max_by(|a, b| compare(*a, *b));
    Some((before.unwrap_or(found), found))
}

simd! {
    /// Counts the numbers below `low`, and collects those from `low` to `high`.
    fn keep_between<'a>(values: &'a [f64], low: f64, high: f64, below: &'a mut usize, between: &'a mut Vec<f64>) {
        let (blocks, rest) = values.as_chunks::<LANES>();
        let mut counts = [0_u64; LANES];
        for block in blocks {
            let mut hits = 0;
            for lane in 0..LANES {
                counts[lane] += u64::from(block[lane] < low);
                // The product is vectorized; a lazy operator is not.
                hits += u64::from(block[lane] >= low) * u64::from(block[lane] <= high);
            }
            if hits > 0 {
                // Without branches: they could not be predicted.
                let (mut kept, mut count) = ([0.0; LANES], 0);
                for value in block {
                    kept[count % LANES] = *value;
                    count += usize::from(*value >= low) & usize::from(*value <= high);
                }
                between.extend_from_slice(&kept[..count]);
            }
        }
        *below = counts.iter().sum::<u64>() as usize + rest.iter().filter(|value| **value < low).count();
        between.extend(rest.iter().filter(|value| (low..=high).contains(value)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::random::Random;

    #[test]
    fn order_statistics_are_those_of_the_sorted_numbers() {
        let mut random = Random::new(8);
        for (n, different) in
            [(0, 1), (1, 1), (100, 50), (9000, 3), (9000, 70), (20_000, usize::MAX / 2), (5000, 1)]
        {
            let mut values: Vec<f64> = (0..n).map(|_| random.below(different) as f64).collect();
            // Missing numbers and an order with a period, which a sample at equal distances cannot see.
            for index in (0..n).step_by(7) {
                values[index] = f64::NAN;
            }
            for index in (0..n).step_by(n / 1024 + 1) {
                values[index] = if n > 5000 { f64::INFINITY } else { values[index] };
            }
            let mut sorted: Vec<f64> = values.iter().copied().filter(|value| !value.is_nan()).collect();
            sorted.sort_by(f64::total_cmp);
            for k in [0, 1, 20, n / 3, n / 2, sorted.len().saturating_sub(1), sorted.len(), n] {
                let expected = sorted.get(k).map(|found| (sorted[k.saturating_sub(1)], *found));
                assert_eq!(neighbors_in_order(&values, k), expected, "{n} {different} {k}");
            }
        }
    }
}
