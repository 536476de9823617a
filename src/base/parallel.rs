//! Loops on the threads of the pool, or on the calling thread if it belongs to no pool. The loop itself is compiled once
//! for all callers: each copy that a generic parallel iterator makes takes about 8 kB of the library.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use rayon::prelude::*;

use crate::base::{Control, Error, Result, stop_reason};

/// Number of threads that share the loops of the calling thread: 1 outside of a pool.
pub fn threads() -> usize {
    // Without a pool rayon would start its global one, which forked child processes wait for forever.
    if rayon::current_thread_index().is_some() { rayon::current_num_threads() } else { 1 }
}

/// Calls `work` with 0, 1, ..., count - 1, in any order.
pub fn each(count: usize, work: &(dyn Fn(usize) + Sync)) {
    if threads() > 1 {
        (0..count).into_par_iter().for_each(work);
    } else {
        (0..count).for_each(work);
    }
}

/// Calls `work` with the number of each item and the item, in any order.
///
/// # Errors
/// The first error in the order of the items. `work` is called for the others all the same.
pub fn try_each_of<T: Send>(items: Vec<T>, work: impl Fn(usize, T) -> Result<()> + Sync) -> Result<()> {
    map_of(items, work).into_iter().collect()
}

/// The results of `work` for 0, 1, ..., count - 1, in this order.
pub fn map<T: Send>(count: usize, work: impl Fn(usize) -> T + Sync) -> Vec<T> {
    let slots: Vec<Mutex<Option<T>>> = (0..count).map(|_| Mutex::new(None)).collect();
    each(count, &|index| {
        let result = work(index);
        *slots[index].lock().unwrap_or_else(PoisonError::into_inner) = Some(result);
    });
    // A panic of `work` has already left this function, so that no slot is empty.
    slots.into_iter().filter_map(|slot| slot.into_inner().unwrap_or_else(PoisonError::into_inner)).collect()
}

/// The results of `work` for the number of each item and the item, in the order of the items.
pub fn map_of<T: Send, R: Send>(items: Vec<T>, work: impl Fn(usize, T) -> R + Sync) -> Vec<R> {
    let items: Vec<Mutex<Option<T>>> = items.into_iter().map(|item| Mutex::new(Some(item))).collect();
    let take = |index: usize| items[index].lock().unwrap_or_else(PoisonError::into_inner).take();
    map(items.len(), |index| take(index).map(|item| work(index, item))).into_iter().flatten().collect()
}

/// Calls `work` with the number of each item and the item, in any order.
pub fn each_of<T: Send>(items: Vec<T>, work: impl Fn(usize, T) + Sync) {
    map_of(items, work);
}

/// The results of `work` for 0, 1, ..., count - 1, in this order.
///
/// # Errors
/// The first error in this order. `work` is called for the others all the same: it checks itself for cancellation.
pub fn try_map<T: Send>(count: usize, work: impl Fn(usize) -> Result<T> + Sync) -> Result<Vec<T>> {
    map(count, work).into_iter().collect()
}

// Runs a computation on a thread pool while the calling thread polls for a reason to stop.
//
// Only the calling thread may use the caller's database connection. The pool ends with the call: threads that outlive
// it would deadlock forked child processes.

/// Time between two polls.
pub const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// Number of threads that the machine runs at once.
pub fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// Runs `work` on a pool of `threads` threads. An error of `poll` cancels the work and becomes the result.
///
/// # Errors
/// Errors of `work` and `poll`; [`Error::Internal`] for a panic; [`Error::Host`] if no thread can be started.
pub fn on_pool<T: Send>(
    threads: usize,
    control: &Control,
    mut poll: impl FnMut(&Control) -> Result<()>,
    work: impl FnOnce(&Control) -> Result<T> + Send,
) -> Result<T> {
    let (mut work, mut outcome) = (Some(work), None);
    wait_for(threads, control, &mut poll, &mut || outcome = work.take().map(|work| work(control)))?;
    outcome.unwrap_or_else(|| Err(Error::Internal("the work ended without a result".to_owned())))
}

