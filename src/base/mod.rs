//! What every other module may use: errors, limits of memory, threads, cancellation, parameters, caches.

pub mod cache;
pub mod column_advice;
pub mod control;
pub mod error;
pub mod memory;
pub mod parallel;
pub mod param;
pub mod run;
pub mod temporary_file;
