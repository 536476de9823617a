//! Everything between SQLite's C interface and the functions: loading, panics, values, virtual tables, threads.

pub mod busy;
#[cfg(feature = "loadable")]
mod entry;
pub mod function;
pub mod guard;
pub mod probe;
mod progress;
pub mod run_limits;
pub mod signature;
pub mod sql;
pub mod state;
pub mod statements;
pub mod usage;
pub mod value;
pub mod vtab;
pub mod watchdog;
