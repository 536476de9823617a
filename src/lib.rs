//! Learning to rank inside SQLite.

pub mod error;
pub mod math;
pub mod metric;
pub mod solve;
pub mod sqlite;

pub use error::{Error, Result};