/// Runs `work` as [`on_pool`] does. Compiled once for all results.
fn wait_for(
    threads: usize,
    control: &Control,
    poll: &mut dyn FnMut(&Control) -> Result<()>,
    work: &mut (dyn FnMut() + Send),
) -> Result<()> {
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(threads)
        .start_handler({
            let set_up = control.thread_setup();
            move |_| set_up()
        })
        .build()
        .map_err(|problem| Error::Host(format!("threads cannot be started: {problem}")))?;
    std::thread::scope(|scope| {
        let (sender, receiver) = channel();
        std::thread::Builder::new()
            .spawn_scoped(scope, move || {
                let outcome = catch_unwind(AssertUnwindSafe(|| pool.install(work)));
                // The receiver waits for this message, so sending cannot fail.
                drop(sender.send(outcome));
            })
            .map_err(|problem| Error::Host(format!("a thread cannot be started: {problem}")))?;
        let mut stopped = None;
        loop {
            match receiver.recv_timeout(POLL_INTERVAL) {
                Ok(Ok(())) => return stopped.map_or(Ok(()), Err),
                Ok(Err(payload)) => return Err(stopped.unwrap_or_else(|| unwound(payload))),
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(Error::Internal("the work ended without a result".to_owned()));
                }
                Err(RecvTimeoutError::Timeout) => {}
            }
            if stopped.is_none()
                && let Err(reason) = poll(control)
            {
                control.cancel();
                stopped = Some(reason);
            }
        }
    })
}

/// The error for the payload of an unwinding: the reason of a stop, otherwise an internal error.
pub fn unwound(payload: Box<dyn std::any::Any + Send>) -> Error {
    stop_reason(payload).unwrap_or_else(|panic| Error::Internal(panic_text(panic.as_ref())))
}

/// The text of a panic's payload.
fn panic_text(payload: &(dyn std::any::Any + Send)) -> String {
    payload
        .downcast_ref::<&str>()
        .map(|text| (*text).to_owned())
        .or_else(|| payload.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "panic without a message".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::Error;

    #[test]
    fn results_have_the_order_of_indices() {
        assert_eq!(
            map(1000, |index| index * index),
            (0..1000).map(|index| index * index).collect::<Vec<_>>()
        );
        assert!(map(0, |index| index).is_empty());
    }

    #[test]
    fn every_item_is_passed_once() {
        let mut numbers = vec![0; 100];
        let items = numbers.chunks_mut(7).collect();
        try_each_of(items, |index, chunk: &mut [usize]| {
            chunk.iter_mut().for_each(|number| *number += 1 + index);
            Ok(())
        })
        .unwrap();
        assert_eq!(numbers, (0..100).map(|index| 1 + index / 7).collect::<Vec<_>>());
    }

    #[test]
    fn without_a_pool_the_loop_stays_on_the_calling_thread() {
        let here = std::thread::current().id();
        assert!(map(100, |_| std::thread::current().id()).into_iter().all(|thread| thread == here));
        assert_eq!(threads(), 1);
    }

    #[test]
    fn the_first_error_is_returned() {
        let odd = |index: usize| {
            if index.is_multiple_of(2) { Ok(index) } else { Err(Error::Data(index.to_string())) }
        };
        assert_eq!(try_map(7, odd).unwrap_err().to_string(), Error::Data("1".to_owned()).to_string());
        assert_eq!(try_map(1, odd).unwrap(), [0]);
    }
}

#[cfg(test)]
mod run_tests {
    use super::*;
    use crate::base::parallel;

    #[test]
    fn loops_in_the_work_use_its_threads() {
        let threads = on_pool(3, &Control::default(), |_| Ok(()), |_| Ok(parallel::threads()));
        assert_eq!(threads.unwrap(), 3);
    }
}
