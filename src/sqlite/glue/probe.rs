//! Asks the host whether the current call must stop.
//!
//! To notice `sqlite3_interrupt`, the calling thread runs a small statement, which fails after an interrupt, or if the
//! host's progress handler stops it. This works in every version of SQLite.
#![allow(
    unsafe_code,
    reason = "rusqlite's statements borrow the connection; checks keep this one without a lifetime"
)]

use std::cell::Cell;
use std::ffi::{CStr, c_int};
use std::ptr;
use std::rc::Rc;
use std::time::Instant;

use rusqlite::functions::Context;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, ffi};

use super::sql;
use crate::base::{Error, POLL_INTERVAL, Result, stoppable};

/// Virtual machine steps per check. Progress handlers, which hosts use for time-outs, are called after a number of steps,
/// which a prepared statement accumulates over its runs.
const STEPS: c_int = 10_000;

/// Constants in the statement, one step each. If the host limits statements, a single constant is used.
const CONSTANTS: usize = 200;

/// The database of a running callback. It may only be used during this callback, and during callbacks of the same table
/// that fetch more rows, on their thread.
#[derive(Debug, Clone, Copy)]
pub struct Database(*mut ffi::sqlite3);

impl Database {
    /// The database that calls a function.
    pub fn of(context: &Context<'_>) -> Self {
        // SAFETY: the connection is used immediately, and only for its handle.
        let connection = unsafe { context.get_connection() };
        // SAFETY: the handle of an open connection.
        Self(connection.map_or(ptr::null_mut(), |connection| unsafe { connection.handle() }))
    }

    /// The address of the connection, unique while it is open.
    pub fn address(self) -> usize {
        self.0 as usize
    }

    /// The database of a connection.
    pub fn from_connection(connection: &Connection) -> Self {
        // SAFETY: the handle of an open connection.
        Self(unsafe { connection.handle() })
    }

    /// Interrupts its running statements.
    pub(super) fn interrupt(self) {
        // SAFETY: the database is open during the callback.
        unsafe { ffi::sqlite3_interrupt(self.0) };
    }
}

/// Runs the `work` of a callback. Checkpoints inside check for interrupts.
///
/// # Errors
/// Errors of the work; an interrupt.
pub fn interruptible<T>(database: Database, work: impl FnOnce() -> Result<T>) -> Result<T> {
    let probe = Probe::unprepared(database);
    stoppable(Rc::new(at_intervals(move || probe.check())), work)
}

/// Reading longer arguments (bytes) checks for interrupts.
const LONG: usize = 1 << 16;

/// Like [`interruptible`] if the work reads a long argument of the callback. Other work ends before a check.
///
/// # Errors
/// Errors of the work; an interrupt.
pub fn reading<T>(context: &Context<'_>, work: impl FnOnce() -> Result<T>) -> Result<T> {
    let is_long = |index| match context.get_raw(index) {
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => bytes.len() > LONG,
        _ => false,
    };
    if (0..context.len()).any(is_long) { interruptible(Database::of(context), work) } else { work() }
}

/// Calls `check` once in [`POLL_INTERVAL`].
pub fn at_intervals(check: impl Fn() -> Result<()>) -> impl Fn() -> Result<()> {
    let last = Cell::new(Instant::now());
    #[cfg(test)]
    last.set(fault::last_check(last.get()));
    move || {
        #[cfg(test)]
        fault::check()?;
        if last.get().elapsed() < POLL_INTERVAL {
            return Ok(());
        }
        let outcome = check();
        last.set(Instant::now());
        outcome
    }
}

/// Interruptions at a chosen check, for tests.
#[cfg(test)]
pub mod fault {
    use std::cell::{Cell, RefCell};
    use std::time::Instant;

    use crate::base::{Control, Error, POLL_INTERVAL, Result};

    thread_local! {
        static CONTROL: RefCell<Option<Control>> = const { RefCell::new(None) };
        static AT_ONCE: Cell<bool> = const { Cell::new(false) };
    }

    /// Whether to poll the host at the first checkpoint of each call, not only after [`POLL_INTERVAL`].
    pub fn ask_at_once(yes: bool) {
        AT_ONCE.set(yes);
    }

    /// The last poll time, for a call that begins now.
    pub(super) fn last_check(now: Instant) -> Instant {
        if AT_ONCE.get() { now.checked_sub(POLL_INTERVAL).unwrap_or(now) } else { now }
    }

    /// From now on, interrupts each call of this thread after `checks` checks, counted on the calling thread and its
    /// pool. `None` stops this.
    pub fn interrupt_after(checks: Option<usize>) {
        CONTROL.set(checks.map(Control::canceled_after));
    }

