//! `ltr_monitor(model, source [, options])`: drift since a model was trained.
//!
//! Rules (docs/reference/rules.md, 9):
//! * 9.14: Rows `kind, name, value, reference, threshold, status`, compared with the fingerprint in the model.
//! * 9.15: Missing model columns are findings, not errors. So is a source without rows.
//! * 9.16: The metric is the one used in validation. It needs relevance and every feature of the model.

use std::rc::Rc;

use super::evaluate::{Measured, measure, scored_judged};
use super::ranking_call::{PARAMETERS, RankingCall};
use crate::apply::{Finding, Status, drift, feature_findings, unknown_values};
use crate::base::{Error, Result};
use crate::cost::metric::{DEFAULT_METRIC, METRIC_ARGUMENTS, Mean, Metric, MetricOptions};
use crate::data::{Dataset, Fingerprint, Missing};
use crate::model::{Card, Factored, IMPORTED, Model, Ranker};
use crate::sqlite::glue::{Call, Output, OutputRows, TableFunction, ready, row};
use crate::sqlite::source::Source;
use crate::sqlite::source::reader::{Judgments, ReadSpec, SourceRows};
use crate::sqlite::source::roles::Roles;
use crate::train::options::{self, Use};
use crate::train::select::SelectionReport;

pub const MONITOR: TableFunction = TableFunction::new("ltr_monitor", COLUMNS, PARAMETERS, monitor);

const COLUMNS: &str = "kind, name, value, reference, threshold, status";

/// Fractions of rows with new users, items or category values at which the status becomes a warning, and an alert.
const NEW_ROWS: (f64, f64) = (0.1, 0.25);

fn monitor(call: &Call<'_>) -> Result<OutputRows> {
    let mut request = RankingCall::new(call, Use::Monitor)?;
    let limits = request.limits.clone();
    let findings = limits.run_here(|| findings(&mut request))?;
    Ok(ready(findings.into_iter().map(row).collect()))
}

fn row(finding: Finding) -> Vec<Output> {
    let Finding { kind, name, value, reference, threshold, status } = finding;
    row![kind, name, value, reference, threshold, status.name()]
}

fn findings(request: &mut RankingCall<'_>) -> Result<Vec<Finding>> {
    let model = request.handle.model.clone();
    let fingerprint = fingerprint(&model)?;
    // Queries without a value count as in validation.
    if let Some(undefined) = model.card.settings.get("undefined") {
        request.options = request.options.clone().with("undefined", undefined.clone());
    }
    // 1. Columns. Absent features are read as NULL.
    let source = request.features.as_ref().unwrap_or(&request.source);
    let names = source.columns(request.call.connection, &request.limits)?;
    let spec = ReadSpec {
        judgments: Judgments::RelevanceIfAny,
        not_allowed: Missing::Zero,
        ..ReadSpec::ranked(&model, request.constraint()?)
    };
    let not_read = Roles::absent(source, &names, spec, &request.options)?;
    let absent = absent_features(request, &model, &names);
    if !absent.is_empty() {
        let with_nulls = Rc::new(Source::clone(source).with_null_columns(&absent));
        *request.features.as_mut().unwrap_or(&mut request.source) = with_nulls;
    }
    let mut columns: Vec<Finding> = not_read
        .iter()
        .chain(&absent)
        .map(|name| Finding::column("missing_column", name.clone(), Status::Alert))
        .collect();
    // 2. Rows. Without a query column they are one query; without other ids or vectors they cannot be read.
    if not_read.iter().any(|name| model.card.columns.query.as_ref() != Some(name)) {
        return Ok(columns);
    }
    let rows = request.read_source(spec)?;
    let data = &rows.data;
    columns.extend(new_columns(&model, fingerprint, &rows));
    let count = |kind, now: usize, then: u64| Finding::fact(kind, None, Some(now as f64), Some(then as f64));
    let is_empty = data.n_docs() == 0;
    let status = if is_empty { Status::Alert } else { Status::Ok };
    let mut findings = vec![
        Finding { status, ..count("rows", data.n_docs(), fingerprint.rows) },
        count("queries", data.n_queries(), fingerprint.queries),
    ];
    findings.extend(columns);
    if is_empty {
        return Ok(findings);
    }
    // 3. Features, or users and items.
    let missing = request.options.choice("missing")?.unwrap_or(model.card.missing);
    findings.extend(feature_rows(request, &model, fingerprint, &rows, missing)?);
    if let Ranker::Factored(factored) = &model.ranker {
        findings.extend(new_ids(factored, data));
    }
    // 4. Relevance.
    if !data.relevance.is_empty() {
        let name = rows.roles.relevance.map(|column| rows.roles.names[column].clone());
        findings.push(drift("grades", name, &fingerprint.relevance, &fingerprint.relevance_of(data)));
        let is_ranked = missing != Missing::Error || rows.read_report.imputed == 0;
        findings.push(metric(request, &model, (is_ranked && absent.is_empty()).then_some(rows))?);
    }
    Ok(findings)
}

