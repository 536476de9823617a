//! Data that training refuses, and warnings about its result.

use super::spec::GridSpec;
use super::train::Fit;
use crate::arrange::ListConstraint;
use crate::control::Control;
use crate::data::{Dataset, QueryValue};
use crate::error::{Error, Result};
use crate::fit::{Neighborhood, Penalty, Prior};
use crate::loss::{self, Loss, PairLoss, PairWeights, Shape};
use crate::memory::{Reservation, matrix_bytes};
use crate::select::significant;
use crate::smoothing::Comparison;
use crate::solve::STOCHASTIC;
use crate::space::{Form, Scorer, Space};

/// A loss that training lowers by less than 1% is not lowered.
const COLLAPSED: f64 = 0.99;

/// Maximum number of pairs of one query, or of one user. One pass over as many takes 0.1 to 2 s.
const MOST_PAIRS: u64 = 500_000_000;

/// Bytes of the report of one fit, about.
const REPORT_BYTES: u64 = 2000;

/// Reserves the bytes of a function for each query.
pub(super) fn functions_memory(data: &Dataset, space: &Space, control: &Control) -> Result<Reservation> {
    let queries = data.n_queries();
    let bytes = (queries as u64).saturating_mul(matrix_bytes(space.dim(), 1) + REPORT_BYTES);
    let what = format_args!("a function for each of {queries} queries");
    control.reserve(bytes, what, "use \"fit_at\": \"query_time\", fewer queries or fewer landmarks")
}

/// Refuses queries with so many pairs that a fit takes too long. The hinge in Newton's method sorts the documents of long
/// queries instead.
pub(super) fn pairs_of_queries(spec: &GridSpec, data: &Dataset) -> Result<()> {
    let documents = spec.form == Form::Scoring || spec.kernel.is_linear();
    let sorted = spec.loss == Loss::Pair(PairLoss::Hinge, PairWeights::Equal)
        && spec.solver.sorts_pairs()
        && data.doc_weights.is_empty()
        && documents;
    if sorted { Ok(()) } else { pairs(data, ["query", "documents"]) }
}

/// Refuses queries or users with so many pairs that a fit takes too long.
pub(in crate::algorithm) fn pairs(data: &Dataset, [query_name, documents]: [&str; 2]) -> Result<()> {
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
    Err(not_told_apart(loss, data.n_queries(), !data.doc_weights.is_empty()))
}

/// The error for training sets in which no query is informative.
pub(super) fn not_told_apart(loss: &Loss, queries: usize, has_weights: bool) -> Error {
    let weights = if has_weights { ", and documents of weight 0 hardly count" } else { "" };
    Error::Data(format!(
        "no query has two documents that the loss '{}' tells apart, so there is nothing to learn ({queries} queries read; \
         most losses treat relevance below 0 as 0{weights})",
        loss.def().name
    ))
}

/// The error for training sets in which no query has documents of different relevance.
pub(in crate::algorithm) fn nothing_to_learn(queries: usize) -> Error {
    Error::Data(format!(
        "no query has two documents with different relevance, so there is nothing to learn ({queries} queries read)"
    ))
}

/// Training queries that [`equally_near`] examines at most.
const MOST_EXAMINED: usize = 200;

/// A warning if most training queries have more equally near training queries than neighbors: which of them are used then
/// depends on the order of their ids only.
pub(super) fn equally_near(
    neighborhood: &Neighborhood,
    n_queries: usize,
    control: &Control,
) -> Result<Option<String>> {
    let neighbors = neighborhood.smoothing.neighbors;
    if !neighborhood.smoothing.kind.uses_distance() || neighbors >= n_queries {
        return Ok(None);
    }
    let mut unlimited = neighborhood.clone();
    unlimited.smoothing.neighbors = n_queries;
    let (mut examined, mut tied, mut needed) = (0, 0, neighbors);
    for query in (0..n_queries).step_by(n_queries.div_ceil(MOST_EXAMINED)) {
        control.check()?;
        examined += 1;
        let near = unlimited.neighbors_of(query);
        let Some(last) = near.get(neighbors - 1).map(|neighbor| neighbor.distance) else { continue };
        let closer = near.partition_point(|neighbor| neighbor.distance < last);
        let up_to = near.partition_point(|neighbor| neighbor.distance <= last);
        if up_to - closer > neighbors {
            tied += 1;
            needed = needed.max(up_to);
        }
    }
    Ok((2 * tied > examined).then(|| {
        format!(
            "{tied} of {examined} examined training queries have more than {neighbors} equally near training queries, of which \
             those with the smallest ids are used; set \"neighbors\" to at least {needed} to use all of them, or add query \
             features that tell them apart"
        )
    }))
}

