//! Report on a choice on held-out data: the curve, the chosen candidate, warnings.

#[cfg(test)]
mod tests;

use std::fmt;

use serde::Serialize;
use serde_json::Value;

use crate::apply::t_quantile;
use crate::base::{Result, require};
use crate::cost::metric::{Better, Metric, StandardError};

/// Largest standard error, factor and number of queries in a report: products of their squares are finite.
const MOST_ERROR: f64 = 1e145;
const MOST_FACTOR: f64 = 1e8;
const MOST_QUERIES: u64 = 1 << 53;

/// Candidates (largest first) with the mean of the metric; `None` where it is undefined.
pub type Curve = Vec<(f64, Option<f64>)>;

/// Units that the query folds keep together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum FoldsBy {
    /// Queries.
    #[default]
    Query,
    /// Groups of queries.
    Group,
    /// Parts in an order.
    Order,
}

impl FoldsBy {
    fn text(self) -> &'static str {
        match self {
            Self::Query => "",
            Self::Group => " of whole groups",
            Self::Order => ", each after the queries of its training",
        }
    }
}

/// The kind of held-out data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Split {
    /// There was too little data to hold anything out.
    Nothing,
    /// Queries, each in one of the folds.
    Queries { held_out: usize, all: usize, folds: usize, by: FoldsBy },
    /// Queries, each in one fold of each of several partitions.
    RepeatedQueries { held_out: usize, all: usize, times: usize, folds: usize, by: FoldsBy },
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

impl Split {
    /// Whether each value is computed from all documents of a query, as in later data. Shorter lists have other values.
    fn is_of_queries(self) -> bool {
        match self {
            Self::Queries { .. }
            | Self::RepeatedQueries { .. }
            | Self::SourceQueries(_)
            | Self::SourceRatings => true,
            Self::Nothing | Self::Documents { .. } | Self::RatingFraction | Self::RatingFolds(_) => false,
        }
    }

    /// The factor of a standard error over queries for the difference of functions that were fitted on other queries. Folds
    /// share training queries, so their values are not independent (Nadeau & Bengio 2003).
    pub fn error_factor(self) -> f64 {
        match self {
            Self::Queries { folds, .. } | Self::RepeatedQueries { folds, .. } if folds > 1 => {
                (1.0 + folds as f64 / (folds as f64 - 1.0)).sqrt()
            }
            Self::Queries { held_out, all, .. } if held_out < all => {
                (all as f64 / (all - held_out) as f64).sqrt()
            }
            _ => 1.0,
        }
    }

    fn is_of_ratings(self) -> bool {
        matches!(self, Self::RatingFraction | Self::RatingFolds(_) | Self::SourceRatings)
    }
}

impl fmt::Display for Split {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nothing => f.write_str("nothing"),
            Self::Queries { held_out, all, folds, by } => {
                let plural = if *folds == 1 { "" } else { "s" };
                write!(f, "{held_out} of {all} queries, in {folds} fold{plural}{}", by.text())
            }
            Self::RepeatedQueries { held_out, all, times, folds, by } => {
                let by = by.text();
                write!(f, "each of {held_out} of {all} queries {times} times, in {folds} folds{by}")
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
pub struct Selection {
    /// Name of the metric.
    pub metric: String,
    /// The kind of held-out data.
    pub split: Split,
    pub curve: Curve,
    /// Index of the chosen candidate; `None` if no value is defined.
    pub chosen: Option<usize>,
    /// Whether the value of each candidate comes from a coarser fit; empty if none does.
    pub screened: Vec<bool>,
    /// The option whose values the candidates are; `None` for lambda and the parameter that replaces it.
    pub option: Option<&'static str>,
    /// The standard error of the value; `None` if the value doesn't cover whole queries, so later values cannot be
    /// compared with it.
    pub error: Option<StandardError>,
    /// The standard error of the paired difference to the next candidate, if the chosen one is at an end and the values of
    /// queries are known.
    pub end_error: Option<f64>,
    /// Each held-out query's value with the chosen candidate, fold by fold; may be empty.
    pub values: Vec<Option<f64>>,
    /// The best ranking by a single feature of what was held out.
    pub baseline: Option<Baseline>,
    /// Gain of the chosen candidate over the first one, if that is the training's baseline; if it is chosen, gain of the
    /// best other candidate.
    pub gain: Option<Gain>,
}

/// Smallest number of queries that can show a gain over a baseline.
pub const FEWEST_SHOWN: usize = 10;

/// A mean difference over queries, above 0 if it is a gain.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Gain {
    pub mean: f64,
    /// The error of the mean.
    pub error: StandardError,
}

impl Gain {
    /// The weighted mean of differences; `None` for fewer than 2. `factor`: see [`StandardError`].
    pub fn of(differences: &[(f64, f64)], factor: f64) -> Option<Self> {
        let error = StandardError::of(differences)?;
        let weights: f64 = differences.iter().map(|(_, weight)| weight).sum();
        let mean = differences.iter().map(|(value, weight)| value * weight).sum::<f64>() / weights;
        Some(Self { mean, error: StandardError { factor, ..error } })
    }

