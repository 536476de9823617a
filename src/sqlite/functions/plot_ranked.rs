//! Plots of a model on documents: metrics of two models per query, mean grades by score, scores by grade, and the importance
//! and effect of features.

use std::iter;

use rusqlite::types::ValueRef;

use crate::apply::{CalibrationBin, Evaluation, FeatureWeight, calibration as bins_of, function_weights};
use crate::base::{Error, Result, shorten};
use crate::cost::metric::Metric;
use crate::data::{Id, InputColumn};
use crate::math::{compare, sort_ascending, sort_indices};
use crate::model::Model;
use crate::plot::{
    Bar, Bars, Curve, Group, Joined, Ridges, Scale, Scatter, Series, counted, number, shortened,
};
use crate::sqlite::functions::compare::other_queries;
use crate::sqlite::functions::evaluate::{Measured, ScoredDocuments, judged, measure, metrics};
use crate::sqlite::functions::importance::IMPORTANCE;
use crate::sqlite::functions::inspect::{function_of, model_name, open_model};
use crate::sqlite::functions::ranking_call::{NO_VALUES, RankingCall};
use crate::sqlite::glue::{Call, ModelHandle, Output, text_argument};
use crate::sqlite::source::reader::ReadSpec;
use crate::train::options::Use;

/// Largest number of grades drawn one by one.
const MOST_GRADES: usize = 8;

/// Largest number of feature values at which an effect is drawn.
const MOST_VALUES: usize = 21;

/// `ltr_plot('queries', model_a, model_b, source [, options])`: the metric of both models for each query.
pub fn queries(call: &Call<'_>) -> Result<String> {
    let (options, limits) = call.options(3, Use::Evaluate)?;
    let metric = metrics(&options)?.swap_remove(0);
    limits.run_here(|| {
        let (mut evaluations, mut names) = (Vec::new(), Vec::new());
        let (mut ids, mut warnings) = (Vec::new(), Vec::new());
        for index in [0, 1] {
            let (model, source) = (call.argument(index), call.argument(2));
            let ranking = RankingCall::of(call, model, source, NO_VALUES, options.clone(), limits.clone())?;
            let metrics = std::slice::from_ref(&metric);
            let Measured { judged, evaluation } = measure(&ranking, judged(&ranking)?, metrics)?;
            let before = std::mem::replace(&mut ids, judged.data.query_ids);
            if index > 0 && before != ids {
                return Err(other_queries(&ranking));
            }
            names.push(model_name(call, model, &ranking.handle.model, options.text("schema"))?);
            warnings.extend(judged.warnings);
            evaluations.push(evaluation);
        }
        call.state.set_warnings(warnings);
        let models = [0, 1].map(|index| (&*names[index], &evaluations[index]));
        draw_pair(&metric, &ids, models).ok_or_else(|| {
            let metric = metric.name();
            Error::Data(format!(
                "{metric} has no value for any query of the source: no query has a relevant document"
            ))
        })
    })
}

/// Draws the first metric of two models, a and b, for each query: b on the x axis, a on the y axis. `None` if no query has a
/// value for both.
pub fn draw_pair(metric: &Metric, ids: &[Id], models: [(&str, &Evaluation); 2]) -> Option<String> {
    let [a, b] = models.map(|(_, evaluation)| &evaluation.values);
    let pairs = a.iter().zip(b).zip(ids);
    let points: Vec<(f64, f64, String)> =
        pairs.filter_map(|((a, b), id)| Some((b[0]?, a[0]?, label(id)))).collect();
    if points.is_empty() {
        return None;
    }
    let better = metric.def().better.sign();
    let count = |sign: f64| points.iter().filter(|(x, y, _)| sign * better * (y - x) > 0.0).count();
    let (a_wins, b_wins) = (count(1.0), count(-1.0));
    let equal = points.len() - a_wins - b_wins;
    let [a, b] = models.map(|(name, _)| shortened(name, 48));
    let left_out = match ids.len() - points.len() {
        0 => String::new(),
        count => format!(" Left out: {} without a value.", counted(count, "query", "queries")),
    };
    let subtitle = format!(
        "{a} is better in {}, {b} in {}; {} equal. On the line both are equal.{left_out}",
        counted(a_wins, "query", "queries"),
        counted(b_wins, "query", "queries"),
        if equal == 1 { "1 is".to_owned() } else { format!("{} are", counted(equal, "", "").trim()) }
    );
    let metric = metric.name();
    let scatter = Scatter {
        title: format!("{metric} of each query"),
        subtitle,
        axes: [format!("{metric} of {b}"), format!("{metric} of {a}")],
        points,
        noun: ["query", "queries"],
    };
    Some(scatter.draw())
}

