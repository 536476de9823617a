//! Training of `auto`: the choice among candidates, and the average of the best.

use super::super::algorithm::{
    AlgorithmDef, Columns, DocWeights, InBuckets, Input, LogStep, Trained, TrainingSet, TrainingSpec, entries,
};
use super::super::grid;
use super::super::single_feature::{self, Judge};
use super::folds::{Partitions, Sample};
use super::prepared::{Copies, judged_queries};
use super::report::{Grown, report};
use super::spec::{AutoSpec, is_better};
use super::trial::{CLEARLY, Trial, Tried};
use crate::base::{Control, Error, Result};
use crate::data::{Dataset, ListConstraint, QueryFeatureRule, RowOrder, Scaling, ScalingKind};
use crate::learn::kernel;
use crate::math::sort_indices;
use crate::train::averaged::{self, Fitted};
use crate::train::select::{Searched, Selection, is_below};
use serde_json::{Map, Value, json};
use std::time::Instant;

/// The definition of `auto`.
pub const DEF: AlgorithmDef = AlgorithmDef {
    name: "auto",
    summary: "scalings, kernels and boosted trees cross-validated by query, the best kernels and the trees averaged",
    objective: "for each candidate (1/(2 N)) sum over queries and documents of (f(x_j) - y_j)^2 + lambda / 2 |f|^2, f and y less their means in the query, N documents in all (a document of weight w counts as w); the score is a sum of the best f and of boosted_trees with half the weight, each divided by its standard deviation",
    source: "Cossock & Zhang 2006; choice by cross-validation",
    defaults: &[],
    reads: |option| OPTIONS.contains(&option),
    parse: |params| Ok(Box::new(AutoSpec::parse(params)?)),
    resume: None,
    in_buckets: InBuckets::No(
        "compares candidates on all rows, so it does not train in buckets; train it on rows on one machine, or train \"boosted_trees\" \
         on packs, or \"rank_svm\", \"regression\" or another linear function in buckets",
    ),
};

/// The options that `auto` reads.
const OPTIONS: &[&str] =
    &["effort", "scale", "kernel", "landmarks", "metric", "neutral_grade", "half_life", "undefined"];

impl TrainingSpec for AutoSpec {
    fn input(&self) -> Input<'_> {
        Input {
            columns: Columns::Features,
            constraint: ListConstraint::None,
            order: RowOrder::Canonical,
            missing: self.missing,
            validation: None,
            doc_weights: DocWeights::Taken,
            prior: None,
            counts_spread: self.scale == Some(ScalingKind::None),
        }
    }

    fn fit(&self, set: TrainingSet, control: &Control) -> Result<Trained> {
        let started = Instant::now();
        let data = set.data;
        // 1. Every candidate; kernels on some of the rows.
        let is_judged = judged_queries(&data);
        let judged = is_judged.iter().filter(|judged| **judged).count();
        let counts = QueryCounts { judged, all: data.n_queries() };
        check_judged(judged, counts.all)?;
        let sample = Sample::new(&data, self.seed, control)?;
        let rule = Self::query_rule(&data)?;
        let joined = rule.as_ref().filter(|_| self.joins_kernels(set.dependence));
        let mut copies = Copies::new(&data, joined);
        let mut grown: Option<Grown> = None;
        #[cfg(feature = "trees")]
        if self.kernel.is_none() && judged >= super::candidates::FEW_QUERIES {
            grown = self.grow(&is_judged, &mut copies, rule.as_ref(), &sample, control)?;
        }
        let grown = grown.map(|grown| (grown, &data));
        let Found { chosen, trees, splits_queries, choice } = match &sample.part {
            Some(part) => {
                let mut copies = Copies::new(part, joined);
                self.find(counts, &mut copies, sample.has_many_documents, grown, control)?
            }
            None => self.find(counts, &mut copies, sample.has_many_documents, grown, control)?,
        };
        drop(sample);
        // 2. The best few, fitted on all rows and added up.
        let mut fitted = Vec::with_capacity(chosen.len() + 1);
        for trial in &chosen {
            let scaled = copies.for_kernels(trial.candidate.scale, control)?;
            fitted.push((super::refit::fit(self, trial, scaled, control)?, started.elapsed().as_secs_f64()));
            control.step();
        }
        // Half of the sum.
        let weight = fitted.len().max(1) as f64;
        for mut trees in trees {
            trees.weights.iter_mut().for_each(|value| *value *= weight);
            fitted.push((trees, started.elapsed().as_secs_f64()));
        }
        let is_used = splits_queries || joined.is_some() && !chosen.is_empty();
        let rule = if is_used { rule } else { None };
        Ok(choice.trained(data.features.columns(), fitted, rule))
    }

    /// Candidates have their own scaling and kernel; see `candidates` in the report.
    fn settings(&self) -> Map<String, Value> {
        let mut settings = entries(json!({
            "smoothing": "uniform",
            "loss": "squared",
            "form": "scoring",
            "kernel": self.kernel.clone().unwrap_or_else(|| json!(kernel::NAMES[0])),
            "solver": "auto",
            "effort": self.effort.level,
            "scale": self.scale.unwrap_or(ScalingKind::Quantile).name(),
            "tolerance": 1e-4,
        }));
        settings.extend(self.validation.given.clone());
        settings
    }
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

