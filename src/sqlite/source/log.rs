//! Reads a log of impressions and clicks.
//!
//! Rules (docs/reference/rules.md, 16):
//! * 16.1: A log has a row for each document of an impression: impression, query, document, position from 1, and whether it was
//!   clicked. Columns get these roles by name; the option `columns` overrides.
//! * 16.2: A value that cannot be used is an error with source, impression and column. No row is skipped.

use rusqlite::types::ValueRef;
use rusqlite::{Connection, Row};

use super::Source;
use super::column_choice::LogColumns;
use super::params::bind;
use crate::clicks::{Impression, LogRow, TakesImpressions};
use crate::data::Id;
use crate::error::{Error, Result};
use crate::param::Params;
use crate::sqlite::glue::busy::retry_busy;
use crate::sqlite::glue::run_limits::RunLimits;
use crate::sqlite::glue::value::{describe, id_of, number_of};
use crate::sqlite::glue::watchdog::within_time;

/// A log.
#[derive(Debug)]
pub struct LogSource<'a> {
    connection: &'a Connection,
    source: Source,
    columns: LogColumns,
    options: &'a Params,
    values: Vec<ValueRef<'a>>,
    limits: &'a RunLimits,
}

impl<'a> LogSource<'a> {
    /// The log that a text names.
    ///
    /// # Errors
    /// No such source; a role without a column.
    pub fn new(
        (connection, text): (&'a Connection, &str),
        (options, values): (&'a Params, Vec<ValueRef<'a>>),
        limits: &'a RunLimits,
    ) -> Result<Self> {
        let source = Source::resolve(connection, text, limits)?;
        let names = source.columns(connection, limits)?;
        let columns = LogColumns::find(&source, &names, options)?;
        Ok(Self { connection, source, columns, options, values, limits })
    }

    /// Reads all rows, ordered by impression and position.
    ///
    /// # Errors
    /// Rule 16.2; those of the database and of `to`; the time limit.
    pub fn read(&self, to: &mut dyn TakesImpressions) -> Result<()> {
        let Self { connection, source, limits, .. } = self;
        let host = |error: rusqlite::Error| source.host_error(&error);
        let select = source.ordered(&self.columns.names(), "1, 4");
        let mut statement = retry_busy(connection, limits, || connection.prepare(&select).map_err(host))?;
        bind(&mut statement, source, self.options, &self.values, None)?;
        within_time(limits, connection, || {
            let mut rows = statement.raw_query();
            let (mut impression, mut count) = (Impression::default(), 0_usize);
            while let Some(row) = rows.next().map_err(host)? {
                impression.push(self.row(row)?, to).map_err(|error| self.of_source(error))?;
                count += 1;
                if count.is_multiple_of(256) {
                    limits.check_time()?;
                }
            }
            impression.close(to)
        })
    }

    /// An error about the data as one about this source.
    fn of_source(&self, error: Error) -> Error {
        match error {
            Error::Data(problem) => self.source.error(problem),
            other => other,
        }
    }

    fn row(&self, row: &Row<'_>) -> Result<LogRow> {
        let value = |column: usize| row.get_ref(column).map_err(|error| self.source.host_error(&error));
        let refuse = |column: usize, impression: &Id, found: ValueRef<'_>, allowed: &str| {
            let name = self.columns.names()[column].to_owned();
            let found = describe(found);
            self.source
                .error(format!("impression {impression}, column \"{name}\": {found}; allowed {allowed}"))
        };
        let impression = id_of(value(0)?);
        let id = |column: usize| match id_of(value(column)?) {
            Id::Null => Err(refuse(column, &impression, ValueRef::Null, "are ids that are not NULL")),
            id => Ok(id),
        };
        let position = number_of(value(3)?).filter(|position| (1.0..=1e9).contains(position));
        let position = position.filter(|position| position.fract().abs() <= 0.0);
        let position =
            position.ok_or_else(|| Ok(refuse(3, &impression, value(3)?, "are whole numbers from 1")));
        let clicked = number_of(value(4)?).filter(|clicked| [0.0, 1.0].contains(clicked));
        let clicked = clicked.ok_or_else(|| Ok(refuse(4, &impression, value(4)?, "are 0 and 1")));
        Ok(LogRow {
            query: id(1)?,
            doc: id(2)?,
            position: position.map_err(flat)? as u32,
            clicked: clicked.map_err(flat)? > 0.0,
            impression: if impression == Id::Null { id(0)? } else { impression.clone() },
        })
    }
}

/// The error of a message, or the error that prevented it.
fn flat(error: Result<Error>) -> Error {
    error.unwrap_or_else(|error| error)
}
