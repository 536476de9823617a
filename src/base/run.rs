//! Runs a computation on a thread pool while the calling thread polls for a reason to stop.
//!
//! Only the calling thread may use the caller's database connection. The pool ends with the call: threads that outlive
//! it would deadlock forked child processes.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use crate::base::{Control, Error, Result, cores, stop_reason};

/// Time between polls.
pub const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// Whether the platform has threads. Without them all work runs on the calling thread.
pub const HAS_THREADS: bool = !cfg!(target_family = "wasm");

/// Runs `work` on a pool of `threads` threads, by default all cores. An error of `poll` cancels the work and becomes the result.
///
/// # Errors
/// Errors of `work` and `poll`; [`Error::Internal`] for a panic; [`Error::Host`] if no thread can be started.
pub fn on_pool<T: Send>(
    threads: Option<usize>,
    control: &Control,
    mut poll: impl FnMut(&Control) -> Result<()>,
    work: impl FnOnce(&Control) -> Result<T> + Send,
) -> Result<T> {
    let (mut work, mut outcome) = (Some(work), None);
    wait_for(threads, control, &mut poll, &mut || outcome = work.take().map(|work| work(control)))?;
    outcome.unwrap_or_else(|| Err(Error::Internal("the work ended without a result".to_owned())))
}

/// [`on_pool`] without the result type, so that it is compiled only once.
fn wait_for(
    threads: Option<usize>,
    control: &Control,
    poll: &mut dyn FnMut(&Control) -> Result<()>,
    work: &mut (dyn FnMut() + Send),
) -> Result<()> {
    if !HAS_THREADS {
        poll(control)?;
        work();
        return Ok(());
    }
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(threads.unwrap_or_else(cores))
        .start_handler({
            let set_up = control.thread_setup();
            move |_| set_up()
        })
        .build()
        .map_err(|problem| Error::Host(format!("cannot start threads: {problem}")))?;
    std::thread::scope(|scope| {
        let (sender, receiver) = channel();
        std::thread::Builder::new()
            .spawn_scoped(scope, move || {
                let outcome = catch_unwind(AssertUnwindSafe(|| pool.install(work)));
                // The receiver waits for this message, so sending cannot fail.
                drop(sender.send(outcome));
            })
            .map_err(|problem| Error::Host(format!("cannot start a thread: {problem}")))?;
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

/// Converts a panic payload into an error: the stop reason if it is one, otherwise an internal error.
pub fn unwound(payload: Box<dyn std::any::Any + Send>) -> Error {
    stop_reason(payload).unwrap_or_else(|panic| Error::Internal(panic_text(panic.as_ref())))
}

/// The message in a panic payload.
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
    use crate::base::parallel;

    #[test]
    fn loops_in_the_work_use_its_threads() {
        let threads = on_pool(Some(3), &Control::default(), |_| Ok(()), |_| Ok(parallel::threads()));
        assert_eq!(threads.unwrap(), 3);
    }
}
