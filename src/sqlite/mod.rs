//! The SQLite layer: the only module that uses `rusqlite`.
//!
//! [`register`] adds all functions to a connection, and [`register_with`] only the ones that the host allows. `glue`
//! connects them to SQLite, `source` reads rows, `store` stores models, and `functions` has the functions themselves,
//! one file per family.

#[cfg(test)]
mod authorizer_tests;
mod functions;
mod glue;
#[cfg(test)]
mod interrupt_tests;
mod source;
mod store;

use rusqlite::Connection;

use functions::aggregate;
use glue::state::State;
use glue::vtab::TableFunction;
use glue::{function, usage, vtab};

/// Whether SQL may read files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Files {
    /// Adds all functions.
    #[default]
    Allowed,
    /// Omits `ltr_letor`, which reads files.
    Denied,
}

/// Adds all functions of this crate to a connection.
///
/// # Errors
/// SQLite errors.
pub fn register(connection: &Connection) -> rusqlite::Result<()> {
    register_with(connection, Files::Allowed)
}

/// Adds the functions of this crate to a connection; with [`Files::Denied`], all except the ones that read files.
///
/// # Errors
/// SQLite errors.
pub fn register_with(connection: &Connection, files: Files) -> rusqlite::Result<()> {
    let state = State::of(connection);
    // SQLite cannot replace functions while a statement runs, such as SELECT load_extension(...), so register each name
    // once.
    let mut answered = "";
    for scalar in functions::SCALARS.iter().copied().flatten() {
        function::register(connection, scalar, &state)?;
        if scalar.name != answered {
            usage::answer_scalar(connection, scalar)?;
        }
        answered = scalar.name;
    }
    let allowed = |table: &&&TableFunction| files == Files::Allowed || !table.reads_files;
    for table in functions::TABLES.iter().copied().flatten().filter(allowed) {
        vtab::register(connection, table, &state)?;
        usage::answer_table(connection, table)?;
    }
    aggregate::register(connection, &state)?;
    functions::buckets::register(connection, &state)?;
    functions::compare::register(connection, &state)?;
    state.complete();
    functions::fts::register(connection, &state);
    Ok(())
}