    /// The 95% confidence interval.
    pub fn interval(self) -> [f64; 2] {
        let half = t_quantile(0.05, self.error.queries as f64 - 1.0) * self.error.factor * self.error.error;
        [self.mean - half, self.mean + half]
    }

    /// Whether it is more than one standard error above 0, or the whole interval over judgments that contradict a baseline.
    /// Fewer queries show nothing: differences may agree by chance.
    pub fn is_shown(self, are_contradicting: bool) -> bool {
        if self.error.queries < FEWEST_SHOWN {
            return false;
        }
        let [low, _] = self.interval();
        let error = self.error.factor * self.error.error;
        if are_contradicting { low > 0.0 } else { self.mean > error * (1.0 + 1e-9) }
    }
}

/// A ranking by a single feature.
#[derive(Debug, Clone, PartialEq)]
pub struct Baseline {
    /// The ranking in SQL.
    pub order_by: String,
    /// The column of the feature.
    pub column: String,
    /// The mean of the metric.
    pub value: f64,
    /// The same on a scale where a ranking by chance has 0 and the best possible one 1.
    pub share: f64,
    /// Gain of the chosen candidate over single features that were chosen on the other folds.
    pub gain: Option<Gain>,
}

/// Factor between a candidate and one that is compared with it: ten, less rounding.
const FAR: f64 = 10.0 * (1.0 - 1e-9);
/// Paired differences of nearby candidates vary by about this fraction of the standard error of one value.
const NOISE_OF_DIFFERENCES: f64 = 0.25;

/// A selection in a report.
#[derive(Debug, Clone, Serialize)]
pub struct SelectionReport {
    metric: String,
    held_out: String,
    best: Option<f64>,
    /// The option whose values the curve has; omitted for lambda and the parameter that replaces it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub option: Option<&'static str>,
    /// The standard error of `best` over `queries`.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<f64>,
    /// The factor in `error` for training queries that folds share.
    #[serde(skip_serializing_if = "Option::is_none")]
    error_factor: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    queries: Option<usize>,
    /// Left out of the report of `ltr_train`; the stored report has it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub curve: Option<Curve>,
    /// The candidates whose values come from trained models, if coarser fits screened the others. Omitted where the
    /// curve is omitted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub measured: Option<Vec<f64>>,
}

impl SelectionReport {
    /// A report about lambda, or the parameter that replaces it.
    pub fn new(
        metric: String,
        held_out: String,
        best: Option<f64>,
        error: Option<StandardError>,
        curve: Option<Curve>,
    ) -> Self {
        Self {
            metric,
            held_out,
            best,
            option: None,
            error: error.map(|error| error.factor * error.error),
            error_factor: error.map(|error| error.factor),
            queries: error.map(|error| error.queries),
            curve,
            measured: None,
        }
    }

    /// The metric, its value, and the 95% interval if it is known.
    pub fn held_out_value(&self) -> Option<(&str, f64, Option<[f64; 2]>)> {
        let value = self.best?;
        let half = self.error.zip(self.queries).map(|(error, n)| t_quantile(0.05, n as f64 - 1.0) * error);
        Some((&self.metric, value, half.map(|half| [value - half, value + half])))
    }

    /// The value and its standard error in a report that a model keeps; `None` without a standard error.
    ///
    /// # Errors
    /// [`Error::Corrupt`](crate::base::error::Error::Corrupt) for numbers that no training writes.
    pub fn reference(report: &Value) -> Result<Option<(f64, StandardError)>> {
        let number = |key: &str| report[key].as_f64();
        let Some((best, error)) = number("best").zip(number("error")) else { return Ok(None) };
        let factor = number("error_factor").unwrap_or(1.0);
        let queries = report["queries"].as_u64().unwrap_or(0);
        let is_written = (0.0..=MOST_ERROR).contains(&error)
            && (1.0..=MOST_FACTOR).contains(&factor)
            && (2..=MOST_QUERIES).contains(&queries);
        require("validation", &[(is_written, "an error from 0, a factor from 1, and 2 queries or more")])?;
        Ok(Some((best, StandardError { error: error / factor, factor, queries: queries as usize })))
    }
}

impl Selection {
    /// A choice among candidates. `chosen`: index of the chosen one.
    pub fn new(metric: &Metric, split: Split, curve: Curve, chosen: Option<usize>) -> Self {
        let metric = metric.name();
        let (screened, option, error, end_error) = (Vec::new(), None, None, None);
        let (values, baseline, gain) = (Vec::new(), None, None);
        Self { metric, split, curve, chosen, screened, option, error, end_error, values, baseline, gain }
    }

