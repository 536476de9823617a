//! Runs the code of the pages: the README's sessions and the worked examples of `sql/`.
#![allow(clippy::print_stderr, reason = "a test that is skipped prints why")]

#[path = "../../examples/common/mod.rs"]
mod common;
mod readme;
mod sql_examples;
