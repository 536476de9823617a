//! Sorting with documented tie rules.

use std::cmp::Ordering;

use crate::base::{Ticks, checkpoint};

/// Operations, for [`Ticks`], of a comparison.
pub const COMPARISON: usize = 8;

/// Order of documents by decreasing score; equal scores keep their input order.
pub fn descending(scores: &[f64]) -> Vec<usize> {
    descending_then(scores, None)
}

/// Order of documents by decreasing score; equal scores are ordered by `tie`, or keep their input order.
pub fn descending_then(scores: &[f64], tie: Option<&dyn Fn(usize, usize) -> Ordering>) -> Vec<usize> {
    let mut ticks = Ticks::default();
    // Integers are compared faster than numbers.
    let mut keyed: Vec<(i64, usize)> = scores.iter().map(|score| !key(*score)).zip(0..).collect();
    keyed.sort_unstable_by(|a, b| {
        ticks.add(COMPARISON);
        a.cmp(b)
    });
    let mut order: Vec<usize> = keyed.iter().map(|(_, index)| *index).collect();
    let Some(tie) = tie else { return order };
    let mut start = 0;
    for run in keyed.chunk_by(|a, b| a.0 == b.0) {
        let end = start + run.len();
        if run.len() > 1 {
            sort_indices(&mut order[start..end], tie);
        }
        start = end;
    }
    order
}

/// Keeps the `count` pairs (index, value) with the smallest values, in ascending order; equal values by index.
pub fn keep_smallest(pairs: &mut Vec<(usize, f64)>, count: usize) {
    let mut ticks = Ticks::default();
    let mut before = |a: &(usize, f64), b: &(usize, f64)| {
        ticks.add(COMPARISON);
        compare(a.1, b.1).then(a.0.cmp(&b.0))
    };
    if count < pairs.len() {
        pairs.select_nth_unstable_by(count, &mut before);
        pairs.truncate(count);
    }
    pairs.sort_unstable_by(before);
}

/// Sorts indices; equal ones keep their order. For sorts that run rarely: the machine code of a sort takes 9 kB,
/// and all callers of this function use the same.
pub fn sort_indices(indices: &mut [usize], compare: &dyn Fn(usize, usize) -> Ordering) {
    let mut ticks = Ticks::default();
    indices.sort_by(|&a, &b| {
        ticks.add(COMPARISON);
        compare(a, b)
    });
}

/// Sorts items of any type with the machine code of [`sort_indices`]; equal ones keep their order.
pub fn sort_items<T>(items: &mut [T], compare: impl Fn(&T, &T) -> Ordering) {
    let mut order: Vec<usize> = (0..items.len()).collect();
    sort_indices(&mut order, &|a, b| compare(&items[a], &items[b]));
    // Each cycle of the permutation, from its first position on. A position that is done refers to itself.
    for start in 0..order.len() {
        let mut position = start;
        loop {
            let source = std::mem::replace(&mut order[position], position);
            if source == start {
                break;
            }
            items.swap(position, source);
            position = source;
        }
    }
}

/// With fewer numbers comparisons are faster than digits.
const FEWEST_BY_DIGITS: usize = 1 << 12;

/// Sorts numbers in ascending order. Many numbers that single precision has exactly take another 12 bytes each; among them -0
/// becomes +0.
pub fn sort_ascending(values: &mut [f64]) {
    if values.len() >= FEWEST_BY_DIGITS && sort_by_digits(values) {
        return;
    }
    let mut ticks = Ticks::default();
    values.sort_unstable_by(|a, b| {
        ticks.add(COMPARISON);
        compare(*a, *b)
    });
}

/// Sorts numbers if single precision has all of them. Returns whether it has.
fn sort_by_digits(values: &mut [f64]) -> bool {
    let is_single = |value: &f64| f64::from(*value as f32).to_bits() == value.to_bits();
    if !values.iter().all(is_single) {
        return false;
    }
    let mut singles: Vec<f32> = values.iter().map(|value| *value as f32 + 0.0).collect();
    sort_singles(&mut singles);
    values.iter_mut().zip(singles).for_each(|(value, single)| *value = f64::from(single));
    true
}

/// Total order of numbers in which -0 equals +0.
pub fn compare(a: f64, b: f64) -> Ordering {
    (a + 0.0).total_cmp(&(b + 0.0))
}

/// An integer with the order of [`compare`].
fn key(x: f64) -> i64 {
    let bits = (x + 0.0).to_bits().cast_signed();
    // As in `f64::total_cmp`.
    bits ^ (((bits >> 63).cast_unsigned()) >> 1).cast_signed()
}

