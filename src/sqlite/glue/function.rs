//! Scalar SQL functions.

use std::sync::Arc;

use rusqlite::Connection;
use rusqlite::functions::{Aggregate, Context, FunctionFlags, WindowAggregate};

use super::guard::{guard, in_transaction};
use super::probe::{Database, interruptible};
use super::state::State;
use super::value::Output;
use super::vtab::TableFunction;
use crate::base::error::{Error, Result};

/// One scalar function.
pub struct ScalarFunction {
    /// Its name in SQL.
    pub name: &'static str,
    /// The accepted numbers of arguments; -1 for any.
    pub arities: &'static [i32],
    /// Its parameters, for messages.
    pub parameters: &'static [Parameter],
    /// Its flags beside UTF8.
    pub flags: FunctionFlags,
    /// What it does.
    pub execute: fn(&ScalarCall<'_>) -> Result<Output>,
}

/// One call of a scalar function.
pub struct ScalarCall<'a> {
    /// The connection's state.
    pub state: &'a Arc<State>,
    /// The arguments.
    pub context: &'a Context<'a>,
}

impl ScalarCall<'_> {
    /// Runs `body` with the connection that makes the call. Its checkpoints check for interrupts.
    ///
    /// # Errors
    /// Those of `body`, an interruption.
    #[allow(unsafe_code, reason = "the connection is needed to read sources and models")]
    pub fn with_connection<T>(&self, body: impl FnOnce(&Connection) -> Result<T>) -> Result<T> {
        // SAFETY: the connection is used only during this call, on the thread that makes it.
        let connection =
            unsafe { self.context.get_connection() }.map_err(|error| Error::Host(error.to_string()))?;
        let database = Database::from_connection(&connection);
        in_transaction(&connection, || interruptible(database, || body(&connection)))
    }

    /// Runs `body` as a call of a table-valued function with these arguments.
    ///
    /// # Errors
    /// Those of `body`, an interruption.
    #[cfg(feature = "plots")]
    #[allow(unsafe_code, reason = "table-valued functions keep statements")]
    pub fn with_call<T>(
        &self,
        arguments: &[Option<rusqlite::types::ValueRef<'_>>],
        body: impl FnOnce(&super::vtab::Call<'_>) -> Result<T>,
    ) -> Result<T> {
        self.with_connection(|connection| {
            // SAFETY: the database is open during this call, at whose end the statements are dropped.
            let statements = unsafe { super::statements::Statements::new(connection.handle(), self.state) }?;
            let call = super::vtab::Call {
                state: self.state,
                connection: statements.connection(),
                statements: &statements,
                arguments,
                only: None,
                order: None,
            };
            body(&call)
        })
    }

    /// The argument at an index, if there is one.
    pub fn argument(&self, index: usize) -> Option<rusqlite::types::ValueRef<'_>> {
        (index < self.context.len()).then(|| self.context.get_raw(index))
    }
}

/// Registers a function under all its numbers of arguments.
///
/// # Errors
/// Those of the database.
pub fn register(
    connection: &Connection,
    function: &'static ScalarFunction,
    state: &Arc<State>,
) -> rusqlite::Result<()> {
    for arity in function.arities {
        let state = Arc::clone(state);
        let flags = function.flags | FunctionFlags::SQLITE_UTF8;
        connection.create_scalar_function(function.name, *arity, flags, move |context| {
            state.guard(function.name, || (function.execute)(&ScalarCall { state: &state, context }))
        })?;
    }
    Ok(())
}

// Error messages for wrong calls (rule 13.10). They show the right call, unlike SQLite's `no such function` and `wrong number of
// arguments`.
//
// SQLite prefers a function with the exact number of arguments. So every name also has a function for any number of
// arguments, which fails. A function and a table-valued function may have one name.

/// Nothing happens in a call of a wrong form.
const FLAGS: FunctionFlags = FunctionFlags::SQLITE_UTF8
    .union(FunctionFlags::SQLITE_INNOCUOUS)
    .union(FunctionFlags::SQLITE_DETERMINISTIC);

