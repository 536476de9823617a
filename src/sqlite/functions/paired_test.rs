//! `ltr_paired_test(value_a, value_b [, options])`: an aggregate that compares two series of values.
//!
//! Rules (docs/reference/rules.md, 8):
//! * 8.14: The result is a JSON object with `n`, `mean_a`, `mean_b`, `difference`, `ci_low`, `ci_high` and `p_value`. A group
//!   without rows gives NULL.
//! * 8.15: A NULL value counts as the option `undefined` says; with `skip` its row is left out. The options are the same in
//!   every row.

use std::sync::Arc;

use rusqlite::Connection;
use rusqlite::functions::{Aggregate, Context, FunctionFlags};
use rusqlite::types::{Value, ValueRef};
use serde_json::json;

use crate::apply::{Comparison, PairedTest};
use crate::base::error::{Error, Result};
use crate::base::memory::Reservation;
use crate::base::param::Params;
use crate::cost::metric::{LARGEST_VALUE, Undefined};
use crate::sqlite::glue::probe::{Database, interruptible};
use crate::sqlite::glue::run_limits::RunLimits;
use crate::sqlite::glue::state::State;
use crate::sqlite::glue::usage;
use crate::sqlite::glue::value::{describe, number_of, optional_text};
use crate::sqlite::glue::vtab::Parameter;
use crate::train::options;
use crate::train::options::Use;

const NAME: &str = "ltr_paired_test";
const PARAMETERS: &[Parameter] =
    &[Parameter::required("value_a"), Parameter::required("value_b"), Parameter::optional("options")];

/// Rows for which memory is reserved at first.
const FIRST_ROWS: usize = 64;

/// Registers the aggregate.
///
/// # Errors
/// Those of the database.
pub fn register(connection: &Connection, state: &Arc<State>) -> rusqlite::Result<()> {
    let flags =
        FunctionFlags::SQLITE_UTF8 | FunctionFlags::SQLITE_DETERMINISTIC | FunctionFlags::SQLITE_INNOCUOUS;
    for arguments in 2..=3 {
        connection.create_aggregate_function(NAME, arguments, flags, Test(Arc::clone(state)))?;
    }
    usage::answer_aggregate(connection, NAME, PARAMETERS)
}

/// The test in the options of a call.
///
/// # Errors
/// A value outside its range.
pub(super) fn test(options: &Params) -> Result<PairedTest> {
    let default = PairedTest::default();
    Ok(PairedTest {
        kind: options.choice("test")?.unwrap_or(default.kind),
        samples: options.count("samples").unwrap_or(default.samples),
        confidence: options.number("confidence").unwrap_or(default.confidence),
        seed: options.get("seed").and_then(serde_json::Value::as_u64).unwrap_or(default.seed),
    })
}

struct Test(Arc<State>);

/// The rows of a group.
struct Rows {
    test: PairedTest,
    undefined: Undefined,
    /// The options of the first row.
    options: Value,
    a: Vec<f64>,
    b: Vec<f64>,
    entered: usize,
    database: Database,
    /// Of the values and the test.
    memory: Reservation,
}

impl Rows {
    /// No row yet, with the options of the first row.
    fn new(context: &Context<'_>) -> Result<Self> {
        let options = options_of(context);
        let text = optional_text("argument 'options'", Some(options))?;
        let params = options::parse(text.as_deref(), Use::PairedTest)?;
        Ok(Self {
            test: test(&params)?,
            undefined: params.choice("undefined")?.unwrap_or_default(),
            options: Value::try_from(options).map_err(|problem| Error::Host(problem.to_string()))?,
            a: Vec::new(),
            b: Vec::new(),
            entered: 0,
            database: Database::of(context),
            memory: RunLimits::new(&params).memory().nothing(),
        })
    }

    /// A row enters.
    fn push(&mut self, context: &Context<'_>) -> Result<()> {
        self.entered += 1;
        let (row, first, here) = (self.entered, ValueRef::from(&self.options), options_of(context));
        if first != here {
            let allowed = format!("the value of the first row, {}", describe(first));
            return Err(Error::value(in_row("options", row), describe(here), allowed));
        }
        let value = |index: usize| number(context.get_raw(index), PARAMETERS[index].name, row);
        let values = (self.undefined.resolve(value(0)?), self.undefined.resolve(value(1)?));
        if let (Some(a), Some(b)) = values {
            self.reserve()?;
            self.a.push(a);
            self.b.push(b);
        }
        Ok(())
    }

    /// Memory for one more row.
    fn reserve(&mut self) -> Result<()> {
        let rows = self.a.len();
        if rows < self.a.capacity() {
            return Ok(());
        }
        let capacity = FIRST_ROWS.max(2 * rows);
        let what = format_args!("testing {} rows", rows + 1);
        self.memory.resize(self.test.bytes(capacity), what, "lower 'samples' or use fewer rows")?;
        self.a.reserve_exact(capacity - rows);
        self.b.reserve_exact(capacity - rows);
        Ok(())
    }

    fn result(&self) -> Result<String> {
        let Comparison { n, mean_a, mean_b, difference, interval, p_value } =
            interruptible(self.database, || Ok(self.test.compare(&self.a, &self.b)))?;
        let (ci_low, ci_high) = interval.unzip();
        Ok(json!({
            "n": n, "mean_a": mean_a, "mean_b": mean_b, "difference": difference,
            "ci_low": ci_low, "ci_high": ci_high, "p_value": p_value,
        })
        .to_string())
    }
}

/// The options of a row; NULL if they are not given.
fn options_of<'a>(context: &'a Context<'_>) -> ValueRef<'a> {
    if context.len() > 2 { context.get_raw(2) } else { ValueRef::Null }
}

fn in_row(argument: &str, row: usize) -> String {
    format!("{argument} in row {row} of the group")
}

/// A value; `None` for NULL.
fn number(value: ValueRef<'_>, argument: &str, row: usize) -> Result<Option<f64>> {
    if value == ValueRef::Null {
        return Ok(None);
    }
    let number = number_of(value).filter(|number| number.abs() <= LARGEST_VALUE);
    let allowed = || format!("NULL or a number from -{LARGEST_VALUE:e} to {LARGEST_VALUE:e}");
    number.map(Some).ok_or_else(|| Error::value(in_row(argument, row), describe(value), allowed()))
}

impl Aggregate<Rows, Option<String>> for Test {
    fn init(&self, context: &mut Context<'_>) -> rusqlite::Result<Rows> {
        self.0.guard(NAME, || Rows::new(context))
    }

    fn step(&self, context: &mut Context<'_>, rows: &mut Rows) -> rusqlite::Result<()> {
        self.0.guard(NAME, || rows.push(context))
    }

    fn finalize(&self, _: &mut Context<'_>, rows: Option<Rows>) -> rusqlite::Result<Option<String>> {
        self.0.guard(NAME, || rows.map(|rows| rows.result()).transpose())
    }
}
