//! Counting pairs of documents in O(n log n): the tool of the pairwise metrics.

use super::options::Ties;
use super::ranked::{Ranked, ends_of_runs};
use crate::base::control::Ticks;
use crate::math::order::{COMPARISON, compare};

/// Number of pairs among n documents.
pub(super) fn pairs(n: usize) -> u64 {
    let n = n as u64;
    n * n.saturating_sub(1) / 2
}

/// Number of pairs of equal neighbors in runs: of equal items, if the items are sorted.
pub(super) fn tied_pairs(sorted: &[f64]) -> u64 {
    let ends = ends_of_runs(sorted, |a, b| compare(a, b).is_eq());
    let starts = std::iter::once(0).chain(ends.iter().copied());
    starts.zip(&ends).map(|(start, &end)| pairs(end - start)).sum()
}

/// Number of pairs i < j with `values[i] < values[j]`, by merge sort.
pub(super) fn rising_pairs(values: &[f64]) -> u64 {
    let n = values.len();
    let mut runs = values.to_vec();
    let mut merged = runs.clone();
    let mut count = 0;
    let mut ticks = Ticks::default();
    let mut width = 1;
    while width < n {
        for start in (0..n).step_by(2 * width) {
            let middle = n.min(start + width);
            let end = n.min(start + 2 * width);
            ticks.add(COMPARISON * (end - start));
            count += merge(&runs[start..middle], &runs[middle..end], &mut merged[start..end]);
        }
        std::mem::swap(&mut runs, &mut merged);
        width *= 2;
    }
    count
}

/// Merges two decreasing runs into one; returns the number of pairs in which the right value is the larger one.
fn merge(left: &[f64], right: &[f64], merged: &mut [f64]) -> u64 {
    let mut count = 0;
    let (mut i, mut j) = (0, 0);
    for position in merged {
        let from_right = i == left.len() || (j < right.len() && compare(right[j], left[i]).is_gt());
        if from_right {
            count += (left.len() - i) as u64;
            *position = right[j];
            j += 1;
        } else {
            *position = left[i];
            i += 1;
        }
    }
    count
}

/// The pairs of one query by how grades and scores agree.
pub(super) struct PairCounts {
    /// Pairs that the scores order against the grades; under `Ties::Input` and `Ties::Worst` tied scores may add to
    /// them.
    pub(super) wrong: u64,
    /// Pairs of equal scores and different grades, where their order is not determined.
    pub(super) undecided: u64,
    /// Pairs of equal scores, whatever their grades, where their order is not determined.
    pub(super) tied_scores: u64,
    /// All pairs.
    pub(super) all: u64,
}

impl PairCounts {
    /// Counts the pairs under a tie rule; only `Ties::Expected` leaves pairs undecided.
    pub(super) fn new(relevance: &[f64], scores: &[f64], ties: Ties) -> Self {
        let ranked = Ranked::new(relevance, scores, ties);
        let grades: Vec<f64> = ranked.order().iter().map(|&document| relevance[document]).collect();
        let tied_scores = ranked.groups().map(|group| pairs(group.len())).sum();
        let tied_both: u64 = ranked.groups().map(|group| tied_pairs(&grades[group])).sum();
        Self {
            wrong: rising_pairs(&grades),
            undecided: tied_scores - tied_both,
            tied_scores,
            all: pairs(ranked.len()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rising_pairs_are_those_of_the_double_loop() {
        let mut state = 1_u64;
        for n in 0..40 {
            let mut next = || {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                (state >> 61) as f64
            };
            let values: Vec<f64> = (0..n).map(|_| next()).collect();
            let slow = (0..n).flat_map(|j| (0..j).map(move |i| (i, j)));
            let slow = slow.filter(|&(i, j)| values[i] < values[j]).count() as u64;
            assert_eq!(rising_pairs(&values), slow);
        }
    }

    #[test]
    fn pairs_of_short_lists() {
        assert_eq!([0, 1, 2, 5].map(pairs), [0, 0, 1, 10]);
        assert_eq!(tied_pairs(&[3.0, 3.0, 3.0, 1.0, 0.0, -0.0]), 4);
        assert_eq!(tied_pairs(&[]), 0);
    }
}
