//! Measures that are linear in the positions of documents, M(pi) = sum_i a_{pi(i)} b_i (Le, Smola, Chapelle, Teo,
//! equations 3 to 11).
//!
//! | measure | a_p | b_i |
//! |---|---|---|
//! | `wta` | 1 for p = 1 | 1 if relevant |
//! | `mrr` | 1 / p | 1 if relevant: right with exactly one relevant document, so others are refused |
//! | `dcg` | 1 / log2(p + 1) | 2^y - 1 |
//! | `ndcg` | 1 / log2(p + 1) | (2^y - 1) / Z, Z the largest DCG |
//! | `precision` | 1 / k for p <= k | 1 if relevant |
//! | `eru` | 2^((1 - p) / (half_life - 1)) | max(y - neutral, 0); `neru` divides by the largest sum |
//!
//! A cutoff k makes a_p = 0 for p > k; in Z too. Relevant is a grade of 1 or more. Average precision is not of this
//! form. Grades below 0 gain 0. Definition 2 allows any a and b: the options `position_weights` and `grade_weights`.

use super::{RELEVANT, check_grades, check_weights, grade_number, in_range};
use crate::base::{Error, Result};
use crate::cost::metric::{
    Gain, METRIC_ARGUMENTS, Metric, MetricOptions, gains, gains_for_ratios, logarithmic,
};
use crate::math::{descending, sort_ascending};

/// A measure that losses follow; cutoffs are numbers of positions.
#[derive(Debug, Clone, PartialEq)]
pub enum Measure {
    /// Winner takes all.
    Wta,
    /// Reciprocal rank of the relevant document.
    Mrr(Option<usize>),
    /// Discounted cumulative gain.
    Dcg(Option<usize>),
    /// DCG divided by its largest value.
    Ndcg(Option<usize>),
    /// Share of relevant documents among the first k, for this k.
    Precision(usize),
    /// Expected rank utility.
    Eru {
        /// The grade that is worth nothing.
        neutral: f64,
        /// The position that counts half. Above 1.
        half_life: f64,
        /// Whether it is divided by its largest value.
        normalized: bool,
    },
    /// Weights of the caller instead of a measure's.
    Own {
        /// The measure that sets the weights that the options omit.
        measure: Box<Measure>,
        /// a, which never rises; 0 after the last.
        positions: Option<Vec<f64>>,
        /// b of the grades 0, 1, ...
        grades: Option<Vec<f64>>,
    },
}

/// The highest grade whose gain and sums of gains are certainly finite.
const HIGHEST_GRADE: f64 = 1000.0;

/// 1 for relevant documents, 0 for others.
fn relevance(labels: &[f64]) -> Vec<f64> {
    labels.iter().map(|&y| f64::from(u8::from(y >= RELEVANT))).collect()
}

impl Measure {
    /// The measure of this name, as metrics are written; `neutral` and `half_life` are parameters of `eru` and `neru`.
    /// `None` for other metrics.
    ///
    /// # Errors
    /// An unknown name or a wrong cutoff.
    pub fn parse(text: &str, neutral: f64, half_life: f64) -> Result<Option<Self>> {
        let metric = Metric::parse(text)?;
        let options = MetricOptions { neutral, half_life, ..MetricOptions::default() };
        let MetricOptions { neutral, half_life, .. } = *metric.with_options(options)?.options();
        let own = metric.named().given().keys().all(|key| METRIC_ARGUMENTS.contains(&key.as_str()));
        Ok(match metric.def().name {
            "eru" if own => Some(Self::Eru { neutral, half_life, normalized: false }),
            "neru" if own => Some(Self::Eru { neutral, half_life, normalized: true }),
            _ => Self::of(&metric),
        })
    }

    /// The measure of a metric without parameters; `None` for others.
    pub fn of(metric: &Metric) -> Option<Self> {
        if !metric.named().given().is_empty() {
            return None;
        }
        match (metric.def().name, metric.cutoff()) {
            ("wta", _) => Some(Self::Wta),
            ("mrr", cutoff) => Some(Self::Mrr(cutoff)),
            ("dcg", cutoff) => Some(Self::Dcg(cutoff)),
            ("ndcg", cutoff) => Some(Self::Ndcg(cutoff)),
            ("precision", Some(cutoff)) => Some(Self::Precision(cutoff)),
            _ => None,
        }
    }

