//! `ltr_cross_validate(algorithm, source [, options])`: metrics of trained models on held-out queries.
//!
//! Rules (docs/reference/rules.md, 5):
//! * 5.24: An option that is `searchable` takes an array of values. Each combination of values is a setting.
//! * 5.28: One row per setting and fold: `setting, fold, metric, value, seconds`. The value equals the result of
//!   `ltr_fit` on the training rows of the fold and `ltr_evaluate` on the held-out part.
//! * 5.28: Settings are computed when their rows are requested; settings that differ only in lambda are computed together.
//!   No thread runs between two rows.

use std::collections::VecDeque;

use serde_json::Value;

use super::train::{self, algorithm_and_source, stored_prior};
use super::training;
use crate::base::{Reservation, Result};
use crate::sqlite::glue::{Call, Output, OutputRows, RunLimits, TableFunction, row};
use crate::sqlite::source::Source;
use crate::sqlite::source::parameters::SourceCall;
use crate::sqlite::source::reader::SourceRows;
use crate::train::options::Use;
use crate::train::tuning::{Score, Search, SearchRows};

pub const CROSS_VALIDATE: TableFunction = TableFunction::new(
    "ltr_cross_validate",
    "setting, fold, metric, value, seconds",
    train::PARAMETERS,
    cross_validate,
);

fn cross_validate(call: &Call<'_>) -> Result<OutputRows> {
    let (algorithm, source) = algorithm_and_source(call.arguments[0], call.arguments[1])?;
    let (options, limits) = call.options(2, Use::CrossValidate)?;
    let mut search = Search::of_validation(algorithm, &options)?;
    // The source must not start training. It is not read again later.
    let _mark = call.state.begin_training()?;
    let (rows, memory) = limits.run_here(|| {
        let prior = stored_prior(call.connection, call.state, search.input(), &options, &limits)?;
        if let Some(prior) = &prior {
            search.set_prior(prior.function.clone());
        }
        let source = &Source::resolve(call.connection, &source, &limits)?;
        let state = call.state;
        let (connection, options, values, limits) = (call.connection, &options, &call.values(3), &limits);
        let call = SourceCall { connection, source, options, values, limits };
        let (input, spec) = (search.input(), train::training_spec(search.input(), prior.as_ref()));
        let SourceRows { data, read_report, .. } = training::read_training(call, state, input, spec)?.rows;
        let folds = search.folds(&data, read_report.split.as_deref(), options)?;
        Ok((SearchRows { data, folds, summaries: read_report.summaries }, read_report.memory))
    })?;
    Ok(Box::new(Batches { limits, search, rows, next: 0, ready: VecDeque::new(), _memory: memory }))
}

/// The rows of a call. A group of settings is computed when its first row is requested.
struct Batches {
    limits: RunLimits,
    search: Search,
    rows: SearchRows,
    /// The next group.
    next: usize,
    ready: VecDeque<Vec<Output>>,
    _memory: Reservation,
}

impl Batches {
    /// Computes the next group.
    fn advance(&mut self) -> Result<()> {
        let Self { search, rows, next, .. } = self;
        let scores = self.limits.run(|control| search.scores(rows, *next, control));
        let scores = scores.map_err(|problem| search.error(problem))?;
        let settings = &search.groups[*next].settings;
        let metric = search.metric.name();
        let row = |score: Score| {
            let setting = Value::Object(settings[score.setting].values.clone());
            row![setting, score.fold + 1, metric.clone(), score.value, score.seconds]
        };
        self.ready = scores.into_iter().map(row).collect();
        self.next += 1;
        Ok(())
    }
}

impl Iterator for Batches {
    type Item = Result<Vec<Output>>;

    fn next(&mut self) -> Option<Self::Item> {
        while self.ready.is_empty() && self.next < self.search.groups.len() {
            if let Err(problem) = self.advance() {
                self.next = self.search.groups.len();
                return Some(Err(problem));
            }
        }
        self.ready.pop_front().map(Ok)
    }
}