fn fingerprint(model: &Model) -> Result<&Fingerprint> {
    model.fingerprint.as_ref().ok_or_else(|| {
        let reason = if matches!(model.ranker, Ranker::Online(_)) {
            "models of 'perceptron' keep none, because updates add rows; monitor a model of another algorithm that was \
             trained on the same rows"
        } else if model.card.settings.get("buckets").is_some() {
            "models that were trained in buckets keep none; monitor a model that was trained on rows"
        } else if model.card.algorithm == IMPORTED {
            "the files of other libraries have none; compare metrics with ltr_evaluate"
        } else {
            "the text that it was imported from has none; train it again"
        };
        Error::Unsupported(format!("the model has no fingerprint of its training data: {reason}"))
    })
}

/// Document and query features of the model that are missing in the source. The reader reports missing vectors.
fn absent_features(request: &RankingCall<'_>, model: &Model, names: &[String]) -> Vec<String> {
    let given = |role: &str| {
        let columns = request.options.get("columns").and_then(|columns| columns.get(role));
        columns.is_some() || model.card.columns.of(role).is_some() || exists(names, role)
    };
    let (numbers, categories) = (&model.card.features[..model.card.numbers()], model.card.categories.names());
    let documents = numbers.iter().filter(|_| !given("features")).chain(&categories);
    let queries = model.ranker.named_query_features().iter().filter(|_| !given("query_features"));
    // A key of JSON objects is in the objects' column.
    let has_key = |name: &str| {
        model.card.quantities.keys().any(|(key, column, _)| key == name && exists(names, column))
    };
    let is_absent = |name: &&String| !exists(names, name) && !has_key(name);
    documents.chain(queries).filter(is_absent).cloned().collect()
}

fn exists(names: &[String], name: &str) -> bool {
    names.iter().any(|known| known.eq_ignore_ascii_case(name))
}

/// Columns without a role that training did not have.
fn new_columns(model: &Model, fingerprint: &Fingerprint, rows: &SourceRows) -> Vec<Finding> {
    let Card { columns, .. } = &model.card;
    let features = model.card.input_names();
    let is_known = |name: &str| {
        let role_columns = options::COLUMN_KEYS.iter().filter_map(|role| columns.of(role));
        let query_features = fingerprint.query_features.iter().map(|(name, _)| name.as_str());
        let others = columns.ignored.iter().chain(&features).map(String::as_str);
        role_columns.chain(query_features).chain(others).any(|known| known.eq_ignore_ascii_case(name))
    };
    let ignored = rows.roles.ignored.iter().map(|column| &rows.roles.names[*column]);
    let new = ignored.filter(|name| !is_known(name));
    new.map(|name| Finding::column("new_column", name.clone(), Status::Warning)).collect()
}

