//! Evaluation of search from the query on: the view of the model returns the candidates, the model ranks them, and the ideal order
//! is the one of all judged documents.
//!
//! Rules (docs/reference/rules.md, 8):
//! * 8.16: A judged document that is no candidate gains nothing. A candidate that nobody judged is left out of the list, as by
//!   trec_eval's option -J; `judged@k` is the share of the first k candidates that were judged.

use std::collections::BTreeSet;

use super::ranking_call::RankingCall;
use crate::apply::{Evaluation, METRIC_COST, constrained_scores, evaluate, selected_rows};
use crate::base::{Control, Error, Reservation, Result};
use crate::cost::metric::Metric;
use crate::data::{Dataset, Id, ListConstraint};
use crate::sqlite::source::Source;
use crate::sqlite::source::judged::JudgedDocuments;
use crate::sqlite::source::judgments::{Unjudged, read_judgments, read_view};
use crate::sqlite::source::read_spec::SourceCall;
use crate::sqlite::source::reader::{Judgments, ReadSpec, SourceRows};
use crate::train::options;

/// Depth of `judged@k` for metrics without a cutoff.
const DEPTH: usize = 10;

/// Values of metrics, and what the call keeps until its rows are read.
pub(super) struct EndToEnd {
    pub queries: Vec<Id>,
    /// The metrics, then `best` and `judged@k` for each of them.
    pub names: Vec<String>,
    pub evaluation: Evaluation,
    pub warnings: Vec<String>,
    pub memory: (Reservation, Reservation),
}

/// Ranks the candidates of judged queries and measures them.
///
/// # Errors
/// Errors of both sources and of scoring; a view that returns no judged document.
pub(super) fn end_to_end(request: &RankingCall<'_>, view: &Source, metrics: &[Metric]) -> Result<EndToEnd> {
    let RankingCall { call, options, limits, source, handle, .. } = request;
    let (connection, model) = (call.connection, &handle.model);
    // 1. The judgments.
    let constraint = request.constraint()?;
    if constraint == ListConstraint::Slots {
        let problem =
            "a model with slots is evaluated on rows that have its features, one for each document and slot";
        return Err(Error::Unsupported(problem.to_owned()));
    }
    if metrics.iter().any(|metric| metric.def().name == "pair_loss") {
        let problem = "metric 'pair_loss': it needs a score for each judged document; evaluate rows that have the features";
        return Err(Error::Unsupported(problem.to_owned()));
    }
    let spec = ReadSpec::ranked(model, constraint);
    let of_judgments = SourceCall { connection, source, options, values: &request.values(), limits };
    let judgments = ReadSpec { judgments: Judgments::Relevance, ..spec };
    let judged = read_judgments(of_judgments, judgments, model.card.candidates.as_ref())?;
    // 2. The candidates and their scores.
    let of_view = SourceCall { connection, source: view, options, values: &[], limits };
    let SourceRows { data, read_report, .. } = read_view(&judged, of_view, call.state, spec, Unjudged::Kept)?;
    if data.n_docs() == 0 {
        judged.check_found(|problem| view.error(problem))?;
    }
    let scored = request.scored(&data)?;
    let scores =
        constrained_scores(&data, scored.scores, constraint, options::count(options, "max_per_value"))?;
    // 3. The metrics of the judged documents, of their best order, and how many were judged.
    let undefined = options::choice(options, "undefined")?;
    let depths: BTreeSet<usize> = metrics.iter().map(|metric| metric.cutoff().unwrap_or(DEPTH)).collect();
    let documents = judged.data.n_docs() + data.n_docs();
    let operations = documents.saturating_mul((metrics.len() + depths.len()) * METRIC_COST);
    let evaluation = limits.run_sized(operations, |control| {
        let found = judged.scores(&data, &scores, control)?;
        let mut evaluation = evaluate(&judged.data, &found, metrics, undefined, control)?;
        evaluation.append(evaluate(&judged.data, &judged.best_scores(), metrics, undefined, control)?);
        for depth in &depths {
            evaluation.append(judged_share(&judged, (&data, &scores), *depth, control)?);
        }
        Ok(evaluation)
    });
    let evaluation = evaluation.map_err(|error| match error {
        Error::Data(problem) => view.error(problem),
        other => other,
    })?;
    judged.check_found(|problem| view.error(problem))?;
    let names = metrics.iter().map(Metric::name);
    let best = metrics.iter().map(|metric| format!("best {}", metric.name()));
    let names = names.chain(best).chain(depths.iter().map(|depth| format!("judged@{depth}"))).collect();
    let warnings = scored.warnings.into_iter().chain(view.warning.clone());
    let warnings = warnings.chain(judged.warning(view, &metrics[0])).collect();
    let (queries, kept) = judged.into_queries();
    Ok(EndToEnd { queries, names, evaluation, warnings, memory: (kept, read_report.memory) })
}

/// The share of the first `depth` candidates of each query that was judged, and the mean.
fn judged_share(
    judged: &JudgedDocuments,
    (data, scores): (&Dataset, &[f64]),
    depth: usize,
    control: &Control,
) -> Result<Evaluation> {
    let share = |id: &Id| {
        control.check()?;
        let Ok(query) = data.query_ids.binary_search(id) else { return Ok(None) };
        let ranked = selected_rows(data, query, scores, ListConstraint::None, 1)?;
        let first = &ranked[..depth.min(ranked.len())];
        let is_judged = |row: &&usize| judged.has(id, &data.doc_ids[**row]);
        Ok(Some(first.iter().filter(is_judged).count() as f64 / first.len() as f64))
    };
    let values: Vec<Option<f64>> = judged.data.query_ids.iter().map(share).collect::<Result<_>>()?;
    let known: Vec<f64> = values.iter().copied().flatten().collect();
    let mean = (!known.is_empty()).then(|| known.iter().sum::<f64>() / known.len() as f64);
    Ok(Evaluation { values: values.into_iter().map(|value| vec![value]).collect(), means: vec![mean] })
}
