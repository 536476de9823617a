//! Tables and texts of a report.

use serde_json::Value;

use super::{Measured, Subject};
use crate::base::error::Result;
use crate::data::Dataset;
use crate::math::order::{compare, descending, sort_indices};
use crate::plot::{Align, Bar, Bars, Page, counted, decimal, number, shortened};
use crate::sqlite::functions::evaluate::Judged;
use crate::sqlite::functions::plot::ranked::{grade_groups, label};

/// Queries and documents of the worst lists.
const WORST_QUERIES: usize = 5;
const DOCUMENTS: usize = 10;

/// Most characters of an id.
const LONGEST_ID: usize = 40;

/// Most warnings that are shown.
const WARNINGS: usize = 30;

/// A text that begins with a capital letter and ends with a dot.
pub fn sentence(text: &str) -> String {
    let mut letters = text.chars();
    let first: String = letters.next().map(|first| first.to_uppercase().collect()).unwrap_or_default();
    format!("{first}{}{}", letters.as_str(), if text.ends_with(['.', '?']) { "" } else { "." })
}

/// The metrics and the size of the data.
pub fn summary(page: &mut Page, subject: &Subject<'_>) {
    let Subject { request, measured: Measured { judged, evaluation, .. }, metrics, .. } = subject;
    let card = &request.handle.model.card;
    page.paragraph(&format!(
        "A model of {}, measured on source {}: {} of {}.",
        card.algorithm,
        request.source.shown,
        counted(judged.data.n_docs(), "document", "documents"),
        counted(judged.data.n_queries(), "query", "queries")
    ));
    let value = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), |value| decimal(value, 3));
    let mut tiles: Vec<(String, String)> =
        metrics.iter().zip(&evaluation.means).map(|(metric, mean)| (metric.name(), value(*mean))).collect();
    let validation = &card.summary["validation"];
    if let Some(best) = validation["best"].as_f64() {
        let metric = validation["metric"].as_str().unwrap_or("metric");
        tiles.push((format!("{metric} in validation"), value(Some(best))));
    }
    page.tiles(&tiles);
}

/// Warnings of the training and of the scores.
pub fn warnings(page: &mut Page, subject: &Subject<'_>) {
    let stored = subject.stored["warnings"].as_array().map(Vec::as_slice).unwrap_or_default();
    let stored = stored.iter().filter_map(Value::as_str).map(|text| format!("Training: {text}"));
    let scores = subject.measured.judged.warnings.iter().map(|text| format!("This source: {text}"));
    let all: Vec<String> = scores.chain(stored).collect();
    if all.is_empty() {
        page.paragraph("None.");
        return;
    }
    page.list(&all[..all.len().min(WARNINGS)]);
    if all.len() > WARNINGS {
        page.paragraph(&format!("And {} more.", all.len() - WARNINGS));
    }
}

/// The queries with the worst values of the first metric, and their lists.
pub fn worst_queries(page: &mut Page, subject: &Subject<'_>) {
    let Measured { judged: Judged { data, scores, .. }, evaluation, .. } = &subject.measured;
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
    page.beside(&order.into_iter().take(WORST_QUERIES).map(list).collect::<Vec<_>>());
}

/// The first documents of the list of a query, and where its best ones are.
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
        let all = counted(rows.len(), "document", "documents");
        page.paragraph(&format!(
            "The first document with the highest grade, {best}, is at rank {rank} of {all}."
        ));
    }
}

/// Sizes of the queries and grades.
pub fn data(page: &mut Page, subject: &Subject<'_>) -> Result<()> {
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
        ("rows that repeat a document of a query", count(data.duplicates)),
    ];
    let rows: Vec<Vec<String>> =
        facts.into_iter().map(|(name, value)| vec![name.to_owned(), value]).collect();
    let mut sizes = Page::default();
    sizes.table(&[("", Align::Text), ("", Align::Number)], &rows);
    let bar = |(name, scores): (String, Vec<f64>)| Bar { name, value: scores.len() as f64, interval: None };
    let grades = Bars {
        title: "Grades of the documents".to_owned(),
        subtitle: "Number of documents of each grade".to_owned(),
        axis: "documents".to_owned(),
        rows: grade_groups(judged).into_iter().map(bar).collect(),
    };
    let mut bars = Page::default();
    bars.figure(&grades.draw()?);
    page.beside(&[sizes, bars]);
    Ok(())
}

/// Settings, results and columns of the training.
pub fn card(page: &mut Page, subject: &Subject<'_>) {
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
    let columns = [("", Align::Text), ("", Align::Text)];
    let tables = [
        ("Settings", pairs(&card.settings)),
        ("Training", pairs(&card.summary)),
        ("Validation", pairs(&card.summary["validation"])),
        ("Columns", pairs(&subject.stored["roles"])),
    ];
    let part = |(title, rows): &(&str, Vec<Vec<String>>)| {
        let mut part = Page::default();
        part.heading(3, title);
        part.table(&columns, rows);
        part
    };
    page.beside(&tables.iter().filter(|(_, rows)| !rows.is_empty()).map(part).collect::<Vec<_>>());
}
