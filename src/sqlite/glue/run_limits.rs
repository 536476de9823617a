//! Threads and time limit of one SQL call, on top of `run::on_pool` (rule 13.5); also the time limit while SQLite runs a
//! statement of the caller.

#![allow(unsafe_code, reason = "rusqlite cannot interrupt the connection of a callback")]

use std::io::IsTerminal;
use std::rc::Rc;
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use rusqlite::Connection;
use rusqlite::types::ValueRef;
use serde_json::Value;

use super::probe::{Database, Probe, at_intervals};
use super::progress::{Progress, RUNNING};
use super::value::text_argument;
use crate::apply::Fit;
use crate::base::{Control, Error, HAS_THREADS, Memory, POLL_INTERVAL, Params, Result, on_pool, stoppable};
use crate::learn::space::Function;
use crate::train::options::{self, Use};

/// Largest work in operations of about a nanosecond that stays on the calling thread. For 1 ms of work, a pool of two
/// threads saves half, and takes about as long to start.
const SMALL: usize = 1_000_000;

/// Threads, time limit, progress output and memory of a call, and the database whose host may interrupt the call.
#[derive(Debug, Clone)]
pub struct RunLimits {
    database: Database,
    /// `None`: all cores. Counting them reads files.
    threads: Option<usize>,
    started: Instant,
    time_limit: Option<f64>,
    progress: bool,
    /// The memory of the call.
    pub memory: Memory,
}

/// The options of a call, and its limits. The time starts now.
///
/// # Errors
/// An argument that is neither NULL nor a JSON object with options that apply here.
pub fn call_options(
    database: Database,
    argument: Option<ValueRef<'_>>,
    used: Use,
) -> Result<(Params, RunLimits)> {
    let given = argument.filter(|value| *value != ValueRef::Null);
    let text = given.map(|value| text_argument("argument 'options'", value)).transpose()?;
    let options = options::parse(text.as_deref(), used)?;
    let limits = RunLimits::new(database, &options);
    Ok((options, limits))
}

/// Fits one function on all cores.
///
/// # Errors
/// Errors of the fit; an interrupt.
pub fn run_fit(connection: &Connection, fit: &Fit<'_>) -> Result<Function> {
    RunLimits::of(connection).run(|control| fit(control))
}

impl RunLimits {
    /// The limits of a call without options.
    pub fn of(connection: &Connection) -> Self {
        Self::new(Database::from_connection(connection), &Params::default())
    }

