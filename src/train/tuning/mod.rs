//! Choosing among settings by cross-validation.

mod choice;
mod folds;
mod search;
mod settings;

pub use choice::Choice;
pub use search::{Score, Search, SearchRows, fitted_model, scores_of};
