//! `ltr_report(model, source [, options])`: an HTML page about a model and how it ranks judged documents.
//!
//! Rules (docs/reference/rules.md, 14):
//! * 14.3: The page has the metrics with baselines (the previous version, the best single feature, a random order), plots,
//!   the worst queries with their lists, the warnings, data statistics and the card. It needs no other file.
//! * 14.4, 14.5: The best single feature is cross-fitted. Rows with the fingerprint of the training data are a warning.

use rusqlite::types::ValueRef;
use serde_json::{Value, json};

use super::evaluate::{Measured, ScoredDocuments, judged, measure, metrics};
use super::evaluate_search::{Measurement, end_to_end};
use super::plot;
use super::plot_ranked as ranked;
use super::ranking_call::RankingCall;
use crate::apply::{METRIC_COST, evaluate, t_quantile};
use crate::base::{Control, Error, Result, Strict};
use crate::cost::metric::{Metric, Undefined};
use crate::data::Dataset;
use crate::math::{compare, descending, sort_indices};
use crate::plot::{Align, Bar, Bars, Page, counted, decimal, number, shortened};
use crate::sqlite::functions::compare::other_queries;
use crate::sqlite::functions::plot_ranked::{draw_pair, grade_groups, label};
use crate::sqlite::functions::ranking_call::NO_VALUES;
use crate::sqlite::glue::{Output, ScalarCall, ScalarFunction};
use crate::sqlite::source::Source;
use crate::sqlite::store::{NamedVersion, Store};
use crate::train::options::{self, Use};
use crate::train::select::fold_numbers;
use crate::train::single_feature::{CrossFitted, Measure, cross_fitted, order_by};

pub const REPORT: ScalarFunction = ScalarFunction::new("ltr_report", "model, source [, options]", report);

/// Metrics of a report without the option `metric`.
const DEFAULT_METRICS: [&str; 4] = ["ndcg@10", "ndcg@5", "map", "mrr"];

fn report(call: &ScalarCall<'_>) -> Result<Output> {
    let arguments = [call.argument(0), call.argument(1), call.argument(2)];
    call.with_call(&arguments, |call| {
        RankingCall::run(call, Use::Evaluate, |request| page(request).map(Output::Text))
    })
}

/// What a page is about.
struct Subject<'a> {
    request: &'a RankingCall<'a>,
    measured: Measured,
    metrics: Vec<Metric>,
    /// Name and version, or the algorithm of a BLOB.
    name: String,
    /// The stored report; null for a BLOB.
    stored: Value,
    /// Name and number of the version before, if there is one.
    previous: Option<(String, i64)>,
}

impl Subject<'_> {
    /// The first metric.
    fn metric(&self) -> &Metric {
        &self.metrics[0]
    }
}

fn page(request: &RankingCall<'_>) -> Result<String> {
    let subject = subject(request)?;
    let mut page = Page::default();
    page.heading(1, &subject.name);
    summary(&mut page, &subject)?;
    if let Some(view) = &request.features {
        end_to_end_metrics(&mut page, &subject, view)?;
    }
    page.heading(2, "Warnings");
    warnings(&mut page, &subject);
    page.heading(2, "Compared with simpler rankings");
    comparison(&subject, &mut page)?;
    page.heading(2, "What the scores mean");
    let plots = [
        ranked::draw_calibration(&subject.measured.judged, &subject.name),
        ranked::draw_scores(&subject.measured.judged, &subject.name),
    ];
    page.figures(&plots);
    page.heading(2, "Model and training");
    model_plots(&subject, &mut page)?;
    page.heading(2, "Worst queries");
    worst_queries(&mut page, &subject);
    page.heading(2, "Data");
    data(&mut page, &subject);
    page.heading(2, "Card");
    card(&mut page, &subject);
    request.call.state.set_warnings(subject.measured.judged.warnings);
    Ok(page.finish(&format!("Report on {}", subject.name)))
}

