//! Automatic choice: cross-validates candidates by query, averages the best three and fits them on all rows.
//!
//! A candidate is a scaling with a kernel (`candidate`). Each fits the grades by pairwise least squares, with equal weights
//! of documents, and is cross-validated twice with five folds of the queries, for several lambdas (`trial`). The second time
//! is left out if the first shows that it is clearly worse than three others. The three best are fitted again on all rows
//! with more landmarks. Their functions are added, each divided by the standard deviation of its scores within the training
//! queries (`refit`).
//!
//! Averages of the best few were more reliable on held-out queries than the single best (docs/adr/0011).

mod buckets;
mod candidate;
mod documents;
mod refit;
mod trial;

use std::sync::Arc;
use std::time::Instant;

use serde::Serialize;
use serde_json::{Map, Value, json};

use super::selection::{Searched, ValidationSpec};
use super::single_feature::{self, Judge};
use super::{
    AlgorithmDef, BucketTraining, Columns, DocWeights, Input, LambdaSelection, LogStep, Trained, TrainingSet,
    TrainingSpec, entries, grid,
};
use crate::arrange::ListConstraint;
use crate::control::Control;
use crate::data::{Dataset, Missing, RowOrder, Scaling, ScalingKind};
use crate::error::{Error, Result};
use crate::fit::HeldOut;
use crate::kernel::{self, MapOptions};
use crate::math::order::sort_indices;
use crate::model::{Linear, Ranker};
use crate::param::Params;
use crate::select::fold_numbers;
use crate::space::{Function, SumSpace};

use refit::Fitted;
use trial::{Cells, Trial};

/// The definition.
pub const DEF: AlgorithmDef = AlgorithmDef {
    name: "auto",
    summary: "scalings and kernels cross-validated by query, the three best averaged and fitted on all rows",
    objective: "for each candidate (1/(2 N)) sum over queries and documents of (f(x_j) - y_j)^2 + lambda / 2 |f|^2, f and y less their means in the query, N documents in all; the score is a sum of three f, each divided by its standard deviation",
    source: "Cossock & Zhang 2006; choice by cross-validation",
    defaults: &[],
    reads: |option| OPTIONS.contains(&option),
    parse: |params| Ok(Box::new(AutoSpec::parse(params)?)),
    resume: None,
};

/// Its options.
const OPTIONS: &[&str] =
    &["scale", "kernel", "landmarks", "metric", "neutral_grade", "half_life", "undefined"];

/// Number of functions that are averaged.
const AVERAGED: usize = 3;
/// Approximate number of documents on which candidates are tried. Functions are fitted on all.
const MOST_TRIED: usize = 40_000;
/// Maximum number of landmarks of a trial.
const TRIAL_LANDMARKS: usize = 600;
/// They, in messages about memory.
const TRIED: &str = "the queries on which 'auto' tries candidates";
/// Minimum number of judged queries: fewer cannot compare candidates.
const FEWEST_QUERIES: usize = 10;

/// The choices of one training.
#[derive(Debug, Clone)]
struct AutoSpec {
    /// The only scaling to try, if given.
    scale: Option<ScalingKind>,
    /// The only kernel to try, if given.
    kernel: Option<Value>,
    landmarks: usize,
    validation: ValidationSpec,
    missing: Missing,
    seed: u64,
}

impl AutoSpec {
    /// Parses and checks parameters.
    ///
    /// # Errors
    /// A kernel that is malformed, or landmarks for the linear one.
    fn parse(params: &Params) -> Result<Self> {
        let kernel = params.get("kernel").cloned();
        let is_linear = match &kernel {
            Some(kernel) => kernel::KernelSpec::parse(kernel)?.is_linear(),
            None => false,
        };
        if is_linear && params.has("landmarks") {
            let problem = "option 'landmarks' has no effect with kernel \"linear\"";
            return Err(Error::Unsupported(problem.to_owned()));
        }
        Ok(Self {
            scale: params.choice("scale")?,
            kernel,
            landmarks: params.count("landmarks").unwrap_or(MapOptions::default().landmarks),
            validation: ValidationSpec::parse(params, HeldOut::Queries)?,
            missing: params.choice("missing")?.unwrap_or_default(),
            seed: params.get("seed").and_then(Value::as_u64).unwrap_or(0),
        })
    }
}

