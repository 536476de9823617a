//! The C interface of FTS5: finding it, and reading a match.
//!
//! The SQL function `fts5(pointer)` stores a pointer to FTS5's functions. A SELECT would first read the schema of the
//! database. That can fail at load time (a lock, an encrypted file before `PRAGMA key`, a damaged file), and has
//! effects (it recovers a hot journal, opens a WAL). `VACUUM INTO x` evaluates x before reading anything, and fails if
//! x is not text, such as the number `fts5(?1) IS NULL`. docs/adr/0021-text-features.md.
#![allow(unsafe_code, reason = "auxiliary functions of FTS5 are C functions")]

use std::any::Any;
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::marker::PhantomData;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::ptr::{null, null_mut};

use rusqlite::{Connection, ffi};

use crate::base::{Error, Result, Ticks};
use crate::search::text::Hit;
use crate::sqlite::glue::sql;

/// Largest number of hits in a row. Each position takes 12 bytes.
const MAX_HITS: usize = 1 << 25;

/// More tokens than a text can have.
const MOST_TOKENS: i64 = c_int::MAX as i64;

/// Work, for [`Ticks`], of a token.
const TOKEN_COST: usize = 50;

/// The column after the last one; the size of a text if the table does not store it.
const UNKNOWN: c_int = -1;

/// Statements that call `fts5(?1)`. The second one reads the schema, and is for builds without VACUUM.
const STATEMENTS: [&str; 2] = ["VACUUM INTO (fts5(?1) IS NULL)", "SELECT fts5(?1)"];

/// The functions of FTS5 in a connection.
///
/// # Errors
/// The reason why the connection has no functions of FTS5.
fn find(connection: &Connection) -> Result<*mut ffi::fts5_api, String> {
    // SAFETY: the handle of an open connection, used during this call and not closed.
    let database = unsafe { connection.handle() };
    let mut problem = None;
    for text in STATEMENTS {
        let mut api = null_mut::<ffi::fts5_api>();
        // SAFETY: an open connection, on its thread. FTS5 writes the pointer during the step; others ignore its type.
        unsafe {
            let (statement, prepared) = sql::prepare_raw(database, text);
            if prepared == ffi::SQLITE_OK {
                let target = (&raw mut api).cast::<c_void>();
                ffi::sqlite3_bind_pointer(statement, 1, target, c"fts5_api_ptr".as_ptr(), None);
                ffi::sqlite3_step(statement);
                problem = None;
            } else {
                let message = CStr::from_ptr(ffi::sqlite3_errmsg(database));
                problem = Some(message.to_string_lossy().into_owned());
            }
            ffi::sqlite3_finalize(statement);
            // Clears the error of VACUUM: sqlite3_open() would return it after sqlite3_auto_extension().
            sql::prepare_raw(database, "");
        }
        if !api.is_null() {
            return Ok(api);
        }
    }
    Err(problem.unwrap_or_else(|| "fts5() returned no interface".to_owned()))
}

/// Adds an auxiliary function.
///
/// # Errors
/// The reason why FTS5 refuses the function.
pub fn register(
    connection: &Connection,
    name: &CStr,
    function: ffi::fts5_extension_function,
) -> Result<(), String> {
    let api = find(connection)?;
    // SAFETY: FTS5 gave the pointer, which is valid while the connection is open. The function needs no data.
    let code = unsafe {
        let Some(create) = (*api).xCreateFunction else { return Err("FTS5 is too old".to_owned()) };
        create(api, name.as_ptr(), null_mut(), function, None)
    };
    if code == ffi::SQLITE_OK { Ok(()) } else { Err(format!("FTS5 returned the error code {code}")) }
}

/// A text to tokenize. Only [`tokens`] can pass it to the auxiliary function, because it is a pointer of this type.
struct Wanted<'a> {
    text: &'a str,
    found: Result<Vec<Range<usize>>>,
}

const WANTED: &CStr = c"ltr_fts_text";

