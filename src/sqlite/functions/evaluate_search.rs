//! End-to-end evaluation of search: the model's view returns the candidates, the model ranks them, and the ideal order has
//! all judged documents.
//!
//! Rules (docs/reference/rules.md, 8):
//! * 8.16: A judged document that is not a candidate gains nothing. The option `unjudged` sets how unjudged candidates
//!   count (rule 8.17).

use super::ranking_call::{FEWER_RANKED, RankingCall, after_change};
use super::variety::scores_of_list;
use crate::apply::{Depths, Evaluation, JudgedLists, METRIC_COST, evaluate};
use crate::base::{Error, Reservation, Result};
use crate::cost::metric::Metric;
use crate::data::{Dataset, Id, ListConstraint};
use crate::sqlite::source::Source;
use crate::sqlite::source::judged::JudgedDocuments;
use crate::sqlite::source::judgments::{Unjudged, read_judgments, read_view};
use crate::sqlite::source::parameters::SourceCall;
use crate::sqlite::source::reader::{Judgments, ReadSpec, SourceRows};
use crate::train::options;

/// Metric values, and data that the call keeps until its rows are read.
pub(super) struct Measurement {
    pub queries: Vec<Id>,
    /// The metrics first.
    pub names: Vec<String>,
    /// Index of the first name `judged@k`, or the number of names.
    pub shares: usize,
    pub evaluation: Evaluation,
    pub warnings: Vec<String>,
    pub memory: Vec<Reservation>,
    /// Additional means, about probabilities.
    pub of_probability: Vec<(String, Option<f64>)>,
}

/// Ranks the candidates of judged queries and measures them.
///
/// # Errors
/// Errors of both sources and of scoring; a view that returns no judged document.
pub(super) fn end_to_end(
    request: &RankingCall<'_>,
    view: &Source,
    metrics: &[Metric],
) -> Result<Measurement> {
    let RankingCall { call, options, limits, source, handle, .. } = request;
    let (connection, model) = (call.connection, &handle.model);
    // 1. The judgments.
    let constraint = request.constraint()?;
    if constraint == ListConstraint::Slots {
        let problem =
            "evaluate a model with slots on rows that have its features, one for each document and slot";
        return Err(Error::Unsupported(problem.to_owned()));
    }
    if metrics.iter().any(|metric| metric.def().name == "pair_loss") {
        let problem = "metric 'pair_loss': it needs a score for each judged document; evaluate rows that have the features";
        return Err(Error::Unsupported(problem.to_owned()));
    }
    let spec = ReadSpec::ranked(model, constraint);
    let judgments_call = SourceCall { connection, source, options, values: &request.values(), limits };
    let judgments = ReadSpec { judgments: Judgments::RelevanceIfJudged, ..spec };
    let judged = read_judgments(judgments_call, judgments, model.card.candidates.as_ref())?;
    check_once(source, &judged.data)?;
    // 2. The candidates and their scores.
    let view_call = SourceCall { connection, source: view, options, values: &[], limits };
    let rows = read_view(&judged, view_call, call.state, spec, Unjudged::Kept);
    let SourceRows { data, read_report, .. } =
        rows.map_err(|error| after_change(error, view.warning.as_deref()))?;
    if data.n_docs() == 0 {
        judged.check_found(|problem| view.error(problem))?;
    }
    let scored = request.scored(&data)?;
    let scores = scores_of_list(request, &data, scored.scores, constraint)?;
    // 3. Metrics of the judged documents and of their best order, and how many were judged.
    let undefined = options::choice(options, "undefined")?;
    let (depths, counts_unjudged) = (Depths::of(metrics), request.counts_unjudged());
    let documents = judged.data.n_docs() + data.n_docs();
    let operations = documents.saturating_mul(metrics.len() * METRIC_COST + depths.operations());
    let what = format_args!("a list of {documents} documents");
    let _lists = limits.memory.reserve(JudgedLists::bytes(documents), what, FEWER_RANKED)?;
    let evaluation = limits.run_sized(operations, |control| {
        let judged_scores = judged.scores(&data, &scores, control)?;
        let mut evaluation = if counts_unjudged {
            with_unjudged(&judged, &judged_scores, (&data, &scores)).evaluate(metrics, undefined, control)?
        } else {
            evaluate(&judged.data, &judged_scores, metrics, undefined, control)?
        };
        evaluation.append(evaluate(&judged.data, &judged.best_scores(), metrics, undefined, control)?);
        let is_judged = |query: &Id, row: usize| judged.has(query, &data.doc_ids[row]);
        evaluation.append(depths.shares(&judged.data.query_ids, (&data, &scores), is_judged, control)?);
        Ok(evaluation)
    });
    let evaluation = evaluation.map_err(|error| match error {
        Error::Data(problem) => view.error(problem),
        other => other,
    })?;
    judged.check_found(|problem| view.error(problem))?;
    let names = metrics.iter().map(Metric::name);
    let best = metrics.iter().map(|metric| format!("best {}", metric.name()));
    let names = names.chain(best).chain(depths.names()).collect();
    let left_out = left_out(source, judged.unjudged_queries, judged.data.n_queries());
    let warnings = scored.warnings.into_iter().chain(view.warning.clone()).chain(left_out);
    let warnings = warnings.chain(request.without_params(!judged.params.is_empty()));
    let warnings = warnings.chain(judged.warning(view, &metrics[0])).collect();
    let (queries, kept) = judged.into_queries();
    let shares = 2 * metrics.len();
    let memory = vec![kept, read_report.memory];
    Ok(Measurement { queries, names, shares, evaluation, warnings, memory, of_probability: Vec::new() })
}

/// The judged documents with their scores, and the unjudged candidates with the grade 0.
fn with_unjudged(judged: &JudgedDocuments, found: &[f64], (data, scores): (&Dataset, &[f64])) -> JudgedLists {
    let mut lists = JudgedLists::default();
    for (query, id) in judged.data.query_ids.iter().enumerate() {
        let judged_documents =
            judged.data.labels(query).iter().copied().zip(found[judged.data.rows(query)].iter().copied());
        let candidates = data.query_ids.binary_search(id).map_or(0..0, |query| data.rows(query));
        let others =
            candidates.filter(|row| !judged.has(id, &data.doc_ids[*row])).map(|row| (0.0, scores[row]));
        lists.push(id, judged_documents.chain(others));
    }
    lists
}

/// A warning about `count` queries without a judged document, in addition to `others`.
pub(super) fn left_out(source: &Source, count: usize, others: usize) -> Option<String> {
    let warning = || {
        let total = count + others;
        format!("source {}: {count} of {total} queries have no judged document and are omitted", source.shown)
    };
    (count > 0).then(warning)
}

/// Refuses duplicate documents of a query: one row may be judged and the other not.
pub(super) fn check_once(source: &Source, data: &Dataset) -> Result<()> {
    if data.duplicates == 0 || data.constraint == ListConstraint::Slots {
        return Ok(());
    }
    let twice = |query: usize| {
        let ids = &data.doc_ids[data.rows(query)];
        ids.windows(2).find(|pair| pair[0] == pair[1]).map(|pair| (&data.query_ids[query], &pair[0]))
    };
    match (0..data.n_queries()).find_map(twice) {
        None => Ok(()),
        Some((query, doc)) => Err(source.error(format!(
            "query {query} has the document {doc} in two rows, and some documents are unjudged; give each document once, as with \
             PRIMARY KEY (query_id, doc_id) in the tables of judgments and of rankings"
        ))),
    }
}
