//! `ltr_algorithms`, `ltr_metrics` and `ltr_options` list the tables of the crate (rule 9.6).

#![expect(clippy::unnecessary_wraps, reason = "the signature of a table function")]

use serde_json::{Map, Value, json};

use crate::base::Result;
use crate::cost::metric::{Better, METRICS, SUBTOPIC_METRICS};
use crate::sqlite::glue::{Call, Output, OutputRows, TableFunction, ready};
use crate::train::ALGORITHMS;
use crate::train::options::{OPTIONS, OptionDef};

fn text(text: impl Into<String>) -> Output {
    Output::Text(text.into())
}

/// The table of algorithms.
pub const ALGORITHM_TABLE: TableFunction =
    TableFunction::new("ltr_algorithms", "name, summary, objective, source, parameters", "", algorithms)
        .innocuous();

fn algorithms(_call: &Call<'_>) -> Result<OutputRows> {
    let row = |algorithm: &&crate::train::algorithm::AlgorithmDef| {
        let parameters: Map<String, Value> = OPTIONS
            .iter()
            .filter(|option| option.acts_in(algorithm))
            .map(|option| {
                let own = algorithm.defaults.iter().find(|(key, _)| *key == option.key);
                let default = own.map_or_else(
                    || serde_json::from_str(option.default).unwrap_or_default(),
                    |(_, name)| json!(name),
                );
                let mut entry = json!({ "default": default, "range": option.rule.to_string() });
                if let Some((other, value)) = option.companion() {
                    entry["with"] = json!({ other: value });
                }
                (option.key.to_owned(), entry)
            })
            .collect();
        vec![
            text(algorithm.name),
            text(algorithm.summary),
            text(algorithm.objective),
            text(algorithm.source),
            Output::Json(Value::Object(parameters)),
        ]
    };
    Ok(ready(ALGORITHMS.iter().map(row).collect()))
}

/// The table of metrics.
pub const METRIC_TABLE: TableFunction = TableFunction::new(
    "ltr_metrics",
    "name, function, summary, formula, source, takes_cutoff, higher_is_better",
    "",
    metrics,
)
.innocuous();

fn metrics(_call: &Call<'_>) -> Result<OutputRows> {
    let line = |texts: [&str; 5], cutoff: bool, better: Better| {
        let mut row: Vec<Output> = texts.into_iter().map(text).collect();
        row.extend([cutoff, better == Better::Higher].map(|flag| Output::Integer(i64::from(flag))));
        row
    };
    let relevance = METRICS.iter().map(|metric| {
        let texts = [metric.name, metric.function, metric.summary, metric.formula, metric.source];
        line(texts, metric.takes_cutoff, metric.better)
    });
    let subtopics = SUBTOPIC_METRICS.iter().map(|metric| {
        line(
            [metric.name, metric.function, metric.summary, metric.formula, metric.source],
            true,
            Better::Higher,
        )
    });
    Ok(ready(relevance.chain(subtopics).collect()))
}

/// The table of options.
pub const OPTION_TABLE: TableFunction =
    TableFunction::new("ltr_options", "name, summary, default, range, functions, searchable", "", options)
        .innocuous();

fn options(_call: &Call<'_>) -> Result<OutputRows> {
    let row = |option: &OptionDef| {
        let functions: Vec<&str> = option.used_by.iter().map(|used| used.functions()).collect();
        let default = if option.default == "null" { Output::Null } else { text(option.default) };
        vec![
            text(option.key),
            text(option.summary),
            default,
            text(option.rule.to_string()),
            text(functions.join(", ")),
            Output::Integer(i64::from(option.searchable)),
        ]
    };
    Ok(ready(OPTIONS.iter().map(row).collect()))
}
