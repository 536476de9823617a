//! Solvers that keep numbers per pair of documents.
//!
//! They share score space (`pairs`) and the best point with its certified gap (`progress`), and nothing of the
//! optimization with Newton's method, so they check it and each other in the tests.

mod admm;
mod dual_descent;
#[cfg(test)]
mod fixture;
mod interior_point;
mod laplacian;
mod pairs;
mod progress;

pub use admm::ADMM;
pub use dual_descent::DUAL_DESCENT;
pub use interior_point::INTERIOR_POINT;