    /// The same selection with the standard error of its value. `values`: value and weight of each query that counts, with
    /// the chosen candidate.
    #[must_use]
    pub fn with_error(mut self, values: impl FnOnce(usize) -> Vec<(f64, f64)>) -> Self {
        let chosen = self.chosen.filter(|_| self.split.is_of_queries());
        let error = chosen.and_then(|chosen| StandardError::of(&values(chosen)));
        let factor = self.split.error_factor();
        self.error = error.map(|error| StandardError { factor, ..error });
        self
    }

    /// The entry in the report.
    pub fn report(&self) -> SelectionReport {
        let curve = Some(self.curve.clone());
        let (metric, held_out) = (self.metric.clone(), self.split.to_string());
        let report = SelectionReport::new(metric, held_out, self.value(), self.error, curve);
        let is_exact = |index: &usize| !self.screened[*index];
        let measured =
            self.screened.iter().any(|screened| *screened).then(|| {
                (0..self.screened.len()).filter(is_exact).map(|index| self.curve[index].0).collect()
            });
        SelectionReport { option: self.option, measured, ..report }
    }

    /// Whether higher or lower values of the metric are better.
    pub fn better(&self) -> Better {
        Metric::parse(&self.metric).map_or(Better::Higher, |metric| metric.def().better)
    }

    /// The value of the metric with the chosen candidate.
    pub fn value(&self) -> Option<f64> {
        self.chosen.and_then(|chosen| self.curve[chosen].1)
    }

    /// A warning about the choice: candidates that could not be compared, or a chosen one at an end.
    pub fn warning(&self, searched: &Searched) -> Option<String> {
        // Values that cannot be better are not a problem, except for the short lists of ratings.
        if self.is_perfect() && !self.split.is_of_ratings() {
            return None;
        }
        self.incomparable_warning(searched)
            .or_else(|| self.same_value_warning(searched))
            .or_else(|| self.end_warning(searched))
    }

    /// Whether the metric has its best value, for metrics from 0 to 1.
    fn is_perfect(&self) -> bool {
        let best = if self.better() == Better::Higher { 1.0 } else { 0.0 };
        self.value().is_some_and(|value| (value - best).abs() <= 0.0)
    }

    /// A warning if validation could not compare candidates, so that a default is used.
    fn incomparable_warning(&self, Searched { name, used, .. }: &Searched) -> Option<String> {
        let Self { metric, split, chosen, .. } = self;
        match (chosen, split) {
            (Some(_), _) if self.is_always_0() => Some(format!(
                "validation ({split}) could not compare candidates: {metric} is 0 with every {name}; {used} is used"
            )),
            (Some(_), _) => None,
            (None, Split::Nothing) => Some(format!(
                "too few judged queries or documents to choose {name} by validation; {used} is used"
            )),
            (None, _) => Some(format!(
                "validation ({split}) could not compare candidates: {metric} has no value there; {name} {used} is \
                 used. Metrics with gains need a relevance above 0, most others one of at least 1; mre and \
                 kendall_tau need two different ones"
            )),
        }
    }

    fn is_always_0(&self) -> bool {
        self.curve.iter().all(|(_, value)| value.is_none_or(|value| value.abs() <= 0.0))
    }

    /// A warning that the metric is the same with every candidate.
    fn same_value_warning(&self, searched: &Searched) -> Option<String> {
        let Searched { name, center, .. } = searched;
        let value = self.value().filter(|_| self.curve.len() > 1)?;
        if (0..self.curve.len()).any(|index| !self.is_equal(index, value)) {
            return None;
        }
        let gives = center.map(|center| format!(", which departs least from {center}")).unwrap_or_default();
        Some(format!(
            "{} is {value:.4} with every {name}, so the choice makes no difference to it; the largest one is used{gives}",
            self.metric
        ))
    }

