//! Choosing among settings by cross-validation.
//!
//! | file | contents |
//! |---|---|
//! | `settings` | combinations of values |
//! | `search`, `folds` | their cross-validation; rows of each fold |
//! | `choice` | the chosen setting |

mod choice;
mod folds;
mod search;
mod settings;

pub use choice::Choice;
pub use search::{Score, Search, SearchRows, fitted_model, scores_of};
