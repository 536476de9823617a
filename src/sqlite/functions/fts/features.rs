//! The auxiliary function: statistics once per statement, then the vector of each row.
#![allow(unsafe_code, reason = "auxiliary functions of FTS5 are C functions")]

use std::ffi::c_int;

use rusqlite::{Connection, ffi};

use super::api::Match;
use crate::base::control::Ticks;
use crate::base::error::{Error, Result};
use crate::search::text::{Counts, Found, Hit, Statistics};
use crate::sqlite::glue::guard::guard;
use crate::sqlite::glue::probe::{Database, interruptible};

/// Work, for [`Ticks`], of reading a row of the index.
const ROW_COST: usize = 200;

/// Hits of a row above which its features check for interrupts.
const MANY_HITS: usize = 10_000;

/// What the table stores about the places of terms.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Detail {
    Nothing,
    Columns,
    Places,
}

/// What a statement keeps between its rows.
struct Kept {
    statistics: Statistics,
    detail: Detail,
    lengths: Vec<Option<u32>>,
    hits: Vec<Hit>,
    covered: Vec<bool>,
    features: Vec<f64>,
    bytes: Vec<u8>,
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
    _: *mut *mut ffi::sqlite3_value,
) {
    // SAFETY: FTS5 gave the pointers for this call; what is kept is always `Kept`.
    let row = unsafe { Match::new(api, context) };
    let body = || {
        if arguments > 0 {
            let found = arguments + 1;
            return Err(Error::Unsupported(format!("got {found} arguments; call ltr_fts(fts_table)")));
        }
        let make = || with_checks(result, || Kept::new(row));
        row.with_kept(make, |kept| {
            kept.read(row)?;
            if kept.hits.len() > MANY_HITS {
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
                "the row is no match: the statement has no MATCH, or an OR beside it".to_owned(),
            ));
        }
        let sizes: Vec<u32> = (0..n_terms).map(|term| row.size(term)).collect::<Result<_>>()?;
        // 1. Rows that have each term, in any column and in each.
        let (mut having, mut having_in) = (vec![0; n_terms], vec![0; n_terms * n_columns]);
        let (mut detail, mut ticks) = (Detail::Places, Ticks::default());
        for term in (0..n_terms).filter(|term| sizes[*term] > 0) {
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
        let found = match self.detail {
            Detail::Nothing => Found::Unknown,
            Detail::Columns => Found::Columns(&self.covered),
            Detail::Places => Found::Places(&self.hits),
        };
        self.statistics.features(&self.lengths, found, &mut self.features);
        self.bytes.clear();
        self.bytes.extend(self.features.iter().flat_map(|value| (*value as f32).to_le_bytes()));
    }
}

/// What the table knows about a row that has the only term of its query.
fn detail_of(row: Match<'_>) -> Result<Detail> {
    if row.knows_places(0)? {
        return Ok(Detail::Places);
    }
    Ok(if row.each_column_with(0, |_| ())? { Detail::Columns } else { Detail::Nothing })
}

/// Tokens between two words: none, unless tokens are n-grams of characters, which overlap. These begin in every character, but
/// not in the last n - 1 of a word; with the space between them two words are n tokens apart.
fn gap(row: Match<'_>) -> Result<u32> {
    let tokens = row.tokens_of("abcdefgh")?;
    let [first, second, ..] = tokens.as_slice() else { return Ok(0) };
    let overlap = 0 <= first.start && first.start < second.start && second.start < first.end;
    Ok(if overlap { (first.end - first.start) as u32 } else { 0 })
}
