//! The pairwise metrics: `kendall_tau`, `mre` and `mre_pooled`, which count pairs of documents in O(n log n), and
//! `pair_loss`.

use super::options::Ties;
use super::ranked::Ranked;
use super::{Better, MetricDef, ScoredList};
use crate::base::Ticks;
use crate::math::{COMPARISON, compare, pairs, sort_ascending, tied_pairs};

/// Number of pairs of equal grades in a sorted list.
fn tied(sorted: &[f64]) -> u64 {
    tied_pairs(sorted, |a, b| compare(*a, *b).is_eq())
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
        let tied_both: u64 = ranked.groups().map(|group| tied(&grades[group])).sum();
        Self {
            wrong: rising_pairs(&grades),
            undecided: tied_scores - tied_both,
            tied_scores,
            all: pairs(ranked.len()),
        }
    }
}

// Kendall's rank correlation tau-b of grades and scores (Kendall 1945; algorithm of Knight 1966).
//
// `tau_b = (C - D) / sqrt((N - T_y) (N - T_s))` with C concordant and D discordant pairs, N all pairs, `T_y` pairs
// of equal grades and `T_s` pairs of equal scores.
//
// Decisions: the formula itself accounts for ties, so the option `ties` has no effect; undefined if all grades or
// all scores are equal. Cost O(n log n).

pub const KENDALL_TAU: MetricDef = MetricDef {
    summary: "rank correlation tau-b of relevance and score",
    formula: "(C - D) / sqrt((N - T_y) (N - T_s))",
    source: "Kendall 1945; Knight 1966",
    takes_cutoff: false,
    ..MetricDef::new("kendall_tau", tau_b)
};

fn tau_b(list: &ScoredList<'_>) -> Option<f64> {
    let counts = PairCounts::new(list.labels, list.scores, Ties::Expected);
    let mut grades = list.labels.to_vec();
    sort_ascending(&mut grades);
    let untied_grades = counts.all - tied(&grades);
    let untied_scores = counts.all - counts.tied_scores;
    if untied_grades == 0 || untied_scores == 0 {
        return None;
    }
    let untied_both = untied_grades - counts.undecided;
    let difference = untied_both as f64 - 2.0 * counts.wrong as f64;
    Some(difference / libm::sqrt(untied_grades as f64 * untied_scores as f64))
}

// Mis-ranking error (Dai and Wang 2019).
//
// `MRE = 2 / (n (n-1)) * #{i < j : y_(i) < y_(j)}`, where (i) is the document at position i: the fraction of all pairs
// in the wrong order. Pairs of equal grades count in the divisor and are never wrong.
//
// `mre_pooled` is the same per query; its mean weighs a query with its number of pairs, which is the error over
// the pairs of all queries that the tables of the paper show.
//
// Decisions: undefined with fewer than two documents. Ties: a pair of equal scores and different grades counts one
// half, which is the exact expectation; under `worst` it counts 1, under `best` 0. Cost O(n log n).

pub const MRE: MetricDef = MetricDef {
    parameters: &["ties"],
    summary: "mis-ranking error: share of all pairs in the wrong order",
    formula: "2 / (n (n - 1)) * #{i < j : y_i < y_j}",
    source: "Dai and Wang 2019",
    takes_cutoff: false,
    better: Better::Lower,
    ..MetricDef::new("mre", mis_ranking_error)
};

pub const MRE_POOLED: MetricDef = MetricDef {
    parameters: &["ties"],
    summary: "mis-ranking error over the pairs of all queries",
    formula: "mean of mre, query weights n (n - 1) / 2",
    source: "Dai and Wang 2019",
    takes_cutoff: false,
    better: Better::Lower,
    weight: Some(pair_weight),
    ..MetricDef::new("mre_pooled", mis_ranking_error)
};

fn mis_ranking_error(list: &ScoredList<'_>) -> Option<f64> {
    let counts = PairCounts::new(list.labels, list.scores, list.options.ties);
    let wrong = counts.wrong as f64 + 0.5 * counts.undecided as f64;
    (counts.all > 0).then(|| wrong / counts.all as f64)
}

// Least squares on pairs (Xu, Fang & Wang 2014, equation 1): a pair loss whose mean is the paper's error.
//
// `2 / (n (n - 1)) sum_{i < j} (y_i - y_j - (s_i - s_j))^2 = 2 / (n - 1) sum_i (d_i - mean d)^2`, `d = y - s`.
//
// Decisions: undefined with fewer than two documents. It depends on the scores themselves, not on their order, so
// the option `ties` has no effect. Cost O(n log n): the sum is over sorted terms, the same for every order of the input.