/// Numbers of queries of a training set.
#[derive(Clone, Copy)]
struct QueryCounts {
    /// With documents of different relevance.
    judged: usize,
    /// In all.
    all: usize,
}

/// The best few candidates.
struct Found {
    /// The trials of kernels, the best first.
    chosen: Vec<Trial>,
    /// The trees, if they are among the best.
    trees: Vec<Fitted>,
    /// Whether the trees split query features.
    splits_queries: bool,
    choice: Choice,
}

/// What trials tell.
struct Choice {
    /// Lambda of the best kernel; none if there are only trees.
    lambda: Option<f64>,
    /// Of the best candidate.
    selection: Selection,
    warnings: Vec<String>,
    details: Map<String, Value>,
}

/// Whether kernels and trees are in the sum. `trees_may_lead`: true with many documents, or if trees split query features. A sample has
/// the numbers of all queries, some of them without rows.
fn takes_part(
    spec: &AutoSpec,
    trials: &[Trial],
    order: &[usize],
    grown: &Grown,
    trees_may_lead: bool,
) -> (bool, bool) {
    let rank = |rank: usize| &trials[order[rank.min(order.len() - 1)]].first;
    let trees_are_worse = is_below(&grown.values, rank(spec.effort.averaged - 1), TREES_CLEARLY);
    let kernels_are_worse = is_below(rank(0), &grown.values, CLEARLY);
    (!(trees_may_lead && kernels_are_worse), !trees_are_worse)
}

impl Choice {
    /// The sum of fitted functions of documents with `width` features. Each comes with the seconds since training began.
    fn trained(self, width: usize, fitted: Vec<(Fitted, f64)>, rule: Option<QueryFeatureRule>) -> Trained {
        let step = |(fitted, seconds): &(Fitted, f64)| LogStep {
            objective: fitted.objective,
            gap: 0.0,
            seconds: *seconds,
        };
        let log: Vec<LogStep> = fitted.iter().map(step).collect();
        let ranker = averaged::sum(width, fitted.into_iter().map(|(fitted, _)| fitted).collect(), rule);
        Trained {
            lambda: self.lambda,
            warnings: self.warnings,
            selection: Some(self.selection),
            functions: log.len(),
            log,
            details: self.details,
            ..Trained::new(ranker, Scaling::None)
        }
    }
}

/// Indices of trials, the best first; earlier ones first among equals.
fn best_first(spec: &AutoSpec, trials: &[Trial]) -> Vec<usize> {
    let sign = -spec.validation.metric.def().better.sign();
    let cost = |index: &usize| trials[*index].value.map_or(f64::INFINITY, |value| sign * value);
    let mut order: Vec<usize> = (0..trials.len()).collect();
    // Of dropped candidates fewer values are known, and they are clearly worse.
    let dropped = |index: usize| trials[index].dropped;
    let by_cost = |a: &usize, b: &usize| cost(a).total_cmp(&cost(b)).then(a.cmp(b));
    sort_indices(&mut order, &|a, b| dropped(a).cmp(&dropped(b)).then(by_cost(&a, &b)));
    order
}

