//! Sorting with documented tie rules.

use std::cmp::Ordering;

use super::radix_sort::sort_singles;
use crate::base::Ticks;

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

#[cfg(test)]
mod tests {
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
