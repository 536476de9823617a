//! The metrics as SQL aggregates, usable as window functions too.
//!
//! Rules (docs/reference/rules.md, 8):
//! * 8.1: `f(relevance, score [, k] [, options])`, or `ltr_metric(name, judgment, score [, options])`.
//! * 8.2: A judgment is a relevance or a JSON array of subtopics. Values that are not finite numbers are errors, except
//!   a NULL score.
//! * 8.3: `k` is a whole number from 1. NULL options count as absent.
//! * 8.4: All arguments except the judgment and the score must be the same in every row of a group.
//! * 8.5: A group without rows, or for which the metric is undefined, gives NULL.
//! * 8.6: Rows are counted from 1 as they enter the group.
//! * 8.7: A window frame costs as much as a group of its size.

use std::collections::VecDeque;
use std::ffi::c_int;
use std::sync::Arc;

use rusqlite::Connection;
use rusqlite::functions::{Aggregate, Context, FunctionFlags, WindowAggregate};
use rusqlite::types::{Value, ValueRef};

use crate::base::{
    Error, Memory, Params, Reservation, Result, Strict, bytes_of, each_element, heap_bytes, most_elements,
};
use crate::cost::metric::{METRICS, Metric, MetricDef, MetricOptions, SubtopicMetric, Subtopics};
use crate::sqlite::glue::{
    Database, PURE, RunLimits, State as ConnectionState, describe, interruptible, number_of, reading,
    text_argument, usage, whole_of,
};
use crate::train::options::{self, Use};

/// Registers the aggregates of metrics.
pub fn register(connection: &Connection, state: &Arc<ConnectionState>) -> rusqlite::Result<()> {
    let flags = FunctionFlags::SQLITE_UTF8 | PURE;
    let own = METRICS.iter().filter(|def| def.function != NAMED).map(|def| Some(*def));
    for metric in own.chain([None]) {
        let layout = Layout { metric };
        let (least, most) = layout.counts();
        for arguments in least..=most {
            let measure = Measure { layout, connection: Arc::clone(state) };
            connection.create_window_function(layout.function(), arguments, flags, measure)?;
        }
        usage::answer_aggregate(connection, layout.function(), layout.signature())?;
    }
    Ok(())
}

// SQLite's callbacks, and the rows of one group or window frame.
//
// Rows leave a frame in the order in which they entered, so they are kept in a queue.

struct Measure {
    layout: Layout,
    connection: Arc<ConnectionState>,
}

impl Measure {
    fn guard<T>(&self, body: impl FnOnce() -> Result<T>) -> rusqlite::Result<T> {
        self.connection.guard(self.layout.function(), body)
    }

    fn value_of(&self, state: Option<&mut State>) -> rusqlite::Result<Option<f64>> {
        self.guard(|| match state {
            None => Ok(None),
            Some(state) => interruptible(state.database, || state.value()),
        })
    }
}

/// The rows currently in the group or frame.
struct State {
    judged: Judged,
    /// The arguments of the first row; NULL instead of the judgment and the score.
    first: Vec<Value>,
    scores: VecDeque<f64>,
    /// Bytes of the judgments on the heap.
    heap_bytes: u64,
    entered: usize,
    memory: Memory,
    /// Memory for the rows.
    held: Reservation,
    database: Database,
}

/// The metric, and the judgments of the rows.
enum Judged {
    Relevance(Metric, VecDeque<f64>),
    Subtopics(SubtopicMetric, VecDeque<Vec<Topic>>),
}

