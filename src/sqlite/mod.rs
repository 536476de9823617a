//! The rim: everything that speaks to SQLite.

pub mod aggregate;
pub mod guard;