/// An id in a title.
pub fn label(id: &Id) -> String {
    shorten(id.to_string().trim_matches('\''))
}

/// Name of the model that ranks a source.
fn name_of(call: &Call<'_>, request: &RankingCall<'_>) -> Result<String> {
    model_name(call, call.argument(0), &request.handle.model, request.options.text("schema"))
}

/// Reads and scores the source of `ltr_plot(kind, model, source [, options])`, and draws.
fn with_judged(call: &Call<'_>, draw: impl FnOnce(&ScoredDocuments, &str) -> String) -> Result<String> {
    RankingCall::run(call, Use::Evaluate, |request| {
        let judged = judged(request)?;
        call.state.set_warnings(judged.warnings.clone());
        Ok(draw(&judged, &name_of(call, request)?))
    })
}

/// `ltr_plot('calibration', model, source [, options])`: the mean grade of documents with about the same score.
pub fn calibration(call: &Call<'_>) -> Result<String> {
    with_judged(call, draw_calibration)
}

/// Draws the mean grade of bins of scores.
pub fn draw_calibration(judged: &ScoredDocuments, name: &str) -> String {
    let ScoredDocuments { data, scores, probability, .. } = judged;
    let (at, of, what) = match probability {
        Some(map) => {
            let at: Vec<f64> = scores.iter().map(|score| map.at(*score)).collect();
            let is_relevant = |grade: &f64| f64::from(u8::from(*grade >= map.threshold));
            let threshold = number(map.threshold);
            let names =
                ["probability", "probabilities", &format!("share with a grade of at least {threshold}")]
                    .map(str::to_owned);
            (at, data.relevance.iter().map(is_relevant).collect(), names)
        }
        None => {
            (scores.clone(), data.relevance.clone(), ["score", "scores", "mean grade"].map(str::to_owned))
        }
    };
    let [one, several, value] = what;
    let bins = bins_of(&data.offsets, &at, &of);
    let interval = |bin: &CalibrationBin| {
        let (low, high) = bin.range;
        let documents = counted(bin.documents, "document", "documents");
        let queries = counted(bin.queries, "query", "queries");
        let note = format!("{documents} of {queries}, {several} {} to {}", number(low), number(high));
        (bin.interval, note)
    };
    let points: Vec<(f64, f64)> = bins.iter().map(|bin| (bin.score, bin.grade)).collect();
    let promised =
        probability.as_ref().map(|_| points.iter().map(|(promised, _)| (*promised, *promised)).collect());
    let series = Series {
        name: if promised.is_some() { "measured".to_owned() } else { String::new() },
        points,
        joined: Joined::Line,
        intervals: bins.iter().map(interval).collect(),
    };
    let lines = if bins.iter().any(|bin| bin.interval.is_some()) {
        &format!("Lines: 95% intervals of the {value}, with the queries as the sample.")
    } else {
        "One query has no interval."
    };
    let curve = Curve {
        title: format!("Grades by {one} of {name}"),
        subtitle: format!(
            "{} of {} in {} by {one}. {lines}",
            counted(scores.len(), "document", "documents"),
            counted(data.n_queries(), "query", "queries"),
            counted(bins.len(), "bin", "bins")
        ),
        axes: [format!("mean {one} of the bin"), value],
        scale: Scale::Linear,
        series: iter::once(series)
            .chain(promised.map(|points| Series::new("promised", points, Joined::Line)))
            .collect(),
        chosen: None,
    };
    curve.draw()
}

/// `ltr_plot('scores', model, source [, options])`: the distribution of scores for each grade.
pub fn scores(call: &Call<'_>) -> Result<String> {
    with_judged(call, draw_scores)
}

