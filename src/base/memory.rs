//! The memory of one call (rule 13.11). Bytes are reserved before they are allocated and released when the reservation is dropped.
//!
//! Reservations are estimates of the large allocations: rows, kernel spaces, prepared queries, workspaces of solvers,
//! results. Each is an upper bound, next to its allocation. Small allocations are not counted. Results do not
//! depend on the limit: work that does not fit is refused, never reduced.

use std::fmt::Display;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock};

use crate::base::{Error, Result};

/// Advice for a kernel that takes too much memory.
pub const FEWER_LANDMARKS: &str = "use fewer landmarks (option 'landmarks'), or a linear kernel";

/// The environment variable that limits the memory of every call in the process.
const PROCESS_LIMIT: &str = "SQLITE_LTR_MAX_MEMORY";

/// The memory limit of every call in the process, which the host sets before its first call. Text that is not an
/// integer counts as 0.
static CEILING: LazyLock<u64> =
    LazyLock::new(|| std::env::var(PROCESS_LIMIT).map_or(u64::MAX, |text| text.parse().unwrap_or(0)));

/// Bytes in use and their limit (option `max_memory`). Clones share the count.
#[derive(Debug, Clone)]
pub struct Memory(Arc<Counters>);

#[derive(Debug)]
struct Counters {
    /// `u64::MAX` without a limit.
    allowed: u64,
    used: AtomicU64,
}

/// Bytes that are in use until this is dropped.
#[derive(Debug, Default)]
pub struct Reservation {
    memory: Memory,
    bytes: u64,
}

impl Default for Memory {
    fn default() -> Self {
        Self::limited(None)
    }
}

impl Memory {
    /// With no bytes in use. `None` means the process limit.
    pub fn limited(allowed: Option<u64>) -> Self {
        let allowed = allowed.unwrap_or(u64::MAX).min(*CEILING);
        Self(Arc::new(Counters { allowed, used: AtomicU64::new(0) }))
    }

    /// Whether there is a limit.
    pub fn is_limited(&self) -> bool {
        self.0.allowed != u64::MAX
    }

    /// Bytes that can still be reserved; effectively unlimited without a limit.
    pub fn available(&self) -> u64 {
        self.0.allowed.saturating_sub(self.0.used.load(Ordering::Relaxed))
    }

    /// A reservation of 0 bytes, to be resized.
    pub fn nothing(&self) -> Reservation {
        Reservation { memory: self.clone(), bytes: 0 }
    }

    /// Reserves bytes for `what`. `way_out`: advice if they exceed the limit.
    ///
    /// # Errors
    /// [`Error::Memory`] if more bytes would be in use than are allowed.
    pub fn reserve(&self, bytes: u64, what: impl Display, way_out: &'static str) -> Result<Reservation> {
        let mut reservation = self.nothing();
        reservation.resize(bytes, what, way_out)?;
        Ok(reservation)
    }
}

impl Reservation {
    /// Adds bytes.
    ///
    /// # Errors
    /// As [`Self::resize`].
    pub fn add(&mut self, bytes: u64, what: impl Display, way_out: &'static str) -> Result<()> {
        self.resize(self.bytes.saturating_add(bytes), what, way_out)
    }

    /// Changes the number of bytes. On error, nothing changes.
    ///
    /// # Errors
    /// [`Error::Memory`] if more bytes would be in use than are allowed.
    pub fn resize(&mut self, bytes: u64, what: impl Display, way_out: &'static str) -> Result<()> {
        let Counters { allowed, used } = &*self.memory.0;
        let allowed = *allowed;
        let others = |used: u64| used.saturating_sub(self.bytes);
        let fits = |used: u64| others(used).checked_add(bytes).filter(|sum| *sum <= allowed);
        match used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, fits) {
            Ok(_) => self.bytes = bytes,
            Err(used) => {
                let (what, used) = (what.to_string(), others(used));
                let limit = if allowed == *CEILING { PROCESS_LIMIT } else { "max_memory" };
                return Err(Error::Memory { what, needed: bytes, used, allowed, way_out, limit });
            }
        }
        Ok(())
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        self.memory.0.used.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

/// A vector of `count` zeros.
///
/// # Errors
/// [`Error::Host`] if the allocation fails, where a plain vector would abort the process.
pub fn zeros<T: Clone + Default>(count: usize) -> Result<Vec<T>> {
    let mut values = Vec::new();
    grow(&mut values, count)?;
    values.resize(count, T::default());
    Ok(values)
}

/// Reserves capacity for more values.
///
/// # Errors
/// As [`zeros`].
pub fn grow<T>(values: &mut Vec<T>, more: usize) -> Result<()> {
    let bytes = bytes_of::<T>(values.len().saturating_add(more));
    values.try_reserve(more).map_err(|_| {
        Error::Host(format!("the system cannot allocate {bytes} bytes; see the option 'max_memory'"))
    })
}

/// Bytes of `count` values of a type.
pub fn bytes_of<T>(count: usize) -> u64 {
    (count as u64).saturating_mul(size_of::<T>() as u64)
}

/// Bytes of a matrix of `f64`.
pub fn matrix_bytes(rows: usize, columns: usize) -> u64 {
    bytes_of::<f64>(rows).saturating_mul(columns as u64)
}

/// Bytes that a vector takes after `more` values are pushed: its capacity doubles if they do not fit.
pub fn grown_bytes<T>(values: &Vec<T>, more: usize) -> u64 {
    let needed = values.len() + more;
    let doubled =
        if needed <= values.capacity() { values.capacity() } else { needed.max(2 * values.capacity()) };
    bytes_of::<T>(doubled)
}

/// Bytes that the allocator takes for a block on the heap; 0 without one.
pub fn heap_bytes(len: usize) -> u64 {
    if len == 0 { 0 } else { (len as u64 + 8).next_multiple_of(16).max(32) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_refused_beyond_the_limit_and_freed_when_dropped() {
        let memory = Memory::limited(Some(100));
        let mut rows = memory.reserve(60, "reading", "read less").unwrap();
        let error = memory.clone().reserve(50, "fitting", "fit less").unwrap_err().to_string();
        assert_eq!(
            error,
            "fitting needs 50 bytes besides 60 in use, more than the 100 of the option 'max_memory'; fit less, or raise max_memory"
        );
        rows.resize(40, "reading", "").unwrap();
        assert_eq!(memory.available(), 60);
        assert!(rows.resize(101, "reading", "").is_err() && memory.available() == 60);
        drop(rows);
        assert_eq!(memory.available(), 100);
    }

    #[test]
    fn nothing_is_refused_without_a_limit() {
        let memory = Memory::default();
        let _all = memory.reserve(u64::MAX - 1, "all", "").unwrap();
        assert!(!memory.is_limited() && memory.reserve(1, "one more", "").is_ok());
    }

    #[test]
    fn memory_that_the_system_does_not_have_is_an_error() {
        assert!(matches!(zeros::<f64>(usize::MAX / 16), Err(Error::Host(_))));
        assert_eq!(zeros::<f64>(2).unwrap(), [0.0; 2]);
    }

    #[test]
    fn a_vector_is_counted_with_its_capacity() {
        let mut values: Vec<f64> = Vec::with_capacity(4);
        assert_eq!((grown_bytes(&values, 4), grown_bytes(&values, 5)), (32, 64));
        values.extend([0.0; 4]);
        assert_eq!(grown_bytes(&values, 1), 64);
    }
}
