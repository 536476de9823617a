//! Waits for other connections (rule 5.15).
//!
//! If another connection holds a lock, SQLite asks the host's busy handler, which often is missing, and then fails with
//! SQLITE_BUSY. The library tries again itself, and leaves the host's handler as it is.

use std::time::{Duration, Instant};

use rusqlite::Connection;

use super::run_limits::RunLimits;
use crate::error::{Error, Result};

/// Longest time until the last attempt.
const LONGEST_WAIT: Duration = Duration::from_secs(5);

/// Pauses between attempts: the first is short, each next one is twice as long, up to the last.
const FIRST_PAUSE: Duration = Duration::from_micros(500);
const LONGEST_PAUSE: Duration = Duration::from_millis(8);

/// Repeats what fails because of another connection. The time of all attempts counts from [`BusyWait::new`].
#[derive(Debug)]
pub struct BusyWait<'a> {
    connection: &'a Connection,
    limits: &'a RunLimits,
    started: Instant,
}

impl<'a> BusyWait<'a> {
    /// A wait that begins now.
    pub fn new(connection: &'a Connection, limits: &'a RunLimits) -> Self {
        Self { connection, limits, started: Instant::now() }
    }

    /// Runs `attempt` until it returns another result than [`Error::Busy`], or until 5 seconds have passed.
    ///
    /// # Errors
    /// Those of the last attempt; an interruption and the time limit, between two attempts.
    pub fn retry<T>(&self, mut attempt: impl FnMut() -> Result<T>) -> Result<T> {
        let mut pause = FIRST_PAUSE;
        loop {
            match attempt() {
                Err(Error::Busy(_)) if self.started.elapsed() < LONGEST_WAIT => {}
                outcome => return outcome,
            }
            self.limits.check_interrupt(self.connection)?;
            std::thread::sleep(pause);
            pause = LONGEST_PAUSE.min(pause * 2);
        }
    }
}

/// Runs `attempt`, and again for up to 5 seconds if it fails with [`Error::Busy`].
///
/// # Errors
/// Those of [`BusyWait::retry`].
pub fn retry_busy<T>(
    connection: &Connection,
    limits: &RunLimits,
    attempt: impl FnMut() -> Result<T>,
) -> Result<T> {
    BusyWait::new(connection, limits).retry(attempt)
}
