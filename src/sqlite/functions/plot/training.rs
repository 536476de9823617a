//! Plots of a training: the validation curve and the steps of the solver.

use serde_json::Value;

use super::first_name;
use crate::base::error::{Error, Result};
use crate::math::order::compare;
use crate::model::{Model, Ranker};
use crate::plot::{Curve, Joined, Scale, Series, number};
use crate::sqlite::functions::inspect::{online_log, open_model};
use crate::sqlite::glue::vtab::Call;

/// `ltr_plot('validation', model)`: the validated metric of each lambda.
pub fn validation(call: &Call<'_>) -> Result<String> {
    let model = open_model(call)?.model;
    draw_validation(&model, &first_name(call, &model)?)
}

/// Draws the validated metric of each lambda of a model with this name.
///
/// # Errors
/// A model without a validation curve.
pub fn draw_validation(model: &Model, name: &str) -> Result<String> {
    let card = &model.card;
    let validation = &card.summary["validation"];
    let pairs = validation["curve"].as_array().map(Vec::as_slice).unwrap_or_default();
    let point = |pair: &Value| Some((pair[0].as_f64()?, pair[1].as_f64()?));
    let mut points: Vec<(f64, f64)> = pairs.iter().filter_map(point).filter(|point| point.0 > 0.0).collect();
    // The largest lambda comes first.
    points.reverse();
    if points.is_empty() {
        return Err(Error::Unsupported(format!(
            "{name} has no validation curve: its training compared no values of lambda or of another number; train it with \
             \"lambda\": \"auto\", or give a number as an array of values",
        )));
    }
    let metric = validation["metric"].as_str().unwrap_or("metric");
    let held_out = validation["held_out"].as_str().unwrap_or_default();
    let (option, best) = (validation["option"].as_str().unwrap_or("lambda"), validation["best"].as_f64());
    // A search among several values of an option records only its model: the largest of the best values is chosen.
    let largest =
        || points.iter().rev().find(|point| best.is_some_and(|best| compare(point.1, best).is_eq()));
    let recorded = card.summary[option].as_f64();
    let chosen = recorded.or_else(|| largest().map(|point| point.0)).zip(best);
    let chosen = chosen.filter(|(value, _)| points.iter().any(|point| compare(point.0, *value).is_eq()));
    let ratio = points[points.len() - 1].0 / points[0].0;
    let scale = if option == "lambda" || ratio >= 100.0 { Scale::Logarithmic } else { Scale::Linear };
    let curve = Curve {
        title: format!("Validation of {name}"),
        subtitle: format!("Mean {metric} of {held_out}, for each {option} that was tried"),
        axes: [option.to_owned(), metric.to_owned()],
        scale,
        series: vec![Series { name: String::new(), points, joined: Joined::Line, intervals: Vec::new() }],
        chosen: chosen.map(|(value, best)| {
            ((value, best), format!("chosen: {option} {}, {metric} {}", number(value), number(best)))
        }),
    };
    curve.draw()
}

/// `ltr_plot('training', model)`: the steps of `ltr_training_log`.
pub fn training(call: &Call<'_>) -> Result<String> {
    let model = open_model(call)?.model;
    draw_training(&model, &first_name(call, &model)?)
}

/// Draws the steps of the training of a model with this name.
///
/// # Errors
/// A model without steps.
pub fn draw_training(model: &Model, name: &str) -> Result<String> {
    let steps = steps(model);
    if steps.is_empty() {
        return Err(Error::Unsupported(format!(
            "the training of '{}' has no steps to draw: its solution needs none",
            model.card.algorithm
        )));
    }
    let (series, names, subtitle) = curves(model, &steps);
    let curve = Curve {
        title: format!("Training of {name}"),
        subtitle: subtitle.to_owned(),
        axes: names.map(str::to_owned),
        scale: Scale::Linear,
        series,
        chosen: None,
    };
    curve.draw()
}

/// Number, objective and gap of each step.
type Steps = Vec<(f64, f64, Option<f64>)>;

fn steps(model: &Model) -> Steps {
    if let Ranker::Online(online) = &model.ranker {
        return online_log(online.state()).map(|(round, record)| (round as f64, record.loss, None)).collect();
    }
    let steps = (1_u32..).zip(&model.card.log);
    steps.map(|(step, (objective, gap))| (step.into(), *objective, Some(*gap))).collect()
}

/// Series, names of the axes and what they mean.
fn curves(model: &Model, steps: &Steps) -> (Vec<Series>, [&'static str; 2], &'static str) {
    let finite = |points: Vec<(f64, f64)>| -> Vec<(f64, f64)> {
        points.into_iter().filter(|(_, value)| value.is_finite()).collect()
    };
    let series = |name: &str, points: Vec<(f64, f64)>, joined| Series {
        name: name.to_owned(),
        points,
        joined,
        intervals: Vec::new(),
    };
    let objective = finite(steps.iter().map(|(step, value, _)| (*step, *value)).collect());
    if matches!(model.ranker, Ranker::Online(_)) {
        let loss = series("", running_mean(&objective), Joined::Line);
        let text = "Mean of the loss (1 - measure) before each update, over the rounds so far";
        return (vec![loss], ["round", "mean loss"], text);
    }
    if matches!(model.ranker, Ranker::QueryDependent(_)) || model.card.algorithm == "auto" {
        let text = "Objective at the solution of each function that was fitted";
        return (vec![series("", objective, Joined::No)], ["function", "objective"], text);
    }
    let bound = steps.iter().filter_map(|(step, value, gap)| Some((*step, value - (*gap)?)));
    let bound = finite(bound.collect());
    let bounded = bound.len() == objective.len();
    let mut all = vec![series(if bounded { "objective" } else { "" }, objective, Joined::Line)];
    if bounded {
        all.push(series("lower bound (objective - gap)", bound, Joined::Line));
    }
    (all, ["step", "objective"], "Objective of the training after each step of the solver; lower is better")
}

/// The mean of the values up to each point.
fn running_mean(points: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let mut sum = 0.0;
    let mean = |(count, (round, value)): (usize, &(f64, f64))| {
        sum += value;
        (*round, sum / (count + 1) as f64)
    };
    points.iter().enumerate().map(mean).collect()
}
