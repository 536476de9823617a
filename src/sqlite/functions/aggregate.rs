//! The metrics as SQL aggregates, usable as window functions too.
//!
//! Contract of every function here:
//!
//! 1. `f(judgment, score)`, then the arguments of the metric's own (`neutral, half_life` of `ltr_eru`), then `k` if
//!    the metric takes a cutoff, then options as JSON text. The last two are optional; any other number of
//!    arguments is SQLite's own error.
//! 2. The judgment is a relevance, or a JSON array of subtopics. Relevance and score are INTEGER, REAL, or TEXT that
//!    is a well-formed number; NULL, BLOB, other text and infinities are errors that name argument and row.
//! 3. `k` is a whole number from 1; NULL is not one. NULL options are no options.
//! 4. What stands behind the score is the same in every row of a group.
//! 5. No row, and a group for which the metric is undefined: NULL.
//! 6. Every error begins with the function's name; rows are counted as they enter the group, from 1.
//! 7. As a window function a frame costs as much as a group of its size.

mod judgment;
mod settings;
mod state;

use std::ffi::c_int;

use rusqlite::Connection;
use rusqlite::functions::FunctionFlags;

use crate::metric::{METRICS, MetricDef, SUBTOPIC_METRICS};
use judgment::{Coverage, Kind, Relevance};
use state::Measure;

pub use settings::metric_options;

/// Registers every metric aggregate of the tables.
///
/// # Errors
/// What SQLite says if it refuses a function.
pub fn register(connection: &Connection) -> rusqlite::Result<()> {
    for def in relevance_functions() {
        register_kind(connection, Relevance(def))?;
    }
    for def in SUBTOPIC_METRICS {
        register_kind(connection, Coverage(def))?;
    }
    Ok(())
}

/// One definition for each function: metrics that differ only in their mean over queries share one.
fn relevance_functions() -> impl Iterator<Item = &'static MetricDef> {
    let first_of_its_name = |place: usize| {
        let name = METRICS[place].function;
        METRICS[..place].iter().all(|earlier| earlier.function != name)
    };
    METRICS.iter().enumerate().filter(move |(place, _)| first_of_its_name(*place)).map(|(_, def)| *def)
}

/// Registers one function with every number of arguments it takes.
fn register_kind<K: Kind>(connection: &Connection, kind: K) -> rusqlite::Result<()> {
    let flags =
        FunctionFlags::SQLITE_UTF8 | FunctionFlags::SQLITE_DETERMINISTIC | FunctionFlags::SQLITE_INNOCUOUS;
    let layout = kind.layout();
    for arguments in layout.least()..=layout.most() {
        let measure = Measure::new(kind);
        connection.create_window_function(layout.function, arguments as c_int, flags, measure)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_have_the_prefix_and_no_name_occurs_twice() {
        let mut names: Vec<&str> = relevance_functions().map(|def| def.function).collect();
        names.extend(SUBTOPIC_METRICS.iter().map(|def| def.function));
        assert!(names.iter().all(|name| name.starts_with("ltr_")));
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count);
    }
}