/// Standard errors that make trees clearly worse than the third best kernel. One of their ensembles has the value of less
/// than their mean.
const TREES_CLEARLY: f64 = 3.0;

/// Minimum number of judged queries: fewer cannot compare candidates.
const FEWEST_QUERIES: usize = 10;

impl AutoSpec {
    /// Tries every kernel on these queries, and compares it with trees of all documents. `counts`: of the whole training set.
    fn find(
        &self,
        counts: QueryCounts,
        copies: &mut Copies<'_>,
        has_many_documents: bool,
        grown: Option<(Grown, &Dataset)>,
        control: &Control,
    ) -> Result<Found> {
        let tried = copies.data();
        let candidates = super::candidates::candidates(self, counts.judged, has_many_documents);
        let partitions = Partitions::new(self, tried);
        control.expect(candidates.len() + self.effort.averaged);
        let mut trials: Vec<Trial> = Vec::with_capacity(candidates.len());
        for candidate in candidates {
            if !super::trial::skips_width(&candidate, &trials) {
                let scaled = copies.for_kernels(candidate.scale, control)?;
                let tried = Tried { data: tried, partitions: &partitions, before: &trials };
                trials.push(super::trial::cross_validate(self, candidate, scaled, tried, control)?);
            }
            control.step();
        }
        let order = best_first(self, &trials);
        // Who takes part.
        let (with_kernels, with_trees) = match &grown {
            Some((grown, _)) => {
                let trees_may_lead = has_many_documents || grown.query_columns == Some(true);
                takes_part(self, &trials, &order, grown, trees_may_lead)
            }
            None => (true, false),
        };
        let averaged = if with_kernels { self.effort.averaged } else { 0 };
        let details =
            report(self, &trials, &order, averaged, grown.as_ref().map(|(grown, _)| (grown, with_trees)));
        let mut trials: Vec<Option<Trial>> = trials.into_iter().map(Some).collect();
        let mut best: Vec<Trial> =
            order.iter().take(self.effort.averaged).filter_map(|index| trials[*index].take()).collect();
        let first = best.first().ok_or_else(|| Error::Internal("no candidate was tried".to_owned()))?;
        // What validation tells about the best candidate.
        let held_out = partitions.held_out();
        let (mut selection, judge, searched) = match &grown {
            Some((grown, data))
                if with_trees && (!with_kernels || is_better(self, grown.value, first.value)) =>
            {
                (grown.selection.clone(), Judge { data, queries: &grown.held_out }, None)
            }
            _ => {
                let split = super::folds::split(partitions.count(), held_out.len(), counts.all);
                let selection =
                    Selection::new(&self.validation.metric, split, first.curve.clone(), first.chosen);
                let searched = Searched {
                    advice: Some("its candidates are fixed; train regression with the option 'lambda'"),
                    ..Searched::new("lambda", first.lambda())
                };
                let judge = Judge { data: tried, queries: &held_out };
                (selection.with_error(|_| first.values.clone()), judge, Some(searched))
            }
        };
        selection.baseline =
            single_feature::baseline(&[judge], &self.validation, ListConstraint::None, control)?;
        let warnings = searched.and_then(|searched| selection.warning(&searched)).into_iter().collect();
        let lambda = with_kernels.then(|| first.lambda());
        best.truncate(averaged);
        let grown =
            grown.filter(|_| with_trees).map(|(grown, _)| (grown.fitted, grown.query_columns == Some(true)));
        let (trees, splits_queries) = grown.unwrap_or_default();
        Ok(Found {
            chosen: best,
            trees,
            splits_queries,
            choice: Choice { lambda, selection, warnings, details },
        })
    }
}
