//! Table-valued functions: adapts SQLite's virtual tables to the safe trait [`TableFunction`].
//!
//! The declared table has the function's columns followed by one hidden column per parameter; `f(a, b)` means that the
//! hidden columns equal a and b. Bits of `idxNum`:
//!
//! | bits | meaning |
//! |---|---|
//! | 0 .. p | parameter i is given; `argv` holds the given ones in order |
//! | p | column 0 is compared with a value, which follows in `argv` |
//! | p + 1 .. | 0: any order, 1: by query and rank, 2: by rank and query |
#![allow(unsafe_code, reason = "SQLite calls through raw pointers")]

use std::borrow::Cow;
use std::cell::UnsafeCell;
use std::ffi::{CStr, CString, c_int};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::marker::PhantomData;
use std::rc::Rc;
use std::sync::Arc;

use rusqlite::types::ValueRef;
use rusqlite::vtab::{
    Context, Filters, IndexConstraintOp, IndexInfo, Module, VTab, VTabConfig, VTabConnection, VTabCursor,
};
use rusqlite::{Connection, ffi};

use super::guard::{guard, in_transaction};
use super::probe::{Database, interruptible};
use super::run_limits::{RunLimits, call_options};
use super::signature::Parameters;
use super::state::State;
use super::statements::Statements;
use super::value::{Output, id_of};
use crate::base::{Error, Params, Result};
use crate::data::Id;
use crate::train::options::Use;

/// Rows of a table-valued function.
pub type OutputRows = Box<dyn Iterator<Item = Result<Vec<Output>>>>;

/// One call of a table-valued function.
pub struct Call<'a> {
    /// The connection's state.
    pub state: &'a Arc<State>,
    pub connection: &'a Connection,
    /// Statements of earlier calls.
    pub statements: &'a Statements,
    /// One per parameter; `None` if absent.
    pub arguments: &'a [Option<ValueRef<'a>>],
    /// The value that column 0 must equal, if the function has a [`TableFunction::rank_column`].
    pub only: Option<Id>,
    /// Whether rows are ordered by rank and query, otherwise by query and rank.
    pub by_rank: bool,
}

impl<'a> Call<'a> {
    /// The values after the options: from this index up to the last one given.
    pub fn values(&self, first: usize) -> Vec<ValueRef<'a>> {
        let values = self.arguments.get(first..).unwrap_or_default();
        let given = values.iter().rposition(Option::is_some).map_or(0, |last| last + 1);
        values[..given].iter().map(|value| value.unwrap_or(ValueRef::Null)).collect()
    }

    /// The options in an argument, and the limits of the call.
    ///
    /// # Errors
    /// As [`call_options`].
    pub fn options(&self, index: usize, used: Use) -> Result<(Params, RunLimits)> {
        call_options(Database::from_connection(self.connection), self.arguments[index], used)
    }

    /// An argument; NULL if absent.
    pub fn argument(&self, index: usize) -> ValueRef<'a> {
        self.arguments[index].unwrap_or(ValueRef::Null)
    }
}

/// Rows that are already computed.
pub fn ready(rows: Vec<Vec<Output>>) -> OutputRows {
    Box::new(rows.into_iter().map(Ok))
}

/// The id of a row by its query and rank.
fn row_id(query: &Output, rank: &Output) -> Option<i64> {
    let (Output::Id(query), Output::Integer(rank)) = (query, rank) else { return None };
    let mut hasher = DefaultHasher::new();
    (query, rank).hash(&mut hasher);
    Some(hasher.finish() as i64)
}

