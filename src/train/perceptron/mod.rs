//! The ranking perceptron: rounds of online updates, and bounds of its mistakes.

mod bounds;
mod rounds;
mod spec;

pub use rounds::Perceptron;
pub use spec::{DEF, PerceptronSpec};
