//! Reads the table `ltr_models`, and finds the model and version that an argument means (rule 5.10).

use super::super::source::quote;
use crate::base::{Error, Reservation, Result};
use crate::model::{KEY_END, Model, header_end, read_key};
use crate::sqlite::glue::{
    BlobLocation, Call, ModelHandle, RunLimits, State, Ticket, describe, from_host, message, retry_busy, sql,
    text_argument,
};
use crate::train::algorithm;
use rusqlite::blob::Blob;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, ErrorCode, OptionalExtension, Row, Statement};
use serde_json::json;
use std::rc::Rc;
use std::sync::Arc;
use xxhash_rust::xxh3::xxh3_128;

/// The table columns that are read.
const COLUMNS: &str = "name, version, active, report, model";

/// The table `ltr_models` of a schema.
#[derive(Debug, Clone)]
pub struct Store<'a> {
    /// The connection to its database.
    pub connection: &'a Connection,
    pub(super) schema: String,
    /// Whether the call began outside a transaction.
    pub(super) alone: bool,
    /// The limits of the call.
    pub limits: &'a RunLimits,
}

/// A stored version and its report.
pub struct NamedVersion {
    /// The name of the model.
    pub name: String,
    /// The number of the version.
    pub version: i64,
    /// The report, JSON.
    pub report: String,
}

pub(super) fn host(error: &rusqlite::Error) -> Error {
    from_host(error, Error::Host)
}

/// Converts results of the host to results of this library.
pub(super) trait HostResult<T> {
    fn host(self) -> Result<T>;
}