/// A table-valued function.
pub struct TableFunction {
    /// The name in SQL.
    pub name: &'static str,
    /// The columns, separated by commas.
    pub columns: &'static str,
    /// The parameters: [`Parameters::of`].
    pub signature: &'static str,
    /// The call forms, for messages, if there are several.
    pub forms: Option<&'static str>,
    /// Whether views and triggers must not use it (rule 13.2).
    pub direct_only: bool,
    /// Whether it reads files, which a host can deny.
    pub reads_files: bool,
    /// The rank column of a function whose column 0 has queries. The function filters by [`Call::only`], which SQLite
    /// does not check again, and returns rows by query and rank, or by rank and query. Query and rank identify a row,
    /// so row ids do not depend on the filter; FULL JOIN uses row ids. Rows of other functions are numbered.
    pub rank_column: Option<usize>,
    /// Whether the rows are the queries of the running call: few, in memory, and independent of the schema, so
    /// statements that use the function may be kept.
    pub lists_queries: bool,
    /// The description in EXPLAIN QUERY PLAN.
    pub plan: &'static CStr,
    /// Computes the rows.
    pub execute: fn(&Call<'_>) -> Result<OutputRows>,
}

impl TableFunction {
    /// A function without optional features, for direct use only.
    pub const fn new(
        name: &'static str,
        columns: &'static str,
        signature: &'static str,
        execute: fn(&Call<'_>) -> Result<OutputRows>,
    ) -> Self {
        Self {
            name,
            columns,
            signature,
            forms: None,
            direct_only: true,
            reads_files: false,
            rank_column: None,
            lists_queries: false,
            plan: c"",
            execute,
        }
    }

    /// The call form, for messages.
    pub fn usage(&self) -> String {
        self.forms.map_or_else(|| format!("{}({})", self.name, self.signature), str::to_owned)
    }

    /// The same function, also allowed in views and triggers.
    pub const fn innocuous(self) -> Self {
        Self { direct_only: false, ..self }
    }
}

/// The data of a module.
#[derive(Clone)]
pub struct Aux {
    state: Arc<State>,
    function: &'static TableFunction,
    /// Number of visible columns.
    columns: usize,
    parameters: Arc<Parameters>,
}

#[repr(C)]
struct Table<'vtab> {
    /// Must be first. SQLite and [`reported`] write to it.
    base: UnsafeCell<ffi::sqlite3_vtab>,
    aux: Aux,
    statements: Rc<Statements>,
    phantom: PhantomData<&'vtab ()>,
}

#[repr(C)]
struct Cursor<'vtab> {
    /// Must be first.
    base: ffi::sqlite3_vtab_cursor,
    aux: Aux,
    statements: Rc<Statements>,
    rows: Option<OutputRows>,
    current: Option<Vec<Output>>,
    /// Values of the hidden columns: the arguments. BLOBs are NULL here, because models may be large.
    hidden: Vec<Output>,
    row_id: i64,
    phantom: PhantomData<&'vtab ()>,
}

/// Registers a table-valued function.
pub fn register(
    connection: &Connection,
    function: &'static TableFunction,
    state: &Arc<State>,
) -> rusqlite::Result<()> {
    let module = const { &Module::<'static, Table<'static>>::eponymous_only_module() };
    let (columns, parameters) = (function.columns.split(',').count(), Parameters::of(function.signature));
    let aux = Aux { state: Arc::clone(state), function, columns, parameters: Arc::new(parameters) };
    connection.create_module(function.name, module, Some(aux))
}

impl Aux {
    fn guard<T>(&self, body: impl FnOnce() -> Result<T>) -> rusqlite::Result<T> {
        self.state.guard(self.function.name, body)
    }

    fn declaration(&self) -> Result<CString> {
        let hidden = self.parameters.names.iter().map(|name| format!("\"{name}\" HIDDEN"));
        let columns = self.function.columns.split(", ").map(|column| format!("\"{column}\""));
        let declarations: Vec<String> = columns.chain(hidden).collect();
        CString::new(format!("CREATE TABLE x({})", declarations.join(", ")))
            .map_err(|_| Error::Internal("a zero byte in a column name".to_owned()))
    }

