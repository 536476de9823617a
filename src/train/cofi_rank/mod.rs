//! Collaborative ranking of ratings and of implicit feedback.

mod biases;
mod factors;
mod implicit;
mod implicit_select;
mod select_lambda;
mod spec;

pub use spec::DEF;
