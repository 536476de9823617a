//! Boosted oblivious trees, and their number by early stopping.

pub mod early;
mod settings;
mod spec;

pub use settings::{QueryColumns, Use};
pub use spec::{Boosted, DEF, LAMBDAMART, TreeCount, TreesSpec};
