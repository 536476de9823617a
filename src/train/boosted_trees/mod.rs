//! Boosted oblivious trees, and their number by early stopping.
//!
//! | file | contents |
//! |---|---|
//! | `spec`, `settings` | options; choices in reports |
//! | `training`, `boosted` | the training; fitted ensembles |
//! | `early` | number of trees |
//! | `query_columns` | query features as columns |

mod boosted;
pub mod early;
mod query_columns;
mod settings;
mod spec;
mod training;

pub use boosted::Boosted;
pub use query_columns::{QueryColumns, Use};
pub use spec::{TreeCount, TreesSpec};
pub use training::{DEF, LAMBDAMART};
