//! The layer between SQLite's C interface and the functions: loading, panics, values, virtual tables, threads.
//!
//! | file | contents |
//! |---|---|
//! | `entry`, `linked` | entry points of the loadable extension and of the static library |
//! | `function`, `vtab` | scalar and table-valued functions |
//! | `guard`, `usage`, `signature` | panics and errors; wrong calls, with a missing argument in FROM in `vtab`; parameters in text |
//! | `value`, `vector_argument` | SQL values; vectors |
//! | `state` | cached models and functions of a connection |
//! | `sql`, `statements`, `retry_busy` | statements; statements kept for the next call; locks |
//! | `probe`, `run_limits`, `progress` | interrupts; threads and time limit; progress output |

#[cfg(feature = "loadable")]
mod entry;
pub mod function;
pub mod guard;
#[cfg(feature = "linked")]
mod linked;
pub mod probe;
pub mod progress;
mod retry_busy;
pub mod run_limits;
pub mod signature;
pub mod sql;
pub mod state;
pub mod statements;
pub mod usage;
pub mod value;
mod vector_argument;
pub mod vtab;

pub use function::{PURE, ScalarCall, ScalarFunction};
pub use probe::{Database, interruptible, reading};
pub use retry_busy::retry_busy;
pub use run_limits::{RunLimits, call_options, run_fit, within_time};
pub use state::{Asked, BlobLocation, ModelHandle, State};
pub use statements::{Ticket, is_first_version};
pub(crate) use value::row;
pub use value::{
    Output, category_value, describe, from_host, id_of, id_value, message, number_of, row_id, text_argument,
    whole_of,
};
pub use vector_argument::{query_value, query_values, vector_argument};
pub use vtab::{Call, OutputRows, TableFunction, ready};
