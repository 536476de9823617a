//! Collaborative ranking of ratings and of implicit feedback.

mod biases;
mod factors;
mod implicit;
mod implicit_fit;
mod implicit_select;
mod implicit_training;
mod model;
mod select_lambda;
mod spec;
mod training;

pub use training::DEF;
