//! Loops on the threads of the pool, or on the calling thread if it belongs to no pool; the number of cores ([`cores`]).
//! The loop itself is compiled once for all callers: each copy that a generic parallel iterator makes takes about 8 kB of
//! the library.

use std::sync::{Mutex, MutexGuard, PoisonError};

use rayon::prelude::*;

use crate::base::Result;

/// Number of threads that the machine can run in parallel.
pub fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// Number of threads that share the loops of the calling thread: 1 outside of a pool.
pub fn threads() -> usize {
    // Without a pool rayon would start its global one, which forked child processes wait for forever.
    if rayon::current_thread_index().is_some() { rayon::current_num_threads() } else { 1 }
}

/// Locks a mutex, even if it is poisoned.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
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
/// The first error in the order of the items. `work` is still called for the other items.
pub fn try_each_of<T: Send>(items: Vec<T>, work: impl Fn(usize, T) -> Result<()> + Sync) -> Result<()> {
    map_of(items, work).into_iter().collect()
}

/// The results of `work` for 0, 1, ..., count - 1, in this order.
pub fn map<T: Send>(count: usize, work: impl Fn(usize) -> T + Sync) -> Vec<T> {
    let slots: Vec<Mutex<Option<T>>> = (0..count).map(|_| Mutex::new(None)).collect();
    each(count, &|index| {
        let result = work(index);
        *lock(&slots[index]) = Some(result);
    });
    // If `work` had panicked, this point would not be reached, so no slot is empty.
    slots.into_iter().filter_map(|slot| slot.into_inner().unwrap_or_else(PoisonError::into_inner)).collect()
}

/// The results of `work` for the number of each item and the item, in the order of the items.
pub fn map_of<T: Send, R: Send>(items: Vec<T>, work: impl Fn(usize, T) -> R + Sync) -> Vec<R> {
    let items: Vec<Mutex<Option<T>>> = items.into_iter().map(|item| Mutex::new(Some(item))).collect();
    let take = |index: usize| lock(&items[index]).take();
    map(items.len(), |index| take(index).map(|item| work(index, item))).into_iter().flatten().collect()
}

/// Calls `work` with the number of each item and the item, in any order.
pub fn each_of<T: Send>(items: Vec<T>, work: impl Fn(usize, T) + Sync) {
    map_of(items, work);
}

/// The results of `work` for 0, 1, ..., count - 1, in this order.
///
/// # Errors
/// The first error in this order. `work` is still called for the other items; it checks for cancellation itself.
pub fn try_map<T: Send>(count: usize, work: impl Fn(usize) -> Result<T> + Sync) -> Result<Vec<T>> {
    map(count, work).into_iter().collect()
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
