//! Choosing lambda by validation: what algorithms are told, and what they report.

use std::fmt;

use serde::Serialize;
use serde_json::Value;

use crate::error::{Error, Result};
use crate::fit::HeldOut;
use crate::metric::{DEFAULT_METRIC, Metric, Undefined};
use crate::param::Params;

/// Fraction of the queries that validation holds out by default.
const HELD_OUT_QUERIES: f64 = 0.2;

/// Candidates (largest first) with the mean of the metric; `None` where it is undefined.
pub type Curve = Vec<(f64, Option<f64>)>;

/// Where lambda, or what takes its place, comes from.
#[derive(Debug, Clone, PartialEq)]
pub enum LambdaChoice {
    /// The caller.
    Fixed(f64),
    /// Validation of these candidates, largest first.
    Among(Vec<f64>),
}

impl LambdaChoice {
    /// The choice by an option: a number, several numbers, or `default` candidates.
    pub(super) fn parse(given: Option<&Value>, default: impl FnOnce() -> Vec<f64>) -> Self {
        if let Some(number) = given.and_then(Value::as_f64) {
            return Self::Fixed(number);
        }
        let Some(list) = given.and_then(Value::as_array) else { return Self::Among(default()) };
        let mut candidates: Vec<f64> = list.iter().filter_map(Value::as_f64).collect();
        candidates.sort_by(|a, b| b.total_cmp(a));
        candidates.dedup_by(|a, b| a.to_bits() == b.to_bits());
        Self::Among(candidates)
    }
}

/// Data on which candidates are validated.
#[derive(Debug, Clone, PartialEq)]
pub enum Validation {
    /// This fraction of the queries.
    Queries(f64),
    /// A fifth of the documents of every query.
    Documents,
    /// A source of the caller.
    Source(String),
}

impl Validation {
    /// What it holds out.
    pub fn held_out(&self) -> HeldOut {
        match self {
            Self::Queries(_) => HeldOut::Queries,
            Self::Documents => HeldOut::Documents,
            Self::Source(_) => HeldOut::Source,
        }
    }

    /// The source, if it is one.
    pub fn source(&self) -> Option<&str> {
        match self {
            Self::Source(source) => Some(source),
            Self::Queries(_) | Self::Documents => None,
        }
    }
}

/// How candidates are compared.
#[derive(Debug, Clone)]
pub struct ValidationSpec {
    /// What is maximized, or minimized if lower is better.
    pub metric: Metric,
    /// Value of a query for which the metric is undefined.
    pub undefined: Undefined,
    /// Data to validate on.
    pub data: Validation,
}

impl ValidationSpec {
    /// The options `metric`, `undefined` and `validation`. `default` holds if the last one is not given.
    ///
    /// # Errors
    /// An unknown metric, or more than one.
    pub(super) fn parse(params: &Params, default: HeldOut) -> Result<Self> {
        let metric = match params.get("metric") {
            None => Metric::parse(DEFAULT_METRIC),
            Some(Value::String(name)) => Metric::parse(name),
            Some(other) => {
                Err(Error::value("option 'metric'", other.to_string(), "one metric, such as \"ndcg@10\""))
            }
        }?;
        let data = match (params.number("validation"), params.text("validation")) {
            (Some(fraction), _) => Validation::Queries(fraction),
            (None, Some("documents")) => Validation::Documents,
            (None, Some(source)) => Validation::Source(source.to_owned()),
            (None, None) if default == HeldOut::Documents => Validation::Documents,
            (None, None) => Validation::Queries(HELD_OUT_QUERIES),
        };
        Ok(Self { metric, undefined: params.choice("undefined")?.unwrap_or_default(), data })
    }
}

/// What was held out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "fields are explained by the text of each variant")]
pub enum Split {
    /// There was too little data to hold anything out.
    Nothing,
    /// Queries, each in one of the folds.
    Queries { held_out: usize, all: usize, folds: usize },
    /// Queries, each in one fold of each of several partitions.
    RepeatedQueries { held_out: usize, all: usize, times: usize, folds: usize },
    /// Documents of all queries.
    Documents { held_out: usize, all: usize },
    /// The queries of a source.
    SourceQueries(usize),
    /// One fraction of the ratings of every user.
    RatingFraction,
    /// All ratings of every user, each in one of the folds.
    RatingFolds(usize),
    /// The ratings of a source.
    SourceRatings,
}

