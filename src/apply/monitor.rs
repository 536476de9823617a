//! Comparison of later data with the training data of a model.
//!
//! | kind | value | warning above | alert above |
//! |---|---|---|---|
//! | `drift`, `grades` | population stability index (PSI) | .1 | .25 |
//! | `outside` | fraction of values outside the training range | .01 | .05 |
//! | `missing` | fraction of missing values | fraction in training + .05 | + .2 |
//! | `new_users`, `new_items` | fraction of rows | .1 | .25 |
//! | `metric` | value | 2 standard errors worse than in validation | 3 |
//!
//! Small samples of queries can have large values by chance. So the limits of the first three kinds are at least the
//! value that unchanged data exceed with a probability of about .001. Queries are independent, but the documents of a query
//! are not: n values with a design effect d count as n / d independent ones (`data/query_distance.rs`).
//!
//! * PSI = sum over the K bins of (p - q) log(p / q), p and q the fractions of later and training values. Half an
//!   independent value is added to each bin, so no fraction is 0. [`PSI_LIMITS`] are conventional (Siddiqi
//!   2006, Credit Risk Scorecards). Without a change, the PSI of n later and m training values is distributed as
//!   (d / n + d' / m) times a chi-square (Yurdakul 2018; Rao & Scott 1981). Design effects are estimated, so the
//!   quantile is taken from F, with the degrees of freedom of Satterthwaite (1946) for a sum of two variances (Thomas &
//!   Rao 1987). The design effect of later values is at least the training's, adjusted for query size, because a few
//!   queries do not determine it well.
//! * For `outside`, whole queries are compared. Without a change, all queries, later or in training, are equally
//!   likely to have the smallest or the largest value. So the number of later queries with values outside the
//!   range of M training queries is beta-binomial with the parameters 2 and M - 1 (Wilks 1941). The limit is the
//!   fraction of values that so many queries contribute.
//! * The limit of `missing` is a difference of fractions in standard errors, with a t distribution, but at most halfway
//!   from the training fraction to 1.
//! * `metric` has the standard error of the difference of two means over queries. The variance over later queries is
//!   taken to be at least the variance over validation queries, because a few queries can have equal values by chance. Only
//!   the validation mean has the factor for shared training queries, because one function ranks the later ones.

use super::paired::{f_quantile, t_quantile};
use crate::base::{checkpoint, named};
use crate::cost::metric::{Better, StandardError};
use crate::data::{Observed, Profile};

/// The probability that unchanged data exceed a limit.
const RARE: f64 = 0.001;
/// The conventional limits of the population stability index.
const PSI_LIMITS: Limits = (0.1, 0.25);
/// The normal probabilities of a difference below -2 and below -3 standard errors.
const STANDARD_ERRORS: (f64, f64) = (0.022_750_131_948_179_21, 0.001_349_898_031_630_094_6);

/// The action that a finding calls for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Status {
    /// Nothing.
    Ok,
    /// Worth a look.
    Warning,
    /// Needs action.
    Alert,
}

named!(Status { Ok = "ok", Warning = "warning", Alert = "alert" });

#[derive(Debug, Clone, PartialEq)]
pub struct Finding {
    /// The compared quantity.
    pub kind: &'static str,
    /// The feature, column or metric.
    pub name: Option<String>,
    /// The value in the later data.
    pub value: Option<f64>,
    /// The value in training.
    pub reference: Option<f64>,
    /// The limit of a warning: beyond it the status is not `ok`.
    pub threshold: Option<f64>,
    /// What the finding calls for.
    pub status: Status,
}

/// Limits of a warning and of an alert.
type Limits = (f64, f64);