/// Where a table finds tokens in a text. `select` calls the auxiliary function in one row, with its parameter.
///
/// # Errors
/// SQLite and tokenizer errors.
pub fn tokens(connection: &Connection, select: &str, text: &str) -> Result<Vec<Range<usize>>> {
    let mut wanted = Wanted { text, found: Ok(Vec::new()) };
    // SAFETY: an open connection, on its thread. The statement ends before `wanted` does.
    let problem = unsafe {
        let database = connection.handle();
        let (statement, prepared) = sql::prepare_raw(database, select);
        let mut code = prepared;
        if prepared == ffi::SQLITE_OK {
            ffi::sqlite3_bind_pointer(statement, 1, (&raw mut wanted).cast(), WANTED.as_ptr(), None);
            code = ffi::sqlite3_step(statement);
        }
        let problem = match code {
            ffi::SQLITE_ROW | ffi::SQLITE_DONE => None,
            ffi::SQLITE_INTERRUPT => Some(Error::Interrupted),
            _ => Some(Error::Host(
                CStr::from_ptr(ffi::sqlite3_errmsg(database)).to_string_lossy().into_owned(),
            )),
        };
        ffi::sqlite3_finalize(statement);
        problem
    };
    let found = wanted.found?;
    problem.map_or(Ok(found), Err)
}

/// Answers a call of [`tokens`]; `false` for another call.
///
/// # Safety
/// FTS5 passed this many values for the running call.
pub unsafe fn answer(row: Match<'_>, count: c_int, values: *mut *mut ffi::sqlite3_value) -> bool {
    if count != 1 {
        return false;
    }
    // SAFETY: as above; a pointer of this type comes from `tokens`, which waits for the answer.
    let wanted =
        unsafe { ffi::sqlite3_value_pointer(*values, WANTED.as_ptr()).cast::<Wanted<'_>>().as_mut() };
    let Some(wanted) = wanted else { return false };
    wanted.found = row.tokens_of(wanted.text);
    true
}

/// A match: the current row of a full-text query.
#[derive(Clone, Copy)]
pub struct Match<'a> {
    /// An older FTS5 has fewer functions than this type, so never make a reference to all of it.
    api: *const ffi::Fts5ExtensionApi,
    context: *mut ffi::Fts5Context,
    call: PhantomData<&'a ()>,
}

/// Calls a function of the interface. All functions used are in version 3, which SQLite 3.38 has.
macro_rules! call {
    ($self:ident.$function:ident($($argument:expr),*)) => {{
        // SAFETY: FTS5 gave the interface and the context for the running call.
        unsafe {
            let function = (*$self.api).$function.ok_or_else(|| missing(stringify!($function)))?;
            function($self.context, $($argument),*)
        }
    }};
}

fn missing(function: &str) -> Error {
    Error::Host(format!("this FTS5 has no {function}"))
}

/// The error for an index that FTS5 cannot have written. FTS5 does not tell the table's name.
fn damaged(problem: &str) -> Error {
    Error::Host(format!(
        "the full-text index of the query is damaged: {problem}; rebuild it: INSERT INTO t(t) VALUES('rebuild'), where t is the \
         name of the full-text table; a table with content='' must be filled again"
    ))
}

/// Checks a number from FTS5, which comes from the index file, to be below `end`.
fn below<T: TryFrom<i64>>(what: &str, number: impl Into<i64>, end: impl TryInto<i64>) -> Result<T> {
    let (number, end) = (number.into(), end.try_into().unwrap_or(i64::MAX));
    let valid = if (0..end).contains(&number) { T::try_from(number).ok() } else { None };
    valid.ok_or_else(|| damaged(&format!("{what} is {number}, expected a number from 0 and below {end}")))
}

fn checked(code: c_int) -> Result<()> {
    match code {
        ffi::SQLITE_OK => Ok(()),
        ffi::SQLITE_INTERRUPT => Err(Error::Interrupted),
        ffi::SQLITE_NOMEM => Err(Error::Host("out of memory".to_owned())),
        ffi::SQLITE_CORRUPT_VTAB => Err(damaged(
            "FTS5 cannot read it, or found no text for one of its rows: rows of the content table are missing, or the statement \
             deleted them",
        )),
        _ => {
            // SAFETY: SQLite has a static text for every code.
            let text = unsafe { CStr::from_ptr(ffi::sqlite3_errstr(code)) };
            Err(Error::Host(format!("FTS5 failed: {}", text.to_string_lossy())))
        }
    }
}

/// State of an FTS5 callback: a closure, and a place for its panic.
struct Callback<'a, F> {
    body: &'a mut F,
    outcome: Result<()>,
    panic: Option<Box<dyn Any + Send>>,
}

