//! `ltr_fts(fts_table)`, `ltr_fts_names(fts_table)` and `ltr_fts_query(text [, options])`: features of full-text matches.
//!
//! `ltr_fts` is an auxiliary function of FTS5, like `bm25`. FTS5 prefers it to the scalar function of the same name, which
//! only reports wrong calls.
//!
//! Rules (docs/reference/rules.md, 17):
//! * 17.1: `ltr_fts(t)` is a vector for each row of `FROM t WHERE t MATCH ...`: seven features of each column, then `idf_sum`.
//! * 17.2: Values that the table does not store are NaN.
//! * 17.3: `ltr_fts_names` names the features in their order.
//! * 17.4: FTS5 accepts what `ltr_fts_query` returns, whatever the text.
//! * 17.5: A query's statistics are computed at its first row.
//! * 17.6: Without FTS5 all other functions work.
//! * 17.7: Numbers of a damaged index are refused.

#![allow(unsafe_code, reason = "auxiliary functions of FTS5 are C functions")]

use std::borrow::Cow;
use std::ffi::c_int;

use rusqlite::functions::FunctionFlags;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, ffi};
use serde_json::json;

use crate::base::{Error, Memory, Reservation, Result, Ticks, bytes_of, shorten};
use crate::search::text::{Counts, Found, Hit, Statistics, Tokens, feature_names, match_query};
use crate::sqlite::glue::guard::guard;
use crate::sqlite::glue::{
    Database, Output, PURE, ScalarCall, ScalarFunction, State, from_host, interruptible, sql, text_argument,
};
use crate::sqlite::source::{TableName, is_missing, name_forms, quote};
use crate::train::options::{self, Use};

use super::fts_api::Match;

/// The error for calls of `ltr_fts` outside a full-text query.
pub const FTS: ScalarFunction = ScalarFunction::new("ltr_fts", "fts_table", outside_of_a_match)
    .with_flags(FunctionFlags::SQLITE_INNOCUOUS)
    .taking(&[-1]);

pub const FTS_NAMES: ScalarFunction = ScalarFunction::new("ltr_fts_names", "fts_table", names);

/// The definitions of `ltr_fts_query`. With options, it may read a table, so in views it requires a trusted schema.
pub const FTS_QUERY: ScalarFunction =
    ScalarFunction::new("ltr_fts_query", QUERY_PARAMETERS, query).with_flags(PURE).taking(&[1]);

/// See [`FTS_QUERY`].
pub const FTS_QUERY_FOR: ScalarFunction = ScalarFunction::new("ltr_fts_query", QUERY_PARAMETERS, query)
    .with_flags(FunctionFlags::empty())
    .taking(&[2]);

const QUERY_PARAMETERS: &str = "text [, options]";

/// Adds `ltr_fts` to FTS5. The state remembers why it failed.
pub fn register(connection: &Connection, state: &State) {
    state.set_fts5(super::fts_api::register(connection, c"ltr_fts", Some(ltr_fts)));
}

/// Adds `ltr_fts` to FTS5, unless already done.
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
    let (_, columns) = call.with_connection(|connection| {
        try_again(connection, call.state);
        find_table(connection, &table)
    })?;
    Ok(Output::Json(json!(feature_names(&columns))))
}

/// A full-text table: its name, and its columns.
fn find_table(connection: &Connection, table: &str) -> Result<(TableName, Vec<String>)> {
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
        let columns = statement.column_names().into_iter().map(str::to_owned).collect();
        drop(statement);
        let hidden = format!("SELECT {table}.{table}, {table}.rank FROM {} LIMIT 0", name.sql);
        if sql::prepare(connection, &hidden).is_err() {
            return Err(problem("it is not an FTS5 table".to_owned()));
        }
        return Ok((name, columns));
    }
    Err(problem("no such full-text table".to_owned()))
}