impl TrainingSpec for AutoSpec {
    fn input(&self) -> Input<'_> {
        Input {
            columns: Columns::Features,
            constraint: ListConstraint::None,
            order: RowOrder::Canonical,
            missing: self.missing,
            validation: None,
            doc_weights: DocWeights::RefusedByAlgorithm("auto"),
            prior: None,
        }
    }

    fn fit(&self, set: TrainingSet, control: &Control) -> Result<Trained> {
        let started = Instant::now();
        let data = set.data;
        // 1. Every candidate, cross-validated on some of the rows.
        let queries = data.n_queries();
        let judged = judged_queries(&data).into_iter().filter(|judged| *judged).count();
        check_judged(judged, queries)?;
        let _memory =
            control.reserve(data.bytes(), TRIED, "use one algorithm, such as rank_svm, or fewer rows")?;
        let Found { chosen, choice } = self.find((judged, queries), &tried(&data, self.seed), control)?;
        // 2. The best few, fitted on all rows and added up.
        let (mut fitted, mut last) = (Vec::with_capacity(chosen.len()), None);
        for trial in &chosen {
            let scaled = trial::scaled(trial.candidate.scale, last.take(), &data, control)?;
            last = Some(Arc::clone(&scaled));
            fitted.push((refit::fit(self, trial, scaled, control)?, started.elapsed().as_secs_f64()));
            control.step();
        }
        Ok(choice.trained(data.features.columns(), fitted))
    }

    fn in_buckets(&self) -> Result<&dyn BucketTraining> {
        Ok(self)
    }

    /// Candidates have their own scaling and kernel; see `candidates` in the report.
    fn settings(&self) -> Result<Map<String, Value>> {
        let settings = json!({
            "smoothing": "uniform",
            "loss": "squared",
            "form": "scoring",
            "kernel": self.kernel.clone().unwrap_or_else(|| json!(kernel::NAMES[0])),
            "solver": "auto",
            "scale": self.scale.unwrap_or(ScalingKind::Quantile).name(),
            "tolerance": 1e-4,
        });
        let mut settings = entries(&settings)?;
        settings.extend(self.validation.given.clone());
        Ok(settings)
    }
}

/// True for queries with documents of different relevance (`n_queries`).
fn judged_queries(data: &Dataset) -> Vec<bool> {
    (0..data.n_queries()).map(|query| crate::loss::pair_count(data.labels(query)) > 0).collect()
}

/// Refuses too few judged queries.
fn check_judged(judged: usize, queries: usize) -> Result<()> {
    match judged {
        0 => Err(grid::nothing_to_learn(queries)),
        FEWEST_QUERIES.. => Ok(()),
        _ => Err(Error::Data(format!(
            "only {judged} queries have documents of different relevance; 'auto' needs {FEWEST_QUERIES} to compare \
             candidates; use one algorithm, such as rank_svm"
        ))),
    }
}

/// The best few candidates.
struct Found {
    /// Their trials, the best first.
    chosen: Vec<Trial>,
    choice: Choice,
}

/// What trials tell.
struct Choice {
    /// That of the best candidate.
    lambda: f64,
    /// Of the best candidate.
    selection: LambdaSelection,
    warnings: Vec<String>,
    details: Map<String, Value>,
}

impl AutoSpec {
    /// Tries every candidate on these queries. `judged`, `queries`: numbers of queries of the whole training set.
    fn find(&self, (judged, queries): (usize, usize), tried: &Dataset, control: &Control) -> Result<Found> {
        let candidates = candidate::candidates(self, judged);
        let cells = Cells::new(tried, self.seed);
        control.expect(candidates.len() + AVERAGED);
        let mut trials: Vec<Trial> = Vec::with_capacity(candidates.len());
        let mut last = None;
        for candidate in candidates {
            let scaled = trial::scaled(candidate.scale, last.take(), tried, control)?;
            last = Some(Arc::clone(&scaled));
            let trial = trial::cross_validate(self, candidate, (tried, scaled), (&cells, &trials), control)?;
            trials.push(trial);
            control.step();
        }
        let order = best_first(self, &trials);
        let details = entries(&report(&trials, &order))?;
        let mut trials: Vec<Option<Trial>> = trials.into_iter().map(Some).collect();
        let chosen: Vec<Trial> =
            order.iter().take(AVERAGED).filter_map(|index| trials[*index].take()).collect();
        let best = chosen.first().ok_or_else(|| Error::Internal("no candidate was tried".to_owned()))?;
        let (metric, curve) = (self.validation.metric.name(), best.curve.clone());
        let held_out = cells.held_out();
        let split = trial::split(held_out.len(), queries);
        let selection =
            LambdaSelection { metric, split, curve, chosen: best.chosen, option: None, error: None };
        let selection = selection.with_error(|_| best.values.clone());
        let lambda = best.lambda();
        let searched = Searched {
            advice: Some("its candidates are fixed; train regression with the option 'lambda'"),
            ..Searched::new("lambda", lambda)
        };
        let judge = Judge { data: tried, queries: &held_out };
        let baseline =
            single_feature::warning(&selection, &[judge], &self.validation, ListConstraint::None, control)?;
        let warnings = selection.warning(&searched).into_iter().chain(baseline).collect();
        Ok(Found { chosen, choice: Choice { lambda, selection, warnings, details } })
    }
}

