//! The table `ltr_models`: stores new versions and finds the model of an argument.
//!
//! | file | contents |
//! |---|---|
//! | `read` | names of models and versions; finding a model |
//! | `write`, `transaction` | a new version; its transaction |
//!
//! Rules (docs/reference/rules.md, 5):
//! * 5.7, 5.8: One transaction stores a version. Anything that could not be stored is refused before training.
//! * 5.10: A `model` argument is a BLOB, a name (its highest active version) or `name@version`.

mod read;
mod transaction;
mod write;

pub use read::{NamedVersion, Store, cached_model, check_name, model, named_version};
pub use write::{BaseVersion, NewVersion};
