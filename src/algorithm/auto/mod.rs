//! What an expert would try: several candidates cross-validated by query, the best few averaged, fitted on all rows.
//!
//! A candidate is a scaling with a kernel ([`candidate`]); all fit the grades by pairwise least squares, documents
//! weighing alike. Each is cross-validated twice with five folds of the queries, for a path of lambdas ([`trial`]). The
//! three best are fitted again on all rows, with more landmarks, and their functions are added up, each divided by
//! the standard deviation of its scores within the training queries ([`refit`]).
//!
//! Averages of the best few were more reliable on held-out queries than the single winner (docs/adr/0011).

mod candidate;
mod refit;
mod trial;

use std::time::Instant;

use serde_json::json;

use super::{AlgorithmDef, Choice, LogStep, Recipe, Trained, TrainingSet, grid};
use crate::control::Control;
use crate::data::{Dataset, Scaling};
use crate::error::{Error, Result};
use crate::model::{Linear, Ranker};
use crate::select::fold_numbers;
use crate::space::{Function, SumSpace};

use trial::{Cells, Trial};

/// The definition.
pub const DEF: AlgorithmDef = AlgorithmDef {
    name: "auto",
    summary: "scalings and kernels cross-validated by query, the three best averaged and fitted on all rows",
    objective: "for each candidate (1/(2 N)) sum over queries and documents of (f(x_j) - y_j)^2 + lambda / 2 |f|^2, f and y less their means in the query, N documents in all; the score is a sum of three f, each divided by its standard deviation",
    source: "Cossock & Zhang 2006; choice by cross-validation",
    loss: "squared",
    parameters: &["scale", "kernel", "landmarks", "metric", "undefined"],
    train,
    ..grid::PRESET
};

/// Functions that are averaged.
const AVERAGED: usize = 3;
/// Documents of the queries that candidates are tried on, about; the functions are fitted on all.
const MOST_TRIED: usize = 40_000;
/// Landmarks while candidates are tried.
const TRIAL_LANDMARKS: usize = 600;
/// Fewer judged queries cannot tell candidates apart.
const FEWEST_QUERIES: usize = 10;

/// Chooses, fits and averages.
fn train(recipe: &Recipe, set: TrainingSet, control: &Control) -> Result<Trained> {
    let started = Instant::now();
    let data = set.data;
    let judged = judged(&data)?;
    let candidates = candidate::candidates(recipe, judged.iter().filter(|judged| **judged).count());
    let tried = tried(&data, recipe.seed);
    let cells = Cells::new(&tried, recipe.seed);
    control.expect(candidates.len() + AVERAGED);
    let mut trials: Vec<Trial> = Vec::with_capacity(candidates.len());
    for candidate in candidates {
        trials.push(trial::run(recipe, candidate, &tried, &cells, control)?);
        control.step();
    }
    let order = best_first(recipe, &trials);
    let chosen: Vec<&Trial> = order.iter().take(AVERAGED).map(|place| &trials[*place]).collect();
    let mut log = Vec::new();
    let mut members = Vec::new();
    let mut weights = Vec::new();
    for trial in &chosen {
        let fitted = refit::fit(recipe, trial, &data, control)?;
        control.step();
        log.push(LogStep { objective: fitted.objective, gap: 0.0, seconds: started.elapsed().as_secs_f64() });
        weights.extend(fitted.weights);
        members.push(fitted.member);
    }
    let report = report(&trials, &order);
    let best = chosen.first().ok_or_else(|| Error::Internal("no candidate was tried".to_owned()))?;
    let held_out = cells.sentence();
    let choice =
        Choice { metric: recipe.metric.name(), held_out, curve: best.curve.clone(), winner: best.winner };
    let space = SumSpace::new(data.features.columns(), members);
    let objective = log.iter().map(|step| step.objective).sum();
    let lambda = best.lambda();
    let warnings = choice.warning(lambda).into_iter().collect();
    Ok(Trained {
        ranker: Ranker::Linear(Linear::new(space, Function { weights, objective, gap: 0.0 })),
        scaling: Scaling::None,
        lambda: Some(lambda),
        prior_lambda: None,
        choice: Some(choice),
        functions: log.len(),
        log,
        unconverged: 0,
        warnings,
        report,
        aside: json!({}),
    })
}

/// True for queries with documents of different relevance (`n_queries`).
fn judged_queries(data: &Dataset) -> Vec<bool> {
    (0..data.n_queries()).map(|query| crate::loss::pair_count(data.labels(query)) > 0).collect()
}

/// As [`judged_queries`].
///
/// # Errors
/// Too few of them.
fn judged(data: &Dataset) -> Result<Vec<bool>> {
    let judged = judged_queries(data);
    let n = judged.iter().filter(|judged| **judged).count();
    if n >= FEWEST_QUERIES {
        return Ok(judged);
    }
    if n == 0 {
        return Err(grid::nothing_to_learn(data.n_queries()));
    }
    Err(Error::Data(format!(
        "{n} queries have documents of different relevance; 'auto' needs {FEWEST_QUERIES} to tell candidates apart, \
         so use one algorithm, such as rank_svm"
    )))
}

/// The queries that candidates are tried on: all, or as many as their documents allow, chosen by their ids.
fn tried(data: &Dataset, seed: u64) -> Dataset {
    if data.n_docs() <= MOST_TRIED {
        return data.clone();
    }
    let everyone = vec![true; data.n_queries()];
    let parts = data.n_docs().div_ceil(MOST_TRIED);
    let part = fold_numbers(&data.query_ids, &everyone, parts, seed);
    let rows: Vec<usize> = (0..data.n_queries())
        .filter(|query| part[*query] == Some(0))
        .flat_map(|query| data.rows(query))
        .collect();
    data.with_rows(&rows)
}

/// Places of trials, the best first; earlier ones first among equals.
fn best_first(recipe: &Recipe, trials: &[Trial]) -> Vec<usize> {
    let sign = if recipe.metric.def().higher_is_better { -1.0 } else { 1.0 };
    let cost = |place: &usize| trials[*place].value().map_or(f64::INFINITY, |value| sign * value);
    let mut order: Vec<usize> = (0..trials.len()).collect();
    order.sort_by(|a, b| cost(a).total_cmp(&cost(b)).then(a.cmp(b)));
    order
}

/// Every candidate with its value, best first.
fn report(trials: &[Trial], order: &[usize]) -> serde_json::Value {
    let line = |(rank, place): (usize, &usize)| {
        let trial = &trials[*place];
        json!({
            "scale": trial.candidate.scale.name(),
            "kernel": trial.candidate.kernel,
            "lambda": trial.lambda(),
            "value": trial.value(),
            "averaged": rank < AVERAGED,
        })
    };
    json!({ "candidates": order.iter().enumerate().map(line).collect::<Vec<_>>() })
}
