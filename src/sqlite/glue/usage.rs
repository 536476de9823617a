//! Error messages for wrong calls (rule 13.10). Unlike SQLite's `no such function` and `wrong number of arguments`,
//! they show the right call.
//!
//! SQLite prefers a function with the exact number of arguments. So every name also has a function for any number of
//! arguments, which fails. A scalar function and a table-valued function may share a name.

use rusqlite::Connection;
use rusqlite::functions::{Aggregate, Context, FunctionFlags, WindowAggregate};

use super::function::{PURE, ScalarFunction};
use super::guard::guard;
use super::vtab::TableFunction;
use crate::base::{Error, Result};

/// Wrong calls have no effects.
const FLAGS: FunctionFlags = FunctionFlags::SQLITE_UTF8.union(PURE);

/// The error for this number of arguments.
pub fn wrong_number(found: usize, usage: &str) -> Error {
    let plural = if found == 1 { "" } else { "s" };
    Error::Unsupported(format!("got {found} argument{plural}; call {usage}"))
}

/// Answers calls of a scalar function with a wrong number of arguments.
pub fn answer_scalar(connection: &Connection, function: &'static ScalarFunction) -> rusqlite::Result<()> {
    if function.arities().contains(&-1) {
        return Ok(());
    }
    let usage = format!("{}({})", function.name, function.signature);
    answer(connection, function.name, move |found| wrong_number(found, &usage))
}

/// Answers calls of a table-valued function outside FROM.
pub fn answer_table(connection: &Connection, function: &'static TableFunction) -> rusqlite::Result<()> {
    let error = format!("it is a table-valued function; call SELECT * FROM {}", function.usage());
    answer(connection, function.name, move |_| Error::Unsupported(error.clone()))
}

/// Registers a function that always fails. `error`: makes the error from the number of arguments.
fn answer(
    connection: &Connection,
    name: &'static str,
    error: impl Fn(usize) -> Error + Send + std::panic::UnwindSafe + 'static,
) -> rusqlite::Result<()> {
    connection.create_scalar_function(name, -1, FLAGS, move |context| {
        let outcome: Result<Option<f64>> = Err(error(context.len()));
        guard(name, || outcome)
    })
}

/// An aggregate that always fails.
struct WrongAggregate {
    name: &'static str,
    usage: String,
}

/// Answers calls of an aggregate with a wrong number of arguments.
pub fn answer_aggregate(
    connection: &Connection,
    name: &'static str,
    signature: &str,
) -> rusqlite::Result<()> {
    let usage = format!("{name}({signature})");
    connection.create_window_function(name, -1, FLAGS, WrongAggregate { name, usage })
}

impl WrongAggregate {
    fn fail<T>(&self, problem: Error) -> rusqlite::Result<T> {
        guard(self.name, || Err(problem))
    }

    /// Without rows the number of arguments is unknown.
    fn fail_without_rows(&self) -> rusqlite::Result<Option<f64>> {
        self.fail(Error::Unsupported(format!("wrong number of arguments; call {}", self.usage)))
    }
}

impl Aggregate<(), Option<f64>> for WrongAggregate {
    fn init(&self, context: &mut Context<'_>) -> rusqlite::Result<()> {
        self.fail(wrong_number(context.len(), &self.usage))
    }

    fn step(&self, context: &mut Context<'_>, (): &mut ()) -> rusqlite::Result<()> {
        self.fail(wrong_number(context.len(), &self.usage))
    }

    fn finalize(&self, _: &mut Context<'_>, _: Option<()>) -> rusqlite::Result<Option<f64>> {
        self.fail_without_rows()
    }
}

impl WindowAggregate<(), Option<f64>> for WrongAggregate {
    fn value(&self, _: Option<&mut ()>) -> rusqlite::Result<Option<f64>> {
        self.fail_without_rows()
    }

    fn inverse(&self, _: &mut Context<'_>, (): &mut ()) -> rusqlite::Result<()> {
        Ok(())
    }
}
