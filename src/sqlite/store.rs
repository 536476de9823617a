//! The table `ltr_models`: stores new versions and finds the model of an argument.
//!
//! Rules (docs/reference/rules.md, 5):
//! * 5.7, 5.8: One statement stores a version. What could not be stored is refused before the training.
//! * 5.10: A `model` argument is a BLOB, a name (its highest active version) or `name@version`.

use rusqlite::blob::Blob;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, ErrorCode, OptionalExtension, ffi};
use xxhash_rust::xxh3::xxh3_128;

use super::source::quote;
use crate::algorithm;
use crate::error::{Error, Result};
use crate::model::{KEY_END, Model, header_end, read_key};
use crate::sqlite::glue::state::{BlobLocation, ModelHandle, State};
use crate::sqlite::glue::value::{describe, message};

/// Statement templates; `{schema}` is replaced.
const CREATE: &str = include_str!("../../sql/schema.sql");
const INSERT: &str = include_str!("../../sql/store.sql");

/// The table `ltr_models` of a schema.
#[derive(Debug, Clone)]
pub struct Store<'a> {
    connection: &'a Connection,
    schema: String,
}

fn host(error: &rusqlite::Error) -> Error {
    match error.sqlite_error_code() {
        Some(ErrorCode::OperationInterrupted) => Error::Interrupted,
        _ => Error::Host(message(error)),
    }
}

/// Checks the name of a model to be stored (rule 5.3).
///
/// # Errors
/// An empty name, or one that ends like a version.
pub fn check_name(name: &str) -> Result<()> {
    let like_version = name.rsplit_once('@').is_some_and(|(_, digits)| is_digits(digits));
    if name.is_empty() || like_version {
        let allowed = "a text that is not empty and does not end in '@' and digits";
        return Err(Error::value("option 'name'", format!("'{name}'"), allowed));
    }
    Ok(())
}

/// Splits `name@3`.
fn split_version(text: &str) -> Option<(&str, i64)> {
    let (name, digits) = text.rsplit_once('@')?;
    if is_digits(digits) { digits.parse().ok().map(|version| (name, version)) } else { None }
}

fn is_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

impl<'a> Store<'a> {
    /// The models of a schema, by default `main`.
    ///
    /// # Errors
    /// A schema that is not attached.
    pub fn new(connection: &'a Connection, schema: Option<&str>) -> Result<Self> {
        let schema = schema.unwrap_or("main");
        let mut statement =
            connection.prepare("SELECT name FROM pragma_database_list").map_err(|e| host(&e))?;
        let mut names: Vec<String> =
            statement.query_map([], |row| row.get(0)).and_then(Iterator::collect).map_err(|e| host(&e))?;
        // SQLite lists "temp" only after it holds something.
        if !names.iter().any(|name| name == "temp") {
            names.push("temp".to_owned());
        }
        if !names.iter().any(|name| name.eq_ignore_ascii_case(schema)) {
            return Err(Error::value(
                "option 'schema'",
                format!("'{schema}'"),
                format!("one of {}", names.join(", ")),
            ));
        }
        Ok(Self { connection, schema: schema.to_owned() })
    }

    fn table(&self) -> String {
        format!("{}.ltr_models", quote(&self.schema))
    }

    fn exists(&self) -> Result<bool> {
        let sql = format!(
            "SELECT 1 FROM {}.sqlite_master WHERE name = 'ltr_models' COLLATE NOCASE",
            quote(&self.schema)
        );
        self.connection
            .query_row(&sql, [], |_| Ok(()))
            .optional()
            .map(|row| row.is_some())
            .map_err(|e| host(&e))
    }

    /// Refuses, before the training, what could not be stored after it (rule 5.8).
    ///
    /// # Errors
    /// A read-only database; a table `ltr_models` of another shape; an outer statement that is still reading.
    pub fn check_writable(&self) -> Result<()> {
        let advice = "; ltr_fit returns the model as a BLOB and writes nothing";
        let read_only = self.connection.is_readonly(self.schema.as_str()).unwrap_or(false)
            || self.connection.query_row("PRAGMA query_only", [], |row| row.get(0)).unwrap_or(false);
        if read_only {
            return Err(Error::Unsupported(format!("the database '{}' is read-only{advice}", self.schema)));
        }
        if self.exists()? {
            let insert = INSERT.replace("{schema}", &quote(&self.schema));
            let find = format!("SELECT rowid FROM {}", self.table());
            if let Err(error) =
                [insert, find].iter().try_for_each(|sql| self.connection.prepare(sql).map(drop))
            {
                return Err(Error::Host(format!(
                    "the table ltr_models cannot take a new version ({}); rename it or use the option 'schema'",
                    message(&error)
                )));
            }
        }
        if self.connection.is_autocommit() && self.outer_statement_reads() {
            return Err(Error::Unsupported(format!(
                "an outer statement is reading this database, so the model could not be stored after training; \
                 call it in a SELECT without FROM while no other statement of the connection is open{advice}"
            )));
        }
        Ok(())
    }

