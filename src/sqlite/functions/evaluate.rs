//! `ltr_evaluate(model, source [, options])`: metrics of a model on judged documents.
//!
//! Contract (evaluation): rows `query_id, metric, value` for every query and metric, value NULL where undefined; then one
//! row per metric with `query_id` NULL, the mean under the option `undefined`. With blocks or slots, what an arrangement
//! leaves out stands below all that it shows.

use serde_json::Value;

use super::aggregate::metric_options;
use super::ranking_call::{PARAMETERS, RankingCall};
use crate::error::Result;
use crate::evaluate::{arranged, evaluate};
use crate::metric::{Metric, Undefined};
use crate::options::Use;
use crate::param::Params;
use crate::sqlite::glue::value::Output;
use crate::sqlite::glue::vtab::{Call, OutputRows, Parameter, TableFunction};
use crate::sqlite::source::reader::{ReadSpec, SourceRows};

/// The metrics unless the option `metric` names others.
const USUAL: &[&str] = &["ndcg@1", "ndcg@3", "ndcg@5", "ndcg@10", "map", "mrr", "err", "precision@10"];

/// The function.
pub struct Evaluate;

impl TableFunction for Evaluate {
    fn name(&self) -> &'static str {
        "ltr_evaluate"
    }

    fn columns(&self) -> &'static [&'static str] {
        &["query_id", "metric", "value"]
    }

    fn parameters(&self) -> &'static [Parameter] {
        PARAMETERS
    }

    fn execute(&self, call: &Call<'_>) -> Result<OutputRows> {
        let request = RankingCall::new(call, Use::Evaluate)?;
        let metrics = metrics(&request.options)?;
        let undefined = request.options.text("undefined").map_or(Ok(Undefined::Skip), Undefined::parse)?;
        let constraint = request.constraint()?;
        let spec =
            ReadSpec { relevance: true, query: true, ..ReadSpec::ranked(&request.handle.model, constraint) };
        let SourceRows { data, .. } = request.read_source(call, spec)?;
        if data.n_docs() == 0 {
            return Err(request.source.error("0 rows; there is nothing to evaluate"));
        }
        let scored = request.scored(call, &data)?;
        let per_block = request.options.count("max_per_value").unwrap_or(1);
        let scores = arranged(&data, scored.scores, constraint, per_block)?;
        let evaluation = request
            .limits
            .run(call.connection, |control| evaluate(&data, &scores, &metrics, undefined, control))?;
        call.state.set_warnings(scored.warnings);
        let means = std::iter::once((Output::Null, evaluation.means));
        let queries = data.query_ids.into_iter().map(Output::Id).zip(evaluation.values);
        let names: Vec<String> = metrics.iter().map(Metric::name).collect();
        let rows: Vec<Result<Vec<Output>>> = queries
            .chain(means)
            .flat_map(|(query, values)| {
                let line = |(name, value): (&String, Option<f64>)| {
                    Ok(vec![query.clone(), Output::Text(name.clone()), Output::from(value)])
                };
                names.iter().zip(values).map(line).collect::<Vec<_>>()
            })
            .collect();
        Ok(Box::new(rows.into_iter()))
    }
}

fn metrics(options: &Params) -> Result<Vec<Metric>> {
    let names: Vec<&str> = match options.get("metric") {
        Some(Value::String(name)) => vec![name],
        Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).collect(),
        _ => USUAL.to_vec(),
    };
    let settings = metric_options(options)?;
    names.into_iter().map(|name| Metric::parse(name)?.with_options(settings.clone())).collect()
}
