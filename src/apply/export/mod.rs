//! A model as text: JSON, SQL, and the formats of search engines and of XGBoost.

mod dispatch;
mod format;
mod json;
mod linear;
mod sql;
mod sql_columns;
mod term;
mod text;
mod trees;

pub use dispatch::export;
pub use format::Format;
pub use json::{FindName, not_a_model, read as read_json};
