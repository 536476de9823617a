//! Assigns roles to the columns of a source.

mod choice;
mod log;
mod messages;
mod names;

pub use choice::ColumnChoice;
pub use log::{interleaved_columns, log_columns};
pub use messages::LikeIds;
pub use names::{is_default_name, is_role_name};