/// The status of a value; `is_beyond`: whether it is beyond a limit.
fn status((warning, alert): Limits, is_beyond: impl Fn(f64) -> bool) -> Status {
    if is_beyond(alert) {
        Status::Alert
    } else if is_beyond(warning) {
        Status::Warning
    } else {
        Status::Ok
    }
}

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

    /// A column that exists only in the training data or only in the later data.
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
        let status = status(limits, |limit| value > limit);
        Self { threshold: Some(limits.0), status, ..Self::fact(kind, name, Some(value), Some(reference)) }
    }

    /// The weighted mean of a metric's per-query values.
    pub fn metric(
        name: String,
        values: &[(f64, f64)],
        mean: f64,
        reference: Option<(f64, StandardError)>,
        better: Better,
    ) -> Self {
        let fact = Self::fact("metric", Some(name), Some(mean), reference.map(|(best, _)| best));
        let Some(((best, then), now)) = reference.zip(StandardError::of(values)) else { return fact };
        let variance = |of: StandardError| of.error * of.error;
        let expected = variance(then) * then.queries as f64 / now.queries as f64;
        let validated = variance(then) * then.factor * then.factor;
        let parts = [(variance(now).max(expected), now.queries as u64), (validated, then.queries as u64)];
        let error = parts[0].0 + parts[1].0;
        let worse = |tail: f64| best - better.sign() * t_quantile(2.0 * tail, degrees(parts)) * error.sqrt();
        let limits = (worse(STANDARD_ERRORS.0), worse(STANDARD_ERRORS.1));
        let status = status(limits, |limit| better.sign() * (mean - limit) < 0.0);
        Self { threshold: Some(limits.0), status, ..fact }
    }
}

/// Drift, values outside the range, and missing values of a feature. `queries`: number of training queries;
/// `may_miss`: whether the model ranks documents without the feature.
pub fn feature_findings(
    name: &str,
    training: &Profile,
    queries: u64,
    later: &Observed,
    may_miss: bool,
) -> Vec<Finding> {
    checkpoint();
    let name = || Some(name.to_owned());
    let mut findings = Vec::with_capacity(3);
    if training.count() > 0 && later.count() > 0 {
        findings.push(drift("drift", name(), training, later));
        let chance = outside_by_chance(training.queries, later);
        let limits = (chance.max(0.01), chance.max(0.05));
        findings.push(Finding::share("outside", name(), later.outside_share(), 0.0, limits));
    }
    let (share, reference) = (later.missing_share(), training.missing_share());
    let chance = missing_by_chance(training, later, queries);
    // A column without any value is never due to chance, however few queries there are.
    let limit = |least: f64| (reference + chance.max(least)).min(0.5 * (reference + 1.0));
    let limits = if may_miss { (limit(0.05), limit(0.2)) } else { (0.0, 0.0) };
    findings.push(Finding::share("missing", name(), share, reference, limits));
    findings
}

/// The population stability index of two series that have values.
pub fn drift(kind: &'static str, name: Option<String>, training: &Profile, later: &Observed) -> Finding {
    let (n, m) = (later.count() as f64, training.count() as f64);
    let then = f64::from(training.design_effect);
    let effect = later.design_effect.max(expected_effect(
        then,
        per_query(n, later.queries),
        per_query(m, training.queries),
    ));
    let terms =
        later.shares(effect).into_iter().zip(training.shares()).map(|(p, q)| (p - q) * libm::log(p / q));
    let psi: f64 = terms.sum();
    let most = training.counts.len() as f64 - 1.0;
    let above = f64::from(training.degrees).min(most);
    if above < 1.0 {
        return Finding::share(kind, name, psi, 0.0, PSI_LIMITS);
    }
    let parts = [(effect / n, later.queries), (then / m, training.queries)];
    let chance = (parts[0].0 + parts[1].0) * most * f_quantile(RARE, above, above * degrees(parts));
    Finding::share(kind, name, psi, 0.0, (chance.max(PSI_LIMITS.0), chance.max(PSI_LIMITS.1)))
}

fn per_query(values: f64, queries: u64) -> f64 {
    values / queries.max(1) as f64
}

/// The design effect of queries of `now` values each, if it is `effect` for queries of `then` values each: 1 + (k - 1) r
/// for queries of k values with the correlation r (Kish 1965). k is the mean of n_i weighted by n_i. If r were above 1 with the mean of n_i
/// itself, r is 1 and k is larger than this mean by the same factor in both. Queries of one value do not determine r: then 1.
fn expected_effect(effect: f64, now: f64, then: f64) -> f64 {
    if then <= 1.0 {
        1.0
    } else if effect > then {
        effect * now / then
    } else {
        1.0 + (effect - 1.0) * (now - 1.0) / (then - 1.0)
    }
}

/// The degrees of freedom of a sum of two variances of means, each with its number of queries (Satterthwaite 1946).
fn degrees(parts: [(f64, u64); 2]) -> f64 {
    let sum: f64 = parts.iter().map(|(variance, _)| variance).sum();
    let square =
        |(variance, queries): (f64, u64)| (variance / sum).powi(2) / queries.max(2).saturating_sub(1) as f64;
    let squares: f64 = parts.into_iter().map(square).sum();
    (1.0 / squares).max(1.0)
}

