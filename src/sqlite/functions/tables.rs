//! `ltr_algorithms`, `ltr_metrics` and `ltr_options` list the tables of the crate (rule 9.6).

#![expect(clippy::unnecessary_wraps, reason = "the signature of a table function")]

use serde_json::{Map, Value, json};

use crate::base::Result;
use crate::cost::metric::{Better, METRICS, MetricDef, SUBTOPIC_METRICS};
use crate::sqlite::glue::{Call, Output, OutputRows, TableFunction, ready, row};
use crate::train::ALGORITHMS;
use crate::train::algorithm::AlgorithmDef;
use crate::train::options::{OPTIONS, OptionDef};

pub const ALGORITHM_TABLE: TableFunction =
    TableFunction::new("ltr_algorithms", "name, summary, objective, source, parameters", "", algorithms)
        .innocuous();

fn algorithms(_call: &Call<'_>) -> Result<OutputRows> {
    let row = |algorithm: &&AlgorithmDef| {
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
                if let Some((other, value)) = option.companion {
                    entry["with"] = json!({ other: value });
                }
                (option.key.to_owned(), entry)
            })
            .collect();
        let AlgorithmDef { name, summary, objective, source, .. } = **algorithm;
        row![name, summary, objective, source, Value::Object(parameters)]
    };
    Ok(ready(ALGORITHMS.iter().map(row).collect()))
}

pub const METRIC_TABLE: TableFunction = TableFunction::new(
    "ltr_metrics",
    "name, function, summary, formula, source, takes_cutoff, higher_is_better",
    "",
    metrics,
)
.innocuous();

fn metrics(_call: &Call<'_>) -> Result<OutputRows> {
    fn row<L: ?Sized>(metric: &MetricDef<L>) -> Vec<Output> {
        let MetricDef { name, function, summary, formula, source, takes_cutoff, better, .. } = *metric;
        row![name, function, summary, formula, source, takes_cutoff, better == Better::Higher]
    }
    Ok(ready(METRICS.iter().map(|def| row(def)).chain(SUBTOPIC_METRICS.iter().map(|def| row(def))).collect()))
}

pub const OPTION_TABLE: TableFunction = TableFunction::new(
    "ltr_options",
    "name, summary, default, range, functions, searchable, family",
    "",
    options,
)
.innocuous();

fn options(_call: &Call<'_>) -> Result<OutputRows> {
    let row = |option: &OptionDef| {
        let OptionDef { key, summary, default, searchable, family, .. } = *option;
        let default = Some(default).filter(|default| *default != "null");
        row![key, summary, default, option.rule.to_string(), option.used_by.functions(), searchable, family]
    };
    Ok(ready(OPTIONS.iter().map(row).collect()))
}
