//! What needs no SQL: the Rust API, solvers against known optima, and trainings against independent implementations.
//!
//! Runs with and without the feature `sqlite`.
#![allow(
    clippy::expect_used,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "helpers of tests; figures are shown"
)]

mod certified;
mod golden;
mod mixed_queries;
mod rust_api;
mod solvers;

/// Whether `LTR_LONG` asks for the long forms of the tests.
fn is_long() -> bool {
    std::env::var_os("LTR_LONG").is_some()
}

/// A third of the cases of a property, with `LTR_LONG=1` all.
fn cases(all: u32) -> u32 {
    if is_long() { all } else { all / 3 }
}
