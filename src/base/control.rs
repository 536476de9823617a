//! Cancellation and progress of long computations, across threads.
//!
//! Work stops in two ways. Code that has a [`Control`] checks it and returns an error. Loops that have none, such as
//! the loops of a loss over the documents of a query, call [`checkpoint`]: if the work of their thread is canceled, it
//! unwinds up to [`stoppable`], or to the end of the thread's pool.

use std::any::Any;
use std::cell::RefCell;
use std::fmt::Display;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use crate::base::{Error, Memory, Reservation, Result, parallel};

/// State shared by the computing threads and the thread that waits for them.
#[derive(Debug, Default)]
pub struct Control {
    stop: Arc<Stop>,
    steps: Arc<Steps>,
    memory: Memory,
}

#[derive(Debug, Default)]
struct Steps {
    done: AtomicUsize,
    total: AtomicUsize,
}

#[derive(Debug, Default)]
struct Stop {
    canceled: AtomicBool,
    /// Remaining checks before cancellation, if limited.
    checks_left: Option<AtomicUsize>,
}

impl Stop {
    fn is_requested(&self) -> bool {
        let spend = |left: &AtomicUsize| {
            left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1)).is_err()
        };
        self.canceled.load(Ordering::Relaxed) || self.checks_left.as_ref().is_some_and(spend)
    }

    fn check(&self) -> Result<()> {
        if self.is_requested() { Err(Error::Interrupted) } else { Ok(()) }
    }
}

impl Control {
    /// A control that cancels after `checks` checks, to test interruptions at every point.
    pub fn canceled_after(checks: usize) -> Self {
        let stop = Stop { canceled: AtomicBool::new(false), checks_left: Some(AtomicUsize::new(checks)) };
        Self { stop: Arc::new(stop), ..Self::default() }
    }

    /// A control for other work, which is canceled together with this one.
    #[cfg(test)]
    #[must_use]
    pub fn with_stop_of(self, other: &Self) -> Self {
        Self { stop: Arc::clone(&other.stop), ..self }
    }

    /// A control for work that reserves from this memory.
    pub fn with_memory(memory: Memory) -> Self {
        Self { memory, ..Self::default() }
    }

    /// The same control for work with its own memory.
    #[must_use]
    pub fn for_memory(&self, memory: Memory) -> Self {
        Self { stop: Arc::clone(&self.stop), steps: Arc::clone(&self.steps), memory }
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

    /// Like [`Self::reserve`], for loops that cannot return an error: exceeding the limit unwinds, as
    /// [`checkpoint`] does. If panics abort the program, the bytes are not counted.
    pub fn reserve_or_unwind(&self, bytes: u64, what: impl Display, way_out: &'static str) -> Reservation {
        self.reserve(bytes, what, way_out).unwrap_or_else(|problem| {
            if cfg!(panic = "unwind") {
                resume_unwind(Box::new(Stopped(problem)));
            }
            self.memory.nothing()
        })
    }

    /// Cancels the work.
    pub fn cancel(&self) {
        self.stop.canceled.store(true, Ordering::Relaxed);
    }

    /// Whether the work is canceled.
    pub fn is_canceled(&self) -> bool {
        self.stop.is_requested()
    }

    /// An error if the work is canceled, or the check of [`stoppable`] work on this thread fails: nothing else
    /// cancels work on the calling thread.
    ///
    /// # Errors
    /// [`Error::Interrupted`] after [`Control::cancel`]; errors of the thread's check.
    pub fn check(&self) -> Result<()> {
        self.stop.check()?;
        check_thread()
    }

    /// Announces `steps` more steps.
    pub fn expect(&self, steps: usize) {
        self.steps.total.fetch_add(steps, Ordering::Relaxed);
    }

    /// One step is done.
    pub fn step(&self) {
        self.steps.done.fetch_add(1, Ordering::Relaxed);
    }

    /// Steps done and steps announced.
    pub fn progress(&self) -> (usize, usize) {
        (self.steps.done.load(Ordering::Relaxed), self.steps.total.load(Ordering::Relaxed))
    }

    /// Returns a function; on the thread that calls it, checkpoints check this control.
    pub fn thread_setup(&self) -> impl Fn() + Send + Sync + 'static {
        let stop = Arc::clone(&self.stop);
        move || {
            let stop = Arc::clone(&stop);
            CHECK.set(Some(Rc::new(move || stop.check())));
        }
    }
}

/// A check of a thread; its error is the reason to stop.
pub type Check = Rc<dyn Fn() -> Result<()>>;

thread_local! {
    /// The check of the innermost [`stoppable`] work of this thread.
    static CHECK: RefCell<Option<Check>> = const { RefCell::new(None) };
}

/// The panic payload that ends stopped work.
struct Stopped(Error);

/// Restores the outer work's check, even after a panic.
struct Restore(Option<Check>);

impl Drop for Restore {
    fn drop(&mut self) {
        CHECK.set(self.0.take());
    }
}

/// Runs `work`. Checkpoints on this thread call `check`; an error of `check` ends the work and becomes the result.
///
/// # Errors
/// Errors of `work` and `check`.
pub fn stoppable<T>(check: Check, work: impl FnOnce() -> Result<T>) -> Result<T> {
    let _restore = Restore(CHECK.replace(Some(check)));
    stopped(work)
}

