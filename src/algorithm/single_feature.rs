//! The best ranking by a single feature: what a model should surpass.
//!
//! Every feature ranks the queries of validation, ascending and descending. Cost: O(documents log documents) per feature.

use super::LambdaSelection;
use super::selection::ValidationSpec;
use crate::arrange::{ListConstraint, push_down_unselected};
use crate::control::Control;
use crate::data::Dataset;
use crate::error::{Error, Result};
use crate::metric::{Mean, Metric, Undefined};
use crate::parallel;

/// Queries that judge.
pub struct Judge<'a> {
    /// The data set that holds them. Scaled features are as good as raw ones: scaling keeps the order of each feature.
    pub data: &'a Dataset,
    /// Their indices.
    pub queries: &'a [usize],
}

/// A ranking by one feature.
pub struct Baseline {
    feature: usize,
    direction: Direction,
    /// The mean of the metric.
    pub value: f64,
}

impl Baseline {
    /// The ranking in SQL.
    pub fn order_by(&self, names: &[String]) -> String {
        format!("ORDER BY \"{}\"{}", names[self.feature], self.direction.sql())
    }
}

/// Which values of a feature rank first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Direction {
    Descending,
    Ascending,
}

impl Direction {
    fn sign(self) -> f64 {
        if self == Self::Descending { 1.0 } else { -1.0 }
    }

    fn sql(self) -> &'static str {
        if self == Self::Descending { " DESC" } else { "" }
    }
}

/// A warning if validation finds a single feature as good as the model. Says nothing about a single feature in all, or
/// about slots, whose features belong to pairs of document and slot.
///
/// # Errors
/// An interruption.
pub(super) fn warning(
    selection: &LambdaSelection,
    judges: &[Judge<'_>],
    validation: &ValidationSpec,
    constraint: ListConstraint,
    control: &Control,
) -> Result<Option<String>> {
    let (Some(value), Some(first)) = (selection.value(), judges.first()) else { return Ok(None) };
    let names = &first.data.names;
    if names.len() < 2 || constraint == ListConstraint::Slots {
        return Ok(None);
    }
    let better = validation.metric.def().better.sign();
    let measure = (&validation.metric, validation.undefined);
    let best = best(judges, names.len(), measure, constraint, control)?;
    let Some(best) = best.filter(|best| better * (value - best.value) <= 0.0) else { return Ok(None) };
    Ok(Some(format!(
        "on validation {} is {value:.4}, not better than the {:.4} of {} alone; check the roles and features, \
         or try another algorithm",
        selection.metric,
        best.value,
        best.order_by(names)
    )))
}

/// The best ranking by one of the first `features` features by a metric; the first among equals.
///
/// # Errors
/// An interruption.
pub fn best(
    judges: &[Judge<'_>],
    features: usize,
    (metric, undefined): (&Metric, Undefined),
    constraint: ListConstraint,
    control: &Control,
) -> Result<Option<Baseline>> {
    let of_feature = |feature: usize| -> Result<Vec<Baseline>> {
        let mut baselines = Vec::new();
        for direction in [Direction::Descending, Direction::Ascending] {
            let mut mean = Mean::new(metric.def(), undefined);
            for Judge { data, queries } in judges {
                for &query in *queries {
                    control.check()?;
                    let score = |row: usize| direction.sign() * data.features.at(row, feature);
                    let scores: Vec<f64> = data.rows(query).map(score).collect();
                    let scores = push_down_unselected(constraint, data.row_groups(query), scores)
                        .map_err(Error::Data)?;
                    mean.add(metric.value(data.labels(query), &scores), data.labels(query));
                }
            }
            baselines.extend(mean.value().map(|value| Baseline { feature, direction, value }));
        }
        Ok(baselines)
    };
    let all = parallel::try_map(features, of_feature)?;
    let better = metric.def().better.sign();
    let better_one = |best: Baseline, other: Baseline| {
        if better * (other.value - best.value) > 0.0 { other } else { best }
    };
    Ok(all.into_iter().flatten().reduce(better_one))
}
