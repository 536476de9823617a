//! Storing models: with other connections, with triggers and authorizers that leave out changes, with interrupts, failing
//! reads and writes, full disks and killed processes.
//!
//! Long runs: `LTR_LONG=1 cargo test --release --test storing -- --nocapture`.

#![allow(clippy::print_stdout, reason = "long runs print figures; processes report to their test")]
#![allow(
    unsafe_code,
    reason = "hooks, file systems and statements of SQLite are used through the C interface"
)]

mod conflicts;
mod faulty_files;
mod files;
mod hooks;
mod interrupts;
mod kills;
mod limits;
mod locks;
mod refusals;
mod stress;
mod support;
