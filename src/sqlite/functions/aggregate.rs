//! The metrics as SQL aggregates, usable as window functions too.
//!
//! Rules (docs/reference/rules.md, 8):
//! * 8.1: `f(judgment, score)`, then the metric's own arguments, then `k` if the metric has a cutoff, then options.
//! * 8.2: A judgment is a relevance or a JSON array of subtopics. Values that are not finite numbers are errors.
//! * 8.3: `k` is a whole number from 1. NULL options are no options.
//! * 8.4: The arguments after the score are the same in every row of a group.
//! * 8.5: A group without rows, or for which the metric is undefined, gives NULL.
//! * 8.6: Rows are counted from 1 as they enter the group.
//! * 8.7: A window frame costs as much as a group of its size.

mod judgment;
mod settings;
mod state;

use std::ffi::c_int;
use std::sync::Arc;

use rusqlite::Connection;
use rusqlite::functions::FunctionFlags;

use crate::cost::metric::{METRICS, MetricDef, SUBTOPIC_METRICS};
use crate::sqlite::glue::state::State;
use crate::sqlite::glue::usage;
use judgment::{Coverage, Kind, Relevance};
use state::Measure;

pub use settings::metric_options;

/// Registers the aggregates of all metrics.
///
/// # Errors
/// Those of the database.
pub fn register(connection: &Connection, state: &Arc<State>) -> rusqlite::Result<()> {
    for def in relevance_functions() {
        register_kind(connection, state, Relevance(def))?;
    }
    for def in SUBTOPIC_METRICS {
        register_kind(connection, state, Coverage(def))?;
    }
    Ok(())
}

/// One definition per function: metrics that differ only in their mean over queries have the same function.
fn relevance_functions() -> impl Iterator<Item = &'static MetricDef> {
    let is_first = |index: usize| {
        let name = METRICS[index].function;
        METRICS[..index].iter().all(|earlier| earlier.function != name)
    };
    METRICS.iter().enumerate().filter(move |(index, _)| is_first(*index)).map(|(_, def)| *def)
}

/// Registers one function with every number of arguments it takes.
fn register_kind<K: Kind>(connection: &Connection, state: &Arc<State>, kind: K) -> rusqlite::Result<()> {
    let flags =
        FunctionFlags::SQLITE_UTF8 | FunctionFlags::SQLITE_DETERMINISTIC | FunctionFlags::SQLITE_INNOCUOUS;
    let layout = kind.layout();
    for arguments in layout.least()..=layout.most() {
        let measure = Measure::new(kind, state);
        connection.create_window_function(layout.function, arguments as c_int, flags, measure)?;
    }
    usage::answer_aggregate(connection, layout.function, &layout.parameters())
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
