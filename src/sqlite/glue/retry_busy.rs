//! Waiting for the locks of other connections (rule 5.15).
//!
//! If another connection holds a lock, SQLite calls the host's busy handler, which is often missing, and then fails with
//! SQLITE_BUSY. The library retries itself, and does not touch the host's handler.

use std::time::{Duration, Instant};

use super::run_limits::RunLimits;
use crate::base::{Error, Result};

/// Longest time before the last attempt.
const LONGEST_WAIT: Duration = Duration::from_secs(5);

/// Pauses between attempts: the first one, doubled each time, up to the last one.
const FIRST_PAUSE: Duration = Duration::from_micros(500);
const LONGEST_PAUSE: Duration = Duration::from_millis(8);

/// Runs `attempt` until it returns something other than [`Error::Busy`], or for 5 seconds after the first failure.
///
/// # Errors
/// Errors of the last attempt; an interrupt and the time limit, between two attempts.
pub fn retry_busy<T>(limits: &RunLimits, mut attempt: impl FnMut() -> Result<T>) -> Result<T> {
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
        limits.check_interrupt()?;
        std::thread::sleep(pause);
        pause = LONGEST_PAUSE.min(pause * 2);
    }
}
