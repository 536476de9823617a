//! Stores a new version: either it is complete and active, or nothing has changed (rules 5.7 to 5.9, 5.15 to 5.19).

use rusqlite::{Connection, OptionalExtension, ffi};
use serde_json::Value;

use super::read::{HostResult, IS_VERSION, Store, host, open_blob, read_at, split_version};
use super::transaction::StoreTransaction;
use crate::base::{Error, Result};
use crate::model::{KEY_END, Key, read_key};
use crate::sqlite::glue::{BlobLocation, retry_busy, sql};
use crate::sqlite::source::quote;

/// Statement templates; `{schema}` is replaced.
const CREATE: &str = include_str!("../../../sql/schema.sql");
const INSERT: &str = include_str!("../../../sql/store.sql");
/// A template for each of [`EVENTS`].
const ONE_ACTIVE: &str = include_str!("../../../sql/one_active.sql");
const ACTIVATE: &str = include_str!("../../../sql/activate.sql");
const DELETE_OLDER: &str = include_str!("../../../sql/delete_older.sql");

/// Events that can activate a version: names of triggers and changes.
const EVENTS: [(&str, &str); 2] = [("inserted", "INSERT"), ("activated", "UPDATE OF active, name")];

/// Advice for getting the model without storing it.
const ADVICE: &str = "; ltr_fit returns the model as a BLOB and writes nothing";

/// Number of bytes of a stored model to compare at once.
const COMPARED_BYTES: usize = 1 << 20;

fn altered() -> Error {
    Error::Host("a trigger or the host's authorizer suppressed or altered a change".to_owned())
}

/// A version to store.
pub struct NewVersion<'a> {
    pub name: &'a str,
    pub algorithm: &'a str,
    /// The report, an object. Its key "version" is set to the version number.
    pub report: &'a Value,
    /// The model BLOB.
    pub model: &'a [u8],
    /// Whether it becomes the only active version. Otherwise active versions do not change.
    pub activate: bool,
    /// Number of versions to keep; `None` for all.
    pub keep_versions: Option<usize>,
    /// The version that an update continues.
    pub base: Option<&'a BaseVersion>,
}

/// The stored version that an update continues.
#[derive(Debug, Clone)]
pub struct BaseVersion {
    /// The call's argument: `name` or `name@version`.
    pub argument: String,
    pub name: String,
    pub version: i64,
    /// The key of its model.
    pub key: Key,
}

/// A newly stored version.
pub struct StoredVersion {
    /// The number of the version.
    pub version: i64,
    /// Older versions that could not be deleted; errors after the commit.
    pub warnings: Vec<String>,
}

