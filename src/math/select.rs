//! Order statistics of many numbers known only approximately, in a fraction of the time that sorting takes; and a search tree
//! for ascending numbers ([`Search`]).
//!
//! If each approximation is off by at most e, so is each order statistic: the number of rank k is at most e from the
//! approximation v of rank k. Numbers whose approximations are more than 2 e below v are before it, those more than 2 e above
//! v behind it. The others are candidates, whose exact numbers decide.
//!
//! v is found between bounds from a sample of every n / 512th number (Floyd and Rivest 1975, "Expected time bounds for
//! selection"). A pass counts the numbers below eight values between the bounds, usually a seventh of all numbers, and moves
//! the bounds to the nearest two. Another pass counts the numbers below the bounds and keeps those between them. If they miss
//! v, all numbers are searched. So the result does not depend on the sample.

#![allow(clippy::inline_always, reason = "compiled again for wider registers")]

use super::simd::{KEYS, Keys, Registers, simd};

const SAMPLE: usize = 512;

/// Standard deviations of a rank in the sample between the rank that is expected and a bound.
const DEVIATIONS: f64 = 3.0;

/// Values between the bounds whose ranks are counted.
const VALUES: usize = 8;

/// The numbers that can have some ranks.
#[derive(Debug, PartialEq, Eq)]
pub struct Candidates {
    /// Number of values that are certainly before them.
    pub below: usize,
    /// Their indices, ascending.
    pub indices: Vec<u32>,
}

impl Candidates {
    fn between(values: &[f32], [low, high]: [f32; 2]) -> Self {
        let (mut below, mut indices) = (0, Vec::new());
        keep_between(values, low, high, &mut below, &mut indices);
        Self { below, indices }
    }
}

/// The numbers that can have one of the ranks from `first` to `last`, counted from 0, if the values are off by at most
/// `error`. There are more numbers than `last`, and none is NaN.
pub fn candidates(values: &[f32], [first, last]: [usize; 2], error: f64) -> Candidates {
    let all = [f32::NEG_INFINITY, f32::INFINITY];
    let sampled = sample_bounds(values, [first, last]);
    let mut bounds = sampled.map_or(all, |bounds| narrowed(values, bounds, [first, last]));
    let mut candidates = Candidates::between(values, bounds);
    if candidates.below > first || last >= candidates.below + candidates.indices.len() {
        bounds = all;
        candidates = Candidates::between(values, bounds);
    }
    // The approximations of these ranks, and the range of the numbers that can have them.
    let mut kept: Vec<f32> = candidates.indices.iter().map(|&index| values[index as usize]).collect();
    let [first, last] = [first, last].map(|rank| (rank - candidates.below).min(kept.len().saturating_sub(1)));
    let Some(highest) = at_rank(&mut kept, last) else { return candidates };
    let lowest = at_rank(&mut kept[..=last], first).unwrap_or(highest);
    let low = ((f64::from(lowest) - 2.0 * error) as f32).next_down();
    let high = ((f64::from(highest) + 2.0 * error) as f32).next_up();
    if low < bounds[0] || high > bounds[1] {
        return Candidates::between(values, [low, high]);
    }
    let mut indices = Vec::new();
    for index in candidates.indices {
        let value = values[index as usize];
        candidates.below += usize::from(value < low);
        if (low..=high).contains(&value) {
            indices.push(index);
        }
    }
    Candidates { below: candidates.below, indices }
}

/// The number of a rank; those before it are not greater afterwards.
fn at_rank(values: &mut [f32], rank: usize) -> Option<f32> {
    (rank < values.len()).then(|| *values.select_nth_unstable_by(rank, f32::total_cmp).1)
}

/// Bounds around the numbers of these ranks from a sample; `None` if there are few numbers.
fn sample_bounds(values: &[f32], [first, last]: [usize; 2]) -> Option<[f32; 2]> {
    let step = values.len() / SAMPLE;
    if step < 4 {
        return None;
    }
    let mut sample = Vec::with_capacity(2 * SAMPLE);
    for index in 0..values.len().div_ceil(step) {
        sample.push(values[index * step]);
    }
    let expected = |rank: usize| {
        let share = rank as f64 / values.len() as f64;
        let expected = share * sample.len() as f64;
        (expected, DEVIATIONS * (expected * (1.0 - share)).max(1.0).sqrt() + 2.0)
    };
    let ([low, low_slack], [high, high_slack]) = (expected(first).into(), expected(last).into());
    let above = (high + high_slack) as usize;
    let highest = at_rank(&mut sample, above);
    let before = if highest.is_some() { &mut sample[..above] } else { &mut sample[..] };
    let lowest = if low > low_slack { at_rank(before, (low - low_slack) as usize) } else { None };
    Some([lowest.unwrap_or(f32::NEG_INFINITY), highest.unwrap_or(f32::INFINITY)])
}

