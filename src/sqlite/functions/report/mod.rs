//! `ltr_report(model, source [, options])`: one page in HTML about a model and how it ranks judged documents.
//!
//! Rules (docs/reference/rules.md, 14):
//! * 14.3: The page has the metrics with baselines (the previous version, the best single feature, a random order), plots,
//!   the worst queries with their lists, the warnings, facts of the data and the card. It needs no other file.

mod content;

use rusqlite::functions::FunctionFlags;
use rusqlite::types::ValueRef;
use serde_json::{Value, json};

use super::evaluate::{Judged, evaluate_judged, judged, metrics, reserve_drawing};
use super::plot::{MODEL, OPTIONS, SOURCE, features, ranked, training};
use super::ranking_call::{NO_VALUES, RankingCall};
use crate::algorithm::single_feature::{Judge, best};
use crate::control::Control;
use crate::error::{Error, Result};
use crate::evaluate::{Evaluation, METRIC_COST, evaluate};
use crate::metric::{Metric, Undefined};
use crate::options::Use;
use crate::plot::{Bar, Bars, Page};
use crate::sqlite::glue::function::{ScalarCall, ScalarFunction};
use crate::sqlite::glue::value::Output;
use crate::sqlite::glue::vtab::Call;
use crate::sqlite::store::Store;

/// The definition of `ltr_report`.
pub const REPORT: ScalarFunction = ScalarFunction {
    name: "ltr_report",
    arities: &[2, 3],
    parameters: &[MODEL, SOURCE, OPTIONS],
    flags: FunctionFlags::SQLITE_DIRECTONLY,
    execute: report,
};

/// Metrics of a report without the option `metric`.
const DEFAULT_METRICS: [&str; 4] = ["ndcg@10", "ndcg@5", "map", "mrr"];

fn report(call: &ScalarCall<'_>) -> Result<Output> {
    let arguments = [call.argument(0), call.argument(1), call.argument(2)];
    call.with_call(&arguments, |call| {
        let request = RankingCall::new(call, Use::Evaluate)?;
        request.limits.run_here(call.connection, || page(call, &request).map(Output::Text))
    })
}

/// What a page is about.
struct Subject<'a> {
    request: &'a RankingCall,
    judged: Judged,
    metrics: Vec<Metric>,
    evaluation: Evaluation,
    /// Name and version, or the algorithm of a BLOB.
    name: String,
    /// The stored report; null for a BLOB.
    stored: Value,
    /// Name and version of the version before, if there is one.
    previous: Option<String>,
}

impl Subject<'_> {
    /// The first metric.
    fn metric(&self) -> &Metric {
        &self.metrics[0]
    }
}

fn page(call: &Call<'_>, request: &RankingCall) -> Result<String> {
    let subject = subject(call, request)?;
    let _memory = reserve_drawing(request, &subject.judged)?;
    let mut page = Page::default();
    page.heading(1, &subject.name);
    content::summary(&mut page, &subject);
    page.heading(2, "Warnings");
    content::warnings(&mut page, &subject);
    page.heading(2, "Compared with simpler rankings");
    compare(call, &subject, &mut page)?;
    page.heading(2, "What the scores mean");
    let plots = [
        ranked::draw_calibration(&subject.judged, &subject.name)?,
        ranked::draw_scores(&subject.judged, &subject.name)?,
    ];
    page.figures(&plots);
    page.heading(2, "Model and training");
    model_plots(call, &subject, &mut page)?;
    page.heading(2, "Worst queries");
    content::worst_queries(&mut page, &subject);
    page.heading(2, "Data");
    content::data(&mut page, &subject)?;
    page.heading(2, "Card");
    content::card(&mut page, &subject);
    call.state.set_warnings(subject.judged.warnings);
    Ok(page.finish(&format!("Report of {}", subject.name)))
}

/// Measures the model, and reads what is stored beside it.
fn subject<'a>(call: &Call<'_>, request: &'a RankingCall) -> Result<Subject<'a>> {
    // Options of one metric do not fit all of the default metrics.
    let metrics = match request.options.get("metric") {
        Some(_) => metrics(&request.options)?,
        None => metrics(&request.options.clone().with("metric", json!(DEFAULT_METRICS)))
            .or_else(|_| metrics(&request.options))?,
    };
    let judged = judged(call, request)?;
    let (evaluation, _memory) = evaluate_judged(call, request, &judged, &metrics)?;
    let algorithm = &request.handle.model.card.algorithm;
    let (name, stored, previous) = match call.argument(0) {
        ValueRef::Text(text) => {
            let store = Store::new(call.connection, request.options.text("schema"), &request.limits)?;
            let text = String::from_utf8_lossy(text);
            let (name, version, stored) = store.report(&text, &request.limits)?;
            let previous = store.previous(&name, version, &request.limits)?;
            let previous = previous.map(|version| format!("{name}@{version}"));
            let stored = serde_json::from_str(&stored).unwrap_or(Value::Null);
            (format!("{name} (version {version})"), stored, previous)
        }
        _ => (format!("a model of {algorithm}"), Value::Null, None),
    };
    Ok(Subject { request, judged, metrics, evaluation, name, stored, previous })
}

