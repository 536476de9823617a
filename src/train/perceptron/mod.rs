//! The ranking perceptron: rounds of online updates, and bounds of its mistakes.
//!
//! | file | contents |
//! |---|---|
//! | `spec` | options |
//! | `training`, `rounds` | the training; the update of a query |
//! | `bounds` | bounds of mistakes |

mod bounds;
mod rounds;
mod spec;
mod training;

pub use rounds::Perceptron;
pub use training::DEF;