/// Ends the work of [`stopped`] by unwinding, for functions that cannot return an error. Requires panics that unwind.
pub fn unwind(reason: Error) -> ! {
    resume_unwind(Box::new(Stopped(reason)))
}

/// Runs `work`. If [`checkpoint`], [`Control::reserve_or_unwind`] or [`unwind`] unwinds, the reason becomes the result.
///
/// # Errors
/// Errors of `work`.
pub fn stopped<T>(work: impl FnOnce() -> Result<T>) -> Result<T> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|payload| match stop_reason(payload) {
        Ok(reason) => Err(reason),
        Err(panic) => resume_unwind(panic),
    })
}

/// Runs `work` for each item, in parallel. An item that runs out of memory while others run is retried alone,
/// so refusals do not depend on thread scheduling.
///
/// # Errors
/// Errors of `work`.
pub fn each_in_memory<T: Sync, U: Send>(
    items: &[T],
    work: impl Fn(&T) -> Result<U> + Sync,
) -> Result<Vec<U>> {
    let beside_others = |item: &T| match stopped(|| work(item)) {
        Err(Error::Memory { .. }) => Ok(None),
        outcome => outcome.map(Some),
    };
    let outcomes: Vec<Option<U>> = parallel::try_map(items.len(), |number| beside_others(&items[number]))?;
    let alone = |(item, outcome): (&T, Option<U>)| outcome.map_or_else(|| work(item), Ok);
    items.iter().zip(outcomes).map(alone).collect()
}

/// The check of the innermost [`stoppable`] work of this thread. Compiled once: hundreds of loops call it.
#[inline(never)]
fn check_thread() -> Result<()> {
    CHECK.with_borrow(Clone::clone).map_or(Ok(()), |check| check())
}

/// Unwinds this thread's work if it has been canceled. Does nothing outside [`stoppable`] work, or if panics abort.
/// Call it every 0.1 to 5 ms of work; a call takes a few nanoseconds.
pub fn checkpoint() {
    if cfg!(panic = "unwind")
        && let Err(reason) = check_thread()
    {
        // Unlike a panic this calls no panic hook, so nothing is printed.
        resume_unwind(Box::new(Stopped(reason)));
    }
}

/// Calls [`checkpoint`] only once every many ticks, for loops with short steps.
#[derive(Debug, Default)]
pub struct Ticks(usize);

impl Ticks {
    /// Amount of work between two checkpoints. Tests use little data, so they check every time.
    const INTERVAL: usize = if cfg!(test) { 1 } else { 1 << 14 };

    /// Counts work of this amount, in operations of about a nanosecond.
    #[inline]
    pub fn add(&mut self, amount: usize) {
        self.0 += amount;
        if self.0 >= Self::INTERVAL {
            self.0 = 0;
            checkpoint();
        }
    }
}

/// The reason in the payload of an unwinding that [`checkpoint`] began.
///
/// # Errors
/// The payload, if it belongs to another panic.
pub fn stop_reason(payload: Box<dyn Any + Send>) -> std::result::Result<Error, Box<dyn Any + Send>> {
    payload.downcast::<Stopped>().map(|stopped| stopped.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A check that allows `count` checkpoints.
    fn allows(count: usize) -> Check {
        let control = Control::canceled_after(count);
        Rc::new(move || control.stop.check())
    }

    #[test]
    fn a_checkpoint_ends_the_innermost_work_only() {
        assert_eq!(stoppable(allows(2), || Ok([checkpoint(), checkpoint()].len())).unwrap(), 2);
        let outer = stoppable(allows(1), || {
            let inner = stoppable(allows(0), || {
                checkpoint();
                Ok(())
            });
            assert!(matches!(inner, Err(Error::Interrupted)));
            checkpoint();
            Ok(())
        });
        outer.unwrap();
        // Does nothing outside stoppable work.
        checkpoint();
    }

    #[test]
    fn work_short_of_memory_runs_alone() {
        let control = Control::with_memory(Memory::limited(Some(100)));
        // 60 bytes each, so two never fit at once.
        let work = |bytes: &u64| {
            let _memory = control.reserve(*bytes, "a fit", "")?;
            std::thread::sleep(std::time::Duration::from_millis(2));
            let _more = control.reserve_or_unwind(bytes / 2, "more", "");
            Ok(*bytes)
        };
        assert_eq!(each_in_memory(&[60; 20], work).unwrap(), [60; 20]);
        let refused = stopped(|| each_in_memory(&[60, 60, 70], work));
        assert!(matches!(refused, Err(Error::Memory { needed: 35, used: 70, .. })), "{refused:?}");
        assert_eq!(control.memory().available(), 100);
    }

    #[test]
    fn other_panics_pass_through() {
        let work = || stoppable(allows(9), || -> Result<()> { resume_unwind(Box::new("other")) });
        let payload = catch_unwind(AssertUnwindSafe(work)).unwrap_err();
        assert_eq!(payload.downcast_ref::<&str>(), Some(&"other"));
        assert!(CHECK.take().is_none());
    }
}
