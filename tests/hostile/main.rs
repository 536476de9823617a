//! Bytes from outside are hostile: models, packs, answers and states that are damaged or forged give errors or finite numbers.
#![allow(clippy::print_stdout, reason = "figures are shown")]
#![allow(unsafe_code, reason = "the allocator that counts bytes")]
#![allow(clippy::unwrap_used, reason = "helpers of tests")]

mod allocated;
mod buckets;
mod full_text;
mod imported;
mod models;
mod mutated;
#[allow(dead_code, reason = "the targets of fuzzing use the rest")]
#[path = "../../fuzz/src/pieces.rs"]
mod pieces;
mod seeds;

/// Whether `LTR_LONG` asks for the long forms of the tests.
fn is_long() -> bool {
    std::env::var_os("LTR_LONG").is_some()
}
