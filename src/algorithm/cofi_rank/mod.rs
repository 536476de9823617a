//! x
pub mod biases;
