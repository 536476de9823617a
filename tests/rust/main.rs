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