    /// The constraint for each parameter, then the constraint that filters column 0. `None`: a parameter is given, but
    /// not in this plan.
    fn constraints(&self, info: &IndexInfo) -> Option<Vec<Option<usize>>> {
        let (columns, parameters) = (self.columns, self.parameters.names.len());
        let mut given = vec![None; parameters + 1];
        for (number, constraint) in info.constraints().enumerate() {
            if constraint.operator() != IndexConstraintOp::SQLITE_INDEX_CONSTRAINT_EQ {
                continue;
            }
            let index = match usize::try_from(constraint.column()) {
                Ok(column) if column >= columns => column - columns,
                Ok(0) if self.function.rank_column.is_some() && is_binary(info, number) => parameters,
                _ => continue,
            };
            if constraint.is_usable() {
                given[index].get_or_insert(number);
            } else if index < parameters {
                return None;
            }
        }
        Some(given)
    }

    /// Chooses the values that `filter` receives; false if SQLite must choose another plan.
    fn plan(&self, info: &mut IndexInfo) -> bool {
        let Some(given) = self.constraints(info) else { return false };
        // 1. Values that `filter` receives, in order. SQLite need not check them again.
        let mut bits: c_int = 0;
        for (position, (index, constraint)) in (1..)
            .zip(given.iter().enumerate().filter_map(|(index, constraint)| Some((index, (*constraint)?))))
        {
            bits |= 1 << index;
            let mut usage = info.constraint_usage(constraint);
            usage.set_argv_index(position);
            usage.set_omit(true);
        }
        bits |= self.order(info) << given.len();
        info.set_idx_num(bits);
        info.set_idx_cstr(self.function.plan);
        // Cost. SQLite also plans each branch of an OR separately, without the arguments. Such plans must lose, not fail.
        let complete = given[..self.parameters.required].iter().all(Option::is_some);
        let only = given[self.parameters.names.len()].is_some();
        let (cost, rows) = match (complete, only) {
            (false, _) => (1e90, 10_000),
            (true, _) if self.function.lists_queries => (1.0, 1),
            (true, true) => (1_000.0, 100),
            (true, false) => (100_000.0, 10_000),
        };
        info.set_estimated_cost(cost);
        info.set_estimated_rows(rows);
        true
    }

    /// Refuses a call without a required argument.
    fn check_given(&self, bits: c_int) -> Result<()> {
        let missing = (0..self.parameters.required).find(|index| bits & (1 << index) == 0);
        let Some(missing) = missing else { return Ok(()) };
        let (name, usage) = (&self.parameters.names[missing], self.function.usage());
        Err(Error::Unsupported(format!("argument '{name}' is missing; call {usage}")))
    }

    /// The number (from 1) of an order that satisfies ORDER BY, marked as consumed; 0 if none does.
    fn order(&self, info: &mut IndexInfo) -> c_int {
        let asked: Vec<(c_int, bool)> =
            info.order_bys().map(|order| (order.column(), order.is_order_by_desc())).collect();
        let begins = |order: &[c_int]| {
            asked.len() <= order.len()
                && asked.iter().zip(order).all(|((column, down), offer)| column == offer && !down)
        };
        let orders = self.function.rank_column.map(|rank| [[0, rank as c_int], [rank as c_int, 0]]);
        let known = orders.iter().flatten().position(|order| begins(order));
        match known {
            Some(index) if !asked.is_empty() => {
                info.set_order_by_consumed(true);
                index as c_int + 1
            }
            _ => 0,
        }
    }
}

/// Whether a constraint compares like identifiers (rule 3.5). SQLite checks other collations itself.
fn is_binary(info: &IndexInfo, constraint: usize) -> bool {
    info.collation(constraint).is_ok_and(|name| name.eq_ignore_ascii_case("BINARY"))
}