/// Whether two lists are equal, number for number.
pub fn same(a: &[f64], b: &[f64]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(x, y)| compare(*x, *y).is_eq())
}

/// Ends of the longest runs of equal values.
pub fn ends_of_runs<T>(items: &[T], equal: impl Fn(&T, &T) -> bool) -> Vec<usize> {
    let mut end = 0;
    let after = |run: &[T]| {
        end += run.len();
        end
    };
    items.chunk_by(equal).map(after).collect()
}

/// Number of pairs of n items.
pub fn pairs(n: usize) -> u64 {
    let n = n as u64;
    n * n.saturating_sub(1) / 2
}

/// Number of pairs of equal items in a sorted list.
pub fn tied_pairs<T>(sorted: &[T], equal: impl Fn(&T, &T) -> bool) -> u64 {
    sorted.chunk_by(equal).map(|tied| pairs(tied.len())).sum()
}

/// Median; the mean of the two middle values when their number is even. `None` if there are no values.
pub fn median(values: &[f64]) -> Option<f64> {
    let mut values = values.to_vec();
    let (middle, even) = (values.len() / 2, values.len().is_multiple_of(2));
    if values.is_empty() {
        return None;
    }
    let (lower, &mut upper_middle, _) = values.select_nth_unstable_by(middle, |a, b| compare(*a, *b));
    if !even {
        return Some(upper_middle);
    }
    let lower_middle = lower.iter().copied().max_by(|a, b| compare(*a, *b))?;
    Some(0.5 * (lower_middle + upper_middle))
}

/// All orders of `documents` documents, for tests.
#[cfg(test)]
pub fn all_orders(documents: usize) -> Vec<Vec<usize>> {
    let Some(last) = documents.checked_sub(1) else { return vec![Vec::new()] };
    let insert = |order: &Vec<usize>, position: usize| {
        let mut longer = order.clone();
        longer.insert(position, last);
        longer
    };
    let shorter = all_orders(last);
    shorter.iter().flat_map(|order| (0..=last).map(move |position| insert(order, position))).collect()
}

// Radix sort of many numbers in single precision: a pass for each digit, without comparisons.

/// Bits of a digit.
const BITS: usize = 11;
/// Digits of a key.
const DIGITS: usize = 3;
/// Values of a digit.
const VALUES: usize = 1 << BITS;
/// Keys between two checkpoints.
const CHUNK: usize = 1 << 14;
/// With fewer numbers comparisons are faster.
const FEWEST: usize = 1 << 11;

/// Sorts numbers in the order of [`f32::total_cmp`]. Takes eight bytes for each number.
pub fn sort_singles(values: &mut [f32]) {
    if values.len() < FEWEST {
        values.sort_unstable_by(f32::total_cmp);
        return;
    }
    let mut keys: Vec<u32> = values.iter().map(|value| key_of_f32(*value)).collect();
    let mut sorted = vec![0; keys.len()];
    let counts = counts(&keys);
    for (number, counts) in counts.iter().enumerate() {
        // A digit that is equal in all keys does not change the order.
        if counts[digit(keys[0], number)] as usize == keys.len() {
            continue;
        }
        scatter(&keys, number, counts, &mut sorted);
        std::mem::swap(&mut keys, &mut sorted);
    }
    values.iter_mut().zip(&keys).for_each(|(value, key)| *value = number_of_key(*key));
}

/// An integer with the order of the number.
fn key_of_f32(value: f32) -> u32 {
    let bits = value.to_bits();
    if bits >> 31 == 1 { !bits } else { bits | 1 << 31 }
}

fn number_of_key(key: u32) -> f32 {
    f32::from_bits(if key >> 31 == 1 { key & !(1 << 31) } else { !key })
}

/// A digit, the lowest first.
fn digit(key: u32, number: usize) -> usize {
    (key >> (number * BITS)) as usize % VALUES
}

/// How many keys have each value of each digit.
fn counts(keys: &[u32]) -> Vec<[u32; VALUES]> {
    let mut counts = vec![[0; VALUES]; DIGITS];
    for keys in keys.chunks(CHUNK) {
        checkpoint();
        for key in keys {
            for number in 0..DIGITS {
                counts[number][digit(*key, number)] += 1;
            }
        }
    }
    counts
}

