//! The transaction in which a model is stored: all of its changes or none, also inside a transaction of the caller.

use rusqlite::{Connection, Statement};

use super::host;
use crate::error::{Error, Result};
use crate::sqlite::glue::busy::BusyWait;

const BEGIN: &str = "SAVEPOINT ltr_store";
const COMMIT: &str = "RELEASE ltr_store";
const UNDO: &str = "ROLLBACK TO ltr_store";

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
#[derive(Debug)]
pub struct StoreTransaction<'a> {
    connection: &'a Connection,
    owner: Owner,
    commit: Statement<'a>,
    undo: Statement<'a>,
    rollback: Statement<'a>,
    open: bool,
}

impl<'a> StoreTransaction<'a> {
    /// Opens the savepoint.
    ///
    /// # Errors
    /// Those of the database; an authorizer that ignores savepoints.
    pub fn begin(connection: &'a Connection) -> Result<Self> {
        let prepare = |sql| connection.prepare(sql).map_err(|error| host(&error));
        let owner = if connection.is_autocommit() { Owner::Library } else { Owner::Caller };
        let (commit, undo, rollback) = (prepare(COMMIT)?, prepare(UNDO)?, prepare("ROLLBACK")?);
        let mut begin = prepare(BEGIN)?;
        let mut transaction = Self { connection, owner, commit, undo, rollback, open: false };
        let outcome = begin.execute([]).map_err(|error| host(&error));
        // A progress handler can report an interrupt after the savepoint was opened.
        transaction.open = outcome.is_ok() || owner == Owner::Library;
        outcome?;
        // Going back to a savepoint that an authorizer ignored is an error.
        let opened = match owner {
            Owner::Library => !connection.is_autocommit(),
            Owner::Caller => transaction.undo.execute([]).is_ok(),
        };
        if !opened {
            return Err(Error::Host("an authorizer of the host ignores savepoints".to_owned()));
        }
        Ok(transaction)
    }

    /// Keeps the changes.
    ///
    /// # Errors
    /// Those of the database; nothing is then stored.
    pub fn commit(mut self, wait: &BusyWait<'_>) -> Result<()> {
        // Readers in rollback-journal mode make the release fail with SQLITE_BUSY. It can be repeated.
        let released = wait.retry(|| self.commit.execute([]).map(drop).map_err(|error| host(&error)));
        let committed = match (self.owner, &released) {
            (Owner::Library, Ok(())) => self.connection.is_autocommit(),
            // A progress handler can report an interrupt after the commit; a failed commit leaves the transaction open.
            (Owner::Library, Err(Error::Interrupted)) => self.connection.is_autocommit(),
            (Owner::Caller, Ok(())) => true,
            // If the savepoint is gone, it was released before the interrupt was reported.
            (Owner::Caller, Err(Error::Interrupted)) => matches!(self.undo.execute([]), Err(error)
                if host(&error) != Error::Interrupted && !self.connection.is_autocommit()),
            (_, Err(_)) => false,
        };
        if committed {
            self.open = false;
            return Ok(());
        }
        released.and(Err(Error::Host("an authorizer of the host ignores the end of a savepoint".to_owned())))
    }

    /// Undoes the changes, unless SQLite has rolled back the transaction already, as it does after some errors.
    fn undo(&mut self) {
        if self.connection.is_autocommit() {
            return;
        }
        let undone = match self.owner {
            Owner::Library => self.rollback.execute([]),
            Owner::Caller => self.undo.execute([]).and_then(|_| self.commit.execute([])),
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
