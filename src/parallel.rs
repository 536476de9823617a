//! Loops on the threads of the pool. The loop itself is compiled once for all callers: each copy that a generic parallel
//! iterator makes takes about 8 kB of the library.

use std::sync::{Mutex, PoisonError};

use rayon::prelude::*;

use crate::error::Result;

/// Calls `work` with 0, 1, ..., count - 1, in any order.
pub fn each(count: usize, work: &(dyn Fn(usize) + Sync)) {
    (0..count).into_par_iter().for_each(work);
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

/// The results of `work` for 0, 1, ..., count - 1, in this order.
///
/// # Errors
/// The first error in this order. `work` is called for the others all the same: it checks itself for cancellation.
pub fn try_map<T: Send>(count: usize, work: impl Fn(usize) -> Result<T> + Sync) -> Result<Vec<T>> {
    map(count, work).into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Error;

    #[test]
    fn results_have_the_order_of_indices() {
        assert_eq!(
            map(1000, |index| index * index),
            (0..1000).map(|index| index * index).collect::<Vec<_>>()
        );
        assert!(map(0, |index| index).is_empty());
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