/// Draws the scores of each grade.
pub fn draw_scores(judged: &ScoredDocuments, name: &str) -> String {
    let group = |(name, values): (String, Vec<f64>)| Group { name, values };
    let ridges = Ridges {
        title: format!("Scores of {name}"),
        subtitle: "Documents by score. The highest bar of each grade has the same height. Orange: median."
            .to_owned(),
        axis: "score".to_owned(),
        groups: grade_groups(judged).into_iter().map(group).collect(),
        noun: ["document", "documents"],
    };
    ridges.draw()
}

/// Document scores for each grade, highest grade first; many grades are grouped into ranges of about the same size.
pub fn grade_groups(judged: &ScoredDocuments) -> Vec<(String, Vec<f64>)> {
    let (scores, grades) = (&judged.scores, &judged.data.relevance);
    let mut order: Vec<usize> = (0..scores.len()).collect();
    sort_indices(&mut order, &|a, b| compare(grades[b], grades[a]));
    // 1. One group for each grade, the highest first.
    let mut groups: Vec<(f64, f64, Vec<f64>)> = Vec::new();
    for row in order {
        match groups.last_mut() {
            Some((lowest, _, values)) if compare(*lowest, grades[row]).is_eq() => values.push(scores[row]),
            _ => groups.push((grades[row], grades[row], vec![scores[row]])),
        }
    }
    // 2. Many grades: merge neighbors into groups of about the same size.
    let size = scores.len().div_ceil(MOST_GRADES);
    if groups.len() > MOST_GRADES {
        let mut merged: Vec<(f64, f64, Vec<f64>)> = Vec::new();
        for (lowest, highest, values) in groups {
            match merged.last_mut() {
                Some(last) if last.2.len() < size => {
                    last.0 = lowest;
                    last.2.extend(values);
                }
                _ => merged.push((lowest, highest, values)),
            }
        }
        groups = merged;
    }
    let named = |(lowest, highest, values): (f64, f64, Vec<f64>)| {
        let range = if lowest < highest {
            format!("{} to {}", number(lowest), number(highest))
        } else {
            number(lowest)
        };
        (format!("grade {range}"), values)
    };
    groups.into_iter().map(named).collect()
}

// Plots of features: weights and importance.

/// `ltr_plot('weights', model [, query_features])`: the weights of `ltr_weights`, the largest first.
pub fn weights(call: &Call<'_>) -> Result<String> {
    let handle = open_model(call)?;
    let name = model_name(call, call.argument(0), &handle.model, None)?;
    draw_weights(call, &handle, call.argument(1), &name)
}

/// Draws the weights of a query's function. `name`: the model's name.
///
/// # Errors
/// A model without weights.
pub fn draw_weights(
    call: &Call<'_>,
    handle: &ModelHandle,
    query: ValueRef<'_>,
    name: &str,
) -> Result<String> {
    let function = function_of(call, handle, query)?;
    let bar = |weight: FeatureWeight| Bar { name: weight.feature, value: weight.weight, interval: None };
    let bars: Vec<Bar> = function_weights(&handle.model, &function)?.into_iter().map(bar).collect();
    if bars.is_empty() {
        return Err(no_features());
    }
    let count = counted(bars.len(), "feature", "features");
    let negative = if bars.iter().any(|bar| bar.value < 0.0) { "; orange is negative" } else { "" };
    let mut plot = Bars {
        title: format!("Weights of {name}"),
        subtitle: format!("Weights of {count} after scaling, the largest first{negative}"),
        axis: "weight".to_owned(),
        rows: bars,
    };
    plot.sort(f64::abs);
    Ok(plot.draw())
}

fn no_features() -> Error {
    Error::Unsupported("the model has no features".to_owned())
}