impl<F> Callback<'_, F> {
    fn run(&mut self, call: impl FnOnce(&mut F) -> Result<()>) -> c_int {
        match catch_unwind(AssertUnwindSafe(|| call(self.body))) {
            Ok(Ok(())) => return ffi::SQLITE_OK,
            Ok(outcome) => self.outcome = outcome,
            Err(panic) => self.panic = Some(panic),
        }
        ffi::SQLITE_ABORT
    }

    /// Resumes a panic past the frames of FTS5.
    fn end(self, code: c_int) -> Result<()> {
        if let Some(panic) = self.panic {
            resume_unwind(panic);
        }
        self.outcome.and_then(|()| checked(code))
    }
}

/// # Safety
/// `data` is a `Callback<F>`; FTS5 gives the other arguments.
unsafe extern "C" fn on_row<F: FnMut(Match<'_>) -> Result<()>>(
    api: *const ffi::Fts5ExtensionApi,
    context: *mut ffi::Fts5Context,
    data: *mut c_void,
) -> c_int {
    // SAFETY: as above.
    let callback = unsafe { &mut *data.cast::<Callback<'_, F>>() };
    callback.run(|body| body(Match { api, context, call: PhantomData }))
}

/// Tokens collected by [`on_token`].
type Found = (Vec<Range<usize>>, Ticks);

/// # Safety
/// `data` is a `Callback<Found>`.
unsafe extern "C" fn on_token(
    data: *mut c_void,
    _: c_int,
    _: *const c_char,
    _: c_int,
    start: c_int,
    end: c_int,
) -> c_int {
    // SAFETY: as above.
    let callback = unsafe { &mut *data.cast::<Callback<'_, Found>>() };
    callback.run(|(tokens, ticks)| {
        ticks.add(TOKEN_COST);
        let index =
            |at: c_int| usize::try_from(at).map_err(|_| no_tokens("the tokenizer gives a negative position"));
        tokens.push(index(start)?..index(end)?);
        Ok(())
    })
}

fn no_tokens(problem: &str) -> Error {
    Error::Host(format!("FTS5 cannot split the text into words: {problem}"))
}

impl Match<'_> {
    /// The match of a running auxiliary function call.
    ///
    /// # Safety
    /// FTS5 gave both pointers for a call that runs while the value is used. [`Self::with_kept`] is used with one type only.
    pub unsafe fn new(api: *const ffi::Fts5ExtensionApi, context: *mut ffi::Fts5Context) -> Self {
        Self { api, context, call: PhantomData }
    }

    pub fn columns(&self) -> Result<usize> {
        below("its number of columns", call!(self.xColumnCount()), MOST_TOKENS)
    }

    /// Number of terms: phrases of the query.
    pub fn terms(&self) -> Result<usize> {
        below("its number of phrases", call!(self.xPhraseCount()), MOST_TOKENS)
    }

    /// Tokens of a term.
    pub fn size(&self, term: usize) -> Result<u32> {
        below("the number of tokens of a phrase", call!(self.xPhraseSize(term as c_int)), MOST_TOKENS)
    }

    /// Rows of the table.
    pub fn rows(&self) -> Result<u64> {
        let mut rows = 0;
        checked(call!(self.xRowCount(&raw mut rows)))?;
        below("its number of rows", rows, i64::MAX)
    }

    /// Tokens of a column in all rows.
    pub fn tokens(&self, column: usize) -> Result<u64> {
        let mut tokens = 0;
        checked(call!(self.xColumnTotalSize(column as c_int, &raw mut tokens)))?;
        below("the number of tokens of a column", tokens, i64::MAX)
    }

    /// Number of tokens in a column of the row; `None` if the table does not store it.
    pub fn length(&self, column: usize) -> Result<Option<u32>> {
        let mut tokens = 0;
        checked(call!(self.xColumnSize(column as c_int, &raw mut tokens)))?;
        let is_stored = tokens != UNKNOWN;
        is_stored.then(|| below("the number of tokens of a text", tokens, MOST_TOKENS)).transpose()
    }

    /// Where the tokens of a text begin and end, according to the table's tokenizer.
    ///
    /// Tokenizers get the same kind of text as from FTS5: not empty, without zero bytes, and zero-terminated. Older
    /// ones read the first byte before they check the size.
    pub fn tokens_of(&self, text: &str) -> Result<Vec<Range<usize>>> {
        let mut collected = Found::default();
        if text.is_empty() {
            return Ok(collected.0);
        }
        let length =
            c_int::try_from(text.len()).map_err(|_| no_tokens("it has more than 2147483647 bytes"))?;
        let text = CString::new(text).map_err(|_| no_tokens("it has a zero byte"))?;
        let mut callback = Callback { body: &mut collected, outcome: Ok(()), panic: None };
        let data = (&raw mut callback).cast::<c_void>();
        let code = call!(self.xTokenize(text.as_ptr(), length, data, Some(on_token)));
        callback.end(code)?;
        Ok(collected.0)
    }

    /// Calls `body` with each row of the table that has a term.
    pub fn each_row_with<F: FnMut(Match<'_>) -> Result<()>>(&self, term: usize, mut body: F) -> Result<()> {
        let mut callback = Callback { body: &mut body, outcome: Ok(()), panic: None };
        let data = (&raw mut callback).cast::<c_void>();
        let code = call!(self.xQueryPhrase(term as c_int, data, Some(on_row::<F>)));
        callback.end(code)
    }

    /// Calls `body` with each column of the row that has a term. Returns whether the table knows any.
    pub fn each_column_with(&self, term: usize, mut body: impl FnMut(usize)) -> Result<bool> {
        let mut places = ffi::Fts5PhraseIter { a: null(), b: null() };
        let mut column = -1;
        checked(call!(self.xPhraseFirstColumn(term as c_int, &raw mut places, &raw mut column)))?;
        let (is_known, columns) = (column != UNKNOWN, self.columns()?);
        while column != UNKNOWN {
            body(below("the number of a column", column, columns)?);
            call!(self.xPhraseNextColumn(&raw mut places, &raw mut column));
        }
        Ok(is_known)
    }

    /// Whether the table stores the positions of a term in the row.
    pub fn knows_places(&self, term: usize) -> Result<bool> {
        let mut places = ffi::Fts5PhraseIter { a: null(), b: null() };
        let (mut column, mut offset) = (-1, -1);
        let code = call!(self.xPhraseFirst(term as c_int, &raw mut places, &raw mut column, &raw mut offset));
        checked(code)?;
        Ok(column != UNKNOWN)
    }

    /// The positions of all `terms` in the row, in the order of columns, offsets and terms.
    ///
    /// FTS5 offers them in this order (`xInst`), but to sort, it compares each position with all terms.
    pub fn hits(&self, terms: usize, hits: &mut Vec<Hit>) -> Result<()> {
        hits.clear();
        let columns = self.columns()?;
        for term in 0..terms {
            let mut places = ffi::Fts5PhraseIter { a: null(), b: null() };
            let (mut column, mut offset) = (-1, -1);
            let code =
                call!(self.xPhraseFirst(term as c_int, &raw mut places, &raw mut column, &raw mut offset));
            checked(code)?;
            while column != UNKNOWN {
                if hits.len() == MAX_HITS || hits.try_reserve(1).is_err() {
                    return Err(Error::Host(format!(
                        "the row has too many hits of the query; at most {MAX_HITS}"
                    )));
                }
                let at = below("the position of a token", offset, MOST_TOKENS)?;
                let inside = below("the number of a column", column, columns)?;
                hits.push(Hit { column: inside, offset: at, term: term as u32 });
                call!(self.xPhraseNext(&raw mut places, &raw mut column, &raw mut offset));
            }
        }
        hits.sort_unstable_by_key(|hit| (hit.column, hit.offset, hit.term));
        Ok(())
    }

    /// Runs `body` with the value that this query keeps for the function; `make` makes it for the first row. Meanwhile FTS5 does
    /// not have the value, because the texts of a table may come from a view that calls the function for the same cursor.
    pub fn with_kept<T>(
        &self,
        make: impl FnOnce() -> Result<T>,
        body: impl FnOnce(&mut T) -> Result<()>,
    ) -> Result<()> {
        let kept = call!(self.xGetAuxdata(1)).cast::<T>();
        // SAFETY: only this function sets the value, a box of this type, and FTS5 has just given it up.
        let mut value = if kept.is_null() { Box::new(make()?) } else { unsafe { Box::from_raw(kept) } };
        let outcome = body(&mut value);
        // On failure FTS5 has called the destructor.
        checked(call!(self.xSetAuxdata(Box::into_raw(value).cast::<c_void>(), Some(free::<T>))))?;
        outcome
    }
}

/// # Safety
/// `value` is a `Box<T>` that FTS5 gives up.
unsafe extern "C" fn free<T>(value: *mut c_void) {
    // SAFETY: as above.
    drop(unsafe { Box::from_raw(value.cast::<T>()) });
}
