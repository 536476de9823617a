//! Choosing lambda on held-out data, for functions fitted on weighted judgments.
//!
//! A trial is one function, fitted for every candidate lambda on the judgments of its neighbors, and the queries it is
//! judged by. Trials run in parallel; their values are added in the order of the queries.

use rayon::prelude::*;

use super::spec::Recipe;
use super::train::{FALLBACK_LAMBDA, Lambdas, Session};
use super::validation_rounds::{Round, Trial};
use crate::arrange::push_down_unselected;
use crate::control::Control;
use crate::error::{Error, Result};
use crate::fit::FitSpec;
use crate::metric::Mean;
use crate::select::{argmax, argmax_smoothed, one_standard_error};

/// How lambda was chosen.
#[derive(Debug, Clone, PartialEq)]
pub struct Choice {
    /// Name of the metric.
    pub metric: String,
    /// What was held out, as a sentence.
    pub held_out: String,
    /// Candidates, largest first, with the mean of the metric; `None` where it is undefined.
    pub curve: Vec<(f64, Option<f64>)>,
    /// The winner's place in `curve`; `None` where no value is defined.
    pub winner: Option<usize>,
}

impl Choice {
    /// `held_out` where too little is judged to hold anything out.
    pub(in crate::algorithm) const NOTHING: &str = "nothing";

    /// Says so where nothing could be compared, so that `lambda` was taken as it is.
    pub(in crate::algorithm) fn warning(&self, lambda: f64) -> Option<String> {
        let Self { metric, held_out, winner, .. } = self;
        match (winner, held_out.as_str()) {
            (Some(_), _) if self.is_always_0() => Some(format!(
                "nothing could be compared by validation ({held_out}): {metric} is 0 with every lambda; {lambda} was taken"
            )),
            (Some(_), _) => None,
            (None, Self::NOTHING) => Some(format!(
                "too few judged queries or documents to choose lambda by validation; {lambda} was taken"
            )),
            (None, _) => Some(format!(
                "nothing could be compared by validation ({held_out}): {metric} has no value there. Metrics of gains need a \
                 relevance above 0, most others one of 1 or more; mre and kendall_tau need two that differ. The lambda \
                 {lambda} was taken"
            )),
        }
    }

    fn is_always_0(&self) -> bool {
        self.curve.iter().all(|(_, value)| value.is_none_or(|value| value.abs() <= 0.0))
    }

    /// Says so where the metric is the same with every lambda, which for lists of ratings is no sign of success.
    pub(in crate::algorithm) fn indifference(&self) -> Option<String> {
        let first = self.curve.first()?.1?;
        let same = |(_, value): &(f64, Option<f64>)| value.is_some_and(|value| (value - first).abs() <= 0.0);
        (self.curve.len() > 1 && first.abs() > 0.0 && self.curve.iter().all(same)).then(|| {
            format!(
                "{} is {first} with every lambda, so the largest was taken, whose factors are smallest; validate with \
                 another metric, such as ndcg@10, or give lambda",
                self.metric
            )
        })
    }
}

/// Values of a query: the metric at every lambda.
type Values = Vec<Option<f64>>;

impl Session<'_> {
    /// The best of these lambdas (largest first). `fitting` says how functions are fitted in a round; `careful`: the
    /// largest lambda is left only for a clear advantage.
    pub(super) fn chosen(
        &self,
        rounds: &[Round],
        lambdas: &[f64],
        fitting: &dyn Fn(&Round) -> Result<FitSpec>,
        careful: bool,
        warnings: &mut Vec<String>,
    ) -> Result<Lambdas> {
        let mut means = vec![Mean::new(self.recipe.metric.def(), self.recipe.undefined); lambdas.len()];
        let mut own = vec![Vec::new(); self.data.n_queries()];
        let mut paired: Vec<Vec<f64>> = Vec::new();
        for round in rounds {
            for (query, values) in self.values(round, lambdas, &fitting(round)?)? {
                for (mean, value) in means.iter_mut().zip(&values) {
                    mean.add(*value, round.judge.labels(query));
                }
                paired.extend(self.defined(&values));
                if round.judges_observed() {
                    own[query] = values;
                }
            }
        }
        let curve: Vec<(f64, Option<f64>)> =
            lambdas.iter().copied().zip(means.iter().map(Mean::value)).collect();
        let higher_is_better = self.recipe.metric.def().higher_is_better;
        let mut winner = argmax_smoothed(&curve, higher_is_better);
        if careful {
            winner = winner.map(|winner| one_standard_error(&paired, winner, higher_is_better));
        }
        let all = winner.map_or(FALLBACK_LAMBDA, |winner| curve[winner].0);
        let each = self.recipe.lambda_for_each.then(|| {
            let choose = |values: &Values| argmax(values, higher_is_better).map_or(all, |best| lambdas[best]);
            own.iter().map(choose).collect()
        });
        let held_out =
            rounds.first().map_or_else(|| Choice::NOTHING.to_owned(), |round| round.held_out.clone());
        let choice = Choice { metric: self.recipe.metric.name(), held_out, curve, winner };
        warnings.extend(choice.warning(all));
        Ok(Lambdas { all, each, choice: Some(choice) })
    }

    /// The values of a query that counts in the mean at every lambda.
    fn defined(&self, values: &Values) -> Option<Vec<f64>> {
        values.iter().map(|value| self.recipe.undefined.resolve(*value)).collect()
    }

    /// The values of every query of a round, in the order of the trials.
    fn values(&self, round: &Round, lambdas: &[f64], fitting: &FitSpec) -> Result<Vec<(usize, Values)>> {
        let trials = round.trials(self.control)?;
        self.control.expect(trials.len());
        let values: Vec<Vec<Values>> = trials
            .par_iter()
            .map(|trial| {
                let values = trial_values(self.recipe, round, trial, fitting, lambdas, self.control);
                self.control.step();
                values
            })
            .collect::<Result<_>>()?;
        let with_query = |(trial, values): (&Trial, Vec<Values>)| {
            trial.queries.iter().copied().zip(values).collect::<Vec<_>>()
        };
        Ok(trials.iter().zip(values).flat_map(with_query).collect())
    }
}

/// Values of one trial: for each of its queries, the metric at every lambda.
fn trial_values(
    recipe: &Recipe,
    round: &Round,
    trial: &Trial,
    fitting: &FitSpec,
    lambdas: &[f64],
    control: &Control,
) -> Result<Vec<Values>> {
    let Round { neighborhood, judge, .. } = round;
    let space = neighborhood.blocks.space();
    let blocks = neighborhood.weighted_blocks(&trial.neighbors, control)?;
    let functions = fitting.path(space, &blocks, lambdas, control)?;
    let values = trial.queries.iter().map(|&query| {
        let scores =
            space.scores_by(&judge.documents(query), functions.iter().map(Vec::as_slice), control)?;
        let value = |scores: Vec<f64>| {
            let scores = push_down_unselected(recipe.loss.constraint(), judge.row_groups(query), scores)
                .map_err(|problem| Error::Data(format!("query {}: {problem}", judge.query_ids[query])))?;
            Ok(recipe.metric.value(judge.labels(query), &scores))
        };
        scores.into_iter().map(value).collect()
    });
    values.collect()
}
