//! What validation compares, and on which data.

use serde_json::{Map, Value};

use crate::base::{Error, Params, Result};
use crate::cost::metric::{DEFAULT_METRIC, METRIC_ARGUMENTS, Metric, MetricOptions, Undefined};
use crate::learn::fit::HeldOut;
use crate::math::sort_ascending;

/// Fraction of the queries that validation holds out by default, as in the table of options.
const HELD_OUT_QUERIES: f64 = 0.2;

/// The source of lambda, or of the parameter that replaces it.
#[derive(Debug, Clone, PartialEq)]
pub enum TunedValue {
    /// The caller.
    Fixed(f64),
    /// The rate of theorem 1 of Dai & Wang (2019) for the training queries and their features.
    Rate,
    /// Validation of these candidates, largest first.
    Among(Vec<f64>),
    /// Validation over these fractions, largest first, of the data's lambda at which all weights are 0.
    Fractions(Vec<f64>),
}

impl TunedValue {
    /// Whether validation chooses.
    pub fn is_validated(&self) -> bool {
        matches!(self, Self::Among(_) | Self::Fractions(_))
    }

    /// The same choice with a larger candidate, which a given number is compared with.
    #[must_use]
    pub fn with_largest(self, largest: f64) -> Self {
        let mut candidates = match self {
            Self::Fixed(given) if given < largest => vec![given],
            Self::Among(candidates) => candidates,
            other => return other,
        };
        candidates.retain(|candidate| *candidate < largest);
        candidates.insert(0, largest);
        Self::Among(candidates)
    }

    /// The choice by an option: a number, "rate", several numbers, or `default` candidates.
    pub fn parse(given: Option<&Value>, default: impl FnOnce() -> Vec<f64>) -> Self {
        if let Some(number) = given.and_then(Value::as_f64) {
            return Self::Fixed(number);
        }
        if given.and_then(Value::as_str) == Some("rate") {
            return Self::Rate;
        }
        let Some(list) = given.and_then(Value::as_array) else { return Self::Among(default()) };
        let mut candidates: Vec<f64> = list.iter().filter_map(Value::as_f64).collect();
        sort_ascending(&mut candidates);
        candidates.reverse();
        candidates.dedup_by(|a, b| a.to_bits() == b.to_bits());
        Self::Among(candidates)
    }
}

/// Data on which candidates are validated.
#[derive(Debug, Clone, PartialEq)]
pub enum Validation {
    /// This fraction of the queries.
    Queries(f64),
    /// A fifth of each query's documents.
    Documents,
    /// A source of the caller.
    Source(String),
}

impl Validation {
    /// The kind of held-out data.
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
    /// The metric to maximize, or to minimize if lower is better.
    pub metric: Metric,
    /// Value of a query for which the metric is undefined.
    pub undefined: Undefined,
    /// The parameters of the metric and `undefined`, as the caller gave them.
    pub given: Map<String, Value>,
    /// Data to validate on.
    pub data: Validation,
    /// Number of folds of the queries, if the caller gives one.
    pub folds: Option<usize>,
}

impl ValidationSpec {
    /// The options `metric`, `undefined` and `validation`. `default` holds if the last one is not given.
    ///
    /// # Errors
    /// An unknown metric, or more than one.
    pub fn parse(params: &Params, default: HeldOut) -> Result<Self> {
        let metric = metric(params)?;
        check_parameters(params, &metric)?;
        let data = match (params.number("validation"), params.text("validation")) {
            (Some(fraction), _) => Validation::Queries(fraction),
            (None, Some("documents")) => Validation::Documents,
            (None, Some(source)) => Validation::Source(source.to_owned()),
            (None, None) if default == HeldOut::Documents => Validation::Documents,
            (None, None) => Validation::Queries(HELD_OUT_QUERIES),
        };
        let keys = METRIC_ARGUMENTS.iter().chain(&["undefined"]);
        let given = keys.filter_map(|key| Some(((*key).to_owned(), params.get(key)?.clone()))).collect();
        let (undefined, folds) =
            (params.choice("undefined")?.unwrap_or(Undefined::Skip), params.count("folds"));
        Ok(Self { metric, undefined, given, data, folds })
    }
}

/// The metric of the option `metric`, with its parameters.
///
/// # Errors
/// An unknown metric, or more than one.
pub fn metric(params: &Params) -> Result<Metric> {
    let metric = match params.get("metric") {
        None => Metric::parse(DEFAULT_METRIC),
        Some(Value::String(name)) => Metric::parse(name),
        Some(other) => {
            Err(Error::value("option 'metric'", other.to_string(), "one metric, such as \"ndcg@10\""))
        }
    }?;
    metric.with_options(MetricOptions::default().with(&params.clone().only(METRIC_ARGUMENTS))?)
}

/// Refuses parameters of metrics that are neither the option `metric` nor the option `measure`.
fn check_parameters(params: &Params, metric: &Metric) -> Result<()> {
    let measure = params.text("measure").and_then(|name| Metric::parse(name).ok());
    let read = |key: &str| {
        [Some(metric), measure.as_ref()]
            .into_iter()
            .flatten()
            .any(|metric| metric.def().parameters.contains(&key))
    };
    match METRIC_ARGUMENTS.iter().find(|key| params.has(key) && !read(key)) {
        Some(key) => Err(Error::Unsupported(format!(
            "option '{key}': it has no meaning unless the option measure or metric is eru or neru"
        ))),
        None => Ok(()),
    }
}
