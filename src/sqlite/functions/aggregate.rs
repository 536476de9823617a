//! The metrics as SQL aggregates, usable as window functions too.
//!
//! Rules (docs/reference/rules.md, 8):
//! * 8.1: `f(judgment, score)`, then the metric's own arguments, then `k` if the metric has a cutoff, then options.
//! * 8.2: A judgment is a relevance or a JSON array of subtopics. Values that are not finite numbers are errors.
//! * 8.3: `k` is a whole number from 1. NULL options are no options.
//! * 8.4: The arguments after the score are the same in every row of a group.
//! * 8.5: A group without rows, or for which the metric is undefined, gives NULL.
//! * 8.6: Rows are counted from 1 as they enter the group.
//! * 8.7: A window frame costs as much as a group of its size.

use std::collections::VecDeque;
use std::ffi::c_int;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::sync::Arc;

use rusqlite::Connection;
use rusqlite::functions::{Aggregate, Context, FunctionFlags, WindowAggregate};
use rusqlite::types::{Value, ValueRef};

use crate::base::{
    Error, Memory, Params, Reservation, Result, Strict, bytes_of, each_element, heap_bytes, most_elements,
};
use crate::cost::metric::{
    METRICS, Metric, MetricDef, MetricOptions, SUBTOPIC_METRICS, SubtopicDef, SubtopicMetric, Subtopics,
};
use crate::sqlite::glue::{
    Database, PURE, RunLimits, State as ConnectionState, describe, interruptible, number_of, reading, usage,
    whole_of,
};
use crate::train::options::{self, Use};

/// Registers the aggregates of all metrics.
///
/// # Errors
/// Errors of SQLite.
pub fn register(connection: &Connection, state: &Arc<ConnectionState>) -> rusqlite::Result<()> {
    for def in relevance_functions() {
        register_one(connection, state, Relevance(def))?;
    }
    for def in SUBTOPIC_METRICS {
        register_one(connection, state, Coverage(def))?;
    }
    Ok(())
}

/// One definition per function: metrics that differ only in their mean over queries have the same function.
fn relevance_functions() -> impl Iterator<Item = &'static MetricDef> {
    let is_first = |index: usize| {
        let name = METRICS[index].function;
        METRICS[..index].iter().all(|earlier| earlier.function != name)
    };
    METRICS.iter().enumerate().filter(move |(index, _)| is_first(*index)).map(|(_, def)| *def)
}

/// Registers one function with every number of arguments it takes.
fn register_one(
    connection: &Connection,
    state: &Arc<ConnectionState>,
    kind: impl Kind,
) -> rusqlite::Result<()> {
    let flags = FunctionFlags::SQLITE_UTF8 | PURE;
    let layout = kind.layout();
    for arguments in layout.least()..=layout.most() {
        let measure = Measure::new(kind, state);
        connection.create_window_function(layout.function, arguments as c_int, flags, measure)?;
    }
    usage::answer_aggregate(connection, layout.function, &layout.signature())
}

// SQLite's callbacks, and the rows of one group or window frame.
//
// Rows leave a frame in the order in which they entered it, so they are in a queue.

/// One SQL function.
struct Measure<K> {
    kind: K,
    connection: Arc<ConnectionState>,
}

