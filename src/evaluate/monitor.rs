//! Comparison of later data with the training data of a model.
//!
//! | kind | value | warning above | alert above |
//! |---|---|---|---|
//! | `drift`, `grades` | population stability index (PSI) | .1 | .25 |
//! | `outside` | share of values outside of the training range | .01 | .05 |
//! | `missing` | share of missing values | share in training + .05 | + .2 |
//! | `new_users`, `new_items` | share of rows | .1 | .25 |
//! | `metric` | value | 2 standard errors worse than in validation | 3 |
//!
//! Few rows give large values by chance. So the limits of the first three are at least the value that data without a change
//! exceed with a probability of about .001.
//!
//! PSI = sum over bins of (p - q) log(p / q), p and q the shares of later and of training values. Half a value is added to
//! each bin, so that no share is 0. The .1 and .25 are the usual conventions (Siddiqi 2006, Credit Risk Scorecards). Without
//! a change, PSI is distributed as (1 / n + 1 / m) times a chi-square with one degree of freedom less than bins, for n and m
//! values (Yurdakul 2018).

use crate::data::{Observed, Profile};
use crate::metric::Better;
use crate::param::named;

/// The standard normal quantile of .999.
const RARE: f64 = 3.09;

/// What a finding calls for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Status {
    /// Nothing.
    Ok,
    /// A look.
    Warning,
    /// An action.
    Alert,
}

named!(Status { Ok = "ok", Warning = "warning", Alert = "alert" });

/// One comparison.
#[derive(Debug, Clone, PartialEq)]
pub struct Finding {
    /// What is compared.
    pub kind: &'static str,
    /// The feature, column or metric.
    pub name: Option<String>,
    /// The value in the later data.
    pub value: Option<f64>,
    /// The value in the training.
    pub reference: Option<f64>,
    /// The value from which the status is a warning at least.
    pub threshold: Option<f64>,
    /// What it calls for.
    pub status: Status,
}

/// Limits of a warning and of an alert.
type Limits = (f64, f64);

impl Finding {
    /// A fact without a limit.
    pub fn fact(
        kind: &'static str,
        name: Option<String>,
        value: Option<f64>,
        reference: Option<f64>,
    ) -> Self {
        Self { kind, name, value, reference, threshold: None, status: Status::Ok }
    }

    /// A column that only one of the two has.
    pub fn column(kind: &'static str, name: String, status: Status) -> Self {
        Self { status, ..Self::fact(kind, Some(name), None, None) }
    }

    /// A value that should be small.
    pub fn share(
        kind: &'static str,
        name: Option<String>,
        value: f64,
        reference: f64,
        limits: Limits,
    ) -> Self {
        let (warning, alert) = limits;
        let status = match value {
            value if value > alert => Status::Alert,
            value if value > warning => Status::Warning,
            _ => Status::Ok,
        };
        Self { threshold: Some(warning), status, ..Self::fact(kind, name, Some(value), Some(reference)) }
    }

    /// The mean of a metric over these values of queries.
    pub fn metric(name: String, values: &[f64], mean: f64, reference: Option<f64>, better: Better) -> Self {
        let fact = Self::fact("metric", Some(name), Some(mean), reference);
        let n = values.len() as f64;
        let Some(reference) = reference.filter(|_| n > 1.0) else { return fact };
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        let error = (squares / (n - 1.0) / n).sqrt();
        let worse = |errors: f64| reference - better.sign() * errors * error;
        let is_worse = |errors: f64| better.sign() * (mean - worse(errors)) < 0.0;
        let status = match () {
            () if is_worse(3.0) => Status::Alert,
            () if is_worse(2.0) => Status::Warning,
            () => Status::Ok,
        };
        Self { threshold: Some(worse(2.0)), status, ..fact }
    }
}

/// Drift, values outside of the range, and missing values of one feature. `may_miss`: whether the model ranks documents
/// without the feature.
pub fn feature_findings(name: &str, training: &Profile, later: &Observed, may_miss: bool) -> Vec<Finding> {
    let name = || Some(name.to_owned());
    let mut findings = Vec::with_capacity(3);
    if training.count() > 0 && later.count() > 0 {
        findings.push(drift("drift", name(), training, later));
        let limits = outside_limits(later.count() as f64, training.count() as f64);
        findings.push(Finding::share("outside", name(), later.outside_share(), 0.0, limits));
    }
    let (share, reference) = (later.missing_share(), training.missing_share());
    let (n, m) = (later.count() + later.missing, training.count() + training.missing);
    let limits = if may_miss { missing_limits(reference, n as f64, m as f64) } else { (0.0, 0.0) };
    findings.push(Finding::share("missing", name(), share, reference, limits));
    findings
}

/// The population stability index of two series that have values.
pub fn drift(kind: &'static str, name: Option<String>, training: &Profile, later: &Observed) -> Finding {
    let (n, m) = (later.count() as f64, training.count() as f64);
    let bins = training.counts.len() as f64;
    let share = |count: u64, all: f64| (count as f64 + 0.5) / (all + 0.5 * bins);
    let of_bin = |(later, training): (&u64, &u64)| {
        let (p, q) = (share(*later, n), share(*training, m));
        (p - q) * libm::log(p / q)
    };
    let psi: f64 = later.counts.iter().zip(&training.counts).map(of_bin).sum();
    let chance = chi_square(bins - 1.0) * (1.0 / n + 1.0 / m);
    Finding::share(kind, name, psi, 0.0, (chance.max(0.1), chance.max(0.25)))
}

/// The .999 quantile of a chi-square with these degrees of freedom, by the approximation of Wilson and Hilferty (1931).
fn chi_square(freedom: f64) -> f64 {
    if freedom < 1.0 {
        return 0.0;
    }
    let variance = 2.0 / (9.0 * freedom);
    freedom * (1.0 - variance + RARE * variance.sqrt()).powi(3)
}

/// Of n values beside m of the same distribution, 2 n / (m + 1) are outside of the range of the m, on average.
fn outside_limits(n: f64, m: f64) -> Limits {
    let mean = 2.0 * n / (m + 1.0);
    let chance = (mean + RARE * mean.sqrt() + 1.0) / n;
    (chance.max(0.01), chance.max(0.05))
}

fn missing_limits(reference: f64, n: f64, m: f64) -> Limits {
    let chance = RARE * (reference * (1.0 - reference) * (1.0 / n + 1.0 / m)).sqrt() + 1.0 / n;
    (reference + chance.max(0.05), reference + chance.max(0.2))
}