    fn is_equal(&self, index: usize, value: f64) -> bool {
        self.curve[index].1.is_some_and(|other| (other - value).abs() <= 0.0)
    }

    /// The candidate next to the chosen one, if that is an end of several.
    pub(super) fn near_end(&self) -> Option<usize> {
        let last = self.curve.len().checked_sub(1).filter(|last| *last > 0)?;
        match self.chosen? {
            0 => Some(1),
            chosen => (chosen == last).then(|| chosen - 1),
        }
    }

    /// Whether the chosen end of the curve beats the candidate a factor of ten further inside by more than noise, and the next
    /// one by more than one standard error of the paired difference, if that is known; `None` if one was not measured.
    fn end_matters(&self, chosen: usize) -> Option<bool> {
        if let Some((error, adjacent)) = self.end_error.zip(self.near_end())
            && self.better().sign() * (self.value()? - self.curve[adjacent].1?) <= error
        {
            return Some(false);
        }
        let value = self.curve[chosen].0;
        let is_far = |(other, _): &&(f64, Option<f64>)| (other / value).max(value / other) >= FAR;
        let (adjacent, inside) = if chosen == 0 {
            (1, self.curve.iter().find(is_far))
        } else {
            (chosen - 1, self.curve.iter().rfind(is_far))
        };
        let other = inside.unwrap_or(&self.curve[adjacent]).1?;
        let noise = self.error.map_or(0.0, |error| NOISE_OF_DIFFERENCES * error.error);
        Some((self.value()? - other).abs() > noise)
    }

    /// A warning if the chosen candidate is the smallest or the largest of several, and better than others by more than noise.
    pub fn end_warning(&self, searched: &Searched) -> Option<String> {
        let Searched { name, advice, center, limits, .. } = searched;
        if self.is_perfect() && !self.split.is_of_ratings() {
            return None;
        }
        let (chosen, last) = (self.chosen?, self.curve.len().checked_sub(1).filter(|last| *last > 0)?);
        let (value, n) = (self.curve[chosen].0, last + 1);
        let (end, other_end, other, factor) = match chosen {
            0 if value < limits.1 => ("largest", last, "larger", 10.0),
            chosen if chosen == last && value > limits.0 => ("smallest", 0, "smaller", 0.1),
            _ => return None,
        };
        let meaning = match center {
            Some(center) if chosen == 0 => format!("no smaller one is clearly better than {center} alone"),
            // Others are as good: a value beyond it is hardly better.
            _ if !self.end_matters(chosen)? => return None,
            _ => {
                let candidates = || format!("set \"{name}\": [{}]", searched.from(value, factor));
                let advice = advice.map_or_else(candidates, str::to_owned);
                format!("a {other} one may be better: {advice}")
            }
        };
        let (value, other_end) = (significant(value), significant(self.curve[other_end].0));
        Some(format!("{name} {value} is the {end} of {n} candidates, {value} to {other_end}; {meaning}"))
    }
}

/// A value that validation chooses among candidates.
#[derive(Debug, Clone, PartialEq)]
pub struct Searched {
    /// The name in the report.
    pub name: &'static str,
    /// How other candidates can be tried, if the option of its name does not take them.
    pub advice: Option<&'static str>,
    /// The value in use.
    pub used: f64,
    /// Beyond these limits, smaller or larger candidates are no better.
    pub limits: (f64, f64),
    /// The effect of large values, if they are chosen unless another value is clearly better.
    pub center: Option<&'static str>,
}

impl Searched {
    /// A value with an option of its name and without limits.
    pub fn new(name: &'static str, used: f64) -> Self {
        Self { name, advice: None, used, limits: (0.0, f64::INFINITY), center: None }
    }

    /// The value between another one and two beyond it, as a list: not at an end of the next candidates. Values with a
    /// smallest one are whole numbers.
    fn from(&self, value: f64, factor: f64) -> String {
        let (low, high) = self.limits;
        let step = |x: f64, factor: f64| {
            if low > 0.0 { (x + (factor - 1.0).signum()).clamp(low, high) } else { x * factor }
        };
        let beyond = std::iter::successors(Some(value), |x| Some(step(*x, factor))).take(3);
        let mut values: Vec<String> =
            std::iter::once(step(value, 1.0 / factor)).chain(beyond).map(significant).collect();
        values.dedup();
        values.join(", ")
    }
}

/// A number with four significant digits.
pub fn significant(number: f64) -> String {
    format!("{number:.3e}").parse().map_or_else(|_| number.to_string(), |rounded: f64| rounded.to_string())
}
