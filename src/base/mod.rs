//! Used by all other modules: errors, memory limits, threads, cancellation, parameters, caches.
//!
//! | file | contents |
//! |---|---|
//! | `error` | errors, and wording that many share: unknown names, wrong values, memory, time limit |
//! | `nearest_name` | "did you mean" |
//! | `column_advice` | options for column roles in messages |
//! | `param/` | options as JSON |
//! | `memory`, `cache`, `temporary_file` | bytes of a call; bounded caches; unnamed files |
//! | `run`, `parallel` | the thread pool of a call; loops on it, number of cores |
//! | `control` | cancellation and progress |

/// Names of a table's definitions, in its order.
macro_rules! names_of {
    ($table:expr) => {
        &{
            let mut names = [""; $table.len()];
            let mut index = 0;
            while index < names.len() {
                names[index] = $table[index].name;
                index += 1;
            }
            names
        }
    };
}
pub(crate) use names_of;

pub mod cache;
pub mod column_advice;
pub mod control;
pub mod error;
pub mod memory;
mod nearest_name;
pub mod parallel;
pub mod param;
pub mod run;
pub mod temporary_file;

pub use cache::BoundedCache;
pub use column_advice::{ColumnAdvice, Origin, columns_text, quote};
pub use control::{Control, Ticks, checkpoint, each_in_memory, stop_reason, stoppable, stopped, unwind};
pub use error::{Error, Result, shorten};
pub(crate) use error::{FINITE_OR_NAN, check_size, require};
pub use memory::{
    FEWER_LANDMARKS, Memory, Reservation, bytes_of, grow, grown_bytes, heap_bytes, matrix_bytes, zeros,
};
pub use nearest_name::nearest;
pub use parallel::cores;
pub use param::{Defaults, LARGEST_BANDWIDTH, Named, POSITIVE, Params, Rule, stored_model};
pub(crate) use param::{
    LONGEST_VECTOR, Strict, each_element, json_problem, long_integer, most_elements, named, numbers,
    text_number, whole_number,
};
pub use run::{HAS_THREADS, POLL_INTERVAL, on_pool, unwound};
pub use temporary_file::TemporaryFile;
