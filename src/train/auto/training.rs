//! Training of `auto`: the choice among candidates, and the average of the best.

use super::super::algorithm::{
    AlgorithmDef, Columns, DocWeights, InBuckets, Input, LogStep, OutOfFold, Trained, TrainingSet,
    TrainingSpec, entries,
};
use super::super::grid;
use super::super::single_feature::{self, Judge};
use super::baseline::OfBaseline;
use super::folds::{FOLDS, Partitions, QueryScores, sums};
use super::prepared::{Copies, judged_queries};
use super::report::{Grown, report};
use super::sample::Sample;
use super::spec::{AutoSpec, is_better};
use super::trial::{CLEARLY, Trial, Tried};
use crate::base::{Control, Error, Result};
use crate::cost::loss::{Loss, least_squares};
use crate::data::{Dataset, ListConstraint, QueryFeatureRule, RowOrder, Scaling, ScalingKind};
use crate::learn::kernel;
use crate::math::sort_indices;
use crate::train::averaged::{self, Fitted};
use crate::train::baseline::{self, BASELINE_ALONE, Baseline, BaselineSpec};
use crate::train::options::Reader;
use crate::train::select::{Gain, Searched, Selection, is_below, unjudged};
use serde_json::{Map, Value, json};
use std::time::Instant;

/// The definition of `auto`.
pub const DEF: AlgorithmDef = AlgorithmDef {
    name: "auto",
    summary: "scalings, kernels and boosted trees cross-validated by query, the best kernels and the trees averaged",
    objective: "for each candidate (1/(2 N)) sum over queries and documents of (f(x_j) - y_j)^2 + lambda / 2 |f|^2, f and y less their means in the query, N documents in all (a document of weight w counts as w); the score is a sum of the best f and of boosted_trees with half the weight, each divided by its standard deviation",
    source: "Cossock & Zhang 2006; choice by cross-validation",
    defaults: &[],
    reads: |option| Reader::Auto.reads(option),
    parse: |params| Ok(Box::new(AutoSpec::parse(params)?)),
    resume: None,
    in_buckets: InBuckets::No(
        "compares candidates on all rows, so it does not train in buckets; train it on rows on one machine, or train \"boosted_trees\" \
         on packs, or \"rank_svm\", \"regression\" or another linear function in buckets",
    ),
};

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
        self.monotone.signs(&data, &Scaling::None)?;
        // 1. Every candidate; kernels on some of the rows.
        let is_judged = judged_queries(&data);
        let judged = is_judged.iter().filter(|judged| **judged).count();
        let counts = QueryCounts { judged, all: data.n_queries(), documents: data.n_docs() };
        let fit = |spec: &BaselineSpec| spec.fit(&data, &Loss::List(least_squares()), control);
        let baseline = self.baseline.as_ref().map(fit).transpose()?;
        match (check_judged(judged, counts.all), &baseline) {
            (Err(problem), Some(baseline)) => return Ok(only_baseline(baseline, &data, &problem)),
            (result, _) => result?,
        }
        let sample = Sample::new(&data, self.seed, control)?;
        let rule = Self::query_rule(&data)?;
        let joined = rule.as_ref().filter(|_| self.joins_kernels(set.dependence));
        let mut copies = Copies::new(&data, joined, baseline.as_ref());
        let mut grown: Option<Grown> = None;
        if self.kernel.is_none() && judged >= super::candidates::FEWEST_FOR_KERNELS {
            grown = self.grow(&is_judged, &mut copies, rule.as_ref(), &sample, control)?;
        }
        let tree_gains = match &grown {
            Some(grown) if baseline.is_some() => {
                Some(OfBaseline::new(self, &data, copies.start(), &grown.held_out, control)?)
            }
            _ => None,
        };
        let grown = grown.map(|grown| (grown, &data, tree_gains));
        let BestCandidates { chosen, mut trees, scores, splits_queries, mut choice } = match &sample.part {
            Some(part) => {
                let mut copies = Copies::new(part, joined, baseline.as_ref());
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
        let count = fitted.len().max(1) as f64;
        let kernel_scores =
            fitted.iter().zip(&chosen).map(|((fitted, _), trial)| (fitted.factor, &trial.scores[..]));
        let tree_scores = trees
            .iter()
            .zip(&scores)
            .map(|(fitted, scores)| (count / trees.len() as f64 * fitted.factor, &scores[..]));
        let scores = sums(&data, &kernel_scores.chain(tree_scores).collect::<Vec<_>>());
        let out_of_fold = if scores.is_empty() {
            OutOfFold::Folds(Box::new(self.clone()))
        } else {
            OutOfFold::Scores(scores)
        };
        if let Some(baseline) = &baseline {
            // The baseline, half of the mean of kernels and half of the trees.
            let half = if fitted.is_empty() || trees.is_empty() { 1.0 } else { 0.5 };
            fitted.iter_mut().for_each(|(fitted, _)| fitted.scale_to(half / count));
            trees.iter_mut().for_each(|fitted| fitted.scale_to(half));
            let is_alone = fitted.is_empty() && trees.is_empty();
            let selection = Some(&choice.selection);
            choice.details.extend([baseline.report(selection, choice.of_baseline, is_alone)]);
            choice.warnings.extend(baseline.warning());
            fitted.insert(0, (baseline.fitted(data.features.columns()), 0.0));
        } else {
            // Half of the sum.
            trees.iter_mut().flat_map(|trees| &mut trees.weights).for_each(|value| *value *= count);
        }
        for trees in trees {
            fitted.push((trees, started.elapsed().as_secs_f64()));
        }
        let is_used = splits_queries || joined.is_some() && !chosen.is_empty();
        let rule = if is_used { rule } else { None };
        let trained = choice.trained(data.features.columns(), fitted, rule);
        Ok(Trained { out_of_fold: Some(out_of_fold), ..trained })
    }

    fn fold_options(&self) -> &'static [&'static str] {
        &["split_by", "group_by"]
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
        if let Some(baseline) = &self.baseline {
            settings.insert(baseline::KEY.to_owned(), json!(baseline.text));
        }
        self.monotone.report(&mut settings);
        settings.extend(self.validation.given.clone());
        settings
    }
}

