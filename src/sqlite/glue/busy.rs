//! Waits for other connections (rule 5.15).
//!
//! If another connection holds a lock, SQLite asks the host's busy handler, which often is missing, and then fails with
//! SQLITE_BUSY. The library tries again itself, and leaves the host's handler as it is.

use std::time::{Duration, Instant};

use rusqlite::Connection;

use super::run_limits::RunLimits;
use crate::base::error::{Error, Result};

/// Longest time until the last attempt.
const LONGEST_WAIT: Duration = Duration::from_secs(5);

/// Pauses between attempts: the first is short, each next one is twice as long, up to the last.
const FIRST_PAUSE: Duration = Duration::from_micros(500);
const LONGEST_PAUSE: Duration = Duration::from_millis(8);

/// Runs `attempt` until it returns another result than [`Error::Busy`], or until 5 seconds have passed since it first failed.
///
/// # Errors
/// Those of the last attempt; an interruption and the time limit, between two attempts.
pub fn retry_busy<T>(
    connection: &Connection,
    limits: &RunLimits,
    mut attempt: impl FnMut() -> Result<T>,
) -> Result<T> {
    let mut last = None;
    let mut pause = FIRST_PAUSE;
    loop {
        let outcome = attempt();
        let last = *last.get_or_insert_with(|| Instant::now() + LONGEST_WAIT);
        match outcome {
            Err(Error::Busy(_)) if Instant::now() < last => {}
            Err(Error::Busy(problem)) => {
                return Err(Error::Busy(format!(
                    "another connection held a lock for 5 seconds ({problem}); call again when its transaction has ended"
                )));
            }
            outcome => return outcome,
        }
        limits.check_interrupt(connection)?;
        std::thread::sleep(pause);
        pause = LONGEST_PAUSE.min(pause * 2);
    }
}
