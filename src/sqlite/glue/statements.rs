//! Prepared statements that a table-valued function keeps for its next call.
//!
//! The virtual table owns them. `sqlite3_close` disconnects virtual tables, including eponymous ones, before it checks
//! that the connection has no statements left, so the table finalizes them in time; FTS5 does the same. If a statement
//! of the host uses the table, it is disconnected when that statement is finalized, which still counts as a statement
//! of the connection then, so `sqlite3_close_v2` frees the database later. A statement that itself uses a function of
//! this crate would keep the virtual table, and so itself, alive forever; such statements are not kept.
//!
//! Facts about a statement (which table a name means, the roles of its columns) are valid until the schema changes. A
//! guard statement detects changes: SQLite prepares it again after each change of the schemas `main` and `temp`, of
//! functions, collations, pragmas, the authorizer, and after DETACH. If other databases are attached, nothing is kept.

#![allow(unsafe_code, reason = "rusqlite's statements borrow the connection that is kept with them")]

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;

use rusqlite::{Connection, Statement, StatementStatus, ffi};

use super::sql::prepare;
use super::state::State;
use crate::base::{Error, Result};

/// Largest number of statements.
const MOST_STATEMENTS: usize = 16;

/// Compares the schema in memory with the file's, and returns no row.
const GUARD: &str = "SELECT 1 FROM main.sqlite_master LIMIT 0";

/// A statement and its facts.
struct Kept {
    key: String,
    statement: Statement<'static>,
    facts: Rc<dyn Any>,
}

/// The statements of a virtual table.
pub struct Statements {
    // Statements are dropped before their connection.
    kept: RefCell<Vec<Kept>>,
    guard: RefCell<Option<Statement<'static>>>,
    /// The connection of the statements.
    pub connection: Rc<Connection>,
    state: Arc<State>,
    /// How many times all statements were dropped.
    generation: Cell<u64>,
}

/// The time at which a call began, for [`Statements::keep`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ticket {
    generation: u64,
    planned: usize,
}

impl Statements {
    /// Starts without statements.
    ///
    /// # Safety
    /// The database must stay open until this value is dropped.
    pub unsafe fn new(database: *mut ffi::sqlite3, state: &Arc<State>) -> Result<Self> {
        // SAFETY: the database is open, and `from_handle` does not close it.
        let connection = unsafe { Connection::from_handle(database) };
        Ok(Self {
            kept: RefCell::default(),
            guard: RefCell::default(),
            connection: Rc::new(connection.map_err(|error| Error::Host(error.to_string()))?),
            state: Arc::clone(state),
            generation: Cell::new(0),
        })
    }

    /// Finalizes all statements.
    pub fn clear(&self) {
        self.generation.set(self.generation.get() + 1);
        self.kept.take();
        self.guard.take();
    }

    /// Begins a call: drops all statements if the schema has changed since the previous call.
    pub fn begin(&self) -> Ticket {
        let guard = self.guard.take();
        let unchanged = guard.is_some_and(|mut guard| {
            let checked = guard.raw_query().next().is_ok();
            let unchanged = checked && is_first_version(&guard);
            self.guard.replace(unchanged.then_some(guard));
            unchanged
        });
        if !unchanged {
            self.clear();
            let guard = prepare(&self.connection, GUARD).ok();
            // SAFETY: the field `guard` is dropped before `connection`, which does not move in its `Rc`.
            self.guard.replace(guard.map(|statement| unsafe { detached(statement) }));
        }
        Ticket { generation: self.generation.get(), planned: self.state.planned() }
    }

    /// Whether other databases are attached. Changes of their schemas may change what a name means; the guard does not
    /// notice it. (A name of `main` or `temp` means the same after ATTACH.)
    pub fn sees_attached(&self) -> bool {
        let list = prepare(&self.connection, "PRAGMA database_list");
        let count = list.and_then(|mut list| list.query_map([], |row| row.get(0))?.collect());
        !count.is_ok_and(|numbers: Vec<i64>| numbers.iter().all(|number| *number < 2))
    }

    /// The facts about a statement.
    pub fn facts<T: 'static>(&self, key: &str) -> Option<Rc<T>> {
        let kept = self.kept.borrow();
        Rc::clone(&kept.iter().find(|kept| kept.key == key)?.facts).downcast().ok()
    }

    /// Removes a statement, with its facts, so that nested calls do not find it.
    pub fn take<T: 'static>(&self, key: &str) -> Option<(Statement<'_>, Rc<T>)> {
        let mut kept = self.kept.borrow_mut();
        let position = kept.iter().position(|kept| kept.key == key)?;
        let Kept { statement, facts, .. } = kept.remove(position);
        Some((statement, facts.downcast().ok()?))
    }

    /// Keeps a statement made or taken in the call with this ticket, or drops it if it must not be kept.
    pub fn keep(&self, ticket: Ticket, key: String, mut statement: Statement<'_>, facts: Rc<dyn Any>) {
        let now = Ticket { generation: self.generation.get(), planned: self.state.planned() };
        if now != ticket || self.guard.borrow().is_none() || !is_first_version(&statement) {
            return;
        }
        statement.clear_bindings();
        // SAFETY: statements of `prepare` and `take` belong to `connection`; the field `kept` is dropped before it.
        let statement = unsafe { detached(statement) };
        let mut kept = self.kept.borrow_mut();
        kept.retain(|other| other.key != key);
        if kept.len() == MOST_STATEMENTS {
            kept.remove(0);
        }
        kept.push(Kept { key, statement, facts });
    }
}

/// Whether SQLite has not prepared the statement again since it was made.
pub fn is_first_version(statement: &Statement<'_>) -> bool {
    statement.get_status(StatementStatus::RePrepare) == 0
}

/// The statement without the lifetime of its connection.
///
/// # Safety
/// It must be dropped before its connection, which must not move meanwhile.
unsafe fn detached(statement: Statement<'_>) -> Statement<'static> {
    // SAFETY: only the lifetime differs; the caller guarantees that the connection outlives the statement.
    unsafe { std::mem::transmute::<Statement<'_>, Statement<'static>>(statement) }
}
