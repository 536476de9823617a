//! The rim: everything that speaks to SQLite.

pub mod guard;
