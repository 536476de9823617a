//! Fitting one ranking function: spaces and kernels, query weights, optimization problems and their solvers.

pub mod fit;
pub mod kernel;
pub mod smoothing;
pub mod solve;
pub mod space;