/// The nearest bounds, of these and of values between them, that contain the numbers of these ranks.
fn narrowed(values: &[f32], [low, high]: [f32; 2], [first, last]: [usize; 2]) -> [f32; 2] {
    if !low.is_finite() || !high.is_finite() {
        return [low, high];
    }
    let mut between = [low; VALUES];
    for (number, value) in between.iter_mut().enumerate() {
        *value += (high - low) * ((number + 1) as f32 / (VALUES + 1) as f32);
    }
    let mut counts = [0; VALUES];
    count_below(values, &between, &mut counts);
    let mut bounds = [low, high];
    for (value, count) in between.into_iter().zip(counts) {
        if count <= first {
            bounds[0] = value;
        } else if count > last {
            bounds[1] = value;
            break;
        }
    }
    bounds
}

simd! {
    /// Counts the numbers below each of these.
    fn count_below<'a>(values: &'a [f32], bounds: &'a [f32; VALUES], below: &'a mut [usize; VALUES]) {
        let (blocks, rest) = values.as_chunks::<KEYS>();
        let mut last = [0.0; VALUES];
        for number in 0..VALUES {
            last[number] = bounds[number].next_down();
        }
        let mut counts = [0; VALUES];
        for block in blocks {
            for number in 0..VALUES {
                counts[number] += R::between(block, f32::NEG_INFINITY, last[number]).count_ones();
            }
        }
        for number in 0..VALUES {
            let mut count = counts[number] as usize;
            for value in rest {
                count += usize::from(*value < bounds[number]);
            }
            below[number] = count;
        }
    }
}

simd! {
    /// Counts the numbers below `low`, and collects the indices of those from `low` to `high`.
    fn keep_between<'a>(
        values: &'a [f32],
        low: f32,
        high: f32,
        below: &'a mut usize,
        indices: &'a mut Vec<u32>,
    ) {
        let (blocks, rest) = values.as_chunks::<KEYS>();
        let mut counts = [0_u32; KEYS];
        for (number, block) in blocks.iter().enumerate() {
            for lane in 0..KEYS {
                counts[lane] += u32::from(block[lane] < low);
            }
            let mut mask = R::between(block, low, high);
            while mask > 0 {
                indices.push((number * KEYS) as u32 + mask.trailing_zeros());
                mask &= mask - 1;
            }
        }
        let mut count = 0;
        for lane in &counts {
            count += *lane as usize;
        }
        let first = blocks.len() * KEYS;
        for (lane, value) in rest.iter().enumerate() {
            count += usize::from(*value < low);
            if (low..=high).contains(value) {
                indices.push((first + lane) as u32);
            }
        }
        *below = count;
    }
}

// Search tree of two levels for ascending numbers: two comparisons with 16 keys, without branches. The distances
// between the numbers do not matter.

/// Ascending keys. It searches up to 272 of them.
#[derive(Debug, Clone)]
pub struct Search {
    /// The first key of each node but the first.
    root: Keys,
    /// At least one.
    nodes: Vec<Keys>,
}

impl Search {
    /// A search of these keys.
    pub fn new(all: impl IntoIterator<Item = f32>) -> Self {
        let all: Vec<f32> = all.into_iter().collect();
        let node = |some: &[f32]| {
            let mut keys = Keys::NONE;
            keys.0[..some.len()].copy_from_slice(some);
            keys
        };
        let mut nodes: Vec<Keys> = all.chunks(KEYS).map(node).collect();
        if nodes.is_empty() {
            nodes.push(Keys::NONE);
        }
        let mut root = Keys::NONE;
        root.0.iter_mut().zip(&nodes[1..]).for_each(|(key, node)| *key = node.0[0]);
        Self { root, nodes }
    }

    /// How many keys are at most x. 0 for NaN.
    #[inline(always)]
    pub fn at_most<R: Registers>(&self, x: f32) -> usize {
        let node = R::at_most(&self.root, x);
        node * KEYS + R::at_most(&self.nodes[node], x)
    }