    /// Checks the parameters.
    ///
    /// # Errors
    /// A parameter of `eru` or `neru`, or weights, out of range.
    pub fn validate(&self) -> Result<()> {
        match self {
            Self::Eru { neutral, half_life, .. } => {
                in_range(neutral.is_finite(), "neutral_grade", neutral, "a finite number")?;
                in_range(
                    half_life.is_finite() && *half_life > 1.0,
                    "half_life",
                    half_life,
                    "a number above 1",
                )
            }
            Self::Own { measure, positions, grades } => {
                measure.validate()?;
                check_weights("position_weights", positions.as_deref(), true)?;
                check_weights("grade_weights", grades.as_deref(), false)
            }
            _ => Ok(()),
        }
    }

    /// Number of positions that count, if not all.
    pub fn cutoff(&self) -> Option<usize> {
        match self {
            Self::Mrr(cutoff) | Self::Dcg(cutoff) | Self::Ndcg(cutoff) => *cutoff,
            Self::Precision(cutoff) => Some(*cutoff),
            Self::Wta | Self::Eru { .. } => None,
            Self::Own { measure, positions, .. } => {
                positions.as_ref().map_or_else(|| measure.cutoff(), |weights| Some(weights.len()))
            }
        }
    }

    /// a of the first `positions` positions.
    pub fn position_weights(&self, positions: usize) -> Vec<f64> {
        let depth = self.cutoff().unwrap_or(usize::MAX);
        let weight = |position: usize| match self {
            _ if position >= depth => 0.0,
            Self::Wta => f64::from(u8::from(position == 0)),
            Self::Mrr(_) => 1.0 / (position + 1) as f64,
            Self::Dcg(_) | Self::Ndcg(_) => logarithmic(position),
            Self::Precision(cutoff) => 1.0 / *cutoff as f64,
            Self::Eru { half_life, .. } => libm::exp2(-(position as f64) / (half_life - 1.0)),
            Self::Own { positions, .. } => positions.as_ref().map_or(0.0, |weights| weights[position]),
        };
        match self {
            Self::Own { measure, positions: None, .. } => measure.position_weights(positions),
            _ => (0..positions).map(weight).collect(),
        }
    }

    /// Whether b is divided by its largest sum over lists.
    pub fn is_ratio(&self) -> bool {
        match self {
            Self::Ndcg(_) | Self::Eru { normalized: true, .. } => true,
            Self::Own { measure, grades: None, .. } => measure.is_ratio(),
            _ => false,
        }
    }

    /// b of documents with these labels, which have passed [`Self::check`].
    pub fn label_weights(&self, labels: &[f64]) -> Vec<f64> {
        let weights = self.worths(labels);
        if self.is_ratio() { self.normalized(weights) } else { weights }
    }

    /// b before the division by the largest sum.
    fn worths(&self, labels: &[f64]) -> Vec<f64> {
        match self {
            Self::Wta | Self::Mrr(_) | Self::Precision(_) => relevance(labels),
            Self::Dcg(_) => gains(labels, Gain::Exp2),
            Self::Ndcg(_) => gains_for_ratios(labels, Gain::Exp2),
            Self::Eru { neutral, .. } => labels.iter().map(|&y| (y - neutral).max(0.0)).collect(),
            Self::Own { measure, grades: None, .. } => measure.worths(labels),
            Self::Own { grades: Some(weights), .. } => {
                let weight =
                    |label: &f64| grade_number(*label, weights.len()).map_or(0.0, |grade| weights[grade]);
                labels.iter().map(weight).collect()
            }
        }
    }

    /// These weights divided by the largest sum that an order gives them; 0 where that is 0.
    fn normalized(&self, mut weights: Vec<f64>) -> Vec<f64> {
        let mut ideal = weights.clone();
        sort_ascending(&mut ideal);
        ideal.reverse();
        let best: f64 = self.position_weights(ideal.len()).iter().zip(&ideal).map(|(a, b)| a * b).sum();
        if best > 0.0 {
            weights.iter_mut().for_each(|weight| *weight /= best);
        }
        weights
    }

