//! Measures that are linear in the places of documents (Le, Smola, Chapelle & Teo, section 2.3).
//!
//! ```text
//! M = sum_p a_p b_(document at place p)
//!
//! measure        a_p                          b_i
//! dcg, dcg@k     D(p) = 1 / log2(1 + p)       G(y_i) = 2^y_i - 1
//! ndcg, ndcg@k   D(p)                         G(y_i) / Z, Z the largest DCG, of the first k where cut; 0 where Z = 0
//! precision@k    1 / k                        1 if y_i >= 1, else 0
//! wta            1 at p = 1                   1 if y_i >= 1, else 0
//!
//! a_p = 0 for p > k. Grades below 0 gain 0.
//! ```

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::loss::Given;
use crate::math::order::descending;
use crate::metric::{Gain, Metric, gains, gains_for_ratios, logarithmic};

/// Lowest grade that is relevant where a measure asks only that.
pub(super) const RELEVANT: f64 = 1.0;

/// A measure that is linear in the places; numbers are cutoffs k >= 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum LinearMeasure {
    /// Discounted cumulative gain.
    Dcg(Option<usize>),
    /// The same as a share of its largest value.
    Ndcg(Option<usize>),
    /// Share of relevant documents.
    Precision(usize),
    /// Whether the first document is relevant.
    Wta,
}

/// A measure for the documents of one query.
#[derive(Debug, Clone, PartialEq)]
pub struct PlaceWeights {
    /// a (l <= N), without zeros at its end.
    pub places: Vec<f64>,
    /// b (N), at least 0, in the order of the documents.
    pub documents: Vec<f64>,
}

/// The metric that the option `measure` names, or else this one.
///
/// # Errors
/// No metric of this name.
pub(super) fn measure(given: Given<'_>, own: &str) -> Result<Metric> {
    Metric::parse(given.text("measure").unwrap_or(own))
}

/// What is wrong with a measure that a loss does not know.
pub(super) fn unknown_measure(metric: &Metric, loss: &str, allowed: &str) -> Error {
    let allowed = format!("{allowed} with the loss '{loss}'");
    Error::value("option 'measure'", format!("'{}'", metric.name()), allowed)
}

/// Refuses grades whose gain 2^y - 1 is no finite number.
pub(super) fn check_gains(labels: &[f64], loss: &str) -> Result<()> {
    match labels.iter().find(|label| !libm::exp2(**label).is_finite()) {
        None => Ok(()),
        Some(label) => {
            let what = format!("grade of a document with the loss '{loss}'");
            Err(Error::value(what, label.to_string(), "a number below 1024, whose gain 2^y - 1 is finite"))
        }
    }
}

/// The largest DCG of the first `cutoff` places, of gains in decreasing order.
pub(super) fn largest_dcg(gains: impl Iterator<Item = f64>, cutoff: Option<usize>) -> f64 {
    let visible = gains.take(cutoff.unwrap_or(usize::MAX));
    visible.enumerate().map(|(place, gain)| gain * logarithmic(place)).sum()
}

impl LinearMeasure {
    /// True where the cutoff is in its range.
    pub(super) fn is_sound(self) -> bool {
        !matches!(self, Self::Dcg(Some(0)) | Self::Ndcg(Some(0)) | Self::Precision(0))
    }

    /// The measure of this name, for an option of the loss `loss`.
    ///
    /// # Errors
    /// A metric that is not linear in the places.
    pub(super) fn of(metric: &Metric, loss: &str) -> Result<Self> {
        match (metric.def().name, metric.cutoff()) {
            ("dcg", cutoff) => Ok(Self::Dcg(cutoff)),
            ("ndcg", cutoff) => Ok(Self::Ndcg(cutoff)),
            ("precision", Some(k)) => Ok(Self::Precision(k)),
            ("wta", None) => Ok(Self::Wta),
            _ => Err(unknown_measure(metric, loss, "ndcg, ndcg@k, dcg, dcg@k, precision@k or wta")),
        }
    }

