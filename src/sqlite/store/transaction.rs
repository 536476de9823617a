//! The transaction that stores a model: all changes or none, even inside a transaction of the caller.

use std::sync::atomic::{AtomicU64, Ordering};

use rusqlite::{Connection, Statement};

use super::read::{HostResult, host};
use crate::base::{Error, Result};
use crate::sqlite::glue::sql;

/// Number of the next savepoint. Names are used only once, because an interrupt can leave a savepoint open.
static NEXT: AtomicU64 = AtomicU64::new(0);

/// Who started the transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Owner {
    /// This call. Releasing the savepoint commits.
    Library,
    /// The caller, who commits or rolls back later.
    Caller,
}

/// An open savepoint. Dropping it rolls back the changes.
///
/// All statements are prepared at the start, because SQLite cannot prepare any after an interrupt.
pub struct StoreTransaction<'a> {
    connection: &'a Connection,
    owner: Owner,
    commit: Statement<'a>,
    undo: Statement<'a>,
    rollback: Statement<'a>,
    open: bool,
}

impl<'a> StoreTransaction<'a> {
    /// Opens the savepoint. `alone`: the call began outside of a transaction.
    ///
    /// # Errors
    /// SQLite errors; an authorizer that ignores savepoints; the transaction of the call has ended.
    pub fn begin(connection: &'a Connection, alone: bool) -> Result<Self> {
        if connection.is_autocommit() != alone {
            return Err(Error::Host("a transaction began or ended during the call".to_owned()));
        }
        let prepare = |sql: String| sql::prepare(connection, &sql).host();
        let owner = if alone { Owner::Library } else { Owner::Caller };
        let name = format!("ltr_store_{}", NEXT.fetch_add(1, Ordering::Relaxed));
        let commit = prepare(format!("RELEASE {name}"))?;
        let undo = prepare(format!("ROLLBACK TO {name}"))?;
        let mut begin = prepare(format!("SAVEPOINT {name}"))?;
        let mut transaction =
            Self { connection, owner, commit, undo, rollback: prepare("ROLLBACK".to_owned())?, open: true };
        if let Err(error) = begin.execute([]) {
            // A progress handler can report an interrupt after the savepoint was opened. Nothing has been written yet, so
            // in the caller's transaction it may stay open.
            transaction.open = owner == Owner::Library;
            drop(transaction.release_undone());
            return Err(host(&error));
        }
        // Releasing a savepoint that an authorizer ignored is an error, so open and release a second one as a test. Rolling
        // back to it would abort the caller's statements if the transaction has changed the schema.
        let opened = match owner {
            Owner::Library => !connection.is_autocommit(),
            Owner::Caller => match begin.execute([]).and_then(|_| transaction.commit.execute([])) {
                Err(error) if host(&error) == Error::Interrupted => return Err(Error::Interrupted),
                released => released.is_ok(),
            },
        };
        if !opened {
            return Err(Error::Host("the host's authorizer ignores savepoints".to_owned()));
        }
        Ok(transaction)
    }

    /// Keeps the changes. Can be retried after [`Error::Busy`]: in rollback-journal mode, readers delay commits.
    ///
    /// # Errors
    /// SQLite errors. The changes are undone when the transaction is dropped.
    pub fn commit(&mut self) -> Result<()> {
        let released = self.commit.execute([]).map(drop).host();
        let committed = match &released {
            Ok(()) => self.connection.is_autocommit() == (self.owner == Owner::Library),
            // A progress handler can report an interrupt after the commit.
            Err(Error::Interrupted) => self.is_released(),
            Err(_) => false,
        };
        self.open = !committed;
        if committed {
            return Ok(());
        }
        released.and(Err(Error::Host("the host's authorizer ignores the end of a savepoint".to_owned())))
    }

    /// Whether the savepoint is gone even though its release was interrupted.
    fn is_released(&mut self) -> bool {
        match self.owner {
            Owner::Library => self.connection.is_autocommit(),
            // Rolling back to a savepoint that is gone is an error, which differs from another interrupt.
            Owner::Caller => {
                let undone = self.undo.execute([]).host();
                !self.connection.is_autocommit() && !matches!(undone, Ok(_) | Err(Error::Interrupted))
            }
        }
    }

    /// Rolls back the changes inside a transaction of the caller.
    fn release_undone(&mut self) -> rusqlite::Result<usize> {
        self.undo.execute([])?;
        self.commit.execute([])
    }

    /// Rolls back the changes, unless SQLite has already rolled back the transaction, as after some errors.
    fn undo(&mut self) {
        if self.connection.is_autocommit() {
            return;
        }
        let undone = match self.owner {
            Owner::Library => self.rollback.execute([]),
            Owner::Caller => self.release_undone(),
        };
        // After sqlite3_interrupt no statement runs, not even ROLLBACK. According to SQLite's documentation, a writing
        // statement then rolls back the transaction. Opening a BLOB for writing counts as one, and needs no
        // preparation.
        if undone.is_err_and(|error| host(&error) == Error::Interrupted) && !self.connection.is_autocommit() {
            drop(self.connection.blob_open("main", "sqlite_master", "sql", 1, false));
        }
    }
}

impl Drop for StoreTransaction<'_> {
    fn drop(&mut self) {
        if self.open {
            self.undo();
        }
    }
}