/// A warning for each query feature whose texts begin like JSON but are no orders of items: they are categories.
pub(super) fn broken_orders(spec: &GridSpec, data: &Dataset, neighborhood: &Neighborhood) -> Vec<String> {
    let opens = |value: &QueryValue| matches!(value, QueryValue::Text(text) if text.trim_start().starts_with(['[', '{']));
    let mut warnings = Vec::new();
    for (column, (name, distance)) in data.query_names.iter().zip(neighborhood.distance.columns()).enumerate()
    {
        let is_given = spec.query_distance.given().iter().any(|(given, _)| given.eq_ignore_ascii_case(name));
        if distance.comparison == Comparison::Overlap
            && !is_given
            && data.query_features.column(column).iter().any(opens)
        {
            warnings.push(format!(
                "texts of the query feature \"{name}\" begin like JSON but are no arrays of texts or numbers, so they are \
                 compared as categories; write orders of items as [\"price\", \"brand\"], or set \"query_distance\": \
                 {{\"{name}\": \"overlap\"}} if they are categories"
            ));
        }
    }
    warnings
}

/// A warning if the solver certifies no optimum and does not look for a local one.
pub(super) fn uncertified(spec: &GridSpec) -> Option<String> {
    let stochastic = spec.solver.name == STOCHASTIC.name && !spec.loss.shape().is_convex();
    stochastic.then(|| {
        let (solver, loss) = (spec.solver.name, spec.loss.def().name);
        format!(
            "solver \"{solver}\" makes a fixed number of passes for the loss '{loss}', which is not convex: no gap certifies \
             an optimum (the gap of the log is the objective); compare with solver \"auto\""
        )
    })
}

/// A smaller decrease of an objective is not worth a warning.
const CLEAR_DECREASE: f64 = 0.01;

/// A warning if other starts than the default one reached clearly lower objectives.
pub(super) fn better_starts(fits: &[Fit]) -> Option<String> {
    let clear = |fit: &&Fit| {
        let decrease = |first: f64| first - fit.report.objective > CLEAR_DECREASE * first.abs();
        fit.report.default_start.is_some_and(decrease)
    };
    let found: Vec<&Fit> = fits.iter().filter(clear).collect();
    match (fits, found.first()?.report.default_start?) {
        ([fit], first) => Some(format!(
            "the objective has several local minima: the default start reached {}, another start {}, which the model has",
            significant(first),
            significant(fit.report.objective)
        )),
        _ => Some(format!(
            "the objectives have several local minima: for {} of {} functions another start than the default one reached \
             a lower one, which the model has",
            found.len(),
            fits.len()
        )),
    }
}

/// A warning if the best functions score all documents 0, or are hardly better than that. Large-margin bounds have that on
/// noisy grades, penalties that set weights to 0 with a large lambda, and others with tiny features or weights.
pub(super) fn collapse(spec: &GridSpec, lambda: f64, fits: &[Fit]) -> Option<String> {
    let is_zero = |fit: &Fit| fit.function.weights.iter().all(|weight| weight.abs() <= 0.0);
    let all_zero = !fits.is_empty() && fits.iter().all(is_zero);
    let lambda = significant(lambda);
    match spec.penalty {
        Penalty::L1 | Penalty::Threshold if all_zero => Some(format!(
            "with lambda {lambda} all weights are 0, so all scores are 0; set a smaller lambda"
        )),
        _ => bound_is_optimal(spec, fits).or_else(|| {
            all_zero.then(|| {
                "all weights are 0, so all scores are 0; if features or document weights are tiny, multiply them by a \
                 number, otherwise set a smaller lambda"
                    .to_owned()
            })
        }),
    }
}

/// A warning if cutting planes hardly lower the loss of the start.
fn bound_is_optimal(spec: &GridSpec, fits: &[Fit]) -> Option<String> {
    let [Fit { function, report, .. }] = fits else { return None };
    let first = report.steps.first()?.objective;
    let takes_planes = matches!(spec.loss, Loss::List(_)) && spec.loss.shape() == Shape::Convex;
    if !takes_planes || function.objective < COLLAPSED * first {
        return None;
    }
    let at = if spec.prior == Prior::Zero { "w = 0" } else { "its prior" };
    let name = spec.loss.def().name;
    let why = match spec.loss.constraint() {
        ListConstraint::Slots => "these features hardly tell which document belongs to which slot",
        _ => {
            "it is a bound that no function lowers on these grades; try the perceptron, direct with \"bound\": \
              \"nonconvex\", list_net or cs_list_mle"
        }
    };
    Some(format!("{at} is optimal here for the loss '{name}', or within 1% of it: {why}"))
}
