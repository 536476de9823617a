//! Reads the rows of a source in parts.

use rusqlite::Row;

use super::parameters::SourceCall;
use super::reader::{ReadSpec, Reader};
use super::roles::Roles;
use crate::base::Result;
use crate::data::{Dataset, DatasetBuilder, ReadReport};

/// Reads rows for a model to rank, one part at a time.
pub struct PartReader<'a> {
    reader: Reader<'a>,
    builder: DatasetBuilder,
}

impl<'a> PartReader<'a> {
    /// Reads rows of this source.
    ///
    /// # Errors
    /// Invalid options.
    pub fn new(call: SourceCall<'a>, roles: &'a Roles, spec: ReadSpec<'a>) -> Result<Self> {
        let reader = Reader::new(call, roles, spec)?;
        let builder = reader.builder();
        Ok(Self { reader, builder })
    }

    /// Adds a row to the part.
    ///
    /// # Errors
    /// A value that breaks a rule; too much memory.
    pub fn push(&mut self, row: &Row<'_>) -> Result<()> {
        self.reader.read_row(row, &mut self.builder)
    }

    /// Number of rows in the part.
    pub fn n_rows(&self) -> usize {
        self.builder.n_rows()
    }

    /// Finishes the part.
    ///
    /// # Errors
    /// Inconsistent rows; too much memory.
    pub fn take(&mut self) -> Result<(Dataset, ReadReport)> {
        std::mem::replace(&mut self.builder, self.reader.builder()).finish(self.reader.finish)
    }
}
