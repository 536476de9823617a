//! Calls with long texts and BLOBs (rule 13.5): time is about linear in each argument, and a call hears an interrupt.
//!
//! The walk takes each function of the connection, each of its arguments and each input of `inputs.rs`, at a size and at
//! twice that size. `cargo test` takes a share of the inputs, and measures CPU time: only calls that take long can
//! grow too fast, and these are measured again until they do not. The whole walk counts instructions (`counted.rs`), so it
//! has the same outcome on any machine:
//!
//! ```text
//! LTR_LONG=1 cargo test --release --test growth -- --nocapture
//! ```
//!
//! `LTR_FUNCTION` names a function to walk alone, `LTR_LIBRARY` a loadable library instead of this crate.
#![allow(clippy::print_stdout, reason = "figures are shown")]
#![allow(unsafe_code, reason = "the clock of the process, and a name for valgrind")]
#![allow(clippy::format_push_string, clippy::format_collect, reason = "short texts of tests")]

mod calls;
mod counted;
mod inputs;
mod models;
mod timed;

use std::collections::BTreeSet;

use rusqlite::Connection;
use rusqlite::types::Value;

use calls::{Call, Kind, calls, connect};
use inputs::{Input, inputs};

/// A call with one input.
struct Point {
    name: String,
    sql: String,
    input: Input,
}

/// How many of the inputs a walk takes. Texts of sources and options go through the same code in each function, so each
/// function gets a share of them, and all functions together get all of them.
#[derive(Clone, Copy)]
struct Share {
    sources: usize,
    options: usize,
}

const SHORT: Share = Share { sources: 12, options: 56 };
const LONG: Share = Share { sources: 3, options: 9 };

/// All points of the walk.
fn points(connection: &Connection, share: Share) -> Vec<Point> {
    let chosen = std::env::var("LTR_FUNCTION").ok();
    let mut points = Vec::new();
    let is_chosen = |function: &str| chosen.as_ref().is_none_or(|name| name == function);
    for (place, call) in calls().iter().enumerate().filter(|(_, call)| is_chosen(&call.function)) {
        let Call { function, sql, number, kind, .. } = call;
        let one_in = match kind {
            Kind::Source => share.sources,
            Kind::Options => share.options,
            _ => 1,
        };
        for (index, input) in inputs(connection, call).into_iter().enumerate() {
            if index % one_in == place % one_in {
                points.push(Point {
                    name: format!("{function} ?{number} {}", input.name),
                    sql: sql.clone(),
                    input,
                });
            }
        }
    }
    points.extend(models::points(&is_chosen));
    points
}

/// Runs a statement to its end.
fn run(connection: &Connection, sql: &str, input: &Value) -> rusqlite::Result<()> {
    let mut statement = connection.prepare(sql)?;
    let mut rows = statement.query([input])?;
    while rows.next()?.is_some() {}
    Ok(())
}

/// The functions of a connection.
fn functions(connection: &Connection) -> BTreeSet<String> {
    let sql = "SELECT name FROM pragma_function_list WHERE name LIKE 'ltr!_%' ESCAPE '!' \
               UNION SELECT name FROM pragma_module_list WHERE name LIKE 'ltr!_%' ESCAPE '!'";
    let mut statement = connection.prepare(sql).expect("lists of functions");
    let names = statement.query_map([], |row| row.get(0)).expect("rows");
    names.map(|name| name.expect("a name")).collect()
}

#[test]
fn each_function_has_a_call_that_works() {
    let connection = connect();
    let calls = calls();
    for function in functions(&connection) {
        assert!(calls.iter().any(|call| call.function == function), "{function} has no line in calls.rs");
    }
    let all = |sql: &str| -> rusqlite::Result<()> {
        let mut statement = connection.prepare(sql)?;
        let mut rows = statement.query([])?;
        while rows.next()?.is_some() {}
        Ok(())
    };
    let failures: Vec<String> = calls
        .iter()
        .map(|call| call.sql.replace("?1", &call.valid))
        .filter_map(|sql| all(&sql).err().map(|problem| format!("{sql}: {problem}")))
        .collect();
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}
