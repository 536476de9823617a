//! Threads, time limit and progress of one SQL call, on top of `run::on_pool` (rule 13.5).
//!
//! To notice `sqlite3_interrupt`, the calling thread runs a small statement every 20 ms. After an interrupt, or if the
//! host's progress handler stops it, the statement fails. This works in every version of SQLite.

use std::cell::Cell;
use std::io::{IsTerminal, Write};
use std::time::Instant;

use rusqlite::{Connection, ErrorCode};
use serde_json::Value;

use crate::control::Control;
use crate::error::{Error, Result};
use crate::evaluate::Fit;
use crate::memory::Memory;
use crate::param::Params;
use crate::run::{POLL_INTERVAL, cores, on_pool};
use crate::space::Function;

/// Runs enough virtual machine steps that progress handlers, which hosts use as time-outs, are called.
const INTERRUPT_PROBE: &str = "WITH RECURSIVE step(i) AS (VALUES (0) UNION ALL SELECT i + 1 FROM step WHERE i < 1000) \
                     SELECT count(*) FROM step";

/// Threads, time limit, progress output and memory of a call.
#[derive(Debug, Clone)]
pub struct RunLimits {
    threads: usize,
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
            threads: options.count("threads").unwrap_or_else(cores),
            started: Instant::now(),
            time_limit: options.number("time_limit"),
            progress: options.flag("progress") && std::io::stderr().is_terminal(),
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
            Some(limit) if self.started.elapsed().as_secs_f64() > limit => Err(Error::TimeLimit(limit)),
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
    /// Those of the work, an interruption, the time limit, a panic.
    pub fn run<T: Send>(
        &self,
        connection: &Connection,
        work: impl FnOnce(&Control) -> Result<T> + Send,
    ) -> Result<T> {
        let poll = |control: &Control| {
            self.show(control);
            self.check_interrupt(connection)
        };
        on_pool(self.threads, &Control::with_memory(self.memory.clone()), poll, work)
    }

    /// A check for work on the calling thread; cheap, because it polls the host only every [`POLL_INTERVAL`].
    pub fn interrupt_checker(&self, connection: &Connection) -> impl Fn() -> Result<()> {
        let limits = self.clone();
        let last = Cell::new(Instant::now());
        move || {
            if last.get().elapsed() < POLL_INTERVAL {
                return Ok(());
            }
            last.set(Instant::now());
            limits.check_interrupt(connection)
        }
    }

    /// An error if the host interrupts the call or the time limit has passed.
    ///
    /// # Errors
    /// [`Error::Interrupted`], [`Error::TimeLimit`].
    pub fn check_interrupt(&self, connection: &Connection) -> Result<()> {
        self.check_time()?;
        match connection.query_row(INTERRUPT_PROBE, [], |_| Ok(())) {
            Err(problem) if problem.sqlite_error_code() == Some(ErrorCode::OperationInterrupted) => {
                Err(Error::Interrupted)
            }
            _ => Ok(()),
        }
    }

    fn show(&self, control: &Control) {
        if self.progress {
            let (done, total) = control.progress();
            let mut terminal = std::io::stderr().lock();
            // A closed terminal must not stop the work.
            drop(write!(terminal, "\r{done} of {total} fits, {:.1} s ", self.seconds()));
            drop(terminal.flush());
        }
    }
}
