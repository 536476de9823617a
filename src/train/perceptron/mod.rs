//! The ranking perceptron: rounds of online updates, and bounds of its mistakes.

mod bounds;
mod rounds;
mod spec;
mod training;

pub use rounds::Perceptron;
pub use training::DEF;