    /// The key at this index.
    #[inline(always)]
    pub fn key(&self, index: usize) -> f32 {
        self.nodes[index / KEYS].0[index % KEYS]
    }
}

/// The smallest number in single precision that is at least x; NaN for NaN.
#[inline(always)]
pub fn single_at_least(x: f64) -> f32 {
    let near = x as f32;
    if f64::from(near) < x { near.next_up() } else { near }
}

/// The smallest number in single precision that is above x.
pub fn single_above(x: f64) -> f32 {
    let near = x as f32;
    if f64::from(near) <= x { near.next_up() } else { near }
}

#[cfg(test)]
mod select_tests {
    use super::*;
    use crate::math::Random;

    #[test]
    fn candidates_have_the_numbers_of_their_ranks() {
        let mut random = Random::new(8);
        for (n, different) in
            [(1, 1), (100, 50), (9000, 3), (9000, 70), (20_000, usize::MAX / 2), (5000, 1), (6000, 4000)]
        {
            for error in [0.0_f64, 1e-3, 0.7, 1e30] {
                let mut exact: Vec<f64> = (0..n).map(|_| random.below(different) as f64).collect();
                // Missing numbers, and an order with a period, which a sample at equal distances cannot see.
                for index in (0..n).step_by(n / 1024 + 1).skip(1) {
                    exact[index] = if n > 5000 { f64::INFINITY } else { exact[index] };
                }
                let rounding =
                    1e-7 * exact.iter().filter(|x| x.is_finite()).fold(0.0, |a, &b| f64::max(a, b));
                let noise = |exact: f64| exact + error.min(1.0) * random.symmetric();
                let values: Vec<f32> = exact.iter().copied().map(noise).map(|value| value as f32).collect();
                let mut sorted = exact.clone();
                sorted.sort_by(f64::total_cmp);
                for ranks in
                    [[0, 0], [0, n / 50], [n / 3, n / 3], [(n / 2).saturating_sub(1), n / 2], [0, n - 1]]
                {
                    if sorted[ranks[1]].is_infinite() {
                        continue;
                    }
                    let Candidates { below, indices } = candidates(&values, ranks, error + rounding);
                    assert!(indices.is_sorted());
                    let mut found: Vec<f64> = indices.iter().map(|&index| exact[index as usize]).collect();
                    found.sort_by(f64::total_cmp);
                    for rank in ranks[0]..=ranks[1] {
                        let found = found[rank - below];
                        assert!(found.total_cmp(&sorted[rank]).is_eq(), "{n} {different} {error} {rank}");
                    }
                    let least = indices.len() <= n / 4 || error > 0.5 || different < 10 || n < 5000;
                    assert!(least || ranks[1] - ranks[0] > n / 4, "{} candidates", indices.len());
                }
            }
        }
    }
}

#[cfg(test)]
mod search_tests {
    use super::*;
    use crate::math::Baseline;

    #[test]
    fn keys_that_are_at_most_a_number_are_counted() {
        for n in [0, 1, 15, 16, 17, 255, 256, 257, 272] {
            let keys: Vec<f32> = (0..n).map(|i| (i / 2) as f32 * 0.1).collect();
            let search = Search::new(keys.iter().copied());
            assert_eq!((0..keys.len()).map(|index| search.key(index)).collect::<Vec<f32>>(), keys);
            for x in (-3..400).map(|i| i as f32 * 0.05).chain([f32::INFINITY, f32::NEG_INFINITY, f32::NAN]) {
                let expected = keys.iter().filter(|key| **key <= x).count();
                assert_eq!(search.at_most::<Baseline>(x), expected, "{n} {x}");
            }
        }
    }

    #[test]
    fn numbers_are_rounded_up_to_single_precision() {
        let exact = [0.0, -0.0, 1.0, -1.5, f64::from(f32::MAX), f64::from(f32::MIN), f64::INFINITY];
        let between = [0.1, -0.1, 0.3, 1e-320, -1e-320, 1e308, -1e308, 1.0 + 1e-12];
        for x in exact.into_iter().chain(between) {
            let key = single_at_least(x);
            assert!(f64::from(key) >= x && f64::from(key.next_down()) < x, "{x}");
            let above = single_above(x);
            assert!(x.is_infinite() || f64::from(above) > x && f64::from(above.next_down()) <= x, "{x}");
        }
        assert!(single_at_least(f64::NAN).is_nan());
    }
}