/// The model of too few judged queries.
fn only_baseline(baseline: &Baseline, data: &Dataset, problem: &Error) -> Trained {
    let width = data.features.columns();
    let ranker = averaged::sum(width, vec![baseline.fitted(width)], None);
    Trained {
        warnings: vec![baseline::warning(problem)],
        details: [baseline.report(None, None, true)].into_iter().collect(),
        ..Trained::new(ranker, Scaling::None)
    }
}

/// Refuses too few judged queries.
fn check_judged(judged: usize, queries: usize) -> Result<()> {
    match judged {
        0 => Err(grid::nothing_to_learn(queries)),
        FEWEST_JUDGED.. => Ok(()),
        _ => Err(Error::Data(format!(
            "only {judged} queries have documents of different relevance; 'auto' needs {FEWEST_JUDGED} to compare \
             candidates; use one algorithm, such as rank_svm"
        ))),
    }
}

/// Sizes of a training set.
#[derive(Clone, Copy)]
struct QueryCounts {
    /// With documents of different relevance.
    judged: usize,
    all: usize,
    /// The documents of these queries.
    documents: usize,
}

/// The best few candidates.
struct BestCandidates {
    /// The trials of kernels, the best first.
    chosen: Vec<Trial>,
    /// The trees, if they are among the best.
    trees: Vec<Fitted>,
    /// The scores of each of the trees by functions of folds, if scores are kept.
    scores: Vec<Vec<QueryScores>>,
    /// Whether the trees split query features.
    splits_queries: bool,
    choice: Choice,
}

