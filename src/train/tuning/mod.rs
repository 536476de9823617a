//! Choosing among settings by cross-validation.

mod folds;
mod search;
mod settings;

pub use search::{Score, Search, SearchRows};
pub use settings::Choice;
