//! Scalar SQL functions.

use std::sync::Arc;

use rusqlite::Connection;
use rusqlite::functions::{Context, FunctionFlags};

use super::guard::in_transaction;
use super::probe::{Database, interruptible};
use super::run_limits::{RunLimits, call_options};
use super::signature::Parameters;
use super::state::State;
use super::value::Output;
use crate::base::{Error, Params, Result};
use crate::train::options::Use;

pub struct ScalarFunction {
    /// The name in SQL.
    pub name: &'static str,
    /// The parameters: [`Parameters::of`].
    pub signature: &'static str,
    /// The accepted numbers of arguments, if different from the signature; -1 for any.
    arities: &'static [i32],
    /// The flags besides UTF8.
    flags: FunctionFlags,
    execute: fn(&ScalarCall<'_>) -> Result<Output>,
}

/// Flags of a function that depends only on its arguments.
pub const PURE: FunctionFlags = FunctionFlags::SQLITE_INNOCUOUS.union(FunctionFlags::SQLITE_DETERMINISTIC);

impl ScalarFunction {
    /// A function for direct use only.
    pub const fn new(
        name: &'static str,
        signature: &'static str,
        execute: fn(&ScalarCall<'_>) -> Result<Output>,
    ) -> Self {
        Self { name, signature, arities: &[], flags: FunctionFlags::SQLITE_DIRECTONLY, execute }
    }

    /// The same function with these flags.
    pub const fn with_flags(self, flags: FunctionFlags) -> Self {
        Self { flags, ..self }
    }

    /// The same function for these numbers of arguments.
    pub const fn taking(self, arities: &'static [i32]) -> Self {
        Self { arities, ..self }
    }

    /// The accepted numbers of arguments; -1 for any.
    pub fn arities(&self) -> Vec<i32> {
        let Parameters { names, required } = Parameters::of(self.signature);
        if self.arities.is_empty() {
            (required as i32..=names.len() as i32).collect()
        } else {
            self.arities.to_vec()
        }
    }
}

/// One call of a scalar function.
pub struct ScalarCall<'a> {
    /// The connection's state.
    pub state: &'a Arc<State>,
    pub context: &'a Context<'a>,
}

impl ScalarCall<'_> {
    /// Runs `body` with the connection that makes the call. Checkpoints inside check for interrupts.
    ///
    /// # Errors
    /// Errors of `body`; an interrupt.
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
    /// Errors of `body`; an interrupt.
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
                connection: &statements.connection,
                statements: &statements,
                arguments,
                only: None,
                by_rank: false,
            };
            body(&call)
        })
    }

    /// The options in an argument, and the limits of the call.
    ///
    /// # Errors
    /// As [`call_options`].
    pub fn options(&self, index: usize, used: Use) -> Result<(Params, RunLimits)> {
        call_options(Database::of(self.context), self.argument(index), used)
    }

    /// The argument at an index, if given.
    pub fn argument(&self, index: usize) -> Option<rusqlite::types::ValueRef<'_>> {
        (index < self.context.len()).then(|| self.context.get_raw(index))
    }
}

/// Registers a function for all its numbers of arguments.
pub fn register(
    connection: &Connection,
    function: &'static ScalarFunction,
    state: &Arc<State>,
) -> rusqlite::Result<()> {
    for arity in function.arities() {
        let state = Arc::clone(state);
        let flags = function.flags | FunctionFlags::SQLITE_UTF8;
        connection.create_scalar_function(function.name, arity, flags, move |context| {
            state.guard(function.name, || (function.execute)(&ScalarCall { state: &state, context }))
        })?;
    }
    Ok(())
}