fn query(call: &ScalarCall<'_>) -> Result<Output> {
    let text = match call.argument(0) {
        Some(ValueRef::Text(bytes) | ValueRef::Blob(bytes)) => String::from_utf8_lossy(bytes),
        Some(ValueRef::Integer(number)) => number.to_string().into(),
        Some(ValueRef::Real(number)) => number.to_string().into(),
        Some(ValueRef::Null) | None => Cow::default(),
    };
    let given = call.argument(1).filter(|value| *value != ValueRef::Null);
    let given = given.map(|value| text_argument("options", value)).transpose()?;
    let options = options::parse(given.as_deref(), Use::FtsQuery)?;
    let words = options::choice(&options, "words")?;
    let table = options.text("table");
    let bytes = (text.len() as u64).saturating_mul(if table.is_some() { TABLE_BYTES } else { TEXT_BYTES });
    let _memory = Memory::default().reserve(bytes, "the words of the text", "give a shorter text")?;
    call.with_connection(|connection| {
        // A lock at load time may have hidden FTS5; later statements can use it.
        try_again(connection, call.state);
        let tokenize = table.map(|table| |text: &str| tokens(connection, table, text));
        Ok(Output::Text(match_query(&text, words, options.flag("prefix"), tokenize)?))
    })
}

/// Bytes per byte of text: copies of the text, strings of the query and, with a table, tokens.
const TEXT_BYTES: u64 = 32;
const TABLE_BYTES: u64 = 64;

/// Tokenizes a text like a table. Returns no tokens if the table is empty.
fn tokens(connection: &Connection, table: &str, text: &str) -> Result<Tokens> {
    let (TableName { sql, table, .. }, _) = find_table(connection, table)?;
    let table = quote(&table);
    let statement = format!("SELECT ltr_fts({table}.{table}, ?1) FROM {sql} AS {table} LIMIT 1");
    Ok(Tokens::new(super::fts_api::tokens(connection, &statement, text)?))
}

// Auxiliary function of FTS5: statistics once per statement, then the vector of each row.

/// Work, for [`Ticks`], of reading a row of the index.
const ROW_COST: usize = 200;

/// Work, for [`Ticks`], of looking up a term in the index.
const TERM_COST: usize = 10_000;

/// Above this number of hits, or terms times columns, a row's features check for interrupts.
const MANY: usize = 10_000;

/// Bytes for each term and column.
const TERM_BYTES: usize = 32;

/// Whether the table stores positions of terms.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Detail {
    Nothing,
    Columns,
    Places,
}

/// State that a statement keeps between its rows.
struct Kept {
    statistics: Statistics,
    detail: Detail,
    lengths: Vec<Option<u32>>,
    hits: Vec<Hit>,
    covered: Vec<bool>,
    features: Vec<f64>,
    bytes: Vec<u8>,
    _memory: Reservation,
}

/// `ltr_fts`, called by FTS5.
///
/// # Safety
/// FTS5 calls it with its own arguments.
pub unsafe extern "C" fn ltr_fts(
    api: *const ffi::Fts5ExtensionApi,
    context: *mut ffi::Fts5Context,
    result: *mut ffi::sqlite3_context,
    arguments: c_int,
    values: *mut *mut ffi::sqlite3_value,
) {
    // SAFETY: FTS5 gave the pointers for this call; the kept value is always a `Kept`.
    let row = unsafe { Match::new(api, context) };
    let body = || {
        // SAFETY: FTS5 passed this many values.
        if unsafe { super::fts_api::answer(row, arguments, values) } {
            return Ok(());
        }
        if arguments > 0 {
            let count = arguments + 1;
            return Err(Error::Unsupported(format!("got {count} arguments; call ltr_fts(fts_table)")));
        }
        let make = || with_checks(result, || Kept::new(row));
        row.with_kept(make, |kept| {
            kept.read(row)?;
            if kept.hits.len().max(kept.covered.len()) > MANY {
                with_checks(result, || {
                    kept.compute();
                    Ok(())
                })?;
            } else {
                kept.compute();
            }
            let (bytes, length) = (kept.bytes.as_ptr().cast(), kept.bytes.len() as ffi::sqlite3_uint64);
            // SAFETY: SQLite copies the bytes.
            unsafe { ffi::sqlite3_result_blob64(result, bytes, length, ffi::SQLITE_TRANSIENT()) };
            Ok(())
        })
    };
    if let Err(error) = guard("ltr_fts", body) {
        refuse(result, &error);
    }
}

/// Sets an error as the result.
fn refuse(result: *mut ffi::sqlite3_context, error: &rusqlite::Error) {
    let text = error.to_string();
    // SAFETY: SQLite copies the text.
    unsafe {
        match error.sqlite_error_code() {
            Some(rusqlite::ErrorCode::OperationInterrupted) => {
                ffi::sqlite3_result_error_code(result, ffi::SQLITE_INTERRUPT);
            }
            _ => ffi::sqlite3_result_error(result, text.as_ptr().cast(), text.len() as c_int),
        }
    }
}

