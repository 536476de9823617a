//! The report of `auto` about candidates.

use serde_json::{Map, Value, json};

use super::folds::QueryScores;
use super::trial::Trial;
use super::{AutoSpec, spec::is_better};
use crate::train::algorithm::BOOSTED_TREES;
use crate::train::averaged::Fitted;
use crate::train::select::Selection;

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
    /// Whether the trees split query features; none without any.
    pub query_columns: Option<bool>,
    /// The functions whose sum it is.
    pub fitted: Vec<Fitted>,
    /// The scores of each of them by functions of folds, if scores are kept.
    pub scores: Vec<Vec<QueryScores>>,
}

/// Every candidate, the best first. The best `averaged` kernels are averaged. `grown`: the trees, and whether they are
/// averaged.
pub(super) fn report(
    spec: &AutoSpec,
    trials: &[Trial],
    order: &[usize],
    averaged: usize,
    grown: Option<(&Grown, bool)>,
) -> Map<String, Value> {
    let line = |(rank, index): (usize, &usize)| {
        let trial = &trials[*index];
        json!({
            "scale": trial.candidate.scale.name(),
            "kernel": trial.candidate.kernel,
            "lambda": trial.lambda(),
            "value": trial.value,
            "averaged": rank < averaged,
        })
    };
    let mut candidates: Vec<Value> = order.iter().enumerate().map(line).collect();
    if let Some((grown, averaged)) = grown {
        let is_behind = |index: &usize| is_better(spec, trials[*index].value, grown.value);
        let mut line = json!({
            "algorithm": BOOSTED_TREES,
            "scale": grown.scale,
            "trees": grown.trees,
            "ensembles": grown.ensembles,
            "query_columns": grown.query_columns,
            "value": grown.value,
            "averaged": averaged,
        });
        if let (None, Some(line)) = (grown.query_columns, line.as_object_mut()) {
            line.shift_remove("query_columns");
        }
        candidates.insert(order.iter().take_while(|index| is_behind(index)).count(), line);
    }
    Map::from_iter([("candidates".to_owned(), Value::Array(candidates))])
}