/// Gives SQLite the text of a table's error. The returned error has no text for rusqlite to copy, because that would abort
/// the process if SQLite ran out of memory.
fn reported(error: rusqlite::Error, table: *mut ffi::sqlite3_vtab) -> rusqlite::Error {
    let (code, text) = match error {
        rusqlite::Error::SqliteFailure(error, text) => (error.extended_code, text.unwrap_or_default()),
        other => (ffi::SQLITE_ERROR, other.to_string()),
    };
    if text.is_empty() {
        return failure(code);
    }
    // SAFETY: SQLite gave the table to a callback that runs. The text and a zero byte fit into the copy, which SQLite frees.
    let is_copied = unsafe {
        let copy = ffi::sqlite3_malloc64(text.len() as u64 + 1).cast::<u8>();
        if !copy.is_null() {
            copy.copy_from_nonoverlapping(text.as_ptr(), text.len());
            copy.add(text.len()).write(0);
            ffi::sqlite3_free((*table).zErrMsg.cast());
            (*table).zErrMsg = copy.cast();
        }
        !copy.is_null()
    };
    failure(if is_copied { code } else { ffi::SQLITE_NOMEM })
}

/// An error without a text.
fn failure(code: c_int) -> rusqlite::Error {
    rusqlite::Error::SqliteFailure(ffi::Error::new(code), None)
}

// SAFETY: `Table` is repr(C) and begins with `sqlite3_vtab`.
unsafe impl<'vtab> VTab<'vtab> for Table<'vtab> {
    type Aux = Aux;
    type Cursor = Cursor<'vtab>;

    fn connect(
        db: &mut VTabConnection,
        aux: Option<&Aux>,
        _module_name: &[u8],
        _database_name: &[u8],
        _table_name: &[u8],
        _args: &[&[u8]],
    ) -> rusqlite::Result<(Cow<'static, CStr>, Self)> {
        let Some(aux) = aux.cloned() else { return Err(failure(ffi::SQLITE_INTERNAL)) };
        let direct_only = aux.function.direct_only;
        db.config(if direct_only { VTabConfig::DirectOnly } else { VTabConfig::Innocuous })?;
        let made = guard(aux.function.name, || {
            // SAFETY: the statements are dropped with this table or its last cursor. SQLite closes cursors and disconnects tables
            // before it frees a database, also one that `sqlite3_close_v2` left open for its statements.
            let statements = unsafe { Statements::new(db.handle(), &aux.state) }?;
            Ok((aux.declaration()?, Rc::new(statements)))
        });
        // Only `best_index` can pass SQLite an error text. It also rejects a library that was not loaded completely.
        let (declaration, statements) = made.map_err(|_| failure(ffi::SQLITE_INTERNAL))?;
        let base = UnsafeCell::default();
        Ok((Cow::Owned(declaration), Self { base, aux, statements, phantom: PhantomData }))
    }

    fn best_index(&self, info: &mut IndexInfo) -> rusqlite::Result<bool> {
        if !self.aux.function.lists_queries {
            self.aux.state.count_plan();
        }
        self.aux.guard(|| Ok(self.aux.plan(info))).map_err(|error| reported(error, self.base.get()))
    }

    fn open(&'vtab mut self) -> rusqlite::Result<Cursor<'vtab>> {
        Ok(Cursor {
            base: ffi::sqlite3_vtab_cursor::default(),
            aux: self.aux.clone(),
            statements: Rc::clone(&self.statements),
            rows: None,
            current: None,
            hidden: Vec::new(),
            row_id: 0,
            phantom: PhantomData,
        })
    }
}

impl Drop for Table<'_> {
    fn drop(&mut self) {
        self.statements.clear();
    }
}