/// Results of trials.
struct Choice {
    /// Lambda of the best kernel; none if there are only trees.
    lambda: Option<f64>,
    /// How lambda or the number of trees of the best candidate was chosen.
    selection: Selection,
    warnings: Vec<String>,
    details: Map<String, Value>,
    /// The value of the baseline.
    of_baseline: Option<f64>,
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
    // With monotone features the only kernels are linear.
    let trees_may_lead = trees_may_lead || !spec.monotone.is_empty();
    let clearly = if trees_may_lead { CLEARLY } else { KERNELS_CLEARLY };
    (!is_below(rank(0), &grown.values, clearly), !trees_are_worse)
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
    // Dropped candidates are clearly worse, and have fewer values.
    let dropped = |index: usize| trials[index].dropped;
    let by_cost = |a: &usize, b: &usize| cost(a).total_cmp(&cost(b)).then(a.cmp(b));
    sort_indices(&mut order, &|a, b| dropped(a).cmp(&dropped(b)).then(by_cost(&a, &b)));
    order
}

/// What trees gain over the baseline.
fn gain_of_trees((grown, _, baseline): &(Grown, &Dataset, Option<OfBaseline>)) -> Option<Gain> {
    baseline.as_ref()?.gain(&grown.values, grown.selection.split)
}

/// Standard errors that make the best kernel clearly worse than trees, unless trees may lead. Up to about three, the sum is still
/// better than trees alone (docs/adr/0011).
const KERNELS_CLEARLY: f64 = 3.0;
/// Standard errors that make trees clearly worse than the third best kernel. One of their ensembles has the value of less
/// than their mean.
const TREES_CLEARLY: f64 = 3.0;

/// Minimum number of judged queries: fewer cannot compare candidates.
const FEWEST_JUDGED: usize = 10;

impl AutoSpec {
    /// The selection with the best single feature of the queries that judge. `values`: of each query, negated if lower ones are
    /// better; empty if they equal the baseline's.
    fn compared(
        &self,
        mut selection: Selection,
        judge: Judge<'_>,
        values: &[Option<f64>],
        control: &Control,
    ) -> Result<Selection> {
        let sign = self.validation.metric.def().better.sign();
        let value = |query: &usize| values.get(*query).copied().flatten().map(|value| sign * value);
        selection.values = judge.queries.iter().map(value).collect();
        selection.baseline =
            single_feature::baseline(&[judge], &selection, &self.validation, ListConstraint::None, control)?;
        Ok(selection)
    }

    /// Cross-validates the candidates.
    fn trials(
        &self,
        (counts, has_many_documents): (QueryCounts, bool),
        copies: &mut Copies<'_>,
        partitions: &Partitions,
        control: &Control,
    ) -> Result<Vec<Trial>> {
        let (data, start) = (copies.data(), copies.start().to_vec());
        let candidates =
            super::candidates::candidates(self, counts.judged, has_many_documents, copies.sees_queries());
        control.expect(candidates.len() + self.effort.averaged);
        let mut trials: Vec<Trial> = Vec::with_capacity(candidates.len());
        for candidate in candidates {
            if !super::trial::skips_width(&candidate, &trials) {
                let scaled = copies.for_kernels(candidate.scale, control)?;
                let tried = Tried { data, start: &start, partitions, before: &trials };
                trials.push(super::trial::cross_validate(self, candidate, scaled, tried, control)?);
            }
            control.step();
        }
        Ok(trials)
    }

    /// Keeps the scores of queries that folds hold out, for probabilities.
    fn keep_scores(
        &self,
        best: &mut [Trial],
        copies: &mut Copies<'_>,
        held_out: usize,
        control: &Control,
    ) -> Result<()> {
        if !self.keeps_scores {
            return Ok(());
        }
        let tried = copies.data();
        let others = unjudged(tried, &judged_queries(tried), held_out, FOLDS, self.seed);
        best.iter_mut().try_for_each(|trial| trial.score(self, copies, &others, control))
    }

