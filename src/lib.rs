//! Learning to rank inside SQLite.

pub mod data;
pub mod error;
pub mod loss;
pub mod math;
pub mod metric;
pub mod option;
pub mod smoothing;
pub mod solve;
pub mod sqlite;

pub use error::{Error, Result};
