//! Threads, time limit and progress of one SQL call, on top of `run::on_pool` (rule 13.5).

use std::rc::Rc;
use std::time::Instant;

use rusqlite::Connection;
use serde_json::Value;

use super::probe::{Database, Probe, at_intervals};
use super::progress::{self, Progress};
use crate::apply::Fit;
use crate::base::control::{Control, stoppable};
use crate::base::error::{Error, Result};
use crate::base::memory::Memory;
use crate::base::param::Params;
use crate::base::run::{cores, on_pool};
use crate::learn::space::Function;

/// Bytes of the stack of a thread that are used.
const BYTES_OF_THREAD: u64 = 32 << 10;

/// Largest work in operations of about a nanosecond that stays on the calling thread. A pool of two threads halves 1 ms of
/// work, and takes about as long to start.
const SMALL: usize = 1_000_000;

/// Threads, time limit, progress output and memory of a call.
#[derive(Debug, Clone)]
pub struct RunLimits {
    /// `None`: all cores. Counting them reads files.
    threads: Option<usize>,
    started: Instant,
    time_limit: Option<f64>,
    progress: bool,
    memory: Memory,
}

/// Fits one function on all cores.
///
/// # Errors
/// Those of the fit, an interruption.
pub fn run_fit(connection: &Connection, fit: &Fit<'_>) -> Result<Function> {
    RunLimits::default().run(connection, |control| fit(control))
}

impl Default for RunLimits {
    /// The limits of a call without options.
    fn default() -> Self {
        Self::new(&Params::default())
    }
}

impl RunLimits {
    /// The limits in the options of a call. The time starts now.
    pub fn new(options: &Params) -> Self {
        Self {
            threads: options.count("threads"),
            started: Instant::now(),
            time_limit: options.number("time_limit"),
            progress: options.flag("progress") && progress::is_visible(),
            memory: Memory::limited(options.get("max_memory").and_then(Value::as_u64)),
        }
    }

    /// The memory of the call.
    pub fn memory(&self) -> &Memory {
        &self.memory
    }

    /// An error once the time limit has passed.
    ///
    /// # Errors
    /// [`Error::TimeLimit`].
    pub fn check_time(&self) -> Result<()> {
        match self.time_limit {
            Some(limit) if self.started.elapsed().as_secs_f64() >= limit => Err(Error::time_limit(limit)),
            _ => Ok(()),
        }
    }

    /// The time limit in seconds, if there is one.
    pub fn time_limit(&self) -> Option<f64> {
        self.time_limit
    }

    /// Seconds since the call began.
    pub fn seconds(&self) -> f64 {
        self.started.elapsed().as_secs_f64()
    }

    /// Runs `work` on the call's threads.
    ///
    /// # Errors
    /// Those of the work, an interruption, the time limit, a panic.
    pub fn run<T: Send>(
        &self,
        connection: &Connection,
        work: impl FnOnce(&Control) -> Result<T> + Send,
    ) -> Result<T> {
        self.run_for(Database::from_connection(connection), work)
    }

    /// As [`Self::run`], for callbacks that fetch further rows.
    ///
    /// # Errors
    /// Those of [`Self::run`].
    pub fn run_for<T: Send>(
        &self,
        database: Database,
        work: impl FnOnce(&Control) -> Result<T> + Send,
    ) -> Result<T> {
        let probe = Probe::of(database)?;
        // More threads than cores are few only if the caller says so.
        let threads = self.threads.unwrap_or_else(cores);
        let bytes = if threads > cores() { threads as u64 * BYTES_OF_THREAD } else { 0 };
        let what = format_args!("{threads} threads");
        let _threads = self.memory.reserve(bytes, what, "use fewer threads")?;
        let mut progress = self.progress.then(Progress::start);
        let poll = |control: &Control| {
            progress.iter_mut().for_each(|progress| progress.show(control));
            self.check(&probe)
        };
        let control = Control::with_memory(self.memory.clone());
        #[cfg(test)]
        let control = super::probe::fault::applied_to(control);
        on_pool(threads, &control, poll, work)
    }

    /// Runs `work`, which takes about this many operations of a nanosecond: small work on the calling thread, other work on
    /// the call's threads. The results have the same bits.
    ///
    /// # Errors
    /// Those of [`Self::run`].
    pub fn run_sized<T: Send>(
        &self,
        connection: &Connection,
        operations: usize,
        work: impl FnOnce(&Control) -> Result<T> + Send,
    ) -> Result<T> {
        if operations > SMALL {
            return self.run(connection, work);
        }
        let control = Control::with_memory(self.memory.clone());
        #[cfg(test)]
        let control = super::probe::fault::applied_to(control);
        self.run_here(connection, || work(&control))
    }

    /// Runs `work` on the calling thread. Its checkpoints check for interrupts and the time limit.
    ///
    /// # Errors
    /// Those of the work, an interruption, the time limit.
    pub fn run_here<T>(&self, connection: &Connection, work: impl FnOnce() -> Result<T>) -> Result<T> {
        let (limits, probe) = (self.clone(), Probe::unprepared(Database::from_connection(connection)));
        stoppable(Rc::new(at_intervals(move || limits.check(&probe))), work)
    }

    /// An error if the host interrupts the call or the time limit has passed.
    ///
    /// # Errors
    /// [`Error::Interrupted`], [`Error::TimeLimit`]; the host cannot be polled.
    pub fn check_interrupt(&self, connection: &Connection) -> Result<()> {
        self.check_time()?;
        Probe::of(Database::from_connection(connection)).map(drop)
    }

    fn check(&self, probe: &Probe) -> Result<()> {
        self.check_time()?;
        probe.check()
    }
}
