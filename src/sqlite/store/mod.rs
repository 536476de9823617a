//! Stored models: reading them, versions, and writing in one transaction.

mod read;
mod transaction;
mod write;

pub use read::{NamedVersion, Store, cached_model, check_name, model, named_version};
pub use write::{BaseVersion, NewVersion};
