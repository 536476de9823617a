//! Threads, time limit and progress of one SQL call, on top of `run::on_pool` (rule 13.5).

#![allow(unsafe_code, reason = "rusqlite cannot interrupt the connection of a callback")]

use std::cell::Cell;
use std::io::{IsTerminal, Write};
use std::rc::Rc;
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use rusqlite::Connection;
use rusqlite::types::ValueRef;
use serde_json::Value;

use super::probe::{Database, Probe, at_intervals};
use super::value::text_argument;
use crate::apply::Fit;
use crate::base::{
    Control, Error, HAS_THREADS, Memory, POLL_INTERVAL, Params, Result, cores, on_pool, stoppable,
};
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
        let threads = self.threads.unwrap_or_else(cores);
        let mut progress = self.progress.then(Progress::start);
        let poll = |control: &Control| {
            RUNNING.set(control.progress());
            progress.iter_mut().for_each(|progress| progress.show(control));
            self.check(&probe)
        };
        let control = Control::with_memory(self.memory.clone());
        #[cfg(test)]
        let control = super::probe::fault::applied_to(control);
        let result = on_pool(threads, &control, poll, work);
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

// Waiting for the locks of other connections (rule 5.15).
//
// If another connection holds a lock, SQLite calls the host's busy handler, which is often missing, and then fails with
// SQLITE_BUSY. The library retries itself, and does not touch the host's handler.

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

// The option `progress`: shows on the host's terminal how far a computation is and how long it will take.

/// Time between two outputs.
const PAUSE: Duration = Duration::from_millis(250);

/// Estimates are shown only if the whole work takes longer than this (seconds).
const LONG: f64 = 10.0;

thread_local! {
    /// Steps done and announced of the computation that this thread waits for.
    static RUNNING: Cell<(usize, usize)> = const { Cell::new((0, 0)) };
}

/// Steps done and announced of the computation that this thread waits for, which a host can read while it is polled.
pub fn running() -> (usize, usize) {
    RUNNING.get()
}

/// The progress of one computation. It keeps rewriting one line on standard error.
pub struct Progress {
    started: Instant,
    /// When the line was last written.
    shown: Option<Instant>,
}

impl Progress {
    /// Progress of a computation that starts now.
    pub fn start() -> Self {
        Self { started: Instant::now(), shown: None }
    }

    /// Writes the line, at most four times a second. Nothing is written before the number of fits is known.
    pub fn show(&mut self, control: &Control) {
        let (done, total) = control.progress();
        if total == 0 || self.shown.unwrap_or(self.started).elapsed() < PAUSE {
            return;
        }
        self.shown = Some(Instant::now());
        let mut terminal = std::io::stderr().lock();
        // A closed terminal must not stop the work. The escape code at the end clears the rest of a longer previous line.
        drop(write!(terminal, "\r{}\x1b[K", line(done, total, self.started.elapsed().as_secs_f64())));
        drop(terminal.flush());
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if self.shown.is_some() {
            drop(writeln!(std::io::stderr()));
        }
    }
}

/// The progress line after `seconds` seconds. The estimate assumes that later fits take as long as earlier ones, on
/// average.
fn line(done: usize, total: usize, seconds: f64) -> String {
    let left = seconds / done as f64 * (total - done.min(total)) as f64;
    let estimate = if (1..total).contains(&done) && seconds + left > LONG {
        format!(", about {} left", duration(left))
    } else {
        String::new()
    };
    format!("{done} of {total} fits after {}{estimate}", duration(seconds))
}

/// A duration in a unit that fits.
fn duration(seconds: f64) -> String {
    match seconds {
        _ if seconds < 99.5 => format!("{seconds:.0} s"),
        _ if seconds < 5970.0 => format!("{:.0} min", seconds / 60.0),
        _ => format!("{:.1} h", seconds / 3600.0),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_estimate_appears_after_the_first_fit_of_long_work() {
        assert_eq!(line(0, 40, 12.3), "0 of 40 fits after 12 s");
        assert_eq!(line(4, 8, 2.0), "4 of 8 fits after 2 s");
        assert_eq!(line(4, 40, 2.0), "4 of 40 fits after 2 s, about 18 s left");
        assert_eq!(line(3, 40, 60.0), "3 of 40 fits after 60 s, about 12 min left");
        assert_eq!(line(1, 1000, 30.0), "1 of 1000 fits after 30 s, about 8.3 h left");
        assert_eq!(line(40, 40, 90.0), "40 of 40 fits after 90 s");
    }
}
