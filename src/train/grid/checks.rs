//! Data that training refuses, and warnings about query features.

use super::spec::GridSpec;
use crate::base::{Control, Error, Params, Reservation, Result, matrix_bytes};
use crate::cost::loss::{self, Loss, PairLoss, PairWeights};
use crate::data::query_distance::Comparison;
use crate::data::{Dataset, ListConstraint, QueryValue};
use crate::learn::fit::{Interaction, Neighborhood, Penalty, Prior};
use crate::learn::smoothing::SmoothingKind;
use crate::learn::space::{Form, Scorer, Space};

/// Maximum number of pairs of one query, or of one user. One pass over this number of pairs takes 0.1 to 2 s.
const MOST_PAIRS: u64 = 500_000_000;

/// Bytes of the report of one fit, about.
const REPORT_BYTES: u64 = 2000;

/// Reserves memory for a function per query.
pub(super) fn functions_memory(data: &Dataset, space: &Space, control: &Control) -> Result<Reservation> {
    let queries = data.n_queries();
    let bytes = (queries as u64).saturating_mul(matrix_bytes(space.dim(), 1) + REPORT_BYTES);
    let what = format_args!("a function for each of {queries} queries");
    control.reserve(bytes, what, "use \"fit_at\": \"query_time\", fewer queries or fewer landmarks")
}

/// Refuses queries with more than `MOST_PAIRS` pairs, because a fit would take too long. The hinge in Newton's method
/// sorts the documents of long queries instead.
pub fn pairs_of_queries(spec: &GridSpec, data: &Dataset) -> Result<()> {
    let documents = spec.form == Form::Scoring || spec.kernel.is_linear();
    let sorted = spec.loss == Loss::Pair(PairLoss::Hinge, PairWeights::Equal)
        && spec.solver.pair.is_some_and(|method| method.sorts_hinge)
        && data.doc_weights.is_empty()
        && documents;
    if sorted { Ok(()) } else { pairs(data, ["query", "documents"]) }
}

/// Refuses queries or users with more than `MOST_PAIRS` pairs, because a fit would take too long.
pub fn pairs(data: &Dataset, [query_name, documents]: [&str; 2]) -> Result<()> {
    for query in 0..data.n_queries() {
        let pairs = loss::pair_count(data.labels(query));
        if pairs > MOST_PAIRS {
            return Err(Error::Data(format!(
                "{query_name} {} has {} {documents} with {pairs} pairs of different relevance; at most {MOST_PAIRS} pairs of \
                 one {query_name} are allowed, so leave out some of its less relevant {documents}",
                data.query_ids[query],
                data.rows(query).len(),
            )));
        }
    }
    Ok(())
}

/// Refuses training sets without an informative query. With a stored model as prior the result is that model: a warning.
pub(super) fn informative(spec: &GridSpec, data: &Dataset) -> Result<Vec<String>> {
    match any_informative(&spec.loss, data) {
        Err(problem) if spec.prior == Prior::Model => Ok(vec![format!("{problem}; the model is its prior")]),
        Err(problem) if spec.baseline.is_some() => Ok(vec![crate::train::baseline::warning(&problem)]),
        result => result.map(|()| Vec::new()),
    }
}

fn any_informative(loss: &Loss, data: &Dataset) -> Result<()> {
    let any = |is_informative: &dyn Fn(usize) -> bool| (0..data.n_queries()).any(is_informative);
    if !any(&|query| loss::pair_count(data.labels(query)) > 0) {
        return Err(nothing_to_learn(data.n_queries()));
    }
    if any(&|query| loss.is_informative(data.labels(query), data.doc_weights(query))) {
        return Ok(());
    }
    Err(not_distinguished(loss, data.n_queries(), !data.doc_weights.is_empty()))
}

/// The error for training sets in which no query is informative.
pub fn not_distinguished(loss: &Loss, queries: usize, has_weights: bool) -> Error {
    let weights = if has_weights { ", and documents of weight 0 hardly count" } else { "" };
    let reason = if loss.def().name == "svm_map" {
        "it compares documents at or above the threshold with the others"
    } else {
        "this loss may treat all grades of 0 and less alike; if they differ, add a number to every relevance"
    };
    Error::Data(format!(
        "the loss '{}' finds no query with two documents of different relevance, so there is nothing to learn \
         ({queries} queries read; {reason}{weights})",
        loss.def().name
    ))
}

/// The error for training sets in which no query has documents of different relevance.
pub fn nothing_to_learn(queries: usize) -> Error {
    Error::Data(format!(
        "no query has two documents with different relevance, so there is nothing to learn ({queries} queries read)"
    ))
}

/// Refuses choices that do not work with a baseline.
pub(super) fn baseline(spec: GridSpec, params: &Params) -> Result<GridSpec> {
    if !params.given().contains_key(crate::train::baseline::KEY) {
        return Ok(spec);
    }
    let problem = if params.has("prior") {
        "it is the prior itself; leave out the option 'prior'".to_owned()
    } else if spec.smoothing.kind != SmoothingKind::Uniform {
        "it needs one function of all queries; use \"smoothing\": \"uniform\", as rank_svm".to_owned()
    } else if spec.penalty != Penalty::Ridge {
        "it needs \"penalty\": \"ridge\", as in regression".to_owned()
    } else if !spec.kernel.is_linear() {
        "it needs \"kernel\": \"linear\"; auto takes a baseline and kernels".to_owned()
    } else if spec.form != Form::Scoring {
        "it needs \"form\": \"scoring\"".to_owned()
    } else if spec.interaction != Interaction::None {
        "it needs \"interaction\": \"none\"".to_owned()
    } else if spec.loss.constraint() != ListConstraint::None {
        format!("the loss \"{}\" has no baseline; use another one, such as \"hinge\"", spec.loss.def().name)
    } else {
        return Ok(spec);
    };
    Err(match &spec.baseline {
        Some(_) => Error::Unsupported(format!("option 'baseline': {problem}")),
        // The list of an algorithm's options tries each of them as null.
        None => {
            Error::NoEffect { option: crate::train::baseline::KEY, reason: problem, because_of: "smoothing" }
        }
    })
}

/// A warning for each query feature whose texts begin like JSON but are not orders of items: they are categories.
pub(super) fn broken_orders(spec: &GridSpec, data: &Dataset, neighborhood: &Neighborhood) -> Vec<String> {
    let opens = |value: &QueryValue| matches!(value, QueryValue::Text(text) if text.trim_start().starts_with(['[', '{']));
    let mut warnings = Vec::new();
    for (column, (name, distance)) in data.query_names.iter().zip(&neighborhood.distance.columns).enumerate()
    {
        let is_given = spec.query_distance.given().iter().any(|(given, _)| given.eq_ignore_ascii_case(name));
        if distance.comparison == Comparison::Overlap
            && !is_given
            && data.query_features.column(column).iter().any(opens)
        {
            warnings.push(format!(
                "texts of the query feature \"{name}\" begin like JSON but are not arrays of texts or numbers, so they are \
                 compared as categories; write orders of items as [\"price\", \"brand\"], or set \"query_distance\": \
                 {{\"{name}\": \"overlap\"}} if they are categories"
            ));
        }
    }
    warnings
}