/// Measures the model, and reads its stored data.
fn subject<'a>(request: &'a RankingCall<'a>) -> Result<Subject<'a>> {
    let call = request.call;
    // Options of one metric do not suit all default metrics.
    let metrics = match request.options.get("metric") {
        Some(_) => metrics(&request.options)?,
        None => metrics(&request.options.clone().with("metric", json!(DEFAULT_METRICS)))
            .or_else(|_| metrics(&request.options))?,
    };
    let measured = measure(request, judged(request)?, &metrics)?;
    let algorithm = &request.handle.model.card.algorithm;
    let (name, stored, previous) = match call.argument(0) {
        ValueRef::Text(text) => {
            let store = Store::new(call.connection, request.options.text("schema"), &request.limits)?;
            let named = store.version(&String::from_utf8_lossy(text))?;
            let previous = store.previous(&named)?;
            let NamedVersion { name, version, report } = named;
            let previous = previous.map(|version| (name.clone(), version));
            let Strict(stored) = serde_json::from_str(&report).unwrap_or(Strict(Value::Null));
            (format!("{name} (version {version})"), stored, previous)
        }
        _ => (format!("a model of {algorithm}"), Value::Null, None),
    };
    Ok(Subject { request, measured, metrics, name, stored, previous })
}

/// Importance is measured for up to this many feature values, which takes a few seconds.
const LARGEST_IMPORTANCE: usize = 200_000;

/// Plots of the model and its training, if they exist.
fn model_plots(subject: &Subject<'_>, page: &mut Page) -> Result<()> {
    let (handle, name) = (&subject.request.handle, &subject.name);
    let can = handle.model.capabilities();
    let mut drawn =
        vec![plot::draw_validation(&handle.model, name), plot::draw_training(&handle.model, name)];
    let data = &subject.measured.judged.data;
    if can.linear && !can.query_dependent {
        drawn.insert(0, ranked::draw_weights(subject.request.call, handle, ValueRef::Null, name));
    } else if can.has_features && data.n_docs().saturating_mul(data.names.len()) <= LARGEST_IMPORTANCE {
        drawn.insert(0, ranked::importance(subject.request.call));
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
        page.paragraph(&sentence(&note));
    }
    Ok(())
}

/// The text of an error that can be shown on the page.
///
/// # Errors
/// An error that ends the call, unchanged.
fn text_of(error: Error) -> Result<String> {
    match error {
        Error::Interrupted | Error::TimeLimit { .. } | Error::Memory { .. } | Error::Internal(_) => {
            Err(error)
        }
        other => Ok(other.to_string()),
    }
}

// Baselines: the previous version, the best single feature, a random order.

/// Folds of the queries in which a single feature is chosen.
const FOLDS: usize = 5;

/// Bars for the model and simpler rankings; each query by this version and the previous one.
fn comparison(subject: &Subject<'_>, page: &mut Page) -> Result<()> {
    let Subject { request, measured: Measured { judged, evaluation, .. }, .. } = subject;
    let metric = subject.metric();
    let bar = |name: String, value: Option<f64>| value.map(|value| Bar { name, value, interval: None });
    let mut bars: Vec<Option<Bar>> = vec![bar("this model".to_owned(), evaluation.means[0])];
    let (mut plots, mut notes) = (Vec::new(), Vec::new());
    // 1. The previous version, if it can rank these rows.
    if let Some((name, version)) = &subject.previous {
        match measure_previous(subject, &format!("{name}@{version}")) {
            Ok(found) => {
                bars.push(bar(format!("version {version} (previous)"), found.evaluation.means[0]));
                let previous = format!("{name} (version {version})");
                let models = [(&*subject.name, evaluation), (&*previous, &found.evaluation)];
                plots.extend(draw_pair(metric, &judged.data.query_ids, models));
                if found.judged.in_training {
                    notes.push(format!(
                        "Version {version} was trained on these rows, so its value is optimistic."
                    ));
                }
            }
            Err(error) => {
                notes.push(format!("The previous version could not be measured: {}", text_of(error)?));
            }
        }
    }
    // 2. The best single feature, and a random order, in which all documents have the same score.
    if let Some(found) = best_feature(subject)? {
        let CrossFitted { value, chosen } = found;
        let name =
            if let [(only, _)] = &chosen[..] { only.clone() } else { "best single feature".to_owned() };
        bars.push(bar(name, Some(value)));
        let folds = |(name, count): &(String, usize)| {
            format!("{} in {}", shortened(&order_by(name), 30), counted(*count, "fold", "folds"))
        };
        let chosen: Vec<String> = chosen.iter().map(folds).collect();
        notes.push(format!(
            "The best single feature is cross-fitted: chosen on all folds of the queries but one, and measured on that \
             one. Chosen: {}.",
            chosen.join(", ")
        ));
    }
    let undefined = options::choice(&request.options, "undefined")?;
    let same = vec![0.0; judged.scores.len()];
    let operations = same.len().saturating_mul(METRIC_COST);
    let work =
        |control: &Control| evaluate(&judged.data, &same, std::slice::from_ref(metric), undefined, control);
    bars.push(bar("random order".to_owned(), request.limits.run_sized(operations, work)?.means[0]));
    let bars: Vec<Bar> = bars.into_iter().flatten().collect();
    if bars.is_empty() {
        page.paragraph("The metric has no value for any query: no query has a relevant document.");
        return Ok(());
    }
    let bars = Bars {
        title: format!("{} of this model and of simpler rankings", metric.name()),
        subtitle: "Mean over the queries of this source".to_owned(),
        axis: metric.name(),
        rows: bars,
    };
    plots.insert(0, bars.draw());
    page.figures(&plots);
    notes.iter().for_each(|note| page.paragraph(note));
    Ok(())
}