pub const PAIR_LOSS: MetricDef = MetricDef {
    summary: "squared error of the differences of scores, as estimates of the differences of grades",
    formula: "2 / (n (n - 1)) * sum_{i<j} (y_i - y_j - (s_i - s_j))^2",
    source: "Xu, Fang, Wang 2014",
    takes_cutoff: false,
    better: Better::Lower,
    ..MetricDef::new("pair_loss", pair_loss)
};

fn pair_loss(list: &ScoredList<'_>) -> Option<f64> {
    let retrieved = list.labels.iter().zip(list.scores).filter(|(_, s)| **s > f64::NEG_INFINITY);
    let mut errors: Vec<f64> = retrieved.map(|(y, s)| y - s).collect();
    let terms = errors.len().checked_sub(1).filter(|terms| *terms > 0)? as f64;
    sort_ascending(&mut errors);
    let mean = errors.iter().sum::<f64>() / errors.len() as f64;
    Some(2.0 * errors.iter().map(|error| (error - mean) * (error - mean)).sum::<f64>() / terms)
}

/// Number of pairs of a query.
fn pair_weight(relevance: &[f64]) -> f64 {
    pairs(relevance.len()) as f64
}

#[cfg(test)]
mod pairs_tests {
    use super::*;

    #[test]
    fn rising_pairs_match_the_double_loop() {
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
        assert_eq!(tied(&[3.0, 3.0, 3.0, 1.0, 0.0, -0.0]), 4);
        assert_eq!(tied(&[]), 0);
    }
}

#[cfg(test)]
mod pair_loss_tests {
    use super::*;
    use crate::cost::metric::MetricOptions;

    #[test]
    fn it_is_the_mean_over_pairs() {
        let options = MetricOptions::default();
        let (labels, scores) = ([2.0, 0.0, 1.0, 2.0, -1.0], [0.3, 0.1, 7.0, 0.3, -0.2]);
        let value = |n: usize| {
            pair_loss(&ScoredList {
                labels: &labels[..n],
                scores: &scores[..n],
                cutoff: None,
                options: &options,
            })
        };
        for n in 2..=5 {
            let error = |i: usize, j: usize| labels[i] - labels[j] - (scores[i] - scores[j]);
            let pairs = (0..n).flat_map(|i| (0..n).map(move |j| (i, j))).filter(|(i, j)| i != j);
            let mean = pairs.map(|(i, j)| error(i, j) * error(i, j)).sum::<f64>() / (n * (n - 1)) as f64;
            assert!((value(n).unwrap() - mean).abs() < 1e-13 * mean, "{n}");
        }
        assert_eq!([value(0), value(1)], [None, None]);
    }
}

#[cfg(test)]
mod kendall_tau_tests {
    use super::*;
    use crate::cost::metric::MetricOptions;

    fn value(labels: &[f64], scores: &[f64], options: &MetricOptions) -> Option<f64> {
        tau_b(&ScoredList { labels, scores, cutoff: None, options })
    }

    #[test]
    fn it_is_the_sum_over_pairs() {
        let grades = [2.0, 0.0, 1.0, 2.0, 1.0, 0.0];
        let scores = [0.3, 0.1, 0.3, 0.2, 0.5, 0.2];
        let sign = |x: f64| if x.abs() < 1e-300 { 0.0 } else { x.signum() };
        let (mut both, mut of_grades, mut of_scores) = (0.0, 0.0, 0.0);
        for i in 0..6 {
            for j in 0..i {
                let (y, s) = (sign(grades[i] - grades[j]), sign(scores[i] - scores[j]));
                both += y * s;
                of_grades += y * y;
                of_scores += s * s;
            }
        }
        let found = value(&grades, &scores, &MetricOptions::default()).unwrap();
        assert!((found - both / libm::sqrt(of_grades * of_scores)).abs() < 1e-15);
    }

    #[test]
    fn it_is_undefined_where_nothing_is_ordered() {
        let options = MetricOptions::default();
        assert_eq!(value(&[1.0, 1.0], &[1.0, 2.0], &options), None);
        assert_eq!(value(&[1.0, 2.0], &[1.0, 1.0], &options), None);
        assert_eq!(value(&[1.0], &[1.0], &options), None);
        assert_eq!(value(&[], &[], &options), None);
    }
}