    /// Whether a statement of this connection holds a read transaction on the schema.
    #[allow(unsafe_code, reason = "rusqlite offers this only with bindings newer than the oldest host")]
    fn outer_statement_reads(&self) -> bool {
        let Ok(schema) = std::ffi::CString::new(self.schema.as_str()) else { return false };
        // SAFETY: the handle belongs to an open connection and is only read; the name outlives the call.
        unsafe { ffi::sqlite3_txn_state(self.connection.handle(), schema.as_ptr()) == ffi::SQLITE_TXN_READ }
    }

    /// Stores a new version and makes it the active one; returns its number.
    ///
    /// # Errors
    /// Those of the database; the earlier version then stays active.
    pub fn put(&self, name: &str, algorithm: &str, report: &str, model: &[u8]) -> Result<i64> {
        if !self.exists()? {
            let create = CREATE.replace("{schema}", &quote(&self.schema));
            self.connection.execute_batch(&create).map_err(|e| host(&e))?;
        }
        let sql = INSERT.replace("{schema}", &quote(&self.schema));
        let mut statement = self.connection.prepare(&sql).map_err(|e| host(&e))?;
        let mut rows = statement.query((name, algorithm, report, model)).map_err(|e| host(&e))?;
        let mut stored = None;
        while let Some(row) = rows.next().map_err(|e| host(&e))? {
            let (version, active): (i64, bool) =
                row.get(0).and_then(|version| Ok((version, row.get(1)?))).map_err(|e| host(&e))?;
            if active {
                stored = Some(version);
            }
        }
        let version = stored.ok_or_else(|| Error::Internal("the new version was not stored".to_owned()))?;
        Ok(version)
    }

    /// Drops all but the newest `keep_versions` versions of a name.
    ///
    /// # Errors
    /// Those of the database.
    pub fn drop_older(&self, name: &str, keep: usize) -> Result<()> {
        let table = self.table();
        let newest = format!("SELECT version FROM {table} WHERE name = ?1 ORDER BY version DESC LIMIT ?2");
        let sql = format!("DELETE FROM {table} WHERE name = ?1 AND version NOT IN ({newest})");
        self.connection.execute(&sql, (name, keep as i64)).map(drop).map_err(|e| host(&e))
    }

    /// The row of a name or `name@version` (rule 5.10).
    fn row_id(&self, text: &str) -> Result<i64> {
        if !self.exists()? {
            return Err(Error::Model(format!(
                "no model '{text}': the database '{}' has no table ltr_models yet; train one with ltr_train",
                self.schema
            )));
        }
        let table = self.table();
        let find = |condition: &str, name: &str, version: i64| {
            let sql = format!(
                "SELECT rowid FROM {table} WHERE name = ?1 AND {condition} ORDER BY version DESC LIMIT 1"
            );
            self.connection
                .query_row(&sql, (name, version), |row| row.get(0))
                .optional()
                .map_err(|e| host(&e))
        };
        if let Some((name, version)) = split_version(text) {
            let found = find("version = ?2", name, version)?;
            return found.ok_or_else(|| {
                Error::Model(format!("no version {version} of the model '{name}' in {table}"))
            });
        }
        if let Some(row) = find("active AND ?2 = 0", text, 0)? {
            return Ok(row);
        }
        if find("?2 = 0", text, 0)?.is_some() {
            return Err(Error::Model(format!(
                "no version of the model '{text}' is active; activate one, such as \
                 UPDATE {table} SET active = (version = 1) WHERE name = '{text}'"
            )));
        }
        Err(self.unknown_model(text)?)
    }

    /// The error about a name without any version.
    fn unknown_model(&self, text: &str) -> Result<Error> {
        let table = self.table();
        let sql = format!("SELECT DISTINCT name FROM {table} ORDER BY name LIMIT 50");
        let mut statement = self.connection.prepare(&sql).map_err(|e| host(&e))?;
        let names: Vec<String> =
            statement.query_map([], |row| row.get(0)).and_then(Iterator::collect).map_err(|e| host(&e))?;
        Ok(if names.is_empty() {
            Error::Model(format!("no model '{text}': {table} is empty; train one with ltr_train"))
        } else {
            Error::unknown("model", text, names.iter().map(String::as_str))
        })
    }