impl State {
    /// Starts without rows, with the settings of the first row.
    fn new(layout: Layout, arguments: &[ValueRef<'_>], database: Database) -> Result<Self> {
        let (judged, memory) = layout.judged(arguments, database)?;
        let rows = layout.judgment()..layout.judgment() + 2;
        let kept = |(index, &value)| if rows.contains(&index) { Ok(Value::Null) } else { own(value) };
        let first = arguments.iter().enumerate().map(kept).collect::<Result<_>>()?;
        let held = memory.nothing();
        Ok(Self { judged, first, scores: VecDeque::new(), heap_bytes: 0, entered: 0, memory, held, database })
    }

    fn push(&mut self, layout: Layout, arguments: &[ValueRef<'_>]) -> Result<()> {
        let row = self.entered + 1;
        self.check_settings(layout, arguments, row)?;
        let at = layout.judgment();
        let most = self.heap_bytes + self.judged.most_heap_bytes(arguments[at]);
        // Queues double.
        let rows = 2 * self.judged.row_bytes() * (self.scores.len() as u64 + 1);
        self.held.resize(most + rows, format_args!("a group of {row} rows"), FEWER_ROWS)?;
        match &mut self.judged {
            Judged::Relevance(_, queue) => queue.push_back(relevance(arguments[at], row)?),
            Judged::Subtopics(_, queue) => {
                let topics = subtopics(arguments[at], row)?;
                self.heap_bytes += bytes_of_topics(&topics);
                queue.push_back(topics);
            }
        }
        self.scores.push_back(match (&self.judged, arguments[at + 1]) {
            // The document was not retrieved.
            (Judged::Relevance(..), ValueRef::Null) => f64::NEG_INFINITY,
            (_, score) => number(score, || in_row("score", row), "a finite number")?,
        });
        self.entered = row;
        Ok(())
    }

    /// Refuses settings that differ from the first row's (rule 8.4).
    fn check_settings(&self, layout: Layout, arguments: &[ValueRef<'_>], row: usize) -> Result<()> {
        for ((first, &here), name) in self.first.iter().zip(arguments).zip(layout.names(arguments)) {
            let first = ValueRef::from(first);
            if first != here && !["relevance", "score"].contains(name) {
                let allowed = format!("the value of the first row, {}", describe(first));
                return Err(Error::value(in_row(name, row), describe(here), allowed));
            }
        }
        Ok(())
    }

    /// Removes the oldest row.
    fn pop(&mut self) -> Result<()> {
        let judged = match &mut self.judged {
            Judged::Relevance(_, queue) => queue.pop_front().is_some(),
            Judged::Subtopics(_, queue) => {
                let topics = queue.pop_front();
                self.heap_bytes -= topics.as_ref().map_or(0, bytes_of_topics);
                topics.is_some()
            }
        };
        match (judged, self.scores.pop_front()) {
            (true, Some(_)) => Ok(()),
            _ => Err(Error::Internal("a row left a window frame that holds none".to_owned())),
        }
    }

    /// The value of the rows (rule 8.5).
    fn value(&mut self) -> Result<Option<f64>> {
        if self.scores.is_empty() {
            return Ok(None);
        }
        let bytes = ROW_BYTES * self.scores.len() as u64 + HEAP_FACTOR * self.heap_bytes;
        let _used = self.memory.reserve(bytes, "the metric of a group", FEWER_ROWS)?;
        let scores = self.scores.make_contiguous();
        match &mut self.judged {
            Judged::Relevance(metric, queue) => metric.finite_value(queue.make_contiguous(), scores),
            Judged::Subtopics(metric, queue) => {
                Ok(metric.value(&Subtopics::new(queue.make_contiguous()), scores))
            }
        }
    }
}

impl Judged {
    /// Bytes per row, without the heap.
    fn row_bytes(&self) -> u64 {
        match self {
            Self::Relevance(..) => bytes_of::<[f64; 2]>(1),
            Self::Subtopics(..) => bytes_of::<(Vec<Topic>, f64)>(1),
        }
    }

    /// Upper bound on the heap bytes of a judgment, before it is read.
    fn most_heap_bytes(&self, value: ValueRef<'_>) -> u64 {
        match (self, value) {
            (Self::Subtopics(..), ValueRef::Text(text)) => {
                bytes_of::<Topic>(most_elements(text)) + text.len() as u64
            }
            _ => 0,
        }
    }
}

/// Bytes that a metric uses for each row.
const ROW_BYTES: u64 = 64;

/// Bytes that a metric uses per byte of judgments on the heap.
const HEAP_FACTOR: u64 = 3;

/// Advice for groups that take too much memory.
const FEWER_ROWS: &str =
    "measure groups of fewer rows: GROUP BY the query, and leave out rows that no ranking has";

/// A copy of an argument.
pub(super) fn own(value: ValueRef<'_>) -> Result<Value> {
    Value::try_from(value).map_err(|problem| Error::Host(problem.to_string()))
}

/// All arguments of a call.
fn arguments<'a>(context: &'a Context<'_>) -> Vec<ValueRef<'a>> {
    (0..context.len()).map(|index| context.get_raw(index)).collect()
}

impl Aggregate<State, Option<f64>> for Measure {
    fn init(&self, context: &mut Context<'_>) -> rusqlite::Result<State> {
        self.guard(|| {
            reading(context, || State::new(self.layout, &arguments(context), Database::of(context)))
        })
    }

    fn step(&self, context: &mut Context<'_>, state: &mut State) -> rusqlite::Result<()> {
        let outcome = self.guard(|| reading(context, || state.push(self.layout, &arguments(context))));
        if outcome.is_err() {
            // SQLite still asks for a value, and drops it.
            state.scores.clear();
        }
        outcome
    }

    fn finalize(&self, _: &mut Context<'_>, mut state: Option<State>) -> rusqlite::Result<Option<f64>> {
        self.value_of(state.as_mut())
    }
}

impl WindowAggregate<State, Option<f64>> for Measure {
    fn value(&self, state: Option<&mut State>) -> rusqlite::Result<Option<f64>> {
        self.value_of(state)
    }

    fn inverse(&self, _: &mut Context<'_>, state: &mut State) -> rusqlite::Result<()> {
        self.guard(|| state.pop())
    }
}

// Arguments (rules 8.1, 8.3).

/// The function that takes the name of a metric as its first argument.
const NAMED: &str = "ltr_metric";

/// One function, by its metric; [`NAMED`] without one.
#[derive(Clone, Copy)]
struct Layout {
    metric: Option<&'static MetricDef>,
}

impl Layout {
    fn function(self) -> &'static str {
        self.metric.map_or(NAMED, |def| def.function)
    }

    /// Smallest and largest number of arguments. Every metric with its own function takes a cutoff.
    fn counts(self) -> (c_int, c_int) {
        if self.metric.is_some() { (2, 4) } else { (3, 4) }
    }

    /// Index of the judgment. The score follows it.
    fn judgment(self) -> usize {
        usize::from(self.metric.is_none())
    }

    fn signature(self) -> &'static str {
        match self.metric {
            Some(_) => "relevance, score [, k] [, options]",
            None => "name, relevance, score [, options]",
        }
    }

    /// Argument names of one call.
    fn names(self, arguments: &[ValueRef<'_>]) -> &'static [&'static str] {
        match (self.metric, arguments.get(2)) {
            (None, _) => &["name", "relevance", "score", "options"],
            (_, Some(only)) if arguments.len() == 3 && is_object(*only) => &["relevance", "score", "options"],
            _ => &["relevance", "score", "k", "options"],
        }
    }

    /// The metric of a call, without rows, and the memory that the group may use.
    fn judged(self, arguments: &[ValueRef<'_>], database: Database) -> Result<(Judged, Memory)> {
        let argument = |wanted: &str| {
            let at = self.names(arguments).iter().position(|name| *name == wanted)?;
            arguments.get(at).copied()
        };
        let given = argument("options").map(options).transpose()?.unwrap_or_default();
        let memory = RunLimits::new(database, &given).memory;
        let settings = MetricOptions::default().with(&given)?;
        let judged = if let Some(def) = self.metric {
            let cutoff = argument("k").map(cutoff).transpose()?;
            Judged::Relevance(Metric::new(def, cutoff, settings)?, VecDeque::new())
        } else {
            let name = text_argument("argument 'name'", arguments[0])?;
            match SubtopicMetric::find(&name)? {
                Some(metric) => Judged::Subtopics(metric.with_options(settings)?, VecDeque::new()),
                None => Judged::Relevance(Metric::parse(&name)?.with_options(settings)?, VecDeque::new()),
            }
        };
        Ok((judged, memory))
    }
}

/// Text that begins like a JSON object: options without a cutoff before them.
fn is_object(value: ValueRef<'_>) -> bool {
    matches!(value, ValueRef::Text(text) if text.trim_ascii_start().starts_with(b"{"))
}

fn cutoff(value: ValueRef<'_>) -> Result<usize> {
    let whole = whole_of(value).and_then(|k| usize::try_from(k).ok());
    let allowed = "a whole number from 1 (or options, a JSON object, in its place)";
    whole.filter(|k| *k > 0).ok_or_else(|| Error::value("k", describe(value), allowed))
}

fn options(value: ValueRef<'_>) -> Result<Params> {
    let refusal = || Error::value("options", describe(value), "a JSON object such as {\"ties\": \"input\"}");
    let text = match value {
        ValueRef::Null => None,
        ValueRef::Text(text) => Some(std::str::from_utf8(text).map_err(|_| refusal())?),
        _ => return Err(refusal()),
    };
    options::parse(text, Use::Metric)
}

/// A finite number, or text that is a well-formed one.
fn number(value: ValueRef<'_>, what: impl Fn() -> String, allowed: &str) -> Result<f64> {
    let number = number_of(value).filter(|number| number.is_finite());
    number.ok_or_else(|| Error::value(what(), describe(value), allowed))
}

// Judgments (rule 8.2).

fn relevance(value: ValueRef<'_>, row: usize) -> Result<f64> {
    let allowed = match value {
        ValueRef::Null => "a finite number; write coalesce(relevance, 0) if unjudged means not relevant",
        _ => "a finite number",
    };
    number(value, || in_row("relevance", row), allowed)
}

fn subtopics(value: ValueRef<'_>, row: usize) -> Result<Vec<Topic>> {
    topics(value).ok_or_else(|| {
        let hint = match value {
            ValueRef::Null => "; write coalesce(subtopics, '[]') if unjudged means no subtopic",
            _ => "",
        };
        let allowed = format!("a JSON array of texts and numbers as text{hint}");
        Error::value(in_row("subtopics", row), describe(value), allowed)
    })
}

/// The name of a subtopic. Numbers never equal texts; 1 equals 1.0.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Topic {
    Whole(i128),
    /// Any other number, by its bits.
    Real(u64),
    Text(String),
}

/// The subtopics in a JSON array; `None` for other values.
fn topics(value: ValueRef<'_>) -> Option<Vec<Topic>> {
    let ValueRef::Text(text) = value else { return None };
    let mut topics = Vec::with_capacity(most_elements(text));
    let add = |Strict(name)| topic(name).map(|topic| topics.push(topic)).ok_or_else(String::new);
    each_element(text, add).ok()?;
    Some(topics)
}

/// Bytes of subtopics on the heap.
fn bytes_of_topics(topics: &Vec<Topic>) -> u64 {
    let names = topics.iter().map(|topic| match topic {
        Topic::Text(name) => heap_bytes(name.capacity()),
        _ => 0,
    });
    heap_bytes(topics.capacity() * size_of::<Topic>()) + names.sum::<u64>()
}

fn topic(name: serde_json::Value) -> Option<Topic> {
    match name {
        serde_json::Value::String(text) => Some(Topic::Text(text)),
        serde_json::Value::Number(number) => match number.as_i128() {
            Some(whole) => Some(Topic::Whole(whole)),
            // A whole number that the parser rounded may be wrong.
            None => number.as_f64().filter(|number| number.abs() < ROUNDED).map(numbered),
        },
        _ => None,
    }
}

/// The smallest whole numbers beyond 64 bits.
const ROUNDED: f64 = 9_223_372_036_854_775_808.0;

/// A floating-point number as a subtopic; 1.0 equals 1.
fn numbered(number: f64) -> Topic {
    let whole = number as i128;
    if (whole as f64 - number).abs() > 0.0 { Topic::Real(number.to_bits()) } else { Topic::Whole(whole) }
}

/// An argument's name, with its row.
pub(super) fn in_row(argument: &str, row: usize) -> String {
    format!("{argument} in row {row} of the group")
}
