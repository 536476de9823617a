//! The entry points of the loadable extension.
//!
//! Rule 13.8: the version of the host is checked first, because rusqlite would abort an older host. Then its function table is
//! compared with that of the first host: rusqlite keeps one table for the process, and calling the functions of one SQLite
//! with the objects of another corrupts memory.
#![allow(unsafe_code, reason = "the entry points of a shared library are C functions")]

use std::ffi::{c_char, c_int};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, Ordering};

use rusqlite::{Connection, ffi};

use crate::sqlite::{Files, register_with};

/// The oldest host, 3.38.0: the first that has everything the functions use.
const OLDEST: c_int = 3_038_000;

/// The function table of the SQLite library that this copy of the extension serves.
static HOST: AtomicPtr<ffi::sqlite3_api_routines> = AtomicPtr::new(null_mut());

/// Registers functions on a connection. True: the library stays loaded.
type Register = fn(Connection) -> rusqlite::Result<bool>;

/// After a registration the library stays loaded: threads may still be ending when the host closes its last connection.
fn stay(registered: rusqlite::Result<()>) -> rusqlite::Result<bool> {
    registered.map(|()| true)
}

/// Entry point under the name that every host tries.
///
/// # Safety
/// Called by SQLite with its own arguments.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sqlite3_extension_init(
    db: *mut ffi::sqlite3,
    message: *mut *mut c_char,
    api: *mut ffi::sqlite3_api_routines,
) -> c_int {
    // SAFETY: the same contract.
    unsafe { load(db, message, api, |connection| stay(register_with(&connection, Files::Allowed))) }
}

/// Entry point under the name that SQLite derives from the file's name.
///
/// # Safety
/// Called by SQLite with its own arguments.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sqlite3_sqliteltr_init(
    db: *mut ffi::sqlite3,
    message: *mut *mut c_char,
    api: *mut ffi::sqlite3_api_routines,
) -> c_int {
    // SAFETY: the same contract.
    unsafe { sqlite3_extension_init(db, message, api) }
}

/// Entry point without the functions that read files (rule 10.9).
///
/// # Safety
/// Called by SQLite with its own arguments.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sqlite3_sqliteltr_nofiles_init(
    db: *mut ffi::sqlite3,
    message: *mut *mut c_char,
    api: *mut ffi::sqlite3_api_routines,
) -> c_int {
    // SAFETY: the same contract.
    unsafe { load(db, message, api, |connection| stay(register_with(&connection, Files::Denied))) }
}

/// Registers the functions; a panic becomes an error code.
///
/// # Safety
/// The arguments are those that SQLite gives to an entry point.
unsafe fn load(
    db: *mut ffi::sqlite3,
    message: *mut *mut c_char,
    api: *mut ffi::sqlite3_api_routines,
    register: Register,
) -> c_int {
    // SAFETY: the arguments are SQLite's, as this function's own contract says.
    let load = || unsafe { init(db, message, api, register) };
    catch_unwind(AssertUnwindSafe(load)).unwrap_or(ffi::SQLITE_ERROR)
}

/// # Safety
/// The arguments are those that SQLite gives to an entry point.
unsafe fn init(
    db: *mut ffi::sqlite3,
    message: *mut *mut c_char,
    api: *mut ffi::sqlite3_api_routines,
    register: Register,
) -> c_int {
    if api.is_null() {
        return ffi::SQLITE_ERROR;
    }
    // SAFETY: `api` is the host's table.
    let version = unsafe { version_of(api) };
    if version < OLDEST {
        let text = format!("sqlite_ltr needs SQLite 3.38.0 or newer, this is {}", dotted(version));
        // SAFETY: `message` is null or writable, `api` is the host's table.
        unsafe { refuse(&text, message, api) };
        return ffi::SQLITE_ERROR;
    }
    if let Err(first) = HOST.compare_exchange(null_mut(), api, Ordering::SeqCst, Ordering::SeqCst)
        && first != api
    {
        // SAFETY: the first host loaded this library, which stays loaded; so do the functions of the host.
        let other = unsafe { version_of(first) };
        let text = format!(
            "this process has loaded sqlite_ltr into another SQLite library ({}, this is {}); \
             copy the file to another folder and load the copy",
            dotted(other),
            dotted(version)
        );
        // SAFETY: as above.
        unsafe { refuse(&text, message, api) };
        return ffi::SQLITE_ERROR;
    }
    // SAFETY: the arguments are SQLite's; the table is at least as new as the bindings need.
    unsafe { Connection::extension_init2(db, message, api, register) }
}

/// # Safety
/// `api` is the table of a host.
unsafe fn version_of(api: *mut ffi::sqlite3_api_routines) -> c_int {
    // SAFETY: the table of every version of SQLite begins alike and has this member.
    unsafe { (*api).libversion_number }.map_or(0, |version| {
        // SAFETY: the host's own function, without arguments.
        unsafe { version() }
    })
}

/// 3.38.0 of 3038000.
fn dotted(version: c_int) -> String {
    format!("{}.{}.{}", version / 1_000_000, version / 1000 % 1000, version % 1000)
}

/// Leaves a message in memory of the host's own allocator.
///
/// # Safety
/// `message` is null or writable; `api` is the host's table.
unsafe fn refuse(text: &str, message: *mut *mut c_char, api: *mut ffi::sqlite3_api_routines) {
    // SAFETY: as above.
    let Some(malloc) = (unsafe { (*api).malloc }) else { return };
    if message.is_null() {
        return;
    }
    // SAFETY: the host's allocator; the copy stays inside what it gave.
    unsafe {
        let memory = malloc(text.len() as c_int + 1).cast::<u8>();
        if !memory.is_null() {
            std::ptr::copy_nonoverlapping(text.as_ptr(), memory, text.len());
            memory.add(text.len()).write(0);
            *message = memory.cast();
        }
    }
}