    /// Tries every kernel on these queries, and compares it with trees of all documents. `counts`: of the whole training set.
    fn find(
        &self,
        counts: QueryCounts,
        copies: &mut Copies<'_>,
        has_many_documents: bool,
        grown: Option<(Grown, &Dataset, Option<OfBaseline>)>,
        control: &Control,
    ) -> Result<BestCandidates> {
        let tried = copies.data();
        let partitions = Partitions::new(self, tried, tried.n_docs() < counts.documents)?;
        let trials = self.trials((counts, has_many_documents), copies, &partitions, control)?;
        let order = best_first(self, &trials);
        // Who takes part.
        let taking_part = |(grown, ..): &(Grown, &Dataset, Option<OfBaseline>)| {
            let trees_may_lead = has_many_documents || grown.query_columns == Some(true);
            takes_part(self, &trials, &order, grown, trees_may_lead)
        };
        let (mut with_kernels, mut with_trees) = grown.as_ref().map_or((true, false), taking_part);
        let mut averaged = if with_kernels { self.effort.averaged } else { 0 };
        let held_out = partitions.held_out();
        let split = partitions.split(counts.all);
        let of_baseline = || OfBaseline::new(self, tried, copies.start(), &held_out, control);
        let of_kernels = (!copies.start().is_empty()).then(of_baseline).transpose()?;
        let mut gain = None;
        if let Some(of_kernels) = &of_kernels {
            let first_gain = of_kernels.gain(&trials[order[0]].first, split);
            let tree_gain = grown.as_ref().and_then(gain_of_trees);
            let candidates = [first_gain.filter(|_| with_kernels), tree_gain.filter(|_| with_trees)];
            gain = candidates.into_iter().flatten().max_by(|a, b| a.mean.total_cmp(&b.mean));
            let is_shown = gain.is_some_and(|gain| gain.is_shown(copies.is_contradicted()));
            let is_better = |index: &&usize| is_shown && of_kernels.is_below(self, trials[**index].value);
            averaged = order.iter().take(averaged).filter(is_better).count();
            with_kernels = averaged > 0;
            with_trees &= is_shown && tree_gain.is_some_and(|gain| gain.mean > 0.0);
        }
        let is_alone = of_kernels.is_some() && !with_kernels && !with_trees;
        let of_trees = grown.as_ref().map(|(grown, ..)| (grown, with_trees));
        let details = report(self, &trials, &order, averaged, of_trees);
        let mut trials: Vec<Option<Trial>> = trials.into_iter().map(Some).collect();
        let mut best: Vec<Trial> =
            order.iter().take(self.effort.averaged).filter_map(|index| trials[*index].take()).collect();
        let first = best.first().ok_or_else(|| Error::Internal("no candidate was tried".to_owned()))?;
        // Validation results for the best candidate.
        let (mut selection, (judge, values), searched) = match &grown {
            _ if is_alone => {
                let value = of_kernels.as_ref().and_then(|of_kernels| of_kernels.value);
                let curve = vec![(BASELINE_ALONE, value)];
                let selection = Selection::new(&self.validation.metric, split, curve, value.map(|_| 0));
                (selection, (Judge { data: tried, queries: &held_out }, &[][..]), None)
            }
            Some((grown, data, _))
                if with_trees && (!with_kernels || is_better(self, grown.value, first.value)) =>
            {
                let judge = Judge { data, queries: &grown.held_out };
                (grown.selection.clone(), (judge, &grown.values[..]), None)
            }
            _ => {
                let selection =
                    Selection::new(&self.validation.metric, split, first.curve.clone(), first.chosen);
                let searched = Searched {
                    advice: Some("its candidates are fixed; train regression with the option 'lambda'"),
                    ..Searched::new("lambda", first.lambda())
                };
                let judge = (Judge { data: tried, queries: &held_out }, &first.first[..]);
                (selection.with_error(|_| first.values.clone()), judge, Some(searched))
            }
        };
        selection.gain = gain;
        let selection = self.compared(selection, judge, values, control)?;
        let warnings = searched.and_then(|searched| selection.warning(&searched)).into_iter().collect();
        let lambda = with_kernels.then(|| first.lambda());
        best.truncate(averaged);
        self.keep_scores(&mut best, copies, held_out.len(), control)?;
        let grown = grown.filter(|_| with_trees).map(|(grown, ..)| grown);
        let grown = grown.map(|grown| (grown.fitted, grown.scores, grown.query_columns == Some(true)));
        let (trees, scores, splits_queries) = grown.unwrap_or_default();
        Ok(BestCandidates {
            chosen: best,
            trees,
            scores,
            splits_queries,
            choice: Choice {
                lambda,
                selection,
                warnings,
                details,
                of_baseline: of_kernels.and_then(|of_kernels| of_kernels.value),
            },
        })
    }
}
