//! The entry points of the static library: `packaging/c/sqlite_ltr.h`.
//!
//! They use the SQLite linked into the program. Without extension support (`SQLITE_OMIT_LOAD_EXTENSION`), it passes no
//! function table.
#![allow(unsafe_code, reason = "the entry points of a static library are C functions")]

use std::ffi::{CString, c_char, c_int, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};

use rusqlite::{Connection, ffi};

use crate::sqlite::{Files, register_with};

/// Adds the functions to a connection.
///
/// # Safety
/// `db` is an open connection of the linked SQLite; `message` is null or writable, and takes memory of `sqlite3_malloc`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sqlite3_sqliteltr_init(
    db: *mut ffi::sqlite3,
    message: *mut *mut c_char,
    _: *const c_void,
) -> c_int {
    // SAFETY: the same contract.
    unsafe { add(db, message, Files::Allowed) }
}

/// Adds all functions except the ones that read files (rule 10.9).
///
/// # Safety
/// As [`sqlite3_sqliteltr_init`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sqlite3_sqliteltr_nofiles_init(
    db: *mut ffi::sqlite3,
    message: *mut *mut c_char,
    _: *const c_void,
) -> c_int {
    // SAFETY: the same contract.
    unsafe { add(db, message, Files::Denied) }
}

/// # Safety
/// As [`sqlite3_sqliteltr_init`].
unsafe fn add(db: *mut ffi::sqlite3, message: *mut *mut c_char, files: Files) -> c_int {
    let register = || {
        // SAFETY: `db` is open during this call. `from_handle` does not close it.
        let connection = unsafe { Connection::from_handle(db) }.map_err(|problem| problem.to_string())?;
        match rusqlite::version_number() {
            3_038_000.. => register_with(&connection, files).map_err(|problem| problem.to_string()),
            _ => Err(format!("sqlite_ltr needs SQLite 3.38.0 or newer, this is {}", rusqlite::version())),
        }
    };
    let outcome = catch_unwind(AssertUnwindSafe(register)).unwrap_or_else(|_| Err("a panic".to_owned()));
    let Err(problem) = outcome else { return ffi::SQLITE_OK };
    if let (false, Ok(text)) = (message.is_null(), CString::new(problem)) {
        // SAFETY: `message` is writable; both texts end in a zero byte.
        unsafe { *message = ffi::sqlite3_mprintf(c"%s".as_ptr(), text.as_ptr()) };
    }
    ffi::SQLITE_ERROR
}