impl<T> HostResult<T> for rusqlite::Result<T> {
    fn host(self) -> Result<T> {
        self.map_err(|error| host(&error))
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

/// SQL for whether a row is a version. Plain SQL may have stored other rows.
pub(super) const IS_VERSION: &str = "typeof(version) = 'integer' AND version >= 0";

/// Splits `name@3`.
pub(super) fn split_version(text: &str) -> Option<(&str, i64)> {
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
    pub fn new(connection: &'a Connection, schema: Option<&str>, limits: &'a RunLimits) -> Result<Self> {
        let (schema, alone) = (schema.unwrap_or("main"), connection.is_autocommit());
        // The table-valued form of this pragma would begin a read transaction.
        let mut statement = retry_busy(limits, || sql::prepare(connection, "PRAGMA database_list").host())?;
        let mut names: Vec<String> =
            statement.query_map([], |row| row.get(1)).and_then(Iterator::collect).host()?;
        // SQLite lists "temp" only once it contains something.
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
        Ok(Self { connection, schema: schema.to_owned(), alone, limits })
    }

    pub(super) fn table(&self) -> String {
        format!("{}.ltr_models", quote(&self.schema))
    }

    /// Whether the table exists.
    ///
    /// # Errors
    /// Another object has the table's name, or the table lacks a column.
    pub(super) fn exists(&self) -> Result<bool> {
        let sql = format!(
            "SELECT type, rootpage FROM {}.sqlite_master WHERE name = 'ltr_models' COLLATE NOCASE AND type <> 'trigger'",
            quote(&self.schema)
        );
        let found =
            sql::query_row(self.connection, &sql, [], |row| Ok((row.get(0)?, row.get(1)?))).optional();
        let Some((kind, root)): Option<(String, Option<i64>)> = found.host()? else {
            return Ok(false);
        };
        let found = match (&*kind, root) {
            ("table", Some(1..)) => match self.other_shape() {
                Some(shape) => shape,
                None => return Ok(true),
            },
            ("table", _) => "a virtual table".to_owned(),
            ("index", _) => "an index".to_owned(),
            (kind, _) => format!("a {kind}"),
        };
        Err(Error::Model(format!(
            "'ltr_models' in the database '{}' is {found}, but models are stored in an ordinary table with the columns \
             {COLUMNS}; rename it, or store models in another database with the option 'schema'",
            self.schema
        )))
    }

    pub(super) fn rowid(&self) -> &'static str {
        rowid(self.connection, &self.table())
    }

    /// Describes a table that lacks a column. Other errors are errors of the reading statement.
    fn other_shape(&self) -> Option<String> {
        let rowid = self.rowid();
        let read = format!("SELECT {rowid}, {COLUMNS} FROM {}", self.table());
        let error = sql::prepare(self.connection, &read).err()?;
        let problem = message(&error);
        // In some builds, SQLITE_ERROR with an offset in the statement has no code here.
        matches!(error.sqlite_error_code(), None | Some(ErrorCode::Unknown)).then(|| {
            if problem == format!("no such column: {rowid}") {
                "a table WITHOUT ROWID, or with columns named rowid, oid and _rowid_".to_owned()
            } else {
                format!("a table with other columns ({problem})")
            }
        })
    }

    /// The row of a name or `name@version` (rule 5.10).
    fn row_id(&self, text: &str) -> Result<i64> {
        if !self.exists()? {
            return Err(Error::Model(format!(
                "no model '{text}': the database '{}' has no table ltr_models yet; train one with ltr_train",
                self.schema
            )));
        }
        let (rowid, table) = (self.rowid(), self.table());
        let find = |condition: &str, name: &str, version: i64| {
            let sql = format!(
                "SELECT {rowid} FROM {table} WHERE name = ?1 AND {condition} AND {IS_VERSION} ORDER BY version DESC LIMIT 1"
            );
            sql::query_row(self.connection, &sql, (name, version), |row| row.get(0)).optional().host()
        };
        if let Some((name, version)) = split_version(text) {
            let stored = find("version = ?2", name, version)?;
            return stored.ok_or_else(|| {
                Error::Model(format!("no version {version} of the model '{name}' in {table}"))
            });
        }
        if let Some(row) = find("active AND ?2 = 0", text, 0)? {
            return Ok(row);
        }
        if find("?2 = 0", text, 0)?.is_some() {
            let newest = format!("SELECT max(version) FROM {table} WHERE name = ?1 AND {IS_VERSION}");
            let newest: i64 = sql::query_row(self.connection, &newest, [text], |row| row.get(0)).host()?;
            return Err(Error::Model(format!(
                "no version of the model '{text}' is active; activate one, such as \
                 {}",
                self.activation(text, newest)
            )));
        }
        Err(self.unknown_model(text)?)
    }

    /// SQL that activates a version.
    fn activation(&self, name: &str, version: i64) -> String {
        let name = name.replace('\'', "''");
        let schema = match &*self.schema {
            "main" => String::new(),
            schema => format!(", '{}'", json!({ "schema": schema }).to_string().replace('\'', "''")),
        };
        format!("SELECT ltr_activate('{name}', {version}{schema})")
    }

    /// Refuses a version that does not exist.
    pub(super) fn find_version(&self, name: &str, version: i64) -> Result<()> {
        // A table with different columns has no versions.
        self.exists()?;
        match self.row_id(&format!("{name}@{version}")) {
            Ok(_) => Ok(()),
            Err(error) => {
                let table = self.table();
                let sql = format!(
                    "SELECT group_concat(version, ', ') FROM {table} WHERE name = ?1 AND {IS_VERSION}"
                );
                let known =
                    sql::query_row(self.connection, &sql, [name], |row| row.get::<_, Option<String>>(0));
                Err(match known {
                    Ok(Some(known)) => Error::Model(format!(
                        "the model '{name}' has no version {version}; its versions are {known}"
                    )),
                    Ok(None) if self.exists()? => self.unknown_model(name)?,
                    _ => error,
                })
            }
        }
    }

    /// The error for a name without any version.
    fn unknown_model(&self, text: &str) -> Result<Error> {
        let table = self.table();
        let sql = format!("SELECT DISTINCT name FROM {table} WHERE {IS_VERSION} ORDER BY name LIMIT 50");
        let mut statement = sql::prepare(self.connection, &sql).host()?;
        let names: Vec<String> =
            statement.query_map([], |row| row.get(0)).and_then(Iterator::collect).host()?;
        Ok(if names.is_empty() {
            Error::Model(format!("no model '{text}': {table} is empty; train one with ltr_train"))
        } else {
            Error::unknown("model", text, names.iter().map(String::as_str))
        })
    }

    /// The model of a row. The header is decoded unless cached; blocks are read on demand.
    fn load(&self, row: i64, state: &State) -> Result<ModelHandle> {
        let location = BlobLocation { schema: self.schema.clone(), row };
        let blob = open_blob(self.connection, &location)?;
        let mut bytes = vec![0; KEY_END];
        read_at(&blob, 0, &mut bytes)?;
        let key = read_key(&bytes)?;
        let length = blob.size() as u64;
        let end = header_end(&bytes, length)?;
        let mut held = self.limits.memory.nothing();
        let model = state.model(key, || {
            reserve_decoded(&mut held, end)?;
            // Zeroed memory from the system is not written to.
            bytes = vec![0; end];
            read_at(&blob, 0, &mut bytes)?;
            checked(Model::from_header(&bytes, length)?)
        })?;
        Ok(ModelHandle { model, key, location: Some(location), memory: Arc::new(held) })
    }

    /// The version that `name` or `name@version` means.
    ///
    /// # Errors
    /// No such model.
    pub fn version(&self, text: &str) -> Result<NamedVersion> {
        retry_busy(self.limits, || {
            let row = self.row_id(text)?;
            let (rowid, table) = (self.rowid(), self.table());
            let sql = format!("SELECT name, version, report FROM {table} WHERE {rowid} = ?1");
            let read = |row: &Row<'_>| {
                Ok(NamedVersion { name: row.get(0)?, version: row.get(1)?, report: row.get(2)? })
            };
            sql::query_row(self.connection, &sql, [row], read).host()
        })
    }

