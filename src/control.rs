//! Stopping long work and counting its progress, from another thread.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use crate::error::{Error, Result};

/// Shared between the thread that computes and the one that watches.
#[derive(Debug, Default)]
pub struct Control {
    canceled: AtomicBool,
    done: AtomicUsize,
    total: AtomicUsize,
}

impl Control {
    /// Asks the work to stop.
    pub fn cancel(&self) {
        self.canceled.store(true, Ordering::Relaxed);
    }

    /// True once the work should stop.
    pub fn is_canceled(&self) -> bool {
        self.canceled.load(Ordering::Relaxed)
    }

    /// An error once the work should stop.
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
