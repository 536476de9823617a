//! The metric of held-out queries by the number of trees.
//!
//! Trainings of several folds add their trees together, and the metric is the mean over all held-out queries.

use crate::base::control::Control;
use crate::base::error::Result;
use crate::base::parallel;
use crate::cost::metric::Mean;
use crate::data::Dataset;
use crate::train::select::{Curve, ValidationSpec};
use crate::trees::{Binned, Boosting};

/// Held-out queries of a fold, with their documents.
pub(in crate::train) struct Measured<'a> {
    pub data: &'a Dataset,
    pub queries: Vec<usize>,
}

/// What is held out from trainings.
#[derive(Clone, Copy)]
pub(in crate::train) struct HeldOut<'a> {
    /// One of each fold.
    pub measured: &'a [Measured<'a>],
    /// Number of trainings of a fold, whose scores are averaged.
    pub seeds: usize,
    /// The documents of a validation source in bins; none if the held-out queries are among the rows of the trainings.
    pub source: Option<&'a Binned>,
}

/// How long trees are added.
#[derive(Clone, Copy)]
pub(in crate::train) struct Pace {
    /// Largest number of trees of a training.
    pub most: usize,
    /// Trees between two measurements.
    pub interval: usize,
    /// Measurements without a better value after which the trainings stop.
    pub patience: usize,
}

/// Value and weight of a held-out query; `None` if it does not count.
pub(in crate::train) type QueryValue = Option<(f64, f64)>;

/// The best measurement so far.
#[derive(Default)]
pub(in crate::train) struct Best {
    /// Its number in the curve, and the value.
    pub at: Option<(usize, f64)>,
    /// That of each held-out query, fold by fold.
    pub values: Vec<QueryValue>,
}

/// Adds trees until the metric no longer improves. Returns it by the number of trees, and the best. `trainings`: all
/// ensembles of the first fold, then those of the next.
///
/// # Errors
/// Those of a training.
pub(in crate::train) fn measure(
    validation: &ValidationSpec,
    trainings: &mut [Boosting<'_>],
    held_out: HeldOut<'_>,
    pace: Pace,
    control: &Control,
) -> Result<(Curve, Best)> {
    let sign = validation.metric.def().better.sign();
    let rows = held_out.source.map_or(0, |_| held_out.measured[0].data.n_docs());
    let mut of_source = vec![0.0; rows];
    let (mut curve, mut best): (Curve, Best) = (Vec::new(), Best::default());
    let measurements = pace.most / pace.interval;
    control.expect(measurements);
    for number in 1..=measurements {
        add_trees(trainings, held_out, pace.interval, &mut of_source, control)?;
        let (mean, values) = values(validation, trainings, held_out, &of_source, control)?;
        curve.push(((number * pace.interval) as f64, mean));
        control.step();
        if let Some(value) = mean.filter(|value| best.at.is_none_or(|(_, best)| sign * (value - best) > 0.0))
        {
            best = Best { at: Some((curve.len() - 1, value)), values };
        }
        if best.at.is_none_or(|(at, _)| at + pace.patience < curve.len()) && curve.len() > pace.patience {
            break;
        }
    }
    (curve.len()..measurements).for_each(|_| control.step());
    Ok((curve, best))
}

/// Adds so many trees to each training, and their mean scores to those of the source.
fn add_trees(
    trainings: &mut [Boosting<'_>],
    HeldOut { seeds, source, .. }: HeldOut<'_>,
    trees: usize,
    of_source: &mut [f64],
    control: &Control,
) -> Result<()> {
    let Some(binned) = source else {
        return parallel::try_each_of(trainings.iter_mut().collect(), |_, training: &mut Boosting<'_>| {
            (0..trees).try_for_each(|_| training.step(control).map(|_| ()))
        });
    };
    for _ in 0..trees {
        let step = |_, training: &mut Boosting<'_>| -> Result<Vec<f64>> {
            training.step(control)?.scores(binned, of_source.len(), control)
        };
        for added in parallel::map_of(trainings.iter_mut().collect(), step) {
            let factor = 1.0 / seeds as f64;
            of_source.iter_mut().zip(added?).for_each(|(sum, score)| *sum += factor * score);
        }
    }
    Ok(())
}

/// The mean of the metric over the held-out queries, and the value and weight of each.
fn values(
    validation: &ValidationSpec,
    trainings: &[Boosting<'_>],
    HeldOut { measured, seeds, source }: HeldOut<'_>,
    of_source: &[f64],
    control: &Control,
) -> Result<(Option<f64>, Vec<QueryValue>)> {
    let metric = &validation.metric;
    let mut mean = Mean::new(metric.def(), validation.undefined);
    let mut values = Vec::new();
    for (Measured { data, queries }, trainings) in measured.iter().zip(trainings.chunks(seeds)) {
        let of_rows = if source.is_some() { Vec::new() } else { Boosting::mean_scores(trainings) };
        let scores = if source.is_some() { of_source } else { &of_rows };
        let value = |number: usize| {
            control.check()?;
            let query = queries[number];
            metric.finite_value(data.labels(query), &scores[data.rows(query)])
        };
        let found = parallel::try_map(queries.len(), value)?;
        for (query, value) in queries.iter().zip(found) {
            mean.add(value, data.labels(*query));
            values.push(mean.weighted(value, data.labels(*query)));
        }
    }
    Ok((mean.value(), values))
}