/// `ltr_plot('importance', model, source [, options])`: the losses of `ltr_importance` by its first metric.
pub fn importance(call: &Call<'_>) -> Result<String> {
    let rows: Vec<Vec<Output>> = (IMPORTANCE.execute)(call)?.collect::<Result<_>>()?;
    let metric = match rows.first().map(|row| &row[1]) {
        Some(Output::Text(metric)) => metric.clone(),
        _ => return Err(no_features()),
    };
    let bar = |row: Vec<Output>| match <[Output; 6]>::try_from(row) {
        Ok([Output::Text(name), Output::Text(of), _, Output::Real(value), low, high]) if of == metric => {
            let interval = if let (Output::Real(low), Output::Real(high)) = (low, high) {
                Some((low, high))
            } else {
                None
            };
            Some(Bar { name, value, interval })
        }
        _ => None,
    };
    let bars: Vec<Bar> = rows.into_iter().filter_map(bar).collect();
    if bars.is_empty() {
        return Err(Error::Data(format!("{metric} has no value for any query of the source")));
    }
    let name = name_of(call, &RankingCall::new(call, Use::Importance)?)?;
    let mut plot = Bars {
        title: format!("Importance of features in {name}"),
        subtitle: format!(
            "Loss of {metric} if a feature is permuted within queries, with its confidence interval"
        ),
        axis: format!("loss of {metric}"),
        rows: bars,
    };
    plot.sort(std::convert::identity);
    Ok(plot.draw())
}

/// `ltr_plot('effect', model, source, feature [, options])`: the mean score if all documents had the same value (rule
/// 14.7).
pub fn effect(call: &Call<'_>) -> Result<String> {
    let feature = text_argument("argument 'feature'", call.argument(2))?;
    let (options, limits) = call.options(3, Use::Evaluate)?;
    let request =
        RankingCall::of(call, call.argument(0), call.argument(1), NO_VALUES, options, limits.clone())?;
    limits.run_here(|| {
        let model = &request.handle.model;
        let column = column_of(model, &feature)?;
        let spec = ReadSpec { query: true, ..ReadSpec::ranked(model, request.constraint()?) };
        let mut data = request.read_source(spec)?.data;
        let values = spread((0..data.n_docs()).map(|row| data.features.at(row, column)));
        if values.is_empty() {
            return Err(request.source.error(format!("column '{feature}' has no value in any row")));
        }
        let (mut points, mut warnings) = (Vec::with_capacity(values.len()), Vec::new());
        for value in values {
            data.features.set_column(column, std::iter::repeat(value));
            let scored = request.scored(&data)?;
            points.push((value, scored.scores.iter().sum::<f64>() / data.n_docs() as f64));
            warnings = scored.warnings;
        }
        call.state.set_warnings(warnings);
        let documents = counted(data.n_docs(), "document", "documents");
        let queries = counted(data.n_queries(), "query", "queries");
        let curve = Curve {
            title: format!("Effect of {} in {}", shortened(&feature, 48), name_of(call, &request)?),
            subtitle: format!(
                "Mean score of {documents} of {queries} if all had this value; points: quantiles"
            ),
            axes: [feature, "mean score".to_owned()],
            scale: Scale::Linear,
            series: vec![Series::new("", points, Joined::Line)],
            chosen: None,
        };
        Ok(curve.draw())
    })
}

/// Index of a feature that can have the same value in all documents.
fn column_of(model: &Model, feature: &str) -> Result<usize> {
    let names = model.card.input_names();
    let place = names.iter().position(|name| name.eq_ignore_ascii_case(feature));
    let place = place.ok_or_else(|| Error::unknown("feature", feature, names.iter().map(String::as_str)))?;
    let inputs = model.card.categories.inputs(model.card.features.len());
    let InputColumn::Number(column) = inputs[place] else {
        return Err(Error::Unsupported(format!(
            "'{feature}' is a category, whose values have no order to draw"
        )));
    };
    if !model.scaling.pointwise() || !model.scorer()?.pointwise() {
        return Err(Error::Unsupported(
            "scores of this model compare the documents of a query, so a value shared by all has no effect; draw 'importance'"
                .to_owned(),
        ));
    }
    Ok(column)
}

/// The finite values at evenly spaced ranks, each once, in ascending order.
fn spread(values: impl Iterator<Item = f64>) -> Vec<f64> {
    let mut values: Vec<f64> = values.filter(|value| value.is_finite()).collect();
    sort_ascending(&mut values);
    let mut distinct = values.clone();
    distinct.dedup();
    if distinct.len() > MOST_VALUES {
        let rank = |number| number * (values.len() - 1) / (MOST_VALUES - 1);
        distinct = (0..MOST_VALUES).map(|number| values[rank(number)]).collect();
        distinct.dedup();
    }
    distinct
}
