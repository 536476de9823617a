#![doc = include_str!("../README.md")]

pub mod algorithm;
pub mod api;
pub mod arrange;
mod cache;
pub mod control;
pub mod data;
pub mod error;
pub mod evaluate;
pub mod fit;
pub mod kernel;
pub mod loss;
pub mod math;
pub mod metric;
pub mod model;
pub mod optim;
pub mod options;
pub mod param;
pub mod run;
pub mod select;
pub mod smoothing;
pub mod solve;
pub mod space;
#[cfg(feature = "sqlite")]
pub mod sqlite;

pub use api::*;
pub use data::Id;
pub use error::{Error, Result};
#[cfg(feature = "sqlite")]
pub use sqlite::register;
