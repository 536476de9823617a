//! Choosing lambda on held-out data, for functions fitted on weighted judgments.
//!
//! A trial is one function, fitted for every candidate lambda on the judgments of its lenders, and the queries it is
//! judged by. Trials run in parallel; their values are added in the order of the queries.

use rayon::prelude::*;

use super::recipe::Recipe;
use crate::control::Control;
use crate::data::{Dataset, Matrix};
use crate::error::{Error, Result};
use crate::math::dense::dot;
use crate::metric::Mean;
use crate::ranker::{Lender, Lending};
use crate::select::winner;
use crate::solve::{PairProblem, SolveOptions, path};

/// Fits that only serve the choice of lambda end at this relative gap.
const TOLERANCE: f64 = 1e-4;

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

/// The queries that candidates are judged by.
#[derive(Debug, Clone, Copy)]
pub(super) struct Judge<'a> {
    /// Scaled documents.
    pub documents: &'a Matrix,
    /// Offsets and relevance belong to this data set.
    pub data: &'a Dataset,
}

/// One function to fit and the queries of the judge that it is for.
#[derive(Debug)]
pub(super) struct Trial {
    /// Whose judgments support it.
    pub lenders: Vec<Lender>,
    /// Numbers of queries of the judge, ascending.
    pub queries: Vec<usize>,
}

/// The values of every candidate over all rounds.
#[derive(Debug)]
pub(super) struct Curve {
    means: Vec<Mean>,
    lambdas: Vec<f64>,
}

impl Curve {
    /// A curve without values; `lambdas` largest first.
    pub fn new(recipe: &Recipe, lambdas: &[f64]) -> Self {
        Self {
            means: vec![Mean::new(recipe.metric.def(), recipe.undefined); lambdas.len()],
            lambdas: lambdas.to_vec(),
        }
    }

    /// Adds the trials of one round.
    pub fn add(
        &mut self,
        recipe: &Recipe,
        lending: &Lending,
        judge: Judge<'_>,
        trials: &[Trial],
        control: &Control,
    ) -> Result<()> {
        control.expect(trials.len());
        let lambdas = &self.lambdas;
        let values: Result<Vec<_>> = trials
            .par_iter()
            .map(|trial| {
                let values = trial_values(recipe, lending, judge, trial, lambdas, control);
                control.step();
                values
            })
            .collect();
        for (trial, values) in trials.iter().zip(values?) {
            for (query, values) in trial.queries.iter().zip(values) {
                for (mean, value) in self.means.iter_mut().zip(values) {
                    mean.add(value, judge.data.labels(*query));
                }
            }
        }
        Ok(())
    }

    /// The choice that the values support.
    pub fn choice(self, recipe: &Recipe, held_out: String) -> Choice {
        let values = self.means.iter().map(Mean::value);
        let curve: Vec<(f64, Option<f64>)> = self.lambdas.into_iter().zip(values).collect();
        let winner = winner(&curve, recipe.metric.def().higher_is_better);
        Choice { metric: recipe.metric.name(), held_out, curve, winner }
    }
}

/// Values of one trial: for each of its queries, the metric at every lambda.
fn trial_values(
    recipe: &Recipe,
    lending: &Lending,
    judge: Judge<'_>,
    trial: &Trial,
    lambdas: &[f64],
    control: &Control,
) -> Result<Vec<Vec<Option<f64>>>> {
    let blocks = lending.weighted_blocks(&trial.lenders);
    let lambda = lambdas.first().copied().unwrap_or(1.0);
    let problem = PairProblem::new(judge.documents.columns(), blocks, lambda)?;
    let options = SolveOptions { tolerance: TOLERANCE, ..SolveOptions::default() };
    let functions = path(&problem, lambdas, &options, &|| control.is_cancelled())?;
    control.check()?;
    let values = trial.queries.iter().map(|&query| {
        let rows = judge.data.rows(query);
        let documents: Vec<Vec<f64>> = rows.map(|row| judge.documents.row_f64(row)).collect();
        let value = |weights: &[f64]| {
            let scores: Vec<f64> = documents.iter().map(|document| dot(document, weights)).collect();
            recipe.metric.value(judge.data.labels(query), &scores)
        };
        functions.iter().map(|(weights, _)| value(weights)).collect()
    });
    Ok(values.collect())
}

/// An error for training sets that teach nothing.
pub(super) fn nothing_to_learn(queries: usize) -> Error {
    Error::Data(format!(
        "nothing to learn: none of the {queries} queries has two documents of different relevance; \
         a ranking is learnt from pairs of documents of one query whose relevance differs"
    ))
}
