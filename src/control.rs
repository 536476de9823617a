//! Cancellation and progress of long computations, across threads.

use std::fmt::Display;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use crate::error::{Error, Result};
use crate::memory::{Memory, Reservation};

/// Shared by the computing threads and the thread that waits for them.
#[derive(Debug, Default)]
pub struct Control {
    canceled: AtomicBool,
    /// Remaining checks before cancellation, if limited.
    checks_left: Option<AtomicUsize>,
    done: AtomicUsize,
    total: AtomicUsize,
    memory: Memory,
}

impl Control {
    /// A control that cancels after this many checks, to test interruptions at every point.
    pub fn canceled_after(checks: usize) -> Self {
        Self { checks_left: Some(AtomicUsize::new(checks)), ..Self::default() }
    }

    /// A control of work that takes its memory from this.
    pub fn with_memory(memory: Memory) -> Self {
        Self { memory, ..Self::default() }
    }

    /// The memory of the work.
    pub fn memory(&self) -> &Memory {
        &self.memory
    }

    /// Reserves bytes before they are allocated; see [`Memory::reserve`].
    ///
    /// # Errors
    /// [`Error::Memory`] if more bytes would be in use than are allowed.
    pub fn reserve(&self, bytes: u64, what: impl Display, way_out: &'static str) -> Result<Reservation> {
        self.memory.reserve(bytes, what, way_out)
    }

    /// Cancels the work.
    pub fn cancel(&self) {
        self.canceled.store(true, Ordering::Relaxed);
    }

    /// Whether the work is canceled.
    pub fn is_canceled(&self) -> bool {
        let spend = |left: &AtomicUsize| {
            left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1)).is_err()
        };
        self.canceled.load(Ordering::Relaxed) || self.checks_left.as_ref().is_some_and(spend)
    }

    /// An error if the work is canceled.
    ///
    /// # Errors
    /// [`Error::Interrupted`] after [`Control::cancel`].
    pub fn check(&self) -> Result<()> {
        if self.is_canceled() { Err(Error::Interrupted) } else { Ok(()) }
    }

    /// Announces this many more steps.
    pub fn expect(&self, steps: usize) {
        self.total.fetch_add(steps, Ordering::Relaxed);
    }

    /// One step is done.
    pub fn step(&self) {
        self.done.fetch_add(1, Ordering::Relaxed);
    }

    /// Steps done and steps announced.
    pub fn progress(&self) -> (usize, usize) {
        (self.done.load(Ordering::Relaxed), self.total.load(Ordering::Relaxed))
    }
}
