//! Kendall's rank correlation tau-b of grades and scores (Kendall 1945; algorithm of Knight 1966).
//!
//! `tau_b = (C - D) / sqrt((N - T_y) (N - T_s))` with C concordant and D discordant pairs, N all pairs, `T_y` pairs
//! of equal grades and `T_s` pairs of equal scores.
//!
//! Decisions: the formula itself accounts for ties, so the option `ties` has no effect; undefined if all grades or
//! all scores are equal. Cost O(n log n).

use super::def::{MetricDef, ScoredList};
use super::options::Ties;
use super::pairs::{PairCounts, tied_pairs};
use crate::math::order::sort_ascending;

/// The declaration.
pub const KENDALL_TAU: MetricDef = MetricDef {
    summary: "rank correlation tau-b of relevance and score",
    formula: "(C - D) / sqrt((N - T_y) (N - T_s))",
    source: "Kendall 1945; Knight 1966",
    takes_cutoff: false,
    ..MetricDef::new("kendall_tau", "ltr_kendall_tau", tau_b)
};

fn tau_b(list: &ScoredList<'_>) -> Option<f64> {
    let counts = PairCounts::new(list.labels, list.scores, Ties::Expected);
    let mut grades = list.labels.to_vec();
    sort_ascending(&mut grades);
    let untied_grades = counts.all - tied_pairs(&grades);
    let untied_scores = counts.all - counts.tied_scores;
    if untied_grades == 0 || untied_scores == 0 {
        return None;
    }
    let untied_both = untied_grades - counts.undecided;
    let difference = untied_both as f64 - 2.0 * counts.wrong as f64;
    Some(difference / libm::sqrt(untied_grades as f64 * untied_scores as f64))
}

#[cfg(test)]
mod tests {
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