impl fmt::Display for Split {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nothing => f.write_str("nothing"),
            Self::Queries { held_out, all, folds } => {
                write!(f, "{held_out} of {all} queries, in {folds} folds")
            }
            Self::RepeatedQueries { held_out, all, times, folds } => {
                write!(f, "each of {held_out} of {all} queries {times} times, in {folds} folds")
            }
            Self::Documents { held_out, all } => write!(f, "{held_out} of {all} documents"),
            Self::SourceQueries(queries) => write!(f, "{queries} queries of the validation source"),
            Self::RatingFraction => f.write_str("a share of the ratings of every user"),
            Self::RatingFolds(folds) => write!(f, "the ratings of every user in {folds} parts"),
            Self::SourceRatings => f.write_str("a source"),
        }
    }
}

/// How lambda was chosen.
#[derive(Debug, Clone, PartialEq)]
pub struct LambdaSelection {
    /// Name of the metric.
    pub metric: String,
    /// What was held out.
    pub split: Split,
    /// The candidates.
    pub curve: Curve,
    /// Index of the chosen candidate; `None` if no value is defined.
    pub chosen: Option<usize>,
}

/// A selection in a report.
#[derive(Debug, Clone, Serialize)]
pub struct SelectionReport {
    metric: String,
    held_out: String,
    best: Option<f64>,
    /// Left out of the report of `ltr_train`; the stored report has it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub curve: Option<Curve>,
}

impl LambdaSelection {
    /// The part of the report.
    pub fn report(&self) -> SelectionReport {
        SelectionReport {
            metric: self.metric.clone(),
            held_out: self.split.to_string(),
            best: self.chosen.and_then(|chosen| self.curve[chosen].1),
            curve: Some(self.curve.clone()),
        }
    }

    /// A warning if validation could not compare candidates, so that `lambda` is a default.
    pub(super) fn warning(&self, lambda: f64) -> Option<String> {
        let Self { metric, split, chosen, .. } = self;
        match (chosen, split) {
            (Some(_), _) if self.is_always_0() => Some(format!(
                "validation ({split}) could not compare candidates: {metric} is 0 with every lambda; {lambda} is used"
            )),
            (Some(_), _) => None,
            (None, Split::Nothing) => Some(format!(
                "too few judged queries or documents to choose lambda by validation; {lambda} is used"
            )),
            (None, _) => Some(format!(
                "validation ({split}) could not compare candidates: {metric} has no value there; lambda {lambda} is \
                 used. Metrics with gains need a relevance above 0, most others one of at least 1; mre and \
                 kendall_tau need two different ones"
            )),
        }
    }

    fn is_always_0(&self) -> bool {
        self.curve.iter().all(|(_, value)| value.is_none_or(|value| value.abs() <= 0.0))
    }

    /// A warning if the metric is the same with every lambda. For lists of ratings that is no sign of success.
    pub(super) fn same_value_warning(&self) -> Option<String> {
        let first = self.curve.first()?.1?;
        let same = |(_, value): &(f64, Option<f64>)| value.is_some_and(|value| (value - first).abs() <= 0.0);
        (self.curve.len() > 1 && first.abs() > 0.0 && self.curve.iter().all(same)).then(|| {
            format!(
                "{} is {first:.4} with every lambda, so the largest one is used, which gives the smallest factors; give \
                 lambda, or validate with another metric",
                self.metric
            )
        })
    }

    /// A warning if the smallest candidate is the best.
    pub(super) fn smallest_is_best_warning(&self) -> Option<String> {
        let last = self.curve.len().checked_sub(1).filter(|last| *last > 0 && self.chosen == Some(*last))?;
        Some(format!(
            "the smallest candidate for lambda, {:.3}, is the best; give smaller ones with the option 'lambda'",
            self.curve[last].0
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_values_of_a_metric_are_rounded_and_no_metric_is_named() {
        let curve = vec![(1.0, Some(0.422_791_313)), (0.1, Some(0.422_791_313))];
        let (metric, split) = ("ndcg@10".to_owned(), Split::RatingFraction);
        let selection = LambdaSelection { metric, split, curve, chosen: Some(0) };
        assert_eq!(
            selection.same_value_warning().unwrap(),
            "ndcg@10 is 0.4228 with every lambda, so the largest one is used, which gives the smallest factors; give \
             lambda, or validate with another metric"
        );
    }
}