/// Findings about document features, then about query features.
fn feature_rows(
    request: &RankingCall<'_>,
    model: &Model,
    fingerprint: &Fingerprint,
    rows: &SourceRows,
    missing: Missing,
) -> Result<Vec<Finding>> {
    let (data, missing_values) = (&rows.data, &rows.read_report.missing);
    let observed = request.limits.run(|control| fingerprint.features_of(data, missing_values, control))?;
    let may_miss = missing != Missing::Error;
    let features = model.card.features.iter().zip(fingerprint.features.iter().zip(&observed));
    let numbers = model.card.numbers();
    let mut findings: Vec<Finding> = features
        .enumerate()
        .flat_map(|(number, (name, (profile, later)))| {
            let mut findings = feature_findings(name, profile, fingerprint.queries, later, may_miss);
            // The features of a category are 0 or 1 and never missing. Unknown values are reported for the column.
            findings.retain(|finding| number < numbers || finding.kind == "drift");
            findings
        })
        .collect();
    for name in model.ranker.named_query_features() {
        if let Some((profile, later)) = fingerprint.query_feature_of(name, data) {
            findings.extend(feature_findings(name, profile, fingerprint.queries, &later, may_miss));
        }
    }
    let unknown = unknown_values(model, data)?.into_iter();
    findings.extend(unknown.map(|found| {
        let (share, limits) = (found.share(), (found.usual + NEW_ROWS.0, found.usual + NEW_ROWS.1));
        Finding::share("outside", Some(found.name), share, found.usual, limits)
    }));
    Ok(findings)
}

/// Shares of rows with users and items that training did not have.
fn new_ids(model: &Factored, data: &Dataset) -> [Finding; 2] {
    let n = data.n_docs() as f64;
    let is_new_user = |query: &usize| model.user_index(&data.query_ids[*query]).is_none();
    let users: usize = (0..data.n_queries()).filter(is_new_user).map(|query| data.rows(query).len()).sum();
    let items = data.doc_ids.iter().filter(|id| model.item_index(id).is_none()).count();
    [("new_users", users), ("new_items", items)]
        .map(|(kind, count)| Finding::share(kind, None, count as f64 / n, 0.0, NEW_ROWS))
}

/// The validation metric; no value without rows that the model can rank.
fn metric(request: &RankingCall<'_>, model: &Model, rows: Option<SourceRows>) -> Result<Finding> {
    let validation = &model.card.summary["validation"];
    let name = validation["metric"].as_str();
    // Without an error the values don't cover whole queries.
    let reference = SelectionReport::reference(validation)?.filter(|_| name.is_some());
    let arguments = METRIC_ARGUMENTS.iter().filter_map(|key| Some((*key, model.card.settings.get(key)?)));
    let arguments = arguments.map(|(key, value)| (key, value.clone())).collect::<serde_json::Value>();
    let arguments = options::parse(Some(&arguments.to_string()), Use::Evaluate)?;
    let metric = Metric::parse(name.unwrap_or(DEFAULT_METRIC))?
        .with_options(MetricOptions::default().with(&arguments)?)?;
    let (name, better) = (metric.name(), metric.def().better);
    let no_value = || Finding::fact("metric", Some(name.clone()), None, reference.map(|(best, _)| best));
    let Some(rows) = rows else { return Ok(no_value()) };
    let mean = Mean::new(metric.def(), options::choice(&request.options, "undefined")?);
    let Measured { judged, evaluation } = measure(request, scored_judged(request, rows)?, &[metric])?;
    let value =
        |(query, values): (usize, &Vec<Option<f64>>)| mean.weighted(values[0], judged.data.labels(query));
    let values: Vec<(f64, f64)> = evaluation.values.iter().enumerate().filter_map(value).collect();
    request.call.state.set_warnings(judged.warnings);
    Ok(match evaluation.means[0] {
        Some(mean) => Finding::metric(name, &values, mean, reference, better),
        None => no_value(),
    })
}