/// The first metric of the previous version on the same source.
fn measure_previous(subject: &Subject<'_>, previous: &str) -> Result<Measured> {
    let (request, call) = (subject.request, subject.request.call);
    let model = ValueRef::Text(previous.as_bytes());
    let (options, limits) = (request.options.clone(), request.limits.clone());
    let request = RankingCall::of(call, model, call.argument(1), NO_VALUES, options, limits)?;
    let evaluation = measure(&request, judged(&request)?, &subject.metrics[..1])?;
    if evaluation.judged.data.query_ids != subject.measured.judged.data.query_ids {
        return Err(other_queries(&request));
    }
    Ok(evaluation)
}

/// The best ranking by one feature, cross-fitted; `None` without features or with only one query.
fn best_feature(subject: &Subject<'_>) -> Result<Option<CrossFitted>> {
    let Subject { request, measured: Measured { judged, evaluation, .. }, .. } = subject;
    let (data, constraint) = (&judged.data, request.constraint()?);
    let undefined: Undefined = options::choice(&request.options, "undefined")?;
    // 1. Folds of the queries that have a value.
    let counts: Vec<bool> =
        evaluation.values.iter().map(|values| undefined.resolve(values[0]).is_some()).collect();
    let folds = counts.iter().filter(|counts| **counts).count().min(FOLDS);
    if folds < 2 {
        return Ok(None);
    }
    let fold_of = fold_numbers(&data.query_ids, &counts, folds, 0);
    // 2. Every feature, ascending and descending.
    let operations = data.n_docs().saturating_mul(data.names.len()).saturating_mul(2 * METRIC_COST);
    let measure = Measure { metric: subject.metric(), undefined, constraint };
    let work = |control: &Control| cross_fitted(data, measure, folds, &fold_of, control);
    request.limits.run_sized(operations, work)
}

// Tables and texts of a report.

/// Queries and documents of the worst lists.
const WORST_QUERIES: usize = 5;
const DOCUMENTS: usize = 10;

/// Longest id, in characters.
const LONGEST_ID: usize = 40;

/// Largest number of warnings shown.
const WARNINGS: usize = 30;

/// Capitalizes text and ends it with a period.
pub fn sentence(text: &str) -> String {
    let mut letters = text.chars();
    let first: String = letters.next().map(|first| first.to_uppercase().collect()).unwrap_or_default();
    format!("{first}{}{}", letters.as_str(), if text.ends_with(['.', '?']) { "" } else { "." })
}

/// The metrics and the size of the data.
fn summary(page: &mut Page, subject: &Subject<'_>) -> Result<()> {
    let Subject { request, measured: Measured { judged, evaluation, .. }, metrics, .. } = subject;
    let card = &request.handle.model.card;
    page.paragraph(&format!(
        "Algorithm: {}. Measured on {}: {} of {}.",
        card.algorithm,
        request.source.shown,
        counted(judged.data.n_docs(), "document", "documents"),
        counted(judged.data.n_queries(), "query", "queries")
    ));
    let undefined: Undefined = options::choice(&request.options, "undefined")?;
    let mut tiles: Vec<(String, String)> = Vec::new();
    for (column, metric) in metrics.iter().enumerate() {
        let value = |values: &Vec<Option<f64>>| undefined.resolve(values[column]);
        let values: Vec<f64> = evaluation.values.iter().filter_map(value).collect();
        let n = values.len() as f64;
        let mean = values.iter().sum::<f64>() / n;
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        // The metric `mre_pooled` is not a mean over queries.
        let shown = evaluation.means[column];
        let is_mean = shown.is_some_and(|shown| (shown - mean).abs() < 1e-9);
        let error = is_mean.then(|| (squares / (n - 1.0) / n).sqrt());
        tiles.push((metric.name(), with_interval(shown, error, n)));
    }
    let validation = &card.summary["validation"];
    if let Some(best) = validation["best"].as_f64() {
        let metric = validation["metric"].as_str().unwrap_or("metric");
        let n = validation["queries"].as_f64().unwrap_or_default();
        let shown = with_interval(Some(best), validation["error"].as_f64(), n);
        tiles.push((format!("{metric} in validation"), shown));
    }
    page.tiles(&tiles);
    let lines = subject.stored["evidence"]["lines"].as_array().map(Vec::as_slice).unwrap_or_default();
    let lines = lines.iter().chain([&subject.stored["advice"]]).filter_map(Value::as_str);
    let lines: Vec<String> = lines.map(|line| format!("Training: {line}")).collect();
    if !lines.is_empty() {
        page.list(&lines);
    }
    Ok(())
}