    /// a and b for documents with these labels.
    pub fn weights(self, labels: &[f64]) -> PlaceWeights {
        let discounts = |cutoff: Option<usize>| {
            (0..labels.len().min(cutoff.unwrap_or(usize::MAX))).map(logarithmic).collect()
        };
        let relevant = || labels.iter().map(|y| f64::from(*y >= RELEVANT)).collect();
        let (places, documents) = match self {
            Self::Dcg(cutoff) => (discounts(cutoff), gains(labels, Gain::Exp2)),
            Self::Ndcg(cutoff) => (discounts(cutoff), shares(labels, cutoff)),
            Self::Precision(k) => (vec![1.0 / k as f64; labels.len().min(k)], relevant()),
            Self::Wta => (vec![1.0; labels.len().min(1)], relevant()),
        };
        PlaceWeights { places, documents }
    }
}

/// G(y_i) / Z.
fn shares(labels: &[f64], cutoff: Option<usize>) -> Vec<f64> {
    let mut gains = gains_for_ratios(labels, Gain::Exp2);
    let largest = largest_dcg(descending(labels).into_iter().map(|document| gains[document]), cutoff);
    let scale = if largest > 0.0 { 1.0 / largest } else { 0.0 };
    gains.iter_mut().for_each(|gain| *gain *= scale);
    gains
}

impl PlaceWeights {
    /// M of the documents in this order, the first at the first place.
    pub fn of_order(&self, order: impl Iterator<Item = usize>) -> f64 {
        self.places.iter().zip(order).map(|(a, document)| a * self.documents[document]).sum()
    }

    /// The largest M, as a does not increase with the place.
    pub fn largest(&self) -> f64 {
        self.of_order(descending(&self.documents).into_iter())
    }

    /// The smallest M.
    pub fn smallest(&self) -> f64 {
        self.of_order(descending(&self.documents).into_iter().rev())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::order::compare;

    const NAMES: &[&str] = &["dcg", "dcg@2", "ndcg", "ndcg@2", "ndcg@9", "precision@2", "precision@9", "wta"];

    proptest::proptest! {
        #[test]
        fn measures_are_the_metrics(rows in proptest::collection::vec((-1i8..4, -3.0f64..3.0), 1..9)) {
            let labels: Vec<f64> = rows.iter().map(|row| f64::from(row.0)).collect();
            let scores: Vec<f64> = rows.iter().map(|row| row.1).collect();
            for name in NAMES {
                let metric = Metric::parse(name).unwrap();
                let weights = LinearMeasure::of(&metric, "direct").unwrap().weights(&labels);
                let expected = metric.value(&labels, &scores).unwrap_or(0.0);
                let found = weights.of_order(descending(&scores).into_iter());
                proptest::prop_assert!((found - expected).abs() < 1e-12, "{name}: {found}, {expected}");
                proptest::prop_assert!(weights.smallest() <= found + 1e-12 && found <= weights.largest() + 1e-12);
                let mut places = weights.places.clone();
                places.sort_by(|a, b| compare(*b, *a));
                proptest::prop_assert_eq!(&places, &weights.places);
            }
        }
    }

    #[test]
    fn other_metrics_are_refused() {
        for name in ["map", "mrr", "precision", "err"] {
            let error = LinearMeasure::of(&Metric::parse(name).unwrap(), "direct").unwrap_err().to_string();
            let allowed = "ndcg, ndcg@k, dcg, dcg@k, precision@k or wta with the loss 'direct'";
            assert_eq!(error, format!("option 'measure': got '{name}', allowed is {allowed}"));
        }
    }

    #[test]
    fn grades_without_a_finite_gain_are_refused() {
        assert!(check_gains(&[0.0, 1023.5], "direct").is_ok());
        let error = check_gains(&[0.0, 1024.0], "direct").unwrap_err().to_string();
        assert!(error.starts_with("grade of a document with the loss 'direct': got 1024"), "{error}");
    }
}
