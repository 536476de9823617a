//! Judgments: aggregates take a relevance or a set of subtopics (rule 8.2).

use std::panic::{RefUnwindSafe, UnwindSafe};

use rusqlite::types::ValueRef;
use serde_json::Value;

use super::{Layout, Settings, number};
use crate::base::{Error, Result};
use crate::cost::metric::{Metric, MetricDef, SubtopicDef, SubtopicMetric, Subtopics};
use crate::sqlite::glue::describe;

/// A kind of aggregate: how it reads a judgment and computes its value.
pub trait Kind: Copy + UnwindSafe + RefUnwindSafe + 'static {
    /// The judgment of one row.
    type Judgment: UnwindSafe + RefUnwindSafe;
    /// The metric with cutoff and options.
    type Metric: UnwindSafe + RefUnwindSafe;

    /// The arguments of the function.
    fn layout(self) -> Layout;
    /// The metric for the arguments after the score.
    fn metric(self, settings: Settings) -> Result<Self::Metric>;
    /// The judgment of the row with this number.
    fn judgment(value: ValueRef<'_>, row: usize) -> Result<Self::Judgment>;
    /// The value of a group.
    ///
    /// # Errors
    /// Grades that are too large.
    fn measure(metric: &Self::Metric, judgments: &[Self::Judgment], scores: &[f64]) -> Result<Option<f64>>;
}

/// Aggregates of a relevance.
#[derive(Clone, Copy)]
pub(super) struct Relevance(pub(super) &'static MetricDef);

impl Kind for Relevance {
    type Judgment = f64;
    type Metric = Metric;

    fn layout(self) -> Layout {
        let def = self.0;
        Layout {
            function: def.function,
            judgment: "relevance",
            required: def.arguments,
            takes_cutoff: def.takes_cutoff,
        }
    }

    fn metric(self, settings: Settings) -> Result<Metric> {
        Metric::new(self.0, settings.cutoff, settings.options)
    }

    fn judgment(value: ValueRef<'_>, row: usize) -> Result<f64> {
        let allowed = match value {
            ValueRef::Null => "a finite number; write coalesce(relevance, 0) if unjudged means not relevant",
            _ => "a finite number",
        };
        number(value, || in_row("relevance", row), allowed)
    }

    fn measure(metric: &Metric, judgments: &[f64], scores: &[f64]) -> Result<Option<f64>> {
        metric.finite_value(judgments, scores)
    }
}

/// Aggregates of a set of subtopics.
#[derive(Clone, Copy)]
pub(super) struct Coverage(pub(super) &'static SubtopicDef);

impl Kind for Coverage {
    type Judgment = Vec<Topic>;
    type Metric = SubtopicMetric;

    fn layout(self) -> Layout {
        Layout { function: self.0.function, judgment: "subtopics", required: &[], takes_cutoff: true }
    }

    fn metric(self, settings: Settings) -> Result<SubtopicMetric> {
        SubtopicMetric::new(self.0, settings.cutoff, settings.options)
    }

    fn judgment(value: ValueRef<'_>, row: usize) -> Result<Vec<Topic>> {
        topics(value).ok_or_else(|| {
            let hint = match value {
                ValueRef::Null => "; write coalesce(subtopics, '[]') if unjudged means no subtopic",
                _ => "",
            };
            let allowed = format!("a JSON array of texts and numbers as text{hint}");
            Error::value(in_row("subtopics", row), describe(value), allowed)
        })
    }

    fn measure(metric: &SubtopicMetric, judgments: &[Vec<Topic>], scores: &[f64]) -> Result<Option<f64>> {
        Ok(metric.value(&Subtopics::new(judgments), scores))
    }
}

/// The name of a subtopic. A number is never equal to a text; 1 and 1.0 are equal.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Topic {
    /// A whole number.
    Whole(i128),
    /// Another number, by its bits.
    Real(u64),
    /// A text.
    Text(String),
}

/// The subtopics in a JSON array; `None` if the value is something else.
fn topics(value: ValueRef<'_>) -> Option<Vec<Topic>> {
    let ValueRef::Text(text) = value else { return None };
    let names: Vec<Value> = serde_json::from_slice(text).ok()?;
    names.into_iter().map(topic).collect()
}

fn topic(name: Value) -> Option<Topic> {
    match name {
        Value::String(text) => Some(Topic::Text(text)),
        Value::Number(number) => match number.as_i128() {
            Some(whole) => Some(Topic::Whole(whole)),
            None => number.as_f64().map(numbered),
        },
        _ => None,
    }
}

/// A floating-point number as a subtopic; 1.0 equals 1.
fn numbered(number: f64) -> Topic {
    let whole = number as i128;
    if (whole as f64 - number).abs() > 0.0 { Topic::Real(number.to_bits()) } else { Topic::Whole(whole) }
}

/// The name of an argument in a row.
pub(super) fn in_row(argument: &str, row: usize) -> String {
    format!("{argument} in row {row} of the group")
}
