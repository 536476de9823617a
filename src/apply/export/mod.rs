//! A model as text: JSON, SQL, and the formats of search engines and of XGBoost.

mod formats;
mod json;
mod sql;
mod sql_columns;
mod term;
mod text;
mod trees;

pub use formats::export;
pub use json::{FindName, not_a_model, read as read_json};
pub use term::Format;
