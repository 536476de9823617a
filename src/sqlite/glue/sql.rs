//! The only place where statements are prepared (checked by `tests/docs/architecture.rs`).
//!
//! An authorizer of the host may ignore or deny any part of any statement. If SQLite then crashes, the statement needs
//! another form. `src/sqlite/authorizer_tests.rs` walks all statements.
#![allow(unsafe_code, reason = "some statements are prepared without rusqlite")]

use rusqlite::{Batch, Connection, Params, Row, Statement, ffi};

#[cfg(test)]
use crate::sqlite::authorizer_tests::record;

/// As [`Connection::prepare`].
#[cfg_attr(test, track_caller)]
pub fn prepare<'a>(connection: &'a Connection, sql: &str) -> rusqlite::Result<Statement<'a>> {
    #[cfg(test)]
    record();
    connection.prepare(sql)
}

/// As [`Connection::query_row`].
///
/// # Errors
/// SQLite errors; no row.
#[cfg_attr(test, track_caller)]
pub fn query_row<T>(
    connection: &Connection,
    sql: &str,
    params: impl Params,
    read: impl FnOnce(&Row<'_>) -> rusqlite::Result<T>,
) -> rusqlite::Result<T> {
    prepare(connection, sql)?.query_row(params, read)
}

/// The statements in a text, each prepared when requested.
#[cfg_attr(test, track_caller)]
pub fn batch<'a, 'sql>(connection: &'a Connection, sql: &'sql str) -> Batch<'a, 'sql> {
    #[cfg(test)]
    record();
    Batch::new(connection, sql)
}

/// Prepares a statement for the C interface. Returns the statement (null after an error) and SQLite's code. The caller
/// finalizes it.
///
/// # Safety
/// The database is open, and is used on its thread.
#[cfg_attr(test, track_caller)]
pub unsafe fn prepare_raw(database: *mut ffi::sqlite3, sql: &str) -> (*mut ffi::sqlite3_stmt, i32) {
    #[cfg(test)]
    record();
    let mut statement = std::ptr::null_mut();
    // SAFETY: as above; the text has this length.
    let code = unsafe {
        let (text, length) = (sql.as_ptr().cast(), sql.len() as i32);
        ffi::sqlite3_prepare_v2(database, text, length, &raw mut statement, std::ptr::null_mut())
    };
    (statement, code)
}