impl<K: Kind> Measure<K> {
    /// The function of this kind.
    fn new(kind: K, connection: &Arc<ConnectionState>) -> Self {
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
struct State<K: Kind> {
    metric: K::Metric,
    after_score: Vec<Value>,
    judgments: VecDeque<K::Judgment>,
    scores: VecDeque<f64>,
    /// Bytes of the judgments on the heap.
    heap_bytes: u64,
    entered: usize,
    memory: Memory,
    /// The bytes of the rows.
    held: Reservation,
    database: Database,
}

impl<K: Kind> State<K> {
    /// No row yet, with the settings of the first row.
    fn new(kind: K, arguments: &[ValueRef<'_>], database: Database) -> Result<Self> {
        let after_score = &arguments[2..];
        let (settings, memory) = Settings::read(&kind.layout(), after_score, database)?;
        let owned: Result<Vec<Value>> = after_score.iter().map(|&value| own(value)).collect();
        Ok(Self {
            metric: kind.metric(settings)?,
            after_score: owned?,
            judgments: VecDeque::new(),
            scores: VecDeque::new(),
            heap_bytes: 0,
            entered: 0,
            held: memory.nothing(),
            memory,
            database,
        })
    }

    /// A row enters.
    fn push(&mut self, kind: K, arguments: &[ValueRef<'_>]) -> Result<()> {
        let row = self.entered + 1;
        self.check_settings(kind, &arguments[2..], row)?;
        let most = self.heap_bytes + K::most_heap_bytes(arguments[0]);
        // Queues double.
        let rows = 2 * bytes_of::<(K::Judgment, f64)>(self.scores.len() + 1);
        self.held.resize(most + rows, format_args!("a group of {row} rows"), FEWER_ROWS)?;
        let judgment = K::judgment(arguments[0], row)?;
        let score = number(arguments[1], || in_row("score", row), "a finite number")?;
        self.heap_bytes += K::heap_bytes(&judgment);
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
            (Some(judgment), Some(_)) => {
                self.heap_bytes -= K::heap_bytes(&judgment);
                Ok(())
            }
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
        K::measure(&self.metric, self.judgments.make_contiguous(), self.scores.make_contiguous())
    }
}

/// Bytes that a metric uses for each row.
const ROW_BYTES: u64 = 64;

/// Bytes that it uses for each byte of judgments on the heap.
const HEAP_FACTOR: u64 = 3;

/// What to do about a group that takes too much memory.
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

impl<K: Kind> Aggregate<State<K>, Option<f64>> for Measure<K> {
    fn init(&self, context: &mut Context<'_>) -> rusqlite::Result<State<K>> {
        self.guard(|| reading(context, || State::new(self.kind, &arguments(context), Database::of(context))))
    }

    fn step(&self, context: &mut Context<'_>, state: &mut State<K>) -> rusqlite::Result<()> {
        let outcome = self.guard(|| reading(context, || state.push(self.kind, &arguments(context))));
        if outcome.is_err() {
            // SQLite asks for a value all the same, and drops it.
            state.scores.clear();
        }
        outcome
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

// Arguments after the score (rules 8.1, 8.3).

/// The arguments of one function.
#[derive(Debug, Clone, Copy)]
struct Layout {
    /// Name of the function.
    function: &'static str,
    /// Name of the first argument.
    judgment: &'static str,
    /// Names of the numbers after the score that must be given.
    required: &'static [&'static str],
    /// Whether a cutoff may follow.
    takes_cutoff: bool,
}

impl Layout {
    /// Smallest number of arguments.
    fn least(&self) -> usize {
        2 + self.required.len()
    }

    /// Largest number of arguments: a cutoff, if there is one, and options.
    fn most(&self) -> usize {
        self.least() + usize::from(self.takes_cutoff) + 1
    }

    /// All parameters.
    fn signature(&self) -> String {
        let required = [&[self.judgment, "score"], self.required].concat().join(", ");
        format!("{required}{} [, options]", if self.takes_cutoff { " [, k]" } else { "" })
    }

    /// The names of the arguments after the score, as given in one call.
    fn names(&self, after_score: &[ValueRef<'_>]) -> Vec<&'static str> {
        let mut names = self.required.to_vec();
        match &after_score[self.required.len()..] {
            [] => {}
            [only] if self.takes_cutoff && !is_object(*only) => names.push("k"),
            [_] => names.push("options"),
            _ => names.extend(["k", "options"]),
        }
        names
    }
}

/// Text that begins like a JSON object: options without a cutoff before them.
fn is_object(value: ValueRef<'_>) -> bool {
    matches!(value, ValueRef::Text(text) if text.trim_ascii_start().starts_with(b"{"))
}

/// The arguments after the score, checked.
#[derive(Debug, Default)]
struct Settings {
    /// Number of documents from the top.
    cutoff: Option<usize>,
    /// The options, with the required numbers in them.
    options: MetricOptions,
}

impl Settings {
    /// Reads the arguments after the score of the first row, and the memory of the group.
    fn read(layout: &Layout, after_score: &[ValueRef<'_>], database: Database) -> Result<(Self, Memory)> {
        let named = layout.names(after_score).into_iter().zip(after_score.iter().copied());
        let mut settings = Self::default();
        let (mut required, mut given) = (Vec::new(), Params::default());
        for (name, value) in named {
            match name {
                "k" => settings.cutoff = Some(cutoff(value)?),
                "options" => given = options(layout, value)?,
                _ => required.push((name, number(value, || name.to_owned(), "a finite number")?)),
            }
        }
        settings.options = metric_options(&given)?;
        for (name, value) in required {
            set(&mut settings.options, name, value)?;
        }
        Ok((settings, RunLimits::new(database, &given).memory))
    }
}

/// Puts a required number into the options.
fn set(options: &mut MetricOptions, name: &str, value: f64) -> Result<()> {
    match name {
        "neutral_grade" => options.neutral = value,
        "half_life" => options.half_life = value,
        _ => return Err(Error::Internal(format!("no metric option is named '{name}'"))),
    }
    Ok(())
}

fn cutoff(value: ValueRef<'_>) -> Result<usize> {
    let whole = whole_of(value).and_then(|k| usize::try_from(k).ok());
    let allowed = "a whole number from 1 (or options, a JSON object, in its place)";
    whole.filter(|k| *k > 0).ok_or_else(|| Error::value("k", describe(value), allowed))
}

fn options(layout: &Layout, value: ValueRef<'_>) -> Result<Params> {
    let refusal = || {
        let no_cutoff = if layout.takes_cutoff { "" } else { "; this metric takes no cutoff" };
        let allowed = format!("a JSON object such as {{\"ties\": \"input\"}}{no_cutoff}");
        Error::value("options", describe(value), allowed)
    };
    let text = match value {
        ValueRef::Null => None,
        ValueRef::Text(text) => Some(std::str::from_utf8(text).map_err(|_| refusal())?),
        _ => return Err(refusal()),
    };
    options::parse(text, Use::Metric)
}

/// The options of a metric among the checked options of a call.
///
/// # Errors
/// A value outside its range.
pub fn metric_options(options: &Params) -> Result<MetricOptions> {
    let default = MetricOptions::default();
    let chosen = MetricOptions {
        ties: options.choice("ties")?.unwrap_or(default.ties),
        gain: options.choice("gain")?.unwrap_or(default.gain),
        max_grade: options.number("max_grade"),
        threshold: options.number("threshold").unwrap_or(default.threshold),
        alpha: options.number("alpha").unwrap_or(default.alpha),
        ..default
    };
    let chosen = chosen.with_arguments(options);
    chosen.check()?;
    Ok(chosen)
}

/// A finite number, or a text that is a well-formed one.
fn number(value: ValueRef<'_>, what: impl Fn() -> String, allowed: &str) -> Result<f64> {
    let number = number_of(value).filter(|number| number.is_finite());
    number.ok_or_else(|| Error::value(what(), describe(value), allowed))
}

// Judgments: aggregates take a relevance or a set of subtopics (rule 8.2).

/// A kind of aggregate: how it reads a judgment and computes its value.
trait Kind: Copy + UnwindSafe + RefUnwindSafe + 'static {
    /// The judgment of one row.
    type Judgment: UnwindSafe + RefUnwindSafe;
    /// The metric with cutoff and options.
    type Metric: UnwindSafe + RefUnwindSafe;

    /// The arguments of the function.
    fn layout(self) -> Layout;
    /// The metric for the arguments after the score.
    fn metric(self, settings: Settings) -> Result<Self::Metric>;
    /// Most bytes of a judgment on the heap, before it is read.
    fn most_heap_bytes(_: ValueRef<'_>) -> u64 {
        0
    }
    /// Bytes of a judgment on the heap.
    fn heap_bytes(_: &Self::Judgment) -> u64 {
        0
    }
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
struct Relevance(&'static MetricDef);

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
struct Coverage(&'static SubtopicDef);

impl Kind for Coverage {
    type Judgment = Vec<Topic>;
    type Metric = SubtopicMetric;

    fn layout(self) -> Layout {
        Layout { function: self.0.function, judgment: "subtopics", required: &[], takes_cutoff: true }
    }

    fn metric(self, settings: Settings) -> Result<SubtopicMetric> {
        SubtopicMetric::new(self.0, settings.cutoff, settings.options)
    }

    fn most_heap_bytes(value: ValueRef<'_>) -> u64 {
        match value {
            ValueRef::Text(text) => bytes_of::<Topic>(most_elements(text)) + text.len() as u64,
            _ => 0,
        }
    }

    fn heap_bytes(topics: &Vec<Topic>) -> u64 {
        let names = topics.iter().map(|topic| match topic {
            Topic::Text(name) => heap_bytes(name.capacity()),
            _ => 0,
        });
        heap_bytes(topics.capacity() * size_of::<Topic>()) + names.sum::<u64>()
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
enum Topic {
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
    let mut topics = Vec::with_capacity(most_elements(text));
    let add = |Strict(name)| topic(name).map(|topic| topics.push(topic)).ok_or_else(String::new);
    each_element(text, add).ok()?;
    Some(topics)
}

fn topic(name: serde_json::Value) -> Option<Topic> {
    match name {
        serde_json::Value::String(text) => Some(Topic::Text(text)),
        serde_json::Value::Number(number) => match number.as_i128() {
            Some(whole) => Some(Topic::Whole(whole)),
            // A whole number that the parser has rounded may be another one.
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

/// The name of an argument in a row.
pub(super) fn in_row(argument: &str, row: usize) -> String {
    format!("{argument} in row {row} of the group")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_have_the_prefix_and_no_name_occurs_twice() {
        let mut names: Vec<&str> = relevance_functions().map(|def| def.function).collect();
        names.extend(SUBTOPIC_METRICS.iter().map(|def| def.function));
        assert!(names.iter().all(|name| name.starts_with("ltr_")));
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count);
    }
}
