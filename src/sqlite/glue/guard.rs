//! Wraps every call from SQLite: panics become errors (rule 13.9), and errors begin with the function's name (rule 13.7).

use std::panic::{AssertUnwindSafe, catch_unwind};

use rusqlite::{Connection, ffi};

use crate::base::{Error, Result, unwound};

/// Runs the body of the SQL function `name`; panics and errors become SQL errors that begin with the name.
pub fn guard<T>(name: &str, body: impl FnOnce() -> Result<T>) -> rusqlite::Result<T> {
    let outcome = catch_unwind(AssertUnwindSafe(body)).unwrap_or_else(|payload| Err(unwound(payload)));
    outcome.map_err(|error| to_sqlite(name, &error))
}

/// Runs the body of a call that uses its connection. Some errors make SQLite roll back the caller's transaction, even
/// if the call continues. Then the call fails and says so (rule 5.19).
pub fn in_transaction<T>(connection: &Connection, body: impl FnOnce() -> Result<T>) -> Result<T> {
    let alone = connection.is_autocommit();
    let outcome = body();
    if alone || !connection.is_autocommit() {
        return outcome;
    }
    let problem = match outcome {
        Err(Error::Interrupted) => return Err(Error::Interrupted),
        Err(error) => error.to_string(),
        Ok(_) => "a database error ended the transaction".to_owned(),
    };
    Err(Error::Host(format!("{problem}; SQLite has rolled back the caller's transaction")))
}

/// The SQL error for an error of this crate. Interrupts keep the code that hosts look for.
fn to_sqlite(name: &str, error: &Error) -> rusqlite::Error {
    match error {
        Error::Interrupted => rusqlite::Error::SqliteFailure(ffi::Error::new(ffi::SQLITE_INTERRUPT), None),
        _ => rusqlite::Error::UserFunctionError(shown(name, error).into()),
    }
}

/// The message of an error. Zero bytes are escaped, because they would end the text in the host, and rusqlite drops
/// such messages.
fn shown(name: &str, error: &Error) -> String {
    let advice = if matches!(error, Error::NotPointwise(_)) { "; use ltr_rank" } else { "" };
    format!("{name}: {error}{advice}").replace('\0', "\\0")
}
