//! `ltr_report(model, source [, options])`: one page in HTML about a model and how it ranks judged documents.
//!
//! Rules (docs/reference/rules.md, 14):
//! * 14.3: The page has the metrics with baselines (the previous version, the best single feature, a random order), plots,
//!   the worst queries with their lists, the warnings, facts of the data and the card. It needs no other file.
//! * 14.4, 14.5: The best single feature is cross-fitted. Rows with the fingerprint of the training are a warning.

mod baselines;
mod content;

use rusqlite::functions::FunctionFlags;
use rusqlite::types::ValueRef;
use serde_json::{Value, json};

use super::evaluate::{Judged, evaluate_judged, judged, metrics, reserve_drawing};
use super::plot::{MODEL, OPTIONS, SOURCE, features, ranked, training};
use super::ranking_call::RankingCall;
use crate::apply::Evaluation;
use crate::base::error::{Error, Result};
use crate::base::memory::Reservation;
use crate::cost::metric::Metric;
use crate::plot::Page;
use crate::sqlite::glue::function::{ScalarCall, ScalarFunction};
use crate::sqlite::glue::value::Output;
use crate::sqlite::glue::vtab::Call;
use crate::sqlite::store::Store;
use crate::train::options::Use;

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
    measured: Measured,
    metrics: Vec<Metric>,
    /// Name and version, or the algorithm of a BLOB.
    name: String,
    /// The stored report; null for a BLOB.
    stored: Value,
    /// Name and number of the version before, if there is one.
    previous: Option<(String, i64)>,
}

/// How a model ranks the source.
struct Measured {
    judged: Judged,
    evaluation: Evaluation,
    /// The bytes of the evaluation.
    _memory: Reservation,
}

impl Subject<'_> {
    /// The first metric.
    fn metric(&self) -> &Metric {
        &self.metrics[0]
    }
}

fn page(call: &Call<'_>, request: &RankingCall) -> Result<String> {
    let subject = subject(call, request)?;
    let _memory = reserve_drawing(request, &subject.measured.judged)?;
    let mut page = Page::default();
    page.heading(1, &subject.name);
    content::summary(&mut page, &subject);
    page.heading(2, "Warnings");
    content::warnings(&mut page, &subject);
    page.heading(2, "Compared with simpler rankings");
    baselines::compare(call, &subject, &mut page)?;
    page.heading(2, "What the scores mean");
    let plots = [
        ranked::draw_calibration(&subject.measured.judged, &subject.name)?,
        ranked::draw_scores(&subject.measured.judged, &subject.name)?,
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
    call.state.set_warnings(subject.measured.judged.warnings);
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
    let measured = measured(call, request, &metrics)?;
    let algorithm = &request.handle.model.card.algorithm;
    let (name, stored, previous) = match call.argument(0) {
        ValueRef::Text(text) => {
            let store = Store::new(call.connection, request.options.text("schema"), &request.limits)?;
            let text = String::from_utf8_lossy(text);
            let (name, version, stored) = store.report(&text, &request.limits)?;
            let previous = store.previous(&name, version, &request.limits)?;
            let previous = previous.map(|version| (name.clone(), version));
            let stored = serde_json::from_str(&stored).unwrap_or(Value::Null);
            (format!("{name} (version {version})"), stored, previous)
        }
        _ => (format!("a model of {algorithm}"), Value::Null, None),
    };
    Ok(Subject { request, measured, metrics, name, stored, previous })
}

/// Reads, scores and measures the source.
fn measured(call: &Call<'_>, request: &RankingCall, metrics: &[Metric]) -> Result<Measured> {
    let judged = judged(call, request)?;
    let (evaluation, memory) = evaluate_judged(call, request, &judged, metrics)?;
    Ok(Measured { judged, evaluation, _memory: memory })
}

/// Plots of the model and its training; what has no plot is left out.
fn model_plots(call: &Call<'_>, subject: &Subject<'_>, page: &mut Page) -> Result<()> {
    let (handle, name) = (&subject.request.handle, &subject.name);
    let can = handle.model.capabilities();
    let mut drawn =
        vec![training::draw_validation(&handle.model, name), training::draw_training(&handle.model, name)];
    if can.linear && !can.query_dependent {
        drawn.insert(0, features::draw_weights(call, handle, None, name));
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
        Error::Interrupted | Error::TimeLimit { .. } | Error::Memory { .. } | Error::Internal(_) => {
            Err(error)
        }
        other => Ok(other.to_string()),
    }
}