/// The first metric, with all judged documents in the ideal order, for a model whose features come from a view.
fn end_to_end_metrics(page: &mut Page, subject: &Subject<'_>, view: &Source) -> Result<()> {
    page.paragraph(&format!(
        "Features come from the view {}. Figures on this page are for the judged documents that it returns. The following also \
         count the ones that it misses:",
        view.shown
    ));
    match end_to_end(subject.request, view, &subject.metrics[..1]) {
        Err(error) => page.paragraph(&sentence(&text_of(error)?)),
        Ok(Measurement { names, evaluation, .. }) => {
            let value = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), |value| decimal(value, 3));
            page.tiles(&names.into_iter().zip(evaluation.means.into_iter().map(value)).collect::<Vec<_>>());
        }
    }
    Ok(())
}

/// A mean of `n` queries with half of its 95% interval, by Student's t.
fn with_interval(mean: Option<f64>, error: Option<f64>, n: f64) -> String {
    match (mean, error) {
        (None, _) => "-".to_owned(),
        (Some(mean), Some(error)) if n >= 2.0 && error.is_finite() => {
            format!("{} ± {}", decimal(mean, 3), decimal(t_quantile(0.05, n - 1.0) * error, 3))
        }
        (Some(mean), _) => decimal(mean, 3),
    }
}

/// Warnings of the training and of the scores.
fn warnings(page: &mut Page, subject: &Subject<'_>) {
    let stored = subject.stored["warnings"].as_array().map(Vec::as_slice).unwrap_or_default();
    let stored = stored.iter().filter_map(Value::as_str).map(|text| format!("Training: {text}"));
    let scores = subject.measured.judged.warnings.iter().map(|text| format!("This source: {text}"));
    let unknown = "Training: warnings are stored in ltr_models, not in a BLOB".to_owned();
    let unknown = subject.stored.is_null().then_some(unknown);
    let messages: Vec<String> = scores.chain(stored).chain(unknown).collect();
    if messages.is_empty() {
        page.paragraph("None.");
        return;
    }
    page.list(&messages[..messages.len().min(WARNINGS)]);
    if messages.len() > WARNINGS {
        page.paragraph(&format!("And {} more.", messages.len() - WARNINGS));
    }
}

/// The queries with the lowest values of the first metric, and their lists.
fn worst_queries(page: &mut Page, subject: &Subject<'_>) {
    let Measured { judged: ScoredDocuments { data, scores, .. }, evaluation, .. } = &subject.measured;
    let better = subject.metric().def().better.sign();
    let value = |query: usize| evaluation.values[query][0];
    let mut order: Vec<usize> = (0..data.n_queries()).filter(|query| value(*query).is_some()).collect();
    sort_indices(&mut order, &|a, b| {
        compare(better * value(a).unwrap_or_default(), better * value(b).unwrap_or_default())
    });
    if order.is_empty() {
        page.paragraph("The metric has no value for any query.");
    }
    let list = |query: usize| {
        let (id, metric) = (shortened(&label(&data.query_ids[query]), LONGEST_ID), subject.metric().name());
        let mut part = Page::default();
        part.heading(3, &format!("Query {id}: {metric} {}", decimal(value(query).unwrap_or_default(), 3)));
        worst_list(&mut part, data, scores, query);
        part
    };
    page.side_by_side(&order.into_iter().take(WORST_QUERIES).map(list).collect::<Vec<_>>());
}

