//! Choosing lambda on held-out data.
//!
//! A trial is one function, fitted for every candidate on the judgments of its neighbors, and the queries that judge
//! it. Trials run in parallel; their values are added in the order of the queries.

use super::session::Session;
use super::spec::GridSpec;
use super::train::{FALLBACK_LAMBDA, Lambdas};
use super::validation_rounds::{Round, Trial};
use crate::algorithm::selection::Searched;
use crate::algorithm::{Curve, LambdaSelection, Split};
use crate::arrange::push_down_unselected;
use crate::control::{Control, each_in_memory};
use crate::error::{Error, Result};
use crate::fit::{FitSpec, LambdaScope, streamed_scores};
use crate::metric::Mean;
use crate::parallel;
use crate::select::{argmax, argmax_smoothed, one_standard_error};

/// Candidates for lambda.
pub(super) struct Candidates<'a> {
    /// Largest first.
    pub lambdas: &'a [f64],
    /// How functions are fitted in a round.
    pub spec: &'a dyn Fn(&Round) -> Result<FitSpec>,
    pub tendency: Tendency,
    /// What they are candidates for.
    pub searched: Searched,
}

/// Which of the good candidates is chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tendency {
    /// The best.
    Best,
    /// The largest that is within one standard error of the best.
    LargestNearBest,
}

/// The metric of one query at every lambda.
type Values = Vec<Option<f64>>;

impl Session<'_> {
    /// Chooses among candidates.
    pub(super) fn select(
        &self,
        rounds: &[Round],
        candidates: &Candidates<'_>,
        warnings: &mut Vec<String>,
    ) -> Result<Lambdas> {
        let lambdas = candidates.lambdas;
        let validation = &self.spec.validation;
        // 1. Values of all held-out queries: their means, and those of training queries for a lambda of their own.
        let mut means = vec![Mean::new(validation.metric.def(), validation.undefined); lambdas.len()];
        let mut own = vec![Vec::new(); self.data.n_queries()];
        let (mut paired, mut weights): (Vec<Vec<f64>>, Vec<f64>) = (Vec::new(), Vec::new());
        for round in rounds {
            for (query, values) in self.values(round, lambdas, &(candidates.spec)(round)?)? {
                for (mean, value) in means.iter_mut().zip(&values) {
                    mean.add(*value, round.judge.labels(query));
                }
                if let Some(values) = self.defined(&values) {
                    weights.extend(means.first().map(|mean| mean.weight(round.judge.labels(query))));
                    paired.push(values);
                }
                if let Some(query) = round.training_query(query) {
                    own[query] = values;
                }
            }
        }
        // 2. One lambda for all queries.
        let curve: Curve = lambdas.iter().copied().zip(means.iter().map(Mean::value)).collect();
        let better = validation.metric.def().better;
        let mut chosen = argmax_smoothed(&curve, better);
        if candidates.tendency == Tendency::LargestNearBest {
            chosen = chosen.map(|best| one_standard_error(&paired, best, better));
        }
        let all = chosen.map_or(FALLBACK_LAMBDA, |chosen| curve[chosen].0);
        // 3. One lambda per training query, if asked for: the largest of the best, or that of all without a value.
        let choose = |values: &Values| argmax(values, better).map(|best| lambdas[best]);
        let chosen_each = || -> Vec<Option<f64>> { own.iter().map(choose).collect() };
        let each = (self.spec.lambda_scope == LambdaScope::Each).then(chosen_each);
        if each.as_ref().is_some_and(|each| each.iter().all(Option::is_none)) {
            warnings.push(format!(
                "no training query has a value of {} in the validation data, so \"lambda_scope\": \"each\" has no effect",
                validation.metric.name()
            ));
        }
        let each = each.map(|each| each.into_iter().map(|own| own.unwrap_or(all)).collect());
        let split = rounds.first().map_or(Split::Nothing, |round| round.split);
        let metric = validation.metric.name();
        let selection = LambdaSelection { metric, split, curve, chosen, option: None, error: None };
        let at = |chosen: usize| {
            paired.iter().zip(&weights).map(|(values, weight)| (values[chosen], *weight)).collect()
        };
        let selection = selection.with_error(at);
        warnings.extend(selection.warning(&Searched { used: all, ..candidates.searched.clone() }));
        Ok(Lambdas { all, each, selection: Some(selection) })
    }

    /// The values of a query at every lambda; `None` if the mean leaves it out.
    fn defined(&self, values: &Values) -> Option<Vec<f64>> {
        values.iter().map(|value| self.spec.validation.undefined.resolve(*value)).collect()
    }

    /// The values of every query of a round, in the order of the trials.
    pub(super) fn values(
        &self,
        round: &Round,
        lambdas: &[f64],
        spec: &FitSpec,
    ) -> Result<Vec<(usize, Values)>> {
        let (trials, _memory) = round.trials(self.control)?;
        self.control.expect(trials.len());
        let evaluate = |trial: &Trial| {
            let values = trial_values(self.spec, round, trial, spec, lambdas, self.control)?;
            self.control.step();
            Ok(values)
        };
        let values: Vec<Vec<Values>> = each_in_memory(&trials, evaluate)?;
        let with_query = |(trial, values): (&Trial, Vec<Values>)| {
            trial.queries.iter().copied().zip(values).collect::<Vec<_>>()
        };
        Ok(trials.iter().zip(values).flat_map(with_query).collect())
    }
}

/// For each query of a trial the metric at every lambda.
fn trial_values(
    grid: &GridSpec,
    round: &Round,
    trial: &Trial,
    spec: &FitSpec,
    lambdas: &[f64],
    control: &Control,
) -> Result<Vec<Values>> {
    let Round { neighborhood, judge, .. } = round;
    let value = |query: usize, scores: Vec<f64>| {
        let scores = push_down_unselected(grid.loss.constraint(), judge.row_groups(query), scores)
            .map_err(|problem| Error::Data(format!("query {}: {problem}", judge.query_ids[query])))?;
        grid.validation.metric.finite_value(judge.labels(query), &scores)
    };
    if let Some(map) = neighborhood.streams(spec, control)? {
        let functions = neighborhood.streamed_path(&trial.neighbors, (spec, map), lambdas, control)?;
        let scores = streamed_scores(map, &functions, (judge, &trial.queries), control)?;
        let values = |number: usize, scores: Vec<Vec<f64>>| {
            control.check()?;
            scores.into_iter().map(|scores| value(trial.queries[number], scores)).collect()
        };
        return parallel::map_of(scores, values).into_iter().collect();
    }
    let space = neighborhood.blocks.space();
    let _memory = neighborhood.reserve(&trial.neighbors, control)?;
    let blocks = neighborhood.weighted_blocks(&trial.neighbors, control)?;
    let functions = spec.path(space, &blocks, lambdas, control)?;
    let values = trial.queries.iter().map(|&query| {
        let scores =
            space.scores_by(&judge.documents(query), functions.iter().map(Vec::as_slice), control)?;
        scores.into_iter().map(|scores| value(query, scores)).collect()
    });
    values.collect()
}