fn wrong_number(found: usize, usage: &str) -> Error {
    let plural = if found == 1 { "" } else { "s" };
    Error::Unsupported(format!("got {found} argument{plural}; call {usage}"))
}

/// Answers calls of a scalar function with a number of arguments that it does not accept.
///
/// # Errors
/// Those of the database.
pub fn answer_scalar(connection: &Connection, function: &'static ScalarFunction) -> rusqlite::Result<()> {
    if function.arities.contains(&-1) {
        return Ok(());
    }
    let usage = usage(function.name, function.parameters);
    answer(connection, function.name, move |found| wrong_number(found, &usage))
}

/// Answers calls of a table-valued function outside of FROM.
///
/// # Errors
/// Those of the database.
pub fn answer_table(connection: &Connection, function: &'static TableFunction) -> rusqlite::Result<()> {
    let error = format!("it is a table-valued function; call SELECT * FROM {}", function.usage());
    answer(connection, function.name, move |_| Error::Unsupported(error.clone()))
}

/// Registers a function that fails. `error`: from the number of arguments.
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

/// An aggregate that fails.
struct WrongAggregate {
    name: &'static str,
    usage: String,
}

/// Answers calls of an aggregate with a number of arguments that it does not accept.
///
/// # Errors
/// Those of the database.
pub fn answer_aggregate(
    connection: &Connection,
    name: &'static str,
    parameters: &[Parameter],
) -> rusqlite::Result<()> {
    let usage = usage(name, parameters);
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

// The parameters of SQL functions.

/// A parameter of an SQL function; of a table-valued one it is a hidden column.
#[derive(Debug, Clone, Copy)]
pub struct Parameter {
    /// Its name.
    pub name: &'static str,
    /// Whether a call without it is an error.
    pub required: bool,
    /// Whether it is a value for the statement of a source.
    pub is_value: bool,
}

/// Values for the statement of a source; the last arguments of functions that read one.
const VALUES: [Parameter; 8] = [
    Parameter::value("value1"),
    Parameter::value("value2"),
    Parameter::value("value3"),
    Parameter::value("value4"),
    Parameter::value("value5"),
    Parameter::value("value6"),
    Parameter::value("value7"),
    Parameter::value("value8"),
];

/// `N` parameters of a function, and after them the values for the statement of its source: `M = N + 8`.
pub const fn with_values<const N: usize, const M: usize>(own: [Parameter; N]) -> [Parameter; M] {
    assert!(M == N + VALUES.len());
    let mut all = [VALUES[0]; M];
    let mut index = 0;
    while index < M {
        all[index] = if index < N { own[index] } else { VALUES[index - N] };
        index += 1;
    }
    all
}

impl Parameter {
    /// A parameter that every call gives.
    pub const fn required(name: &'static str) -> Self {
        Self { name, required: true, is_value: false }
    }

    /// A parameter that a call may leave out.
    pub const fn optional(name: &'static str) -> Self {
        Self { name, required: false, is_value: false }
    }

    const fn value(name: &'static str) -> Self {
        Self { name, required: false, is_value: true }
    }
}

/// A call as documentation writes it: `name(a, b [, c] [, value1, ...])`.
pub fn usage(name: &str, parameters: &[Parameter]) -> String {
    let mut text = String::new();
    for parameter in parameters.iter().filter(|parameter| !parameter.is_value) {
        text += match (parameter.required, text.is_empty()) {
            (true, true) => "",
            (true, false) => ", ",
            (false, true) => "[",
            (false, false) => " [, ",
        };
        text += parameter.name;
        text += if parameter.required { "" } else { "]" };
    }
    let values = parameters.iter().find(|parameter| parameter.is_value);
    let values = values.map(|first| format!(" [, {}, ...]", first.name)).unwrap_or_default();
    format!("{name}({text}{values})")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn optional_parameters_are_in_brackets() {
        let a = Parameter::required("a");
        let b = Parameter::optional("b");
        assert_eq!(usage("f", &[]), "f()");
        assert_eq!(usage("f", &[a, a, b, b]), "f(a, a [, b] [, b])");
        assert_eq!(usage("f", &[b]), "f([b])");
    }
}