/// The top of a query's list, and the ranks of its best documents.
fn worst_list(page: &mut Page, data: &Dataset, scores: &[f64], query: usize) {
    let rows = data.rows(query);
    let order = descending(&scores[rows.clone()]);
    let cells = |(rank, row): (usize, &usize)| {
        let row = rows.start + row;
        vec![
            (rank + 1).to_string(),
            shortened(&label(&data.doc_ids[row]), LONGEST_ID),
            number(data.relevance[row]),
            number(scores[row]),
        ]
    };
    let list: Vec<Vec<String>> = order.iter().enumerate().take(DOCUMENTS).map(cells).collect();
    let columns = [
        ("rank", Align::Number),
        ("document", Align::Text),
        ("grade", Align::Number),
        ("score", Align::Number),
    ];
    page.table(&columns, &list);
    let labels = data.labels(query);
    let best = labels.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let first = order.iter().position(|row| labels[*row] >= best).unwrap_or(0);
    if first > 0 {
        let (best, rank) = (number(best), decimal((first + 1) as f64, 0));
        let total = counted(rows.len(), "document", "documents");
        page.paragraph(&format!(
            "The first document with the highest grade, {best}, is at rank {rank} of {total}."
        ));
    }
}

/// Sizes of the queries and grades.
fn data(page: &mut Page, subject: &Subject<'_>) {
    let Measured { judged, evaluation, .. } = &subject.measured;
    let data = &judged.data;
    let mut sizes: Vec<usize> = (0..data.n_queries()).map(|query| data.rows(query).len()).collect();
    sizes.sort_unstable();
    let [least, median, most] =
        [0, sizes.len() / 2, sizes.len() - 1].map(|index| decimal(sizes[index] as f64, 0));
    let without = evaluation.values.iter().filter(|values| values[0].is_none()).count();
    let count = |count: usize| decimal(count as f64, 0);
    let facts = [
        ("queries", count(data.n_queries())),
        ("documents", count(data.n_docs())),
        ("documents per query", format!("{least} to {most}, median {median}")),
        ("features", count(data.names.len())),
        ("queries whose metric is undefined", count(without)),
        ("duplicate documents in a query", count(data.duplicates)),
    ];
    let rows: Vec<Vec<String>> =
        facts.into_iter().map(|(name, value)| vec![name.to_owned(), value]).collect();
    let mut sizes = Page::default();
    sizes.table(&[("", Align::Text), ("", Align::Number)], &rows);
    let bar = |(name, scores): (String, Vec<f64>)| Bar { name, value: scores.len() as f64, interval: None };
    let grades = Bars {
        title: "Grades of the documents".to_owned(),
        subtitle: "Number of documents with each grade".to_owned(),
        axis: "documents".to_owned(),
        rows: grade_groups(judged).into_iter().map(bar).collect(),
    };
    let mut bars = Page::default();
    bars.figure(&grades.draw());
    page.side_by_side(&[sizes, bars]);
}

/// Settings, results and columns of the training.
fn card(page: &mut Page, subject: &Subject<'_>) {
    let card = &subject.request.handle.model.card;
    let flat = |value: &Value| match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(value) => Some(value.as_f64().map_or_else(|| value.to_string(), number)),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
        Value::Bool(value) => Some(value.to_string()),
    };
    let pairs = |object: &Value| -> Vec<Vec<String>> {
        let entries = object.as_object().into_iter().flatten();
        entries.filter_map(|(key, value)| Some(vec![key.clone(), flat(value)?])).collect()
    };
    // Settings and columns keep the names that a user writes.
    let in_words = |rows: Vec<Vec<String>>| {
        rows.into_iter().map(|row| vec![row[0].replace('_', " "), row[1].clone()]).collect()
    };
    let columns = [("", Align::Text), ("", Align::Text)];
    let tables = [
        ("Settings", pairs(&card.settings)),
        ("Training", in_words(pairs(&card.summary))),
        ("Validation", in_words(pairs(&card.summary["validation"]))),
        ("Columns", pairs(&subject.stored["roles"])),
    ];
    let part = |(title, rows): &(&str, Vec<Vec<String>>)| {
        let mut part = Page::default();
        part.heading(3, title);
        part.table(&columns, rows);
        part
    };
    page.side_by_side(&tables.iter().filter(|(_, rows)| !rows.is_empty()).map(part).collect::<Vec<_>>());
}