/// Writes the keys in the order of a digit; those with the same digit keep their order.
fn scatter(keys: &[u32], number: usize, counts: &[u32; VALUES], sorted: &mut [u32]) {
    let mut next_of = [0; VALUES];
    let mut next = 0;
    for value in 0..VALUES {
        next_of[value] = next;
        next += counts[value];
    }
    for keys in keys.chunks(CHUNK) {
        checkpoint();
        for key in keys {
            let index = &mut next_of[digit(*key, number)];
            sorted[*index as usize] = *key;
            *index += 1;
        }
    }
}

#[cfg(test)]
mod order_tests {
    use super::*;

    #[test]
    fn ties_keep_their_input_order() {
        assert_eq!(descending(&[1.0, 3.0, 1.0, 0.0, -0.0]), [1, 0, 2, 3, 4]);
    }

    #[test]
    fn descending_orders_match_a_stable_sort() {
        let mut random = crate::math::random::Random::new(9);
        let special = [f64::NAN, -f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 0.0, -0.0, 5e-324];
        for count in [0, 1, 2, 30, 400] {
            let score = |random: &mut crate::math::random::Random| match random.below(3) {
                0 => special[random.below(special.len())],
                _ => random.below(9) as f64 - 4.5,
            };
            let scores: Vec<f64> = (0..count).map(|_| score(&mut random)).collect();
            let ties: Vec<usize> = (0..count).map(|_| random.below(3)).collect();
            let mut expected: Vec<usize> = (0..count).collect();
            expected.sort_by(|a, b| compare(scores[*b], scores[*a]));
            assert_eq!(descending(&scores), expected);
            let tie = |a: usize, b: usize| ties[a].cmp(&ties[b]);
            expected.sort_by(|a, b| compare(scores[*b], scores[*a]).then(tie(*a, *b)));
            assert_eq!(descending_then(&scores, Some(&tie)), expected);
        }
    }

    #[test]
    fn items_are_sorted_like_a_stable_sort() {
        let mut random = crate::math::random::Random::new(4);
        for count in (0..40).chain([1000]) {
            let items: Vec<(usize, String)> = (0..count).map(|i| (random.below(20), i.to_string())).collect();
            for bound in [1, 7, 20] {
                let key = |item: &(usize, String)| item.0 % bound;
                let (mut found, mut expected) = (items.clone(), items.clone());
                sort_items(&mut found, |a, b| key(a).cmp(&key(b)));
                expected.sort_by_key(key);
                assert_eq!(found, expected);
            }
        }
        let mut shifted: Vec<usize> = (1..100_000).chain([0]).collect();
        sort_items(&mut shifted, usize::cmp);
        assert!(shifted.into_iter().eq(0..100_000));
    }

    #[test]
    fn numbers_of_either_precision_are_sorted() {
        for scale in [0.5, 0.1] {
            let n = 2 * FEWEST_BY_DIGITS;
            let mut values: Vec<f64> = (0..n).map(|i| ((i * 7919) % 1009) as f64 * scale - 100.0).collect();
            let mut expected = values.clone();
            expected.sort_unstable_by(f64::total_cmp);
            sort_ascending(&mut values);
            assert!(same(&values, &expected));
        }
    }

    #[test]
    fn the_median_of_an_even_number_is_the_mean_of_the_middle() {
        assert_eq!(median(&[4.0, 1.0, 3.0, 2.0]), Some(2.5));
        assert_eq!(median(&[2.0, 1.0]), Some(1.5));
        assert_eq!(median(&[3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(&[]), None);
    }
}

#[cfg(test)]
mod radix_tests {
    use super::*;
    use crate::math::Random;

    #[test]
    fn numbers_are_sorted_as_by_comparisons() {
        let mut random = Random::new(3);
        let special = [0.0, -0.0, f32::INFINITY, f32::NEG_INFINITY, f32::NAN, -f32::NAN, 1e-45, f32::MAX];
        for (count, distinct) in [(10, 5), (FEWEST, 1), (5000, 7), (40_000, 1 << 30)] {
            let value = |random: &mut Random| match random.below(50) {
                0 => special[random.below(special.len())],
                _ => random.below(distinct) as f32 * (random.symmetric() as f32).signum(),
            };
            let mut values: Vec<f32> = (0..count).map(|_| value(&mut random)).collect();
            if distinct == 1 {
                values.fill(-2.5);
            }
            let mut expected = values.clone();
            expected.sort_unstable_by(f32::total_cmp);
            sort_singles(&mut values);
            assert!(values.iter().zip(&expected).all(|(a, b)| a.to_bits() == b.to_bits()));
        }
    }
}