/// Runs `work`, whose checkpoints check for interrupts.
fn with_checks<T>(result: *mut ffi::sqlite3_context, work: impl FnOnce() -> Result<T>) -> Result<T> {
    // SAFETY: the database of the running call, used during this call only.
    let connection = unsafe { Connection::from_handle(ffi::sqlite3_context_db_handle(result)) };
    let connection = connection.map_err(|error| Error::Host(error.to_string()))?;
    interruptible(Database::from_connection(&connection), work)
}

impl Kept {
    fn new(row: Match<'_>) -> Result<Self> {
        let (n_columns, n_terms) = (row.columns()?, row.terms()?);
        if n_terms == 0 {
            return Err(Error::Unsupported(
                "the row is not a match: the statement has no MATCH, or an OR next to it".to_owned(),
            ));
        }
        let bytes = bytes_of::<[u8; TERM_BYTES]>(n_terms.saturating_mul(n_columns));
        let memory =
            Memory::default().reserve(bytes, "the terms of the query", "use fewer words in MATCH")?;
        let sizes: Vec<u32> = (0..n_terms).map(|term| row.size(term)).collect::<Result<_>>()?;
        // 1. Rows with each term, in any column and in each column.
        let (mut having, mut having_in) = (vec![0; n_terms], vec![0; n_terms * n_columns]);
        let (mut detail, mut ticks) = (Detail::Places, Ticks::default());
        for term in (0..n_terms).filter(|term| sizes[*term] > 0) {
            ticks.add(TERM_COST);
            let having_in = &mut having_in[term * n_columns..][..n_columns];
            row.each_row_with(term, |row| {
                ticks.add(ROW_COST);
                having[term] += 1;
                if having[term] == 1 {
                    detail = detail.min(detail_of(row)?);
                }
                if detail > Detail::Nothing {
                    row.each_column_with(0, |column| having_in[column] += 1)?;
                }
                Ok(())
            })?;
        }
        // 2. Sizes of the table.
        let counts = Counts {
            rows: row.rows()?,
            tokens: (0..n_columns).map(|column| row.tokens(column)).collect::<Result<_>>()?,
            sizes,
            having,
            having_in,
            gap: gap(row)?,
        };
        Ok(Self {
            statistics: Statistics::new(counts),
            detail,
            lengths: Vec::new(),
            hits: Vec::new(),
            covered: vec![false; n_columns * n_terms],
            features: Vec::new(),
            bytes: Vec::new(),
            _memory: memory,
        })
    }

    /// Reads what FTS5 knows about a row.
    fn read(&mut self, row: Match<'_>) -> Result<()> {
        let columns = self.statistics.columns();
        self.lengths.clear();
        for column in 0..columns {
            self.lengths.push(row.length(column)?);
        }
        match self.detail {
            Detail::Nothing => {}
            Detail::Columns => {
                self.covered.fill(false);
                for (term, covered) in self.covered.chunks_mut(columns).enumerate() {
                    row.each_column_with(term, |column| covered[column] = true)?;
                }
            }
            Detail::Places => row.hits(self.statistics.terms(), &mut self.hits)?,
        }
        Ok(())
    }

    /// The features as bytes of f32.
    fn compute(&mut self) {
        let instances = match self.detail {
            Detail::Nothing => Found::Unknown,
            Detail::Columns => Found::Columns(&self.covered),
            Detail::Places => Found::Places(&self.hits),
        };
        self.statistics.features(&self.lengths, instances, &mut self.features);
        self.bytes.clear();
        self.bytes.extend(self.features.iter().flat_map(|value| (*value as f32).to_le_bytes()));
    }
}

/// The table's detail level, from a row that contains the only term of its query.
fn detail_of(row: Match<'_>) -> Result<Detail> {
    if row.knows_places(0)? {
        return Ok(Detail::Places);
    }
    Ok(if row.each_column_with(0, |_| ())? { Detail::Columns } else { Detail::Nothing })
}

/// Tokens between two words: none, unless tokens are character n-grams, which overlap. N-grams begin at every character
/// except the last n - 1 of a word, so with the space between them, two words are n tokens apart.
fn gap(row: Match<'_>) -> Result<u32> {
    let tokens = row.tokens_of("abcdefgh")?;
    let [first, second, ..] = tokens.as_slice() else { return Ok(0) };
    let overlap = first.start < second.start && second.start < first.end;
    Ok(if overlap { (first.end - first.start) as u32 } else { 0 })
}
