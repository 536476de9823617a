//! Everything between SQLite's C interface and the functions: loading, panics, values, virtual tables, threads.

#[cfg(feature = "loadable")]
mod entry;
pub mod function;
pub mod guard;
pub mod state;
pub mod value;
pub mod vtab;
pub mod work;