impl Store<'_> {
    /// Before training, refuses what could not be stored afterwards (rule 5.8). Inside a transaction, takes the write lock,
    /// because later the transaction may be unable to write (rule 5.16).
    ///
    /// # Errors
    /// A database that is read-only or that SQLite could not roll back; a table `ltr_models` with different columns; an
    /// outer statement that reads or writes; another connection that writes.
    pub fn prepare(&self) -> Result<()> {
        self.check_database(ADVICE)?;
        if writing_statement_runs(self.connection) {
            return Err(Error::Unsupported(
                "a statement that writes is still running on this connection, such as one that contains this call, so the \
                 model could not be stored; call it in a separate SELECT, and read its report later from ltr_models.report"
                    .to_owned(),
            ));
        }
        let reads = self.transaction_state() == ffi::SQLITE_TXN_READ;
        match (self.alone, reads) {
            (true, true) => {
                return Err(Error::Unsupported(format!(
                    "an outer statement is reading this database, so the model could not be stored after training; \
                     call it in a SELECT without FROM while no other statement of the connection is open{ADVICE}"
                )));
            }
            (true, false) => {}
            (false, false) => retry_busy(self.limits, || self.take_write_lock())?,
            // Waiting would not help: this transaction cannot see what the other connection commits.
            (false, true) => self.take_write_lock().map_err(|error| match error {
                Error::Busy(_) => Error::Busy(format!(
                    "this transaction has read, and another connection is writing or has written since, so the model could \
                     not be stored after training; end the transaction and call again, or begin it with BEGIN \
                     IMMEDIATE{ADVICE}"
                )),
                other => other,
            })?,
        }
        retry_busy(self.limits, || self.check_table())
    }

    /// Refuses a database that cannot be written to, or in which SQLite could not undo a write.
    fn check_database(&self, advice: &str) -> Result<()> {
        let read_only = self.connection.is_readonly(self.schema.as_str()).unwrap_or(false)
            || sql::query_row(self.connection, "PRAGMA query_only", [], |row| row.get(0)).unwrap_or(false);
        if read_only {
            return Err(Error::Unsupported(format!("the database '{}' is read-only{advice}", self.schema)));
        }
        let mode = format!("PRAGMA {}.journal_mode", quote(&self.schema));
        if sql::query_row(self.connection, &mode, [], |row| row.get(0))
            .is_ok_and(|mode: String| mode == "off")
        {
            return Err(Error::Unsupported(format!(
                "the journal mode of the database '{}' is OFF, so SQLite could not undo a write that fails; choose another \
                 one, such as PRAGMA journal_mode = MEMORY{advice}",
                self.schema
            )));
        }
        Ok(())
    }

    /// Refuses a table `ltr_models` that cannot take a new version.
    fn check_table(&self) -> Result<()> {
        if !self.exists()? {
            return Ok(());
        }
        sql::prepare(self.connection, &self.sql(INSERT)).map(drop).map_err(|error| match host(&error) {
            Error::Host(problem) => Error::Host(format!(
                "the table ltr_models cannot take a new version ({problem}); rename it or use the option 'schema'"
            )),
            other => other,
        })
    }

    /// Takes the write lock of the caller's transaction without changing anything.
    fn take_write_lock(&self) -> Result<()> {
        if self.transaction_state() == ffi::SQLITE_TXN_WRITE {
            return Ok(());
        }
        if self.lock_table()? {
            return Ok(());
        }
        // Create the table, and roll that back.
        let _undone = StoreTransaction::begin(self.connection, self.alone)?;
        self.start_to_write()
    }

    /// Takes the write lock of an open transaction, and creates the table if it does not exist.
    fn start_to_write(&self) -> Result<()> {
        if self.lock_table()? { Ok(()) } else { self.run(&self.sql(CREATE), []) }
    }

    /// Takes the write lock of an open transaction; false if the table does not exist. Does not read first: after a
    /// read, SQLite may refuse the lock forever.
    fn lock_table(&self) -> Result<bool> {
        let no_change = format!("UPDATE {} SET active = active WHERE 0", self.table());
        match self.run(&no_change, []) {
            Err(Error::Host(problem)) if problem.starts_with("no such table") => Ok(false),
            locked => locked.map(|()| true),
        }
    }

    /// Stores a new version.
    ///
    /// # Errors
    /// SQLite errors; [`Error::Conflict`]. Then nothing has changed, or the message says that this is unknown.
    /// Some SQLite errors and interrupts also end the caller's transaction.
    pub fn put(&self, new: &NewVersion<'_>) -> Result<StoredVersion> {
        let failed = |error| match error {
            Error::Busy(problem) => Error::Busy(format!("nothing was stored: {problem}")),
            Error::Host(problem) => Error::Host(format!("the model could not be stored: {problem}{ADVICE}")),
            other => other,
        };
        let written = retry_busy(self.limits, || {
            let transaction = StoreTransaction::begin(self.connection, self.alone)?;
            let stored = self.write(new)?;
            // The host's busy handler may have waited a long time. An interrupt makes the commit fail anyway.
            self.limits.check_time()?;
            Ok((stored, transaction))
        });
        let (mut stored, mut transaction) = written.map_err(failed)?;
        let committed = retry_busy(self.limits, || transaction.commit());
        drop(transaction);
        // SQLite reports some errors after the commit, such as a failure to release its lock.
        let Err(Error::Host(problem)) = committed else {
            return committed.map(|()| stored).map_err(failed);
        };
        let is_stored = || Ok(self.exists()? && self.holds(new, stored.version)?);
        match retry_busy(self.limits, is_stored) {
            Ok(true) => {
                stored.warnings.push(format!("the version is stored, but its commit reported: {problem}"));
                Ok(stored)
            }
            Ok(false) => Err(failed(Error::Host(problem))),
            Err(error) => Err(Error::Host(format!(
                "the commit failed ({problem}), and so did reading it back ({error}); check in ltr_models whether \
                 version {} of '{}' is stored",
                stored.version, new.name
            ))),
        }
    }

    /// Writes a new version in an open transaction, and reads it back to check that it is complete: triggers and the host's
    /// authorizer can suppress changes without an error.
    fn write(&self, new: &NewVersion<'_>) -> Result<StoredVersion> {
        // 1. The write lock: from here on, no other connection can store.
        self.start_to_write()?;
        let mut warnings = self.keep_one_active()?;
        // 2. An update must continue the version that its argument still names.
        if let Some(base) = new.base {
            self.check_base(base)?;
        }
        // 3. The version, inactive.
        let version = self.newest(new.name)?.checked_add(1).ok_or_else(|| {
            Error::Host(format!(
                "the model '{}' has a version with the largest possible number; renumber it",
                new.name
            ))
        })?;
        let mut report = new.report.clone();
        report["version"] = version.into();
        self.execute(INSERT, (new.name, version, new.algorithm, report.to_string(), new.model))?;
        // 4. The active version.
        if new.activate {
            self.execute(ACTIVATE, (new.name, version))?;
        }
        // 5. Older versions. The new version is stored even if they cannot be deleted.
        match new.keep_versions.map_or(Ok(()), |keep| self.delete_older(new.name, keep)) {
            Err(Error::Host(problem)) if !self.connection.is_autocommit() => {
                warnings.push(format!("older versions could not be deleted: {problem}"));
            }
            deleted => deleted?,
        }
        // 6. Check what is stored now.
        if !self.holds(new, version)? || !self.activated(new, version)? {
            return Err(altered());
        }
        Ok(StoredVersion { version, warnings })
    }

    /// Creates the triggers that keep one version of a name active, if the table predates them. Of several active
    /// versions the highest one stays active (rule 5.10). Returns warnings. If the host does not allow triggers, does
    /// without them.
    fn keep_one_active(&self) -> Result<Vec<String>> {
        // 1. The missing triggers. A trigger of another table may have the same name, so they are recognized by their text.
        let triggers = self.triggers().unwrap_or_default();
        let create = |(event, change): &(&str, &str)| {
            let template = ONE_ACTIVE.replace("{change}", change);
            let body =
                template.split_once("{event}").map_or("", |(_, body)| body.trim_end().trim_end_matches(';'));
            if triggers.iter().any(|(_, text)| text.ends_with(body)) {
                return None;
            }
            let is_free = |event: &String| {
                let name = format!("ltr_models_{event}");
                !triggers.iter().any(|(taken, _)| taken.eq_ignore_ascii_case(&name))
            };
            let mut names =
                std::iter::once((*event).to_owned()).chain((2..).map(|number| format!("{event}_{number}")));
            Some(self.sql(&template).replace("{event}", &names.find(is_free)?))
        };
        let missing: Vec<String> = EVENTS.iter().filter_map(create).collect();
        if missing.is_empty() {
            return Ok(Vec::new());
        }
        let made = missing.iter().try_for_each(|create| self.run(create, []));
        match made {
            Err(Error::Host(_)) if !self.connection.is_autocommit() => return Ok(Vec::new()),
            made => made?,
        }
        // 2. Versions that were active without them.
        let table = self.table();
        let several = format!(
            "SELECT name, max(version) FROM {table} WHERE active AND typeof(name) = 'text' AND {IS_VERSION} GROUP BY name HAVING count(*) > 1"
        );
        let mut statement = sql::prepare(self.connection, &several).host()?;
        let several: Vec<(String, i64)> = statement
            .query_map([], |row| Ok((row.get(0)?, row.get(1)?)))
            .and_then(Iterator::collect)
            .host()?;
        let one = |(name, version): (String, i64)| {
            self.execute(ACTIVATE, (&name, version))?;
            Ok(format!(
                "several versions of the model '{name}' were active; now only the highest, {version}, is"
            ))
        };
        several.into_iter().map(one).collect()
    }

    /// The name and text of each trigger.
    fn triggers(&self) -> Result<Vec<(String, String)>> {
        let find =
            format!("SELECT name, sql FROM {}.sqlite_master WHERE type = 'trigger'", quote(&self.schema));
        let mut statement = sql::prepare(self.connection, &find).host()?;
        let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)));
        rows.and_then(Iterator::collect).host()
    }

    /// Makes a version of a name the only active one.
    ///
    /// # Errors
    /// No such version; errors of SQLite.
    pub fn activate(&self, name: &str, version: i64) -> Result<()> {
        if writing_statement_runs(self.connection) {
            return Err(Error::Unsupported(
                "a statement that writes is still running on this connection, such as one that contains this call; call it in a \
                 separate SELECT"
                    .to_owned(),
            ));
        }
        retry_busy(self.limits, || self.find_version(name, version))?;
        self.check_database("")?;
        retry_busy(self.limits, || {
            let mut transaction = StoreTransaction::begin(self.connection, self.alone)?;
            self.start_to_write()?;
            // Another connection may have deleted it in the meantime.
            self.find_version(name, version)?;
            self.keep_one_active()?;
            self.execute(ACTIVATE, (name, version))?;
            if self.active_versions(name)? != [version] {
                return Err(altered());
            }
            transaction.commit()
        })
    }

    fn execute(&self, template: &str, values: impl rusqlite::Params) -> Result<()> {
        self.run(&self.sql(template), values)
    }

    /// Deletes all but the newest versions of a name. The statements have no subqueries, because SQLite crashes in some
    /// if an authorizer ignores a SELECT.
    fn delete_older(&self, name: &str, keep: usize) -> Result<()> {
        let sql = format!(
            "SELECT version FROM {} WHERE name = ?1 ORDER BY version DESC LIMIT 1 OFFSET ?2",
            self.table()
        );
        let oldest =
            sql::query_row(self.connection, &sql, (name, keep as i64 - 1), |row| row.get::<_, i64>(0));
        match oldest.optional().host()? {
            Some(oldest) => self.execute(DELETE_OLDER, (name, oldest)),
            None => Ok(()),
        }
    }

    /// Runs a statement in an open transaction. It may return rows: with `PRAGMA count_changes`, every change returns one.
    fn run(&self, sql: &str, values: impl rusqlite::Params) -> Result<()> {
        // After some errors SQLite has already ended the transaction, and the statement would commit on its own.
        if self.connection.is_autocommit() {
            return Err(Error::Host("SQLite has ended the transaction".to_owned()));
        }
        let mut statement = sql::prepare(self.connection, sql).host()?;
        let mut rows = statement.query(values).host()?;
        while rows.next().host()?.is_some() {}
        Ok(())
    }

    /// The highest version of a name, or 0.
    fn newest(&self, name: &str) -> Result<i64> {
        let table = self.table();
        let sql = format!("SELECT coalesce(max(version), 0) FROM {table} WHERE name = ?1 AND {IS_VERSION}");
        sql::query_row(self.connection, &sql, [name], |row| row.get(0)).host()
    }

    /// Whether the version contains exactly this model.
    fn holds(&self, new: &NewVersion<'_>, version: i64) -> Result<bool> {
        let (rowid, table) = (self.rowid(), self.table());
        let find = format!("SELECT {rowid} FROM {table} WHERE name = ?1 AND version = ?2");
        let row = sql::query_row(self.connection, &find, (new.name, version), |row| row.get(0));
        let Some(row) = row.optional().host()? else { return Ok(false) };
        let location = BlobLocation { schema: self.schema.clone(), row };
        let blob = match open_blob(self.connection, &location) {
            Err(Error::Corrupt(_)) => return Ok(false),
            blob => blob?,
        };
        let model = new.model;
        if blob.size() as usize != model.len() {
            return Ok(false);
        }
        let mut bytes = vec![0; COMPARED_BYTES.min(model.len())];
        for (index, chunk) in model.chunks(COMPARED_BYTES).enumerate() {
            let read = &mut bytes[..chunk.len()];
            blob.read_at_exact(read, index * COMPARED_BYTES).host()?;
            if read != chunk {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Whether the new version is the only active one, or is inactive if that was requested.
    fn activated(&self, new: &NewVersion<'_>, version: i64) -> Result<bool> {
        let active = self.active_versions(new.name)?;
        Ok(if new.activate { active == [version] } else { !active.contains(&version) })
    }

    fn active_versions(&self, name: &str) -> Result<Vec<i64>> {
        let sql = format!("SELECT version FROM {} WHERE name = ?1 AND active AND {IS_VERSION}", self.table());
        let mut statement = sql::prepare(self.connection, &sql).host()?;
        let active = statement.query_map([name], |row| row.get(0)).and_then(Iterator::collect);
        active.host()
    }

    /// The key of a row's model.
    fn key(&self, row: i64) -> Result<Key> {
        let location = BlobLocation { schema: self.schema.clone(), row };
        let mut start = [0; KEY_END];
        read_at(&open_blob(self.connection, &location)?, 0, &mut start)?;
        read_key(&start)
    }

    /// Refuses an update whose argument is a name that no longer means the version that was read (rule 5.18).
    /// `name@version` may be continued more than once.
    fn check_base(&self, base: &BaseVersion) -> Result<()> {
        let BaseVersion { argument, name, version, key } = base;
        if split_version(argument).is_some() {
            return Ok(());
        }
        let now = self.active_version(argument)?;
        let change = match &now {
            Some((_, now)) if now != version => format!("version {now} became active"),
            Some((row, _)) if self.key(*row)? != *key => "that version was replaced".to_owned(),
            Some(_) => return Ok(()),
            None => "that version was deleted or deactivated".to_owned(),
        };
        Err(Error::Conflict(format!(
            "while this update of version {version} of the model '{name}' was computed, {change}, so nothing was stored; call \
             it again, or set \"on_conflict\": \"retry\""
        )))
    }

    /// Rowid and number of the highest active version of a name.
    fn active_version(&self, name: &str) -> Result<Option<(i64, i64)>> {
        let sql = format!(
            "SELECT {}, version FROM {} WHERE name = ?1 AND active ORDER BY version DESC LIMIT 1",
            self.rowid(),
            self.table()
        );
        let stored = sql::query_row(self.connection, &sql, [name], |row| Ok((row.get(0)?, row.get(1)?)));
        stored.optional().host()
    }

    /// A statement from its template and the schema name.
    fn sql(&self, template: &str) -> String {
        template.replace("{schema}", &quote(&self.schema))
    }

    /// The state of the connection's transaction on the schema: none, read or write.
    #[allow(unsafe_code, reason = "rusqlite offers this only with bindings newer than the oldest host")]
    fn transaction_state(&self) -> i32 {
        let Ok(schema) = std::ffi::CString::new(self.schema.as_str()) else { return ffi::SQLITE_TXN_NONE };
        // SAFETY: the handle belongs to an open connection and is only read; the name outlives the call.
        unsafe { ffi::sqlite3_txn_state(self.connection.handle(), schema.as_ptr()) }
    }
}

/// Whether a writing statement of this connection has begun and not ended.
#[allow(unsafe_code, reason = "rusqlite does not list the statements of a connection")]
fn writing_statement_runs(connection: &Connection) -> bool {
    let mut statement = std::ptr::null_mut();
    loop {
        // SAFETY: the handle belongs to an open connection, which only this thread uses during the call; the statements
        // belong to it, and only their state is read.
        let writes = unsafe {
            statement = ffi::sqlite3_next_stmt(connection.handle(), statement);
            !statement.is_null()
                && ffi::sqlite3_stmt_busy(statement) != 0
                && ffi::sqlite3_stmt_readonly(statement) == 0
        };
        if writes || statement.is_null() {
            return writes;
        }
    }
}
