//! Scratch memory of a thread for the computations of a loss, so that a pass over the queries allocates nothing.

use std::cell::RefCell;

thread_local! {
    static SCRATCH: RefCell<Vec<f64>> = const { RefCell::new(Vec::new()) };
}

/// Calls `work` with `len` numbers, which may have any value. `work` must not call this function.
pub fn with_scratch<T>(len: usize, work: impl FnOnce(&mut [f64]) -> T) -> T {
    SCRATCH.with_borrow_mut(|scratch| {
        if scratch.len() < len {
            scratch.resize(len, 0.0);
        }
        work(&mut scratch[..len])
    })
}