impl Cursor<'_> {
    fn start(&mut self, bits: c_int, values: &Filters<'_>) -> Result<()> {
        self.aux.check_given(bits)?;
        let parameters = self.aux.parameters.names.len();
        let mut values = values.iter();
        let mut take = |index: usize| if bits & (1 << index) == 0 { None } else { values.next() };
        let arguments: Vec<Option<ValueRef<'_>>> = (0..parameters).map(&mut take).collect();
        let only = take(parameters).map(id_of);
        let by_rank = bits >> (parameters + 1) == 2;
        let (statements, connection) = (&*self.statements, &self.statements.connection);
        let call =
            Call { state: &self.aux.state, connection, statements, arguments: &arguments, only, by_rank };
        let hidden = |value: &Option<ValueRef<'_>>| match value {
            None | Some(ValueRef::Blob(_)) => Output::Null,
            Some(value) => Output::Id(id_of(*value)),
        };
        self.hidden = arguments.iter().map(hidden).collect();
        self.row_id = 0;
        let execute = self.aux.function.execute;
        let database = Database::from_connection(connection);
        self.rows = Some(in_transaction(connection, || interruptible(database, || execute(&call)))?);
        self.advance()
    }

    /// Runs a step of the call. Failed steps report no warnings.
    fn guard(&mut self, body: impl FnOnce(&mut Self) -> Result<()>) -> rusqlite::Result<()> {
        let outcome = guard(self.aux.function.name, || body(self));
        outcome.map_err(|error| {
            self.aux.state.set_warnings(Vec::new());
            reported(error, self.base.pVtab)
        })
    }

    fn advance(&mut self) -> Result<()> {
        self.row_id += 1;
        self.current = self.rows.as_mut().and_then(Iterator::next).transpose()?;
        Ok(())
    }
}

// SAFETY: `Cursor` is repr(C) and begins with `sqlite3_vtab_cursor`.
unsafe impl VTabCursor for Cursor<'_> {
    fn filter(&mut self, idx_num: c_int, _idx_str: Option<&str>, args: &Filters<'_>) -> rusqlite::Result<()> {
        // The rows of the previous call are freed before the next ones are made.
        self.current = None;
        self.rows = None;
        self.guard(|cursor| cursor.start(idx_num, args))
    }

    fn next(&mut self) -> rusqlite::Result<()> {
        self.guard(Self::advance)
    }

    fn eof(&self) -> bool {
        self.current.is_none()
    }

    fn column(&self, context: &mut Context, column: c_int) -> rusqlite::Result<()> {
        guard(self.aux.function.name, || {
            let value = usize::try_from(column).ok().and_then(|column| {
                let hidden = column.checked_sub(self.aux.columns);
                hidden.map_or_else(|| self.current.as_ref()?.get(column), |hidden| self.hidden.get(hidden))
            });
            let outcome = context.set_result(value.unwrap_or(&Output::Null));
            outcome.map_err(|error| Error::Host(error.to_string()))
        })
    }

    fn rowid(&self) -> rusqlite::Result<i64> {
        let ranked = self.aux.function.rank_column.zip(self.current.as_ref());
        Ok(ranked.and_then(|(rank, row)| row_id(&row[0], &row[rank])).unwrap_or(self.row_id))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Panics at the row given by its argument.
    const PANICS: TableFunction = TableFunction::new("panics", "a", "[row]", panics);

    #[expect(clippy::unnecessary_wraps, reason = "the signature of a table function")]
    fn panics(call: &Call<'_>) -> Result<OutputRows> {
        match call.arguments[0] {
            Some(ValueRef::Integer(0)) => panic!("at the start"),
            Some(ValueRef::Integer(last)) => Ok(Box::new((1..9).map(move |row| {
                assert!(row < last, "at row {row}");
                Ok(vec![Output::Integer(row)])
            }))),
            _ => Ok(Box::new(std::iter::empty())),
        }
    }

    #[test]
    fn a_panic_becomes_an_error_and_the_connection_stays_usable() {
        let connection = Connection::open_in_memory().unwrap();
        let state = State::new();
        state.complete();
        register(&connection, &PANICS, &state).unwrap();
        let sum = |row: i64| {
            connection.query_row("SELECT sum(a) FROM panics(?1)", [row], |row| row.get::<_, i64>(0))
        };
        for (row, text) in [(0, "at the start"), (1, "at row 1"), (5, "at row 5")] {
            let error = sum(row).unwrap_err().to_string();
            assert!(error.contains(&format!("panics: internal error: {text}; please report it")), "{error}");
            assert_eq!(sum(9), Ok(36));
        }
    }
}