/// Bars of the model and of simpler rankings; each query with this version and the previous one.
fn compare(call: &Call<'_>, subject: &Subject<'_>, page: &mut Page) -> Result<()> {
    let Subject { request, judged, evaluation, .. } = subject;
    let metric = subject.metric();
    let bar = |name: String, value: Option<f64>| value.map(|value| Bar { name, value, interval: None });
    let mut bars: Vec<Option<Bar>> = vec![bar("this model".to_owned(), evaluation.means[0])];
    let mut plots = Vec::new();
    let mut problem = None;
    // 1. The previous version, if it can rank these rows.
    if let Some(previous) = &subject.previous {
        match measure_previous(call, subject, previous) {
            Ok(found) => {
                let version = previous.rsplit_once('@').map_or("", |(_, version)| version);
                bars.push(bar(format!("version {version} (previous)"), found.means[0]));
                plots.extend(ranked::draw_pair(
                    metric,
                    &judged.data.query_ids,
                    [(&subject.name, evaluation), (previous, &found)],
                )?);
            }
            Err(error) => {
                problem = Some(format!("The previous version could not be measured: {}", text_of(error)?));
            }
        }
    }
    // 2. The best single feature, and a random order: all documents have the same score.
    bars.push(best_feature(call, subject)?);
    let undefined = request.options.choice("undefined")?.unwrap_or_default();
    let same = vec![0.0; judged.scores.len()];
    let operations = same.len().saturating_mul(METRIC_COST);
    let work =
        |control: &Control| evaluate(&judged.data, &same, std::slice::from_ref(metric), undefined, control);
    bars.push(bar(
        "random order".to_owned(),
        request.limits.run_sized(call.connection, operations, work)?.means[0],
    ));
    let bars: Vec<Bar> = bars.into_iter().flatten().collect();
    if bars.is_empty() {
        page.paragraph("The metric has no value for any query: no query has a relevant document.");
        return Ok(());
    }
    let bars = Bars {
        title: format!("{} of simpler rankings", metric.name()),
        subtitle: "Mean over the queries of this source; the best single feature by ORDER BY".to_owned(),
        axis: metric.name(),
        rows: bars,
    };
    plots.insert(0, bars.draw()?);
    page.figures(&plots);
    if let Some(problem) = problem {
        page.paragraph(&problem);
    }
    Ok(())
}

/// The first metric of the previous version on the same source.
fn measure_previous(call: &Call<'_>, subject: &Subject<'_>, previous: &str) -> Result<Evaluation> {
    let request = subject.request;
    let model = ValueRef::Text(previous.as_bytes());
    let request = RankingCall::of(
        call,
        model,
        call.argument(1),
        NO_VALUES,
        request.options.clone(),
        request.limits.clone(),
    )?;
    let judged = judged(call, &request)?;
    if judged.data.query_ids != subject.judged.data.query_ids {
        return Err(super::compare::other_queries(&request));
    }
    Ok(evaluate_judged(call, &request, &judged, &subject.metrics[..1])?.0)
}

/// The best ranking by one feature.
fn best_feature(call: &Call<'_>, subject: &Subject<'_>) -> Result<Option<Bar>> {
    let Subject { request, judged: Judged { data, .. }, .. } = subject;
    let (names, constraint) = (&data.names, request.constraint()?);
    let undefined: Undefined = request.options.choice("undefined")?.unwrap_or_default();
    let queries: Vec<usize> = (0..data.n_queries()).collect();
    let judges = [Judge { data, queries: &queries }];
    let operations = data.n_docs().saturating_mul(names.len()).saturating_mul(2 * METRIC_COST);
    let metric = subject.metric();
    let work = |control: &Control| best(&judges, names.len(), (metric, undefined), constraint, control);
    let best = request.limits.run_sized(call.connection, operations, work)?;
    Ok(best.map(|best| Bar {
        name: best.order_by(names).replacen("ORDER BY ", "", 1),
        value: best.value,
        interval: None,
    }))
}

/// Plots of the model and its training; what has no plot is left out.
fn model_plots(call: &Call<'_>, subject: &Subject<'_>, page: &mut Page) -> Result<()> {
    let can = subject.request.handle.model.capabilities();
    let arguments = [call.arguments[0], None, None];
    let Call { state, connection, statements, .. } = *call;
    let model = Call { state, connection, statements, arguments: &arguments, only: None, order: None };
    let mut drawn = vec![training::validation(&model), training::training(&model)];
    if can.linear && !can.query_dependent {
        drawn.insert(0, features::weights(&model));
    }
    let (mut plots, mut notes) = (Vec::new(), Vec::new());
    for plot in drawn {
        match plot {
            Ok(plot) => plots.push(plot),
            Err(error) => notes.push(text_of(error)?),
        }
    }
    page.figures(&plots);
    for note in notes {
        page.paragraph(&content::sentence(&note));
    }
    Ok(())
}

/// The text of an error that a page can tell.
///
/// # Errors
/// Errors that end the call.
fn text_of(error: Error) -> Result<String> {
    match error {
        Error::Interrupted | Error::TimeLimit(_) | Error::Memory { .. } | Error::Internal(_) => Err(error),
        other => Ok(other.to_string()),
    }
}
