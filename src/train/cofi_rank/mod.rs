//! Collaborative ranking of ratings and of implicit feedback.
//!
//! | file | contents |
//! |---|---|
//! | `spec`, `training`, `model` | ratings: options, training, model |
//! | `biases`, `factors` | the fit: means of users and items; factors |
//! | `select_lambda` | lambda for ratings |
//! | `implicit`, `implicit_training`, `implicit_fit`, `implicit_select` | the same for implicit feedback |

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