/// The fraction of values that can be outside the range of `m` training queries by chance, counting the queries
/// with the most values outside.
fn outside_by_chance(m: u64, later: &Observed) -> f64 {
    let (n, m) = (later.queries as f64, m as f64);
    // The probability of 0, 1, ... queries, until the sum is close to 1.
    let mut probability = m * (m - 1.0) / ((n + m) * (n + m - 1.0));
    let (mut sum, mut outside) = (probability, 0);
    for (k, values) in later.outside.iter().enumerate() {
        if sum >= 1.0 - RARE {
            break;
        }
        outside += *values;
        let k = k as f64;
        probability *= (n - k) / (k + 1.0) * (k + 2.0) / (n - k + m - 2.0);
        sum += probability;
    }
    outside as f64 / later.count() as f64
}

/// The largest difference of missing fractions that may be due to chance.
fn missing_by_chance(training: &Profile, later: &Observed, queries: u64) -> f64 {
    let (n, m) = ((later.count() + later.missing) as f64, (training.count() + training.missing) as f64);
    let share = (later.missing + training.missing) as f64 / (n + m);
    let variance = share * (1.0 - share);
    let then = f64::from(training.missing_effect);
    let effect = later.missing_effect.max(expected_effect(
        then,
        per_query(n, later.all_queries),
        per_query(m, queries),
    ));
    let parts = [(variance * effect / n, later.all_queries), (variance * then / m, queries)];
    t_quantile(2.0 * RARE, degrees(parts)) * (parts[0].0 + parts[1].0).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn later_queries_have_another_factor_than_validation() {
        let then = StandardError { error: 0.1, factor: 1.5, queries: 1_000_000 };
        // The variance of a query is .01 * 10^6. There are a quarter as many later queries, so their mean has 4 times
        // the variance.
        let values = vec![(0.5, 1.0); 250_000];
        let limit = |best: f64, better: Better| {
            let found = Finding::metric("m".into(), &values, 0.5, Some((best, then)), better);
            (found.threshold.unwrap(), found.status)
        };
        // sqrt(.04 + .0225) = .25: with this number of queries t is normal, and the limits are 2 and 3 times that.
        let (threshold, status) = limit(0.9, Better::Higher);
        assert!((threshold - 0.4).abs() < 1e-4 && status == Status::Ok, "{threshold}");
        assert_eq!(limit(0.99, Better::Higher).1, Status::Ok);
        assert_eq!(limit(1.01, Better::Higher).1, Status::Warning);
        assert_eq!(limit(1.24, Better::Higher).1, Status::Warning);
        assert_eq!(limit(1.26, Better::Higher).1, Status::Alert);
        let (threshold, status) = limit(0.1, Better::Lower);
        assert!((threshold - 0.6).abs() < 1e-4 && status == Status::Ok, "{threshold}");
        assert_eq!(limit(-0.01, Better::Lower).1, Status::Warning);
        assert_eq!(limit(-0.26, Better::Lower).1, Status::Alert);
    }

    #[test]
    fn an_effect_is_expected_by_the_correlation_in_queries() {
        let effect = |effect, later, training| expected_effect(effect, later / 10.0, training / 10.0);
        // 5.5 = 1 + 9 * .5, and 1 + 2 * .5 = 2.
        assert!((effect(5.5, 30.0, 100.0) - 2.0).abs() < 1e-12);
        assert!((effect(5.5, 100.0, 100.0) - 5.5).abs() < 1e-12);
        assert!((effect(5.5, 10.0, 100.0) - 1.0).abs() < 1e-12);
        // Equal values: queries of 3 and of 10 values.
        assert!((effect(10.0, 30.0, 100.0) - 3.0).abs() < 1e-12);
        // Equal values in queries of 2 and 18: sum of squares 328 / 20 = 16.4. Of 1 and 9 it is 82 / 10 = 8.2.
        assert!((effect(16.4, 50.0, 100.0) - 8.2).abs() < 1e-12);
        // One value per query.
        assert!((effect(1.1, 100.0, 10.0) - 1.0).abs() < 1e-12);
    }
}