    /// The previous version of a model, if any.
    pub fn previous(&self, of: &NamedVersion) -> Result<Option<i64>> {
        let sql = format!("SELECT max(version) FROM {} WHERE name = ?1 AND version < ?2", self.table());
        let before = (&of.name, of.version);
        let read = || sql::query_row(self.connection, &sql, before, |row| row.get(0)).host();
        retry_busy(self.limits, read)
    }
}

/// The stored version that a model argument names; `None` for a BLOB.
///
/// # Errors
/// No such model.
pub fn named_version(
    connection: &Connection,
    argument: ValueRef<'_>,
    schema: Option<&str>,
    limits: &RunLimits,
) -> Result<Option<NamedVersion>> {
    let ValueRef::Text(_) = argument else { return Ok(None) };
    let name = text_argument("argument 'model'", argument)?;
    Store::new(connection, schema, limits)?.version(&name).map(Some)
}

/// A rowid name that no column of the table uses; if columns use all of them, a name that the table does not have.
fn rowid(connection: &Connection, table: &str) -> &'static str {
    let columns = sql::prepare(connection, &format!("SELECT * FROM {table} LIMIT 0"));
    let is_free = |name: &&str| {
        let columns = columns.as_ref().map(Statement::column_names).unwrap_or_default();
        !columns.iter().any(|column| column.eq_ignore_ascii_case(name))
    };
    ["rowid", "oid", "_rowid_"].into_iter().find(is_free).unwrap_or("no_rowid")
}

/// Opens the column `model` of a row for incremental reading.
pub(super) fn open_blob<'a>(connection: &'a Connection, location: &BlobLocation) -> Result<Blob<'a>> {
    let blob = connection.blob_open(location.schema.as_str(), "ltr_models", "model", location.row, true);
    blob.map_err(|error| match error.sqlite_error_code() {
        // NULL, a number or a missing row give no specific code; a lock or a disk error does.
        None | Some(ErrorCode::Unknown) => no_model(),
        Some(_) => host(&error),
    })
}

fn no_model() -> Error {
    Error::Corrupt("the column model does not contain a model BLOB".to_owned())
}

/// Reserves memory to decode a model of `bytes` bytes: the bytes, the decoded structure, and its values.
fn reserve_decoded(memory: &mut Reservation, bytes: usize) -> Result<()> {
    memory.resize(3 * bytes as u64, "decoding the model", "use a smaller model")
}

/// Refuses a model of an unknown algorithm.
fn checked(model: Model) -> Result<Model> {
    let algorithm_name = algorithm::find_name(&model.card.algorithm);
    algorithm_name.map(|_| model).map_err(|error| Error::Corrupt(error.to_string()))
}

