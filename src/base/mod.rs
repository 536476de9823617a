//! What every other module may use: errors, limits of memory, threads, cancellation, parameters, caches.

pub mod cache;
pub mod column_advice;
pub mod control;
pub mod error;
pub mod memory;
pub mod parallel;
pub mod param;
pub mod run;
pub mod temporary_file;

pub use cache::BoundedCache;
pub use column_advice::{ColumnAdvice, Origin, columns_text};
pub use control::{Control, Ticks, checkpoint, each_in_memory, stop_reason, stoppable, stopped, unwind};
pub(crate) use error::require;
pub use error::{Error, Result, nearest, shorten};
pub use memory::{
    FEWER_LANDMARKS, Memory, Reservation, bytes_of, grow, grown_bytes, heap_bytes, matrix_bytes, zeros,
};
pub use param::{Defaults, Params, Rule, stored_model};
pub(crate) use param::{LONGEST_VECTOR, Strict, json_problem, named, numbers, whole_number};
pub use run::{POLL_INTERVAL, cores, on_pool, unwound};
pub use temporary_file::TemporaryFile;