    /// The limits in the options of a call. The time starts now.
    pub fn new(database: Database, options: &Params) -> Self {
        Self {
            database,
            threads: options.count("threads"),
            started: Instant::now(),
            time_limit: options.number("time_limit"),
            progress: options.flag("progress") && std::io::stderr().is_terminal(),
            memory: Memory::limited(options.get("max_memory").and_then(Value::as_u64)),
        }
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

    /// Seconds since the call began.
    pub fn seconds(&self) -> f64 {
        self.started.elapsed().as_secs_f64()
    }

    /// Runs `work` on the call's threads.
    ///
    /// # Errors
    /// Errors of the work; an interrupt; the time limit; a panic.
    pub fn run<T: Send>(&self, work: impl FnOnce(&Control) -> Result<T> + Send) -> Result<T> {
        let probe = Probe::of(self.database)?;
        if !HAS_THREADS {
            let control = Control::with_memory(self.memory.clone());
            return self.run_here(|| work(&control));
        }
        let mut progress = self.progress.then(Progress::start);
        let poll = |control: &Control| {
            RUNNING.set(control.progress());
            progress.iter_mut().for_each(|progress| progress.show(control));
            self.check(&probe)
        };
        let control = Control::with_memory(self.memory.clone());
        #[cfg(test)]
        let control = super::probe::fault::applied_to(control);
        let result = on_pool(self.threads, &control, poll, work);
        RUNNING.set((0, 0));
        result
    }

    /// Runs `work`, which takes about `operations` operations of a nanosecond. Small work runs on the calling thread,
    /// other work on the call's threads. The results have the same bits.
    ///
    /// # Errors
    /// As [`Self::run`].
    pub fn run_sized<T: Send>(
        &self,
        operations: usize,
        work: impl FnOnce(&Control) -> Result<T> + Send,
    ) -> Result<T> {
        if operations > SMALL {
            return self.run(work);
        }
        let control = Control::with_memory(self.memory.clone());
        #[cfg(test)]
        let control = super::probe::fault::applied_to(control);
        self.run_here(|| work(&control))
    }

    /// Runs `work` on the calling thread. Checkpoints inside check for interrupts and the time limit.
    ///
    /// # Errors
    /// Errors of the work; an interrupt; the time limit.
    pub fn run_here<T>(&self, work: impl FnOnce() -> Result<T>) -> Result<T> {
        let (limits, probe) = (self.clone(), Probe::unprepared(self.database));
        stoppable(Rc::new(at_intervals(move || limits.check(&probe))), work)
    }

    /// An error if the host interrupts the call or the time limit has passed.
    ///
    /// # Errors
    /// [`Error::Interrupted`], [`Error::TimeLimit`]; the host cannot be polled.
    pub fn check_interrupt(&self) -> Result<()> {
        self.check_time()?;
        Probe::of(self.database).map(drop)
    }

    fn check(&self, probe: &Probe) -> Result<()> {
        self.check_time()?;
        probe.check()
    }
}

// The time limit while SQLite runs a statement of the caller.
//
// A statement that filters, sorts or recurses may run for a long time before it returns a row. Meanwhile the calling
// thread is inside SQLite and cannot check the time, so a second thread interrupts the connection.

/// Longest sleep. Durations of many years overflow the clock.
const MAX_SLEEP: f64 = 3600.0;

/// Whether the statements are finished, and a signal for the thread that waits.
#[derive(Default)]
struct Finished {
    flag: Mutex<bool>,
    signal: Condvar,
}

/// Tells the thread to end, even after a panic.
struct Finish<'a>(&'a Finished);

impl Drop for Finish<'_> {
    fn drop(&mut self) {
        *self.0.flag.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.0.signal.notify_all();
    }
}

/// The database, for a thread that interrupts it. (rusqlite's own handle for interrupts does nothing in a callback.)
struct WatchedDatabase(Database);

// SAFETY: the only use is `interrupt`, which any thread may call while the database is open: the thread ends before the call
// that it watches.
unsafe impl Sync for WatchedDatabase {}

impl WatchedDatabase {
    fn interrupt(&self) {
        self.0.interrupt();
    }
}

/// Runs `read`, which steps statements of the caller. Once the time limit passes, the statements of the connection are
/// interrupted. Without a time limit, or where there are no threads, `read` runs to its end. The thread ends before this
/// function returns.
///
/// # Errors
/// Errors of `read`; [`Error::TimeLimit`] instead if the time limit has passed.
pub fn within_time<T>(limits: &RunLimits, read: impl FnOnce() -> Result<T>) -> Result<T> {
    let Some(limit) = limits.time_limit.filter(|_| HAS_THREADS) else { return read() };
    let (target, started) = (WatchedDatabase(limits.database), limits.started);
    let finished = Finished::default();
    let watch = || {
        let mut flag = finished.flag.lock().unwrap_or_else(PoisonError::into_inner);
        while !*flag {
            let left = limit - started.elapsed().as_secs_f64();
            let pause = if left > 0.0 {
                Duration::from_secs_f64(left.min(MAX_SLEEP))
            } else {
                // SQLite forgets an interrupt between statements, so repeat it. The lock is held, so `read` is not
                // finished.
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
            .map_err(|problem| Error::Host(format!("cannot start a thread: {problem}")))?;
        let outcome = read();
        drop(finish);
        outcome
    });
    limits.check_time()?;
    outcome
}