    /// a and b for documents with these labels.
    pub fn weights(&self, labels: &[f64]) -> PositionWeights {
        let mut positions = self.position_weights(labels.len());
        positions.truncate(positions.iter().rposition(|&weight| weight > 0.0).map_or(0, |last| last + 1));
        PositionWeights { positions, documents: self.label_weights(labels) }
    }

    /// Refuses the labels of a query that the measure is not for.
    ///
    /// # Errors
    /// `mrr`: other than one relevant document; `dcg`: grades whose gain is too large for a number; grades without a weight.
    pub fn check(&self, labels: &[f64]) -> Result<()> {
        if let Self::Own { measure, positions, grades } = self {
            return match grades {
                Some(weights) => {
                    let why = "the grades with a weight";
                    check_grades(labels, weights.len(), "the option 'grade_weights'", why)
                }
                // With other position weights the relevance of several documents adds up.
                None if positions.is_some() && matches!(**measure, Self::Mrr(_)) => Ok(()),
                None => measure.check(labels),
            };
        }
        if matches!(self, Self::Mrr(_)) {
            let relevant: f64 = relevance(labels).iter().sum();
            if relevant.to_bits() != 1.0f64.to_bits() {
                return Err(Error::Data(format!(
                    "the measure 'mrr' of the loss 'direct' needs queries with exactly one relevant document, found {relevant}; use 'ndcg@10' or 'precision@k'"
                )));
            }
        }
        let highest = labels.iter().copied().fold(0.0, f64::max);
        if matches!(self, Self::Dcg(_)) && highest > HIGHEST_GRADE {
            return Err(Error::Data(format!(
                "the measure 'dcg' of the loss 'direct' takes grades up to {HIGHEST_GRADE}, found {highest}; use 'ndcg'"
            )));
        }
        Ok(())
    }
}

/// A measure for the documents of one query.
#[derive(Debug, Clone, PartialEq)]
pub struct PositionWeights {
    /// a (l <= N), without zeros at its end.
    pub positions: Vec<f64>,
    /// b (N), at least 0, in the order of the documents.
    pub documents: Vec<f64>,
}

impl PositionWeights {
    /// M of the documents in this order, the first at the first position.
    pub fn of_order(&self, order: impl Iterator<Item = usize>) -> f64 {
        self.positions.iter().zip(order).map(|(a, document)| a * self.documents[document]).sum()
    }

    /// The largest M, as a does not increase with the position.
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
    use crate::cost::metric::MetricOptions;
    use crate::math::compare;

    const NAMES: &[&str] =
        &["dcg", "dcg@2", "ndcg", "ndcg@2", "ndcg@9", "precision@2", "precision@9", "wta", "eru", "neru"];

    proptest::proptest! {
        #[test]
        fn measures_are_the_metrics(rows in proptest::collection::vec((-1i8..4, -3.0f64..3.0), 1..9)) {
            let labels: Vec<f64> = rows.iter().map(|row| f64::from(row.0)).collect();
            let scores: Vec<f64> = rows.iter().map(|row| row.1).collect();
            for name in NAMES {
                let options = MetricOptions { neutral: 0.5, half_life: 3.0, ..MetricOptions::default() };
                let metric = Metric::parse(name).unwrap().with_options(options).unwrap();
                let weights = Measure::parse(name, 0.5, 3.0).unwrap().unwrap().weights(&labels);
                let expected = metric.value(&labels, &scores).unwrap_or(0.0);
                let actual = weights.of_order(descending(&scores).into_iter());
                proptest::prop_assert!((actual - expected).abs() < 1e-12, "{name}: {actual}, {expected}");
                proptest::prop_assert!(weights.smallest() <= actual + 1e-12 && actual <= weights.largest() + 1e-12);
                let mut positions = weights.positions.clone();
                positions.sort_by(|a, b| compare(*b, *a));
                proptest::prop_assert_eq!(&positions, &weights.positions);
            }
        }
    }
}