pub(super) fn read_at(blob: &Blob<'_>, offset: usize, bytes: &mut [u8]) -> Result<()> {
    match blob.read_at(bytes, offset) {
        Ok(read) if read == bytes.len() => Ok(()),
        Err(error) if error.sqlite_error_code().is_some_and(|code| code != ErrorCode::Unknown) => {
            Err(host(&error))
        }
        _ => Err(no_model()),
    }
}

impl ModelHandle {
    /// Reads the blocks of the model that are needed to fit queries with these encoded features.
    ///
    /// # Errors
    /// Damaged blocks, a model that was replaced or deleted, errors of the database.
    pub fn fetch(&self, connection: &Connection, targets: &[&[f64]], limits: &RunLimits) -> Result<()> {
        let missing = self.model.missing_blocks(targets);
        match &self.location {
            Some(location) if !missing.is_empty() => {
                retry_busy(limits, || self.read_blocks(connection, location, &missing))
            }
            _ => Ok(()),
        }
    }

    fn read_blocks(&self, connection: &Connection, location: &BlobLocation, missing: &[usize]) -> Result<()> {
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
        self.model.load_blocks(missing, &mut |offset, bytes| read_at(&blob, offset, bytes))
    }
}

/// Largest BLOB whose prefix is queried. SQLite would read all of a larger one, so larger ones are opened incrementally.
const SMALL_BLOB: usize = 1 << 16;

/// The active version of a name in `main`, if cached. Keeps the statement that finds it. `None` says nothing about
/// the model: call [`model`] to find it, or the error.
pub fn cached_model(call: &Call<'_>, ticket: Ticket, name: &str) -> Option<ModelHandle> {
    const KEY: &str = "model";
    if split_version(name).is_some() {
        return None;
    }
    let (mut statement, facts) = call.statements.take::<()>(KEY).or_else(|| {
        let sql = format!(
            "SELECT {}, length(model), \
             CASE WHEN typeof(model) = 'blob' AND length(model) <= {SMALL_BLOB} THEN substr(model, 1, {KEY_END}) END \
             FROM main.ltr_models WHERE name = ?1 AND active ORDER BY version DESC LIMIT 1",
            rowid(&call.statements.connection, "main.ltr_models")
        );
        Some((sql::prepare(&call.statements.connection, &sql).ok()?, Rc::new(())))
    })?;
    let stored = statement.query_row([name], |row| {
        Ok((row.get(0)?, row.get::<_, u32>(1)?, row.get::<_, Option<[u8; KEY_END]>>(2)?))
    });
    call.statements.keep(ticket, KEY.to_owned(), statement, facts);
    let (row, length, start) = stored.ok()?;
    let location = BlobLocation { schema: "main".to_owned(), row };
    let start = start.or_else(|| {
        let (blob, mut start) = (open_blob(&call.statements.connection, &location).ok()?, [0; KEY_END]);
        read_at(&blob, 0, &mut start).ok().map(|()| start)
    })?;
    header_end(&start, length.into()).ok()?;
    let key = read_key(&start).ok()?;
    let model = call.state.cached_model(key)?;
    Some(ModelHandle { model, key, location: Some(location), memory: Arc::default() })
}

/// The model of an argument (rule 5.10).
///
/// # Errors
/// No such model or active version; bytes that are not a model; a wrong argument type; [`Error::Memory`].
pub fn model(
    connection: &Connection,
    argument: ValueRef<'_>,
    schema: Option<&str>,
    state: &State,
    limits: &RunLimits,
) -> Result<ModelHandle> {
    match argument {
        // Hash every byte, so that a damaged copy of a cached model is not mistaken for it.
        ValueRef::Blob(bytes) => {
            let key = xxh3_128(bytes);
            let mut held = limits.memory.nothing();
            let model = state.model(key, || {
                reserve_decoded(&mut held, bytes.len())?;
                checked(Model::from_bytes(bytes)?)
            })?;
            Ok(ModelHandle { model, key, location: None, memory: Arc::new(held) })
        }
        ValueRef::Text(_) => {
            let store = Store::new(connection, schema, limits)?;
            let name = text_argument("argument 'model'", argument)?;
            let model = retry_busy(limits, || store.load(store.row_id(&name)?, state));
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