impl Choice {
    /// The sum of fitted functions of documents with `width` features. Each comes with the seconds since training began.
    fn trained(self, width: usize, fitted: Vec<(Fitted, f64)>) -> Trained {
        let (mut log, mut members, mut weights) = (Vec::new(), Vec::new(), Vec::new());
        for (fitted, seconds) in fitted {
            log.push(LogStep { objective: fitted.objective, gap: 0.0, seconds });
            weights.extend(fitted.weights);
            members.push(fitted.member);
        }
        let objective = log.iter().map(|step| step.objective).sum();
        let function = Function { weights, objective, gap: 0.0 };
        let ranker = Linear::new(SumSpace::new(width, members), function);
        Trained {
            lambda: Some(self.lambda),
            warnings: self.warnings,
            selection: Some(self.selection),
            functions: log.len(),
            log,
            details: self.details,
            ..Trained::new(Ranker::Linear(ranker), Scaling::None)
        }
    }
}

/// The queries to try candidates on: all, or a part with about [`MOST_TRIED`] documents, chosen by ids.
fn tried(data: &Dataset, seed: u64) -> Dataset {
    if data.n_docs() <= MOST_TRIED {
        return data.clone();
    }
    let all = vec![true; data.n_queries()];
    let parts = data.n_docs().div_ceil(MOST_TRIED);
    let part = fold_numbers(&data.query_ids, &all, parts, seed);
    let rows: Vec<usize> = (0..data.n_queries())
        .filter(|query| part[*query] == Some(0))
        .flat_map(|query| data.rows(query))
        .collect();
    data.with_rows(&rows)
}

/// Indices of trials, the best first; earlier ones first among equals.
fn best_first(spec: &AutoSpec, trials: &[Trial]) -> Vec<usize> {
    let sign = -spec.validation.metric.def().better.sign();
    let cost = |index: &usize| trials[*index].value().map_or(f64::INFINITY, |value| sign * value);
    let mut order: Vec<usize> = (0..trials.len()).collect();
    // Of dropped candidates fewer values are known, and they are clearly worse.
    let dropped = |index: usize| trials[index].dropped;
    let by_cost = |a: &usize, b: &usize| cost(a).total_cmp(&cost(b)).then(a.cmp(b));
    sort_indices(&mut order, &|a, b| dropped(a).cmp(&dropped(b)).then(by_cost(&a, &b)));
    order
}

/// What training found.
#[derive(Serialize)]
struct Details<'a> {
    candidates: Vec<CandidateReport<'a>>,
}

/// One candidate with its value.
#[derive(Serialize)]
struct CandidateReport<'a> {
    scale: &'a str,
    kernel: &'a Value,
    lambda: f64,
    value: Option<f64>,
    averaged: bool,
}

/// Every candidate, the best first.
fn report<'a>(trials: &'a [Trial], order: &[usize]) -> Details<'a> {
    let line = |(rank, index): (usize, &usize)| {
        let trial = &trials[*index];
        CandidateReport {
            scale: trial.candidate.scale.name(),
            kernel: &trial.candidate.kernel,
            lambda: trial.lambda(),
            value: trial.value(),
            averaged: rank < AVERAGED,
        }
    };
    Details { candidates: order.iter().enumerate().map(line).collect() }
}
