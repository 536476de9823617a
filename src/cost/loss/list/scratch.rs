//! Memory of a thread for what a loss computes on its way, so that a pass over the queries allocates nothing.

use std::cell::RefCell;

thread_local! {
    static SCRATCH: RefCell<Vec<f64>> = const { RefCell::new(Vec::new()) };
}

/// Calls `work` with so many numbers of any value. It must not call this function again.
pub(super) fn with_scratch<T>(len: usize, work: impl FnOnce(&mut [f64]) -> T) -> T {
    SCRATCH.with_borrow_mut(|scratch| {
        if scratch.len() < len {
            scratch.resize(len, 0.0);
        }
        work(&mut scratch[..len])
    })
}