    /// A check of the calling thread.
    pub(super) fn check() -> Result<()> {
        let is_now = CONTROL.with_borrow(|control| control.as_ref().is_some_and(Control::is_canceled));
        if is_now { Err(Error::Interrupted) } else { Ok(()) }
    }

    /// The control of a pool.
    pub(in crate::sqlite::glue) fn applied_to(control: Control) -> Control {
        CONTROL.with_borrow(|fault| match fault {
            Some(fault) => control.with_stop_of(fault),
            None => control,
        })
    }
}

/// A prepared SELECT of constants, which a check runs until it has made [`STEPS`] steps.
pub struct Probe {
    database: *mut ffi::sqlite3,
    statement: Cell<*mut ffi::sqlite3_stmt>,
}

impl Probe {
    /// A probe that has made its first check.
    ///
    /// # Errors
    /// As [`Self::check`].
    pub fn of(database: Database) -> Result<Self> {
        let probe = Self::unprepared(database);
        probe.check()?;
        Ok(probe)
    }

    /// A probe that prepares its statement at the first check, for callbacks that are usually short.
    pub fn unprepared(database: Database) -> Self {
        Self { database: database.0, statement: Cell::new(ptr::null_mut()) }
    }

    /// Prepares the statement. An authorizer only needs to allow SQLITE_SELECT: the statement reads no table, is not
    /// recursive and calls no function. It has no subquery, because SQLite crashes in some if an authorizer ignores a
    /// SELECT.
    ///
    /// It needs no schema, and so no lock on the database file. But the first statement of a connection always reads
    /// the schema.
    fn prepare(&self) -> c_int {
        // SAFETY: the database is open, and is used on its thread; -1 asks for a limit.
        let limit = |id| unsafe { ffi::sqlite3_limit(self.database, id, -1) as usize };
        let needed = [
            (ffi::SQLITE_LIMIT_SQL_LENGTH, "SELECT ".len() + 2 * CONSTANTS),
            (ffi::SQLITE_LIMIT_COLUMN, CONSTANTS),
            // SQLite doubles the space for instructions.
            (ffi::SQLITE_LIMIT_VDBE_OP, 2 * CONSTANTS),
        ];
        let constants = if needed.iter().all(|(id, least)| limit(*id) >= *least) { CONSTANTS } else { 1 };
        let text = format!("SELECT {}", vec!["0"; constants].join(","));
        // SAFETY: as above.
        let (statement, code) = unsafe { sql::prepare_raw(self.database, &text) };
        self.statement.set(statement);
        code
    }

    /// An error if the host interrupts the call.
    ///
    /// # Errors
    /// [`Error::Interrupted`]; [`Error::Host`] if the statement cannot be prepared, or fails for another reason.
    pub fn check(&self) -> Result<()> {
        if self.database.is_null() {
            return Err(Error::Internal("the host provided no connection".to_owned()));
        }
        let mut code = if self.statement.get().is_null() { self.prepare() } else { ffi::SQLITE_OK };
        if code == ffi::SQLITE_OK {
            code = self.run();
        }
        match code {
            ffi::SQLITE_ROW => Ok(()),
            // If an authorizer ignores SQLITE_SELECT, there is no row, and no step for a progress handler.
            ffi::SQLITE_DONE => Err(self.error(ffi::SQLITE_AUTH)),
            // Another connection locks the schema, in its file or in a shared cache. The next check prepares or runs the
            // statement. After schema changes SQLite prepares it again.
            code if matches!(code & 0xff, ffi::SQLITE_BUSY | ffi::SQLITE_LOCKED) => Ok(()),
            _ => Err(self.error(code)),
        }
    }

    /// Runs the statement until it has made [`STEPS`] steps. Returns SQLite's last code.
    fn run(&self) -> c_int {
        let statement = self.statement.get();
        // SAFETY: the statement was prepared, is used on one thread, and its database is open during the call.
        let steps = || unsafe { ffi::sqlite3_stmt_status(statement, ffi::SQLITE_STMTSTATUS_VM_STEP, 0) };
        let before = steps();
        loop {
            // SAFETY: as above.
            let code = unsafe {
                let code = ffi::sqlite3_step(statement);
                ffi::sqlite3_reset(statement);
                code
            };
            // The 32-bit count wraps around.
            if code != ffi::SQLITE_ROW || steps().wrapping_sub(before) >= STEPS {
                return code;
            }
        }
    }

