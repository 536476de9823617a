//! `ltr_fts(fts_table)`, `ltr_fts_names(fts_table)` and `ltr_fts_query(text [, options])`: features of full-text matches.
//!
//! `ltr_fts` is an auxiliary function of FTS5, as `bm25` is. FTS5 gives it precedence over the scalar function of the same
//! name, which answers wrong calls.
//!
//! Rules (docs/reference/rules.md, 17):
//! * 17.1: `ltr_fts(t)` is a vector for each row of `FROM t WHERE t MATCH ...`: seven features of each column, then `idf_sum`.
//! * 17.2: What the table does not know is NaN.
//! * 17.3: `ltr_fts_names` names the features in their order.
//! * 17.4: FTS5 accepts what `ltr_fts_query` returns, whatever the text.
//! * 17.5: The statistics of a query are computed with its first row.
//! * 17.6: Without FTS5 all other functions work.
//! * 17.7: Numbers of a damaged index are refused.

mod api;
mod features;

use rusqlite::Connection;
use rusqlite::functions::FunctionFlags;
use rusqlite::types::ValueRef;
use serde_json::json;

use crate::base::error::{Error, Result, shorten};
use crate::search::text::{feature_names, match_query};
use crate::sqlite::glue::function::{ScalarCall, ScalarFunction};
use crate::sqlite::glue::sql;
use crate::sqlite::glue::state::State;
use crate::sqlite::glue::value::{Output, from_host, optional_text, text_argument};
use crate::sqlite::glue::vtab::Parameter;
use crate::sqlite::source::{is_missing, name_forms, quote};
use crate::train::options;
use crate::train::options::Use;

/// What answers calls of `ltr_fts` outside of a full-text query.
pub const FTS: ScalarFunction = ScalarFunction {
    name: "ltr_fts",
    arities: &[-1],
    parameters: &[Parameter::required("fts_table")],
    flags: FunctionFlags::SQLITE_INNOCUOUS,
    execute: outside_of_a_match,
};

/// The definition of `ltr_fts_names`.
pub const FTS_NAMES: ScalarFunction = ScalarFunction {
    name: "ltr_fts_names",
    arities: &[1],
    parameters: &[Parameter::required("fts_table")],
    flags: FunctionFlags::SQLITE_DIRECTONLY,
    execute: names,
};

/// The definition of `ltr_fts_query`.
pub const FTS_QUERY: ScalarFunction = ScalarFunction {
    name: "ltr_fts_query",
    arities: &[1, 2],
    parameters: &[Parameter::required("text"), Parameter::optional("options")],
    flags: FunctionFlags::SQLITE_INNOCUOUS.union(FunctionFlags::SQLITE_DETERMINISTIC),
    execute: query,
};

/// Adds `ltr_fts` to FTS5. The state remembers why it failed.
pub fn register(connection: &Connection, state: &State) {
    state.set_fts5(api::register(connection, c"ltr_fts", Some(features::ltr_fts)));
}

/// Adds `ltr_fts` to FTS5, unless that is done.
fn try_again(connection: &Connection, state: &State) {
    if state.fts5() != Some(Ok(())) {
        register(connection, state);
    }
}

/// FTS5 for `ltr_debug`: `true`, or why it cannot be used.
pub fn status(connection: &Connection, state: &State) -> serde_json::Value {
    try_again(connection, state);
    match state.fts5() {
        Some(Err(problem)) => json!(problem),
        found => json!(found.is_some()),
    }
}

fn outside_of_a_match(call: &ScalarCall<'_>) -> Result<Output> {
    call.with_connection(|connection| {
        try_again(connection, call.state);
        Ok(())
    })?;
    let example = "call it as in SELECT ltr_fts(docs) FROM docs WHERE docs MATCH 'words', with the name of a full-text table; \
                   for aggregates and window functions of it compute it first, in WITH m AS MATERIALIZED (SELECT ...)";
    Err(Error::Unsupported(match call.state.fts5() {
        Some(Err(problem)) => format!("it needs FTS5, which this SQLite does not offer: {problem}"),
        _ if call.state.fts5_was_late() => format!(
            "FTS5 could not be used when the extension was loaded; now it can: prepare the statement again, or change its text \
             if the host keeps prepared statements. If that does not help: no match of a full-text table; {example}"
        ),
        _ => format!("no match of a full-text table; {example}"),
    }))
}

fn names(call: &ScalarCall<'_>) -> Result<Output> {
    let table = text_argument("argument 1", call.context.get_raw(0))?;
    let columns = call.with_connection(|connection| {
        try_again(connection, call.state);
        columns_of(connection, &table)
    })?;
    Ok(Output::Json(json!(feature_names(&columns))))
}

/// The columns of a full-text table.
fn columns_of(connection: &Connection, table: &str) -> Result<Vec<String>> {
    let problem = |problem: String| Error::Source { source_text: format!("'{}'", shorten(table)), problem };
    if table.contains('\0') {
        return Err(problem("a zero byte in the name".to_owned()));
    }
    for name in name_forms(table) {
        let statement = match sql::prepare(connection, &format!("SELECT * FROM {} LIMIT 0", name.sql)) {
            Ok(statement) => statement,
            Err(error) if is_missing(&error, &name.plain) => continue,
            Err(error) => return Err(from_host(&error, problem)),
        };
        // FTS5 tables have two hidden columns: one with the name of the table, and `rank`.
        let table = quote(&name.table);
        let hidden = format!("SELECT {table}.{table}, {table}.rank FROM {} LIMIT 0", name.sql);
        if sql::prepare(connection, &hidden).is_err() {
            return Err(problem("it is no FTS5 table".to_owned()));
        }
        return Ok(statement.column_names().into_iter().map(str::to_owned).collect());
    }
    Err(problem("no such full-text table".to_owned()))
}

fn query(call: &ScalarCall<'_>) -> Result<Output> {
    let text = match call.argument(0) {
        Some(ValueRef::Text(bytes) | ValueRef::Blob(bytes)) => String::from_utf8_lossy(bytes).into_owned(),
        Some(ValueRef::Integer(number)) => number.to_string(),
        Some(ValueRef::Real(number)) => number.to_string(),
        Some(ValueRef::Null) | None => String::new(),
    };
    let given = optional_text("options", call.argument(1))?;
    let options = options::parse(given.as_deref(), Use::FtsQuery)?;
    let words = options.choice("words")?.unwrap_or_default();
    // A lock at load time can have hidden FTS5; the statements that follow use it.
    if !matches!(call.state.fts5(), Some(Ok(()))) {
        call.with_connection(|connection| {
            try_again(connection, call.state);
            Ok(())
        })?;
    }
    Ok(Output::Text(match_query(&text, words, options.flag("prefix"))))
}
