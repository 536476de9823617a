//! XGBoost's JSON: models, which are read and written, and dumps, which are read.
//!
//! | file | contents |
//! |---|---|
//! | `read`, `write` | models |
//! | `dump` | dumps |

pub(super) mod dump;
mod read;
mod write;

pub(super) use read::read;
pub(super) use write::write;