    /// The model of a row. Its header is decoded unless it is cached; its blocks are read on demand.
    fn load(&self, row: i64, state: &State) -> Result<ModelHandle> {
        let location = BlobLocation { schema: self.schema.clone(), row };
        let blob = open_blob(self.connection, &location)?;
        let mut bytes = vec![0; KEY_END];
        read_at(&blob, 0, &mut bytes)?;
        let key = read_key(&bytes)?;
        let length = blob.size() as u64;
        let end = header_end(&bytes, length)?;
        let model = state.model(key, || {
            bytes.resize(end, 0);
            read_at(&blob, 0, &mut bytes)?;
            checked(Model::from_header(&bytes, length)?)
        })?;
        Ok(ModelHandle { model, key, location: Some(location) })
    }

    /// The report stored with the model of this name.
    ///
    /// # Errors
    /// No such model.
    pub fn report(&self, text: &str) -> Result<(String, i64, String)> {
        let row = self.row_id(text)?;
        let sql = format!("SELECT name, version, report FROM {} WHERE rowid = ?1", self.table());
        self.connection
            .query_row(&sql, [row], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))
            .map_err(|e| host(&e))
    }
}

/// Opens the column `model` of a row for reading in parts.
fn open_blob<'a>(connection: &'a Connection, location: &BlobLocation) -> Result<Blob<'a>> {
    let blob = connection.blob_open(location.schema.as_str(), "ltr_models", "model", location.row, true);
    blob.map_err(|error| match error.sqlite_error_code() {
        // NULL, a number or a missing row have no code of their own; a lock or a disk error has.
        None | Some(ErrorCode::Unknown) => no_model(),
        Some(_) => host(&error),
    })
}

fn no_model() -> Error {
    Error::Corrupt("the column model does not hold a BLOB of a model".to_owned())
}

/// Refuses a model of an unknown algorithm.
fn checked(model: Model) -> Result<Model> {
    let known = algorithm::find(&model.card.algorithm);
    known.map(|_| model).map_err(|error| Error::Corrupt(error.to_string()))
}

fn read_at(blob: &Blob<'_>, offset: usize, bytes: &mut [u8]) -> Result<()> {
    match blob.read_at(bytes, offset) {
        Ok(read) if read == bytes.len() => Ok(()),
        Err(error) if error.sqlite_error_code().is_some_and(|code| code != ErrorCode::Unknown) => {
            Err(host(&error))
        }
        _ => Err(no_model()),
    }
}

impl ModelHandle {
    /// Reads the blocks of the model that are needed to fit queries with these (scaled) features.
    ///
    /// # Errors
    /// Damaged blocks, a model that was replaced or deleted, errors of the database.
    pub fn fetch(&self, connection: &Connection, targets: &[&[f64]]) -> Result<()> {
        let Some(location) = &self.location else { return Ok(()) };
        let missing = self.model.missing_blocks(targets);
        if missing.is_empty() {
            return Ok(());
        }
        let gone = || {
            let problem = "the stored model was replaced or deleted while it was in use; call again";
            Error::Model(problem.to_owned())
        };
        let blob = open_blob(connection, location).map_err(|error| match error {
            Error::Corrupt(_) => gone(),
            other => other,
        })?;
        let mut start = [0; KEY_END];
        read_at(&blob, 0, &mut start)?;
        if read_key(&start)? != self.key {
            return Err(gone());
        }
        self.model.load_blocks(&missing, &mut |offset, bytes| read_at(&blob, offset, bytes))
    }
}

/// The model of an argument (rule 5.10).
///
/// # Errors
/// No such model, none active, bytes that are not a model, an argument of another type.
pub fn model(
    connection: &Connection,
    argument: ValueRef<'_>,
    schema: Option<&str>,
    state: &State,
) -> Result<ModelHandle> {
    match argument {
        // Every byte is hashed: a damaged copy of a cached model must not be taken for it.
        ValueRef::Blob(bytes) => {
            let key = xxh3_128(bytes);
            let model = state.model(key, || checked(Model::from_bytes(bytes)?))?;
            Ok(ModelHandle { model, key, location: None })
        }
        ValueRef::Text(name) => {
            let store = Store::new(connection, schema)?;
            let name = String::from_utf8_lossy(name);
            let row = store.row_id(&name)?;
            let model = store.load(row, state);
            model.map_err(|error| match error {
                Error::Corrupt(problem) => Error::Corrupt(format!("'{name}': {problem}")),
                other => other,
            })
        }
        other => Err(Error::value(
            "argument 'model'",
            describe(other),
            "the name of a model, 'name@version', or a model BLOB",
        )),
    }
}
