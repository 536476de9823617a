//! The time limit while SQLite runs a statement of the caller.
//!
//! A statement that filters, sorts or recurses may run for long before it returns a row. Meanwhile the calling thread is
//! inside SQLite and cannot check the time. A second thread then interrupts the connection.
#![allow(unsafe_code, reason = "rusqlite cannot interrupt the connection of a callback")]

use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

use rusqlite::{Connection, ffi};

use super::run_limits::RunLimits;
use crate::base::error::{Error, Result};
use crate::base::run::POLL_INTERVAL;

/// Longest sleep: durations beyond some years overflow the clock.
const MAX_SLEEP: f64 = 3600.0;

/// Whether the statements are finished, and a signal for the thread that waits.
#[derive(Default)]
struct Finished {
    flag: Mutex<bool>,
    signal: Condvar,
}

/// Tells the thread to end, also after a panic.
struct Finish<'a>(&'a Finished);

impl Drop for Finish<'_> {
    fn drop(&mut self) {
        *self.0.flag.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.0.signal.notify_all();
    }
}

/// The database, for a thread that interrupts it.
struct Target(*mut ffi::sqlite3);

// SAFETY: the only use is `sqlite3_interrupt`, which may be called from any thread while the database is open.
unsafe impl Sync for Target {}

impl Target {
    fn interrupt(&self) {
        // SAFETY: the database is open: the thread ends before the call that it watches.
        unsafe { ffi::sqlite3_interrupt(self.0) };
    }
}

/// Runs `read`, which steps statements of the caller. Once the time limit passes, the statements of the connection are
/// interrupted. Without a time limit there is no thread. The thread ends before this function returns.
///
/// # Errors
/// Those of `read`; [`Error::TimeLimit`] instead if the time limit has passed.
pub fn within_time<T>(
    limits: &RunLimits,
    connection: &Connection,
    read: impl FnOnce() -> Result<T>,
) -> Result<T> {
    let Some(limit) = limits.time_limit() else { return read() };
    // SAFETY: the handle of an open connection. (rusqlite's own handle for interrupts does nothing in a callback.)
    let target = Target(unsafe { connection.handle() });
    let finished = Finished::default();
    let watch = || {
        let mut flag = finished.flag.lock().unwrap_or_else(PoisonError::into_inner);
        while !*flag {
            let left = limit - limits.seconds();
            let pause = if left > 0.0 {
                Duration::from_secs_f64(left.min(MAX_SLEEP))
            } else {
                // SQLite forgets an interrupt between statements, so it is repeated. The lock is held: `read` is not finished.
                target.interrupt();
                POLL_INTERVAL
            };
            flag = finished.signal.wait_timeout(flag, pause).unwrap_or_else(PoisonError::into_inner).0;
        }
    };
    let outcome = std::thread::scope(|scope| {
        let finish = Finish(&finished);
        std::thread::Builder::new()
            .spawn_scoped(scope, watch)
            .map_err(|problem| Error::Host(format!("a thread cannot be started: {problem}")))?;
        let outcome = read();
        drop(finish);
        outcome
    });
    limits.check_time()?;
    outcome
}