    fn error(&self, code: c_int) -> Error {
        if code & 0xff == ffi::SQLITE_INTERRUPT {
            return Error::Interrupted;
        }
        // SAFETY: an open connection; the text is copied before the connection is used again.
        let message = unsafe { CStr::from_ptr(ffi::sqlite3_errmsg(self.database)) }.to_string_lossy();
        let advice = match code & 0xff {
            ffi::SQLITE_AUTH => {
                "; the authorizer must allow SQLITE_SELECT (the statement is a SELECT of constants)"
            }
            _ => "",
        };
        Error::Host(format!("the statement that checks for interrupts by the host failed: {message}{advice}"))
    }
}

impl Drop for Probe {
    fn drop(&mut self) {
        // SAFETY: null, or a statement of an open connection that is not used again.
        unsafe { ffi::sqlite3_finalize(self.statement.get()) };
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use std::ffi::c_void;

    use rusqlite::limits::Limit;

    use super::*;

    /// Calls `body` with two connections to a file with one table, in rollback-journal mode and without a busy handler.
    fn with_two_connections(name: &str, body: impl FnOnce(Connection, Connection)) {
        let path = std::env::temp_dir().join(format!("ltr-probe-{name}-{}.db", std::process::id()));
        drop(std::fs::remove_file(&path));
        let other = Connection::open(&path).unwrap();
        other.execute_batch("PRAGMA journal_mode = delete; CREATE TABLE t(x)").unwrap();
        let connection = Connection::open(&path).unwrap();
        connection.busy_timeout(std::time::Duration::ZERO).unwrap();
        body(connection, other);
        std::fs::remove_file(&path).unwrap();
    }

    unsafe extern "C" fn stop(_: *mut c_void) -> c_int {
        1
    }

    /// The rollback drops the schema from memory. To read it again, a statement needs a lock that it cannot get.
    #[test]
    fn an_exclusive_lock_neither_fails_nor_hides_an_interrupt() {
        with_two_connections("rollback", |connection, other| {
            let probe = || Probe::of(Database::from_connection(&connection)).unwrap();
            let before = probe();
            connection.execute_batch("BEGIN; CREATE TABLE u(x); ROLLBACK").unwrap();
            other.execute_batch("BEGIN EXCLUSIVE").unwrap();
            let problem = connection.prepare("SELECT * FROM t").unwrap_err();
            assert_eq!(problem.sqlite_error_code(), Some(rusqlite::ErrorCode::DatabaseBusy), "{problem}");
            let after = probe();
            for probe in [before, after] {
                probe.check().unwrap();
                // SAFETY: an open connection; the handler needs no data.
                let install = |handler| unsafe {
                    ffi::sqlite3_progress_handler(connection.handle(), 10_000, handler, ptr::null_mut());
                };
                install(Some(stop));
                let stopped = probe.check();
                assert!(matches!(stopped, Err(Error::Interrupted)), "{stopped:?}");
                install(None);
            }
        });
    }

    /// Hosts may limit statements. The check then uses a shorter statement, with the same number of steps.
    #[test]
    fn limits_of_statements_stop_no_check() {
        let limits = [
            (Limit::SQLITE_LIMIT_SQL_LENGTH, 8),
            (Limit::SQLITE_LIMIT_COLUMN, 1),
            (Limit::SQLITE_LIMIT_EXPR_DEPTH, 1),
            (Limit::SQLITE_LIMIT_COMPOUND_SELECT, 1),
            (Limit::SQLITE_LIMIT_VDBE_OP, 50),
            (Limit::SQLITE_LIMIT_FUNCTION_ARG, 0),
        ];
        for (limit, value) in limits {
            let connection = Connection::open_in_memory().unwrap();
            // The first statement of a connection reads the schema, using SQLite's own statements.
            connection.execute_batch("SELECT 1").unwrap();
            connection.set_limit(limit, value).unwrap();
            let probe = Probe::of(Database::from_connection(&connection)).unwrap();
            for _ in 0..3 {
                // SAFETY: an open connection; the handler needs no data.
                unsafe {
                    ffi::sqlite3_progress_handler(connection.handle(), STEPS, Some(stop), ptr::null_mut());
                }
                assert!(matches!(probe.check(), Err(Error::Interrupted)), "{limit:?}");
            }
        }
    }

    /// The first statement of a connection may read the schema. The probe is prepared once the lock is gone.
    #[test]
    fn a_lock_at_the_first_statement_is_not_an_interrupt() {
        with_two_connections("first", |connection, other| {
            other.execute_batch("BEGIN EXCLUSIVE").unwrap();
            let probe = Probe::of(Database::from_connection(&connection)).unwrap();
            other.execute_batch("COMMIT").unwrap();
            probe.check().unwrap();
            assert!(!probe.statement.get().is_null());
        });
    }
}
