//! The rows of one group or window frame, and SQLite's callbacks.
//!
//! Rows leave a frame in the order in which they entered it, so they are in a queue.

use std::collections::VecDeque;
use std::sync::Arc;

use rusqlite::functions::{Aggregate, Context, WindowAggregate};
use rusqlite::types::{Value, ValueRef};

use super::judgment::{Kind, in_row};
use super::settings::{Settings, number};
use crate::base::error::{Error, Result};
use crate::sqlite::glue::probe::{Database, interruptible};
use crate::sqlite::glue::state::State as ConnectionState;
use crate::sqlite::glue::value::describe;

/// One SQL function.
pub(super) struct Measure<K> {
    kind: K,
    connection: Arc<ConnectionState>,
}

impl<K: Kind> Measure<K> {
    /// The function of this kind.
    pub(super) fn new(kind: K, connection: &Arc<ConnectionState>) -> Self {
        Self { kind, connection: Arc::clone(connection) }
    }

    fn guard<T>(&self, body: impl FnOnce() -> Result<T>) -> rusqlite::Result<T> {
        self.connection.guard(self.kind.layout().function, body)
    }

    fn value_of(&self, state: Option<&mut State<K>>) -> rusqlite::Result<Option<f64>> {
        self.guard(|| match state {
            None => Ok(None),
            Some(state) => interruptible(state.database, || state.value()),
        })
    }
}

/// The rows that are in the group or frame now.
pub(super) struct State<K: Kind> {
    metric: K::Metric,
    after_score: Vec<Value>,
    judgments: VecDeque<K::Judgment>,
    scores: VecDeque<f64>,
    entered: usize,
    database: Database,
}

impl<K: Kind> State<K> {
    /// No row yet, with the settings of the first row.
    fn new(kind: K, arguments: &[ValueRef<'_>], database: Database) -> Result<Self> {
        let after_score = &arguments[2..];
        let settings = Settings::read(&kind.layout(), after_score)?;
        let owned: Result<Vec<Value>> = after_score.iter().map(|&value| own(value)).collect();
        Ok(Self {
            metric: kind.metric(settings)?,
            after_score: owned?,
            judgments: VecDeque::new(),
            scores: VecDeque::new(),
            entered: 0,
            database,
        })
    }

    /// A row enters.
    fn push(&mut self, kind: K, arguments: &[ValueRef<'_>]) -> Result<()> {
        let row = self.entered + 1;
        self.check_settings(kind, &arguments[2..], row)?;
        let judgment = K::judgment(arguments[0], row)?;
        let score = number(arguments[1], || in_row("score", row), "a finite number")?;
        self.judgments.push_back(judgment);
        self.scores.push_back(score);
        self.entered = row;
        Ok(())
    }

    /// Refuses settings that differ from those of the first row (rule 8.4).
    fn check_settings(&self, kind: K, after_score: &[ValueRef<'_>], row: usize) -> Result<()> {
        for (index, (first, &here)) in self.after_score.iter().zip(after_score).enumerate() {
            let first = ValueRef::from(first);
            if first != here {
                let name = kind.layout().names(after_score)[index];
                let allowed = format!("the value of the first row, {}", describe(first));
                return Err(Error::value(in_row(name, row), describe(here), allowed));
            }
        }
        Ok(())
    }

    /// The oldest row leaves.
    fn pop(&mut self) -> Result<()> {
        match (self.judgments.pop_front(), self.scores.pop_front()) {
            (Some(_), Some(_)) => Ok(()),
            _ => Err(Error::Internal("a row left a window frame that holds none".to_owned())),
        }
    }

    /// The value of the rows (rule 8.5).
    fn value(&mut self) -> Result<Option<f64>> {
        if self.scores.is_empty() {
            return Ok(None);
        }
        K::measure(&self.metric, self.judgments.make_contiguous(), self.scores.make_contiguous())
    }
}

/// A copy of an argument.
fn own(value: ValueRef<'_>) -> Result<Value> {
    Value::try_from(value).map_err(|problem| Error::Host(problem.to_string()))
}

/// All arguments of a call.
fn arguments<'a>(context: &'a Context<'_>) -> Vec<ValueRef<'a>> {
    (0..context.len()).map(|index| context.get_raw(index)).collect()
}

impl<K: Kind> Aggregate<State<K>, Option<f64>> for Measure<K> {
    fn init(&self, context: &mut Context<'_>) -> rusqlite::Result<State<K>> {
        self.guard(|| State::new(self.kind, &arguments(context), Database::of(context)))
    }

    fn step(&self, context: &mut Context<'_>, state: &mut State<K>) -> rusqlite::Result<()> {
        self.guard(|| state.push(self.kind, &arguments(context)))
    }

    fn finalize(&self, _: &mut Context<'_>, mut state: Option<State<K>>) -> rusqlite::Result<Option<f64>> {
        self.value_of(state.as_mut())
    }
}

impl<K: Kind> WindowAggregate<State<K>, Option<f64>> for Measure<K> {
    fn value(&self, state: Option<&mut State<K>>) -> rusqlite::Result<Option<f64>> {
        self.value_of(state)
    }

    fn inverse(&self, _: &mut Context<'_>, state: &mut State<K>) -> rusqlite::Result<()> {
        self.guard(|| state.pop())
    }
}
