//! `ltr_plot(kind, ...)`: a plot of a model as SVG.
//!
//! Rules (docs/reference/rules.md, 14):
//! * 14.1: The arguments after the kind are passed to the function whose rows are drawn. Every mark has a title to read
//!   and attributes `data-` with the exact numbers of that function. Distant bounds and intervals are clipped.
//! * 14.2: Texts from data are escaped. The same model and rows give the same bytes.
//! * 14.6: Calibration intervals treat the queries as the sample.
//! * 14.7: The effect of a feature is the mean score if all documents had the same value.

use rusqlite::types::ValueRef;
use serde_json::Value;

use crate::base::{Error, Result};
use crate::math::compare;
use crate::model::{Model, Ranker};
use crate::plot::{Curve, Joined, Scale, Series, number};
use crate::sqlite::functions::inspect::{model_name, online_log, open_model};
use crate::sqlite::glue::signature::Parameters;
use crate::sqlite::glue::usage::wrong_number;
use crate::sqlite::glue::{Call, Output, ScalarCall, ScalarFunction, text_argument};

pub const PLOT: ScalarFunction =
    ScalarFunction::new("ltr_plot", "kind, model [, ...]", plot).taking(&[2, 3, 4, 5]);

/// One kind of plot.
struct Kind {
    name: &'static str,
    /// Arguments after the kind.
    signature: &'static str,
    /// Draws the SVG. The call has the arguments after the kind.
    draw: fn(&Call<'_>) -> Result<String>,
}

const KINDS: &[Kind] = &[
    Kind { name: "validation", signature: "model", draw: validation },
    Kind { name: "training", signature: "model", draw: training },
    Kind { name: "weights", signature: "model [, query_features]", draw: super::plot_ranked::weights },
    Kind { name: "importance", signature: "model, source [, options]", draw: super::plot_ranked::importance },
    Kind {
        name: "queries",
        signature: "model_a, model_b, source [, options]",
        draw: super::plot_ranked::queries,
    },
    Kind {
        name: "calibration",
        signature: "model, source [, options]",
        draw: super::plot_ranked::calibration,
    },
    Kind { name: "scores", signature: "model, source [, options]", draw: super::plot_ranked::scores },
    Kind {
        name: "effect",
        signature: "model, source, feature [, options]",
        draw: super::plot_ranked::effect,
    },
];

fn plot(call: &ScalarCall<'_>) -> Result<Output> {
    let name = text_argument("argument 'kind'", call.context.get_raw(0))?;
    let kind = KINDS.iter().find(|kind| kind.name == name);
    let kind = kind.ok_or_else(|| Error::unknown("kind", &name, KINDS.iter().map(|kind| kind.name)))?;
    let given: Vec<Option<ValueRef<'_>>> =
        (1..call.context.len()).map(|index| call.argument(index)).collect();
    let Parameters { names, required } = Parameters::of(kind.signature);
    if !(required..=names.len()).contains(&given.len()) {
        let usage = format!("{}('{name}', {})", PLOT.name, kind.signature);
        return Err(wrong_number(given.len() + 1, &usage));
    }
    let mut arguments = given;
    arguments.resize(names.len(), None);
    call.with_call(&arguments, |call| (kind.draw)(call).map(Output::Text))
}

// Training plots: validation curve and solver steps.

/// `ltr_plot('validation', model)`: the validated metric of each lambda.
pub fn validation(call: &Call<'_>) -> Result<String> {
    let model = open_model(call)?.model;
    draw_validation(&model, &model_name(call, call.argument(0), &model, None)?)
}

/// Draws a model's validation curve: the metric by lambda. `name`: the model's name.
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
            "{name} has no validation curve: its training did not compare values of lambda or another numeric option; train it with \
             \"lambda\": \"auto\", or give a number as an array of values",
        )));
    }
    let metric = validation["metric"].as_str().unwrap_or("metric");
    let held_out = validation["held_out"].as_str().unwrap_or_default();
    let (option, best) = (validation["option"].as_str().unwrap_or("lambda"), validation["best"].as_f64());
    // A search over several values of an option only records its model: the largest of the best values is chosen.
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
        series: vec![Series::new("", points, Joined::Line)],
        chosen: chosen.map(|(value, best)| {
            ((value, best), format!("chosen: {option} {}, {metric} {}", number(value), number(best)))
        }),
    };
    Ok(curve.draw())
}

/// `ltr_plot('training', model)`: the steps of `ltr_training_log`.
pub fn training(call: &Call<'_>) -> Result<String> {
    let model = open_model(call)?.model;
    draw_training(&model, &model_name(call, call.argument(0), &model, None)?)
}

/// Draws a model's training steps. `name`: the model's name.
///
/// # Errors
/// A model without steps.
pub fn draw_training(model: &Model, name: &str) -> Result<String> {
    let steps = steps(model);
    if steps.is_empty() {
        return Err(Error::Unsupported(format!(
            "the training of '{}' has no steps to draw: it needed none",
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
    Ok(curve.draw())
}

/// Number, objective and gap of each step.
type Steps = Vec<(f64, f64, Option<f64>)>;

fn steps(model: &Model) -> Steps {
    if let Ranker::Online(online) = &model.ranker {
        return online_log(&online.state).map(|(round, record)| (round as f64, record.loss, None)).collect();
    }
    let steps = (1_u32..).zip(&model.card.log);
    steps.map(|(step, (objective, gap))| (step.into(), *objective, Some(*gap))).collect()
}

/// Series, axis labels and a caption.
fn curves(model: &Model, steps: &Steps) -> (Vec<Series>, [&'static str; 2], &'static str) {
    let finite = |points: Vec<(f64, f64)>| -> Vec<(f64, f64)> {
        points.into_iter().filter(|(_, value)| value.is_finite()).collect()
    };
    let objective = finite(steps.iter().map(|(step, value, _)| (*step, *value)).collect());
    if matches!(model.ranker, Ranker::Online(_)) {
        let loss = Series::new("", running_mean(&objective), Joined::Line);
        let text = "Mean of the loss (1 - measure) before each update, over the rounds so far";
        return (vec![loss], ["round", "mean loss"], text);
    }
    let functions = model.card.summary["functions"].as_u64();
    if matches!(model.ranker, Ranker::QueryDependent(_)) || functions > Some(1) {
        let text = "Objective at the solution of each function that was fitted";
        return (vec![Series::new("", objective, Joined::No)], ["function", "objective"], text);
    }
    let bound = steps.iter().filter_map(|(step, value, gap)| Some((*step, value - (*gap)?)));
    let bound = finite(bound.collect());
    let bounded = bound.len() == objective.len();
    let mut lines = vec![Series::new(if bounded { "objective" } else { "" }, objective, Joined::Line)];
    if bounded {
        lines.push(Series::new("lower bound (objective - gap)", bound, Joined::Line));
    }
    (lines, ["step", "objective"], "Objective of the training after each step of the solver; lower is better")
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
