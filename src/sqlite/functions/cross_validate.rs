//! `ltr_cross_validate(algorithm, source [, options])`: metrics of trainings on queries that they have not seen.
//!
//! Rules (docs/reference/rules.md, 5):
//! * 5.24: An option that is `searchable` takes an array of values. Each combination of values is a setting.
//! * 5.28: One row per setting and fold: `setting, fold, metric, value, seconds`. The value is that of `ltr_fit` on the
//!   training part of the fold and `ltr_evaluate` on the part that is held out.
//! * 5.28: Settings are computed when their rows are asked for, those that differ only in lambda together. No thread runs
//!   between two rows.

use std::collections::VecDeque;

use serde_json::Value;

use super::ranking_call::given_values;
use super::train::{PARAMETERS, algorithm_and_source, read_judged, stored_prior};
use crate::base::error::Result;
use crate::base::memory::Reservation;
use crate::sqlite::glue::probe::Database;
use crate::sqlite::glue::run_limits::RunLimits;
use crate::sqlite::glue::value::{Output, optional_text};
use crate::sqlite::glue::vtab::{Call, OutputRows, TableFunction};
use crate::sqlite::source::Source;
use crate::sqlite::source::reader::SourceRows;
use crate::train::options;
use crate::train::options::Use;
use crate::train::tuning::{Score, Search, SearchRows};

/// The definition of `ltr_cross_validate`.
pub const CROSS_VALIDATE: TableFunction = TableFunction::new(
    "ltr_cross_validate",
    &["setting", "fold", "metric", "value", "seconds"],
    PARAMETERS,
    cross_validate,
);

fn cross_validate(call: &Call<'_>) -> Result<OutputRows> {
    let (algorithm, source) = algorithm_and_source(call.arguments[0], call.arguments[1])?;
    let options = optional_text("argument 'options'", call.arguments[2])?;
    let options = options::parse(options.as_deref(), Use::CrossValidate)?;
    let values = given_values(call, 3);
    let limits = RunLimits::new(&options);
    let mut search = Search::of_validation(algorithm, &options)?;
    // The source must not start a training. Nothing is read later.
    let _mark = call.state.begin_training()?;
    let (rows, memory) = limits.run_here(call.connection, || {
        if let Some(prior) = stored_prior(call.connection, call.state, search.input(), &options, &limits)? {
            search.set_prior(prior.function);
        }
        let source = Source::resolve(call.connection, &source, &limits)?;
        let SourceRows { data, read_report, .. } =
            read_judged(call.connection, &source, search.input(), (&options, &values), &limits)?;
        let folds = search.folds(&data, read_report.split.as_deref(), &options)?;
        Ok((SearchRows { data, folds, summaries: read_report.summaries }, read_report.memory))
    })?;
    let database = Database::from_connection(call.connection);
    Ok(Box::new(Batches { database, limits, search, rows, next: 0, ready: VecDeque::new(), _memory: memory }))
}

/// The rows of a call. A group of settings is computed when its first row is asked for.
struct Batches {
    database: Database,
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
        let scores = self.limits.run_for(self.database, |control| search.scores(rows, *next, control));
        let scores = scores.map_err(|problem| search.error(problem))?;
        let settings = &search.groups()[*next].settings;
        let metric = search.metric.name();
        let row = |score: Score| {
            vec![
                Output::Json(Value::Object(settings[score.setting].values.clone())),
                Output::Integer(score.fold as i64 + 1),
                Output::Text(metric.clone()),
                Output::from(score.value),
                Output::Real(score.seconds),
            ]
        };
        self.ready = scores.into_iter().map(row).collect();
        self.next += 1;
        Ok(())
    }
}

impl Iterator for Batches {
    type Item = Result<Vec<Output>>;

    fn next(&mut self) -> Option<Self::Item> {
        while self.ready.is_empty() && self.next < self.search.groups().len() {
            if let Err(problem) = self.advance() {
                self.next = self.search.groups().len();
                return Some(Err(problem));
            }
        }
        self.ready.pop_front().map(Ok)
    }
}
