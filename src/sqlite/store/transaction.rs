//! The transaction in which a model is stored: all of its changes or none, also inside a transaction of the caller.

use std::sync::atomic::{AtomicU64, Ordering};

use rusqlite::{Connection, Statement};

use super::read::{HostResult, host};
use crate::base::{Error, Result};
use crate::sqlite::glue::sql;

/// Number of the next savepoint. A name is used once: an interrupt can leave a savepoint open.
static NEXT: AtomicU64 = AtomicU64::new(0);

/// Who began the transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Owner {
    /// This call. The release of the savepoint commits.
    Library,
    /// The caller, who commits or rolls back later.
    Caller,
}

/// An open savepoint. Dropping it undoes the changes.
///
/// All statements are prepared at the start: after an interrupt SQLite prepares nothing.
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
            // A progress handler can report an interrupt after the savepoint was opened. Nothing is written yet, so in the
            // caller's transaction it may stay open.
            transaction.open = owner == Owner::Library;
            drop(transaction.release_undone());
            return Err(host(&error));
        }
        // Releasing a savepoint that an authorizer ignored is an error. So a second one is opened and released. Going back to
        // it would abort the statements of the caller if the transaction has changed the schema.
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

    /// Keeps the changes. After [`Error::Busy`] it can be called again: in rollback-journal mode readers delay a commit.
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

    /// Whether the savepoint is gone although its release was interrupted.
    fn is_released(&mut self) -> bool {
        match self.owner {
            Owner::Library => self.connection.is_autocommit(),
            // Going back to a savepoint that is gone is an error; another interrupt is not this error.
            Owner::Caller => {
                let undone = self.undo.execute([]).host();
                !self.connection.is_autocommit() && !matches!(undone, Ok(_) | Err(Error::Interrupted))
            }
        }
    }

    /// Undoes the changes inside a transaction of the caller.
    fn release_undone(&mut self) -> rusqlite::Result<usize> {
        self.undo.execute([])?;
        self.commit.execute([])
    }

    /// Undoes the changes, unless SQLite has rolled back the transaction already, as it does after some errors.
    fn undo(&mut self) {
        if self.connection.is_autocommit() {
            return;
        }
        let undone = match self.owner {
            Owner::Library => self.rollback.execute([]),
            Owner::Caller => self.release_undone(),
        };
        // After sqlite3_interrupt no statement runs, not even ROLLBACK. As SQLite documents, a statement that writes then rolls
        // back the transaction. Opening a BLOB for writing is such a statement, and needs no preparation.
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
