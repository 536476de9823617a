//! Normalized discounted cumulative gain (Jarvelin and Kekalainen 2002).
//!
//! `NDCG@k = DCG@k / (DCG@k of the same documents by decreasing grade)`.
//!
//! Decisions: undefined if no document has a gain above 0, that is, if the ideal is 0; gains are scaled by the
//! list's maximum, so grades in the thousands give finite values. Ties: exact, since the ideal does not depend on
//! them. Cost O(n log n).

use super::def::{MetricDef, ScoredList};
use super::discount::{discounted_sum, gains_for_ratios, logarithmic};
use super::ranked::Ranked;

/// The declaration.
pub const NDCG: MetricDef = MetricDef {
    summary: "normalized discounted cumulative gain",
    formula: "DCG@k / max over orders of DCG@k",
    source: "Jarvelin and Kekalainen 2002; Burges et al. 2005",
    ..MetricDef::new("ndcg", "ltr_ndcg", ndcg)
};

fn ndcg(list: &ScoredList<'_>) -> Option<f64> {
    let gains = gains_for_ratios(list.labels, list.options.gain);
    let ideal = discounted_sum(&Ranked::ideal(list.labels), &gains, list.cutoff, logarithmic);
    if ideal <= 0.0 {
        return None;
    }
    let ranked = Ranked::new(list.labels, list.scores, list.options.ties);
    // Sums of equal gains in another order may differ in the last digit.
    Some((discounted_sum(&ranked, &gains, list.cutoff, logarithmic) / ideal).min(1.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cost::metric::MetricOptions;
    use crate::cost::metric::options::Gain;

    fn value(relevance: &[f64], scores: &[f64], options: &MetricOptions) -> Option<f64> {
        ndcg(&ScoredList { labels: relevance, scores, cutoff: None, options })
    }

    #[test]
    fn grades_in_the_thousands_give_finite_values() {
        let options = MetricOptions::default();
        let best = value(&[2000.0, 1999.0, 0.0], &[3.0, 2.0, 1.0], &options).unwrap();
        assert!((best - 1.0).abs() < 1e-15);
        let last = value(&[5000.0, 0.0, 0.0], &[1.0, 2.0, 3.0], &options).unwrap();
        assert!((last - 0.5).abs() < 1e-15);
    }

    #[test]
    fn the_scale_of_linear_gains_cancels() {
        let options = MetricOptions { gain: Gain::Linear, ..MetricOptions::default() };
        let small = value(&[1.0, 3.0, 2.0], &[3.0, 2.0, 1.0], &options).unwrap();
        let large = value(&[1e300, 3e300, 2e300], &[3.0, 2.0, 1.0], &options).unwrap();
        assert!((small - large).abs() < 1e-15);
    }

    #[test]
    fn a_tiny_gain_defines_it_and_none_does_not() {
        let options = MetricOptions::default();
        assert!((value(&[0.25, 0.0], &[1.0, 0.0], &options).unwrap() - 1.0).abs() < 1e-15);
        assert_eq!(value(&[0.0, -2.0], &[1.0, 0.0], &options), None);
        assert_eq!(value(&[], &[], &options), None);
    }
}
