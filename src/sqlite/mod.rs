//! The rim: everything that speaks to SQLite. One small file per SQL function or family.
//!
//! To add a scalar function, write its `ScalarFunction` and add it to `SCALARS`; to add a table-valued one, implement
//! `TableFunction` and add it to `TABLES`.

mod about;
pub mod aggregate;
#[cfg(feature = "loadable")]
mod entry;
mod function;
mod guard;
mod inspect;
mod letor;
mod measure;
pub mod options;
mod rank;
mod recommend;
mod registry;
mod request;
mod roles;
mod rows;
mod score;
mod source;
mod state;
mod store;
mod train;
mod update;
mod value;
mod vector;
mod vtab;
mod work;

use rusqlite::Connection;

use function::ScalarFunction;
use state::State;
use vtab::TableFunction;

/// Every scalar function.
const SCALARS: &[&ScalarFunction] = &[
    &train::TRAIN,
    &train::FIT,
    &update::UPDATE,
    &score::SCORE,
    &score::SCORE_FOR_QUERY,
    &vector::VEC,
    &vector::VEC_TO_JSON,
    &inspect::INFO,
    &about::VERSION,
    &about::DEBUG,
];

/// Every table-valued function.
const TABLES: &[&dyn TableFunction] = &[
    &rank::Rank,
    &measure::Evaluate,
    &recommend::Recommend,
    &recommend::FactorTable,
    &inspect::Weights,
    &inspect::Explain,
    &inspect::Neighbors,
    &inspect::TrainingLog,
    &registry::Algorithms,
    &registry::Metrics,
    &registry::OptionTable,
    &letor::Letor,
];

/// Adds all functions of this crate to a connection.
///
/// # Errors
/// Those of the database.
pub fn register(connection: &Connection) -> rusqlite::Result<()> {
    let state = State::new();
    for function in SCALARS {
        function::register(connection, function, &state)?;
    }
    for function in TABLES {
        vtab::register(connection, *function, &state)?;
    }
    aggregate::register(connection)
}
