//! What `auto` reports about its candidates.

use serde::Serialize;
use serde_json::Value;

use super::trial::Trial;
use super::{AutoSpec, is_better};
use crate::data::QueryFeatureRule;
use crate::train::algorithm::BOOSTED_TREES;
use crate::train::averaged::Fitted;
use crate::train::select::Selection;

/// What training found.
#[derive(Serialize)]
pub(super) struct Details<'a> {
    candidates: Vec<CandidateReport<'a>>,
}

/// Trained trees with their validated value.
pub struct Grown {
    /// How features are scaled.
    pub scale: &'static str,
    /// Trees of each ensemble.
    pub trees: usize,
    /// Number of ensembles.
    pub ensembles: usize,
    /// The validated value; `None` if no value is defined.
    pub value: Option<f64>,
    /// What is known about the choice of the number of trees.
    pub selection: Selection,
    /// The held-out queries.
    pub held_out: Vec<usize>,
    /// The value of each query (`n_queries`), negated if lower ones are better.
    pub values: Vec<Option<f64>>,
    /// How the query features are encoded that the trees split; none if they split none.
    pub rule: Option<QueryFeatureRule>,
    /// Whether they do; none without query features.
    pub query_columns: Option<bool>,
    /// The functions whose sum it is.
    pub fitted: Vec<Fitted>,
}

/// One candidate with its value.
#[derive(Serialize)]
#[serde(untagged)]
enum CandidateReport<'a> {
    Kernel {
        scale: &'a str,
        kernel: &'a Value,
        lambda: f64,
        value: Option<f64>,
        averaged: bool,
    },
    Trees {
        algorithm: &'a str,
        scale: &'a str,
        trees: usize,
        ensembles: usize,
        #[serde(skip_serializing_if = "Option::is_none")]
        query_columns: Option<bool>,
        value: Option<f64>,
        averaged: bool,
    },
}

/// Every candidate, the best first. The best `averaged` kernels are averaged. `grown`: the trees, and whether they are
/// averaged.
pub(super) fn report<'a>(
    spec: &AutoSpec,
    trials: &'a [Trial],
    (order, averaged): (&[usize], usize),
    grown: Option<(&'a Grown, bool)>,
) -> Details<'a> {
    let line = |(rank, index): (usize, &usize)| {
        let trial = &trials[*index];
        CandidateReport::Kernel {
            scale: trial.candidate.scale.name(),
            kernel: &trial.candidate.kernel,
            lambda: trial.lambda(),
            value: trial.value,
            averaged: rank < averaged,
        }
    };
    let mut candidates: Vec<CandidateReport<'_>> = order.iter().enumerate().map(line).collect();
    if let Some((grown, averaged)) = grown {
        let is_behind = |index: &usize| is_better(spec, trials[*index].value, grown.value);
        let line = CandidateReport::Trees {
            algorithm: BOOSTED_TREES,
            scale: grown.scale,
            trees: grown.trees,
            ensembles: grown.ensembles,
            query_columns: grown.query_columns,
            value: grown.value,
            averaged,
        };
        candidates.insert(order.iter().take_while(|index| is_behind(index)).count(), line);
    }
    Details { candidates }
}
