//! The SQLite layer: the only module that uses `rusqlite`.
//!
//! [`register`] adds all functions to a connection. `glue` connects them to SQLite, `source` reads rows, `store` keeps
//! models, `functions` holds the functions themselves, one file per family.

mod functions;
mod glue;
mod source;
mod store;

use rusqlite::Connection;

pub use functions::aggregate;
use glue::state::State;
use glue::{function, usage, vtab};

/// Adds all functions of this crate to a connection.
///
/// # Errors
/// Those of the database.
pub fn register(connection: &Connection) -> rusqlite::Result<()> {
    let state = State::new();
    for scalar in functions::SCALARS {
        function::register(connection, scalar, &state)?;
        usage::answer_scalar(connection, scalar)?;
    }
    for table in functions::TABLES {
        vtab::register(connection, table, &state)?;
        usage::answer_table(connection, table)?;
    }
    aggregate::register(connection)
}
