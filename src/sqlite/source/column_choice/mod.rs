//! Assigns roles to the columns of a source.
//!
//! | file | contents |
//! |---|---|
//! | `choice` | by the option `columns`, the model or the name |
//! | `names` | default names of roles |
//! | `log` | columns of a click log |
//! | `messages` | errors about roles |

mod choice;
mod log;
mod messages;
mod names;

pub use choice::ColumnChoice;
pub use log::{interleaved_columns, log_columns};
pub use messages::LikeIds;
pub use names::{is_default_name, is_role_name};
