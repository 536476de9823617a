//! A model's text while it is written. The size is limited, bytes count against `max_memory`, and each append
//! is a checkpoint, so formats need no limits of their own.

use std::fmt::{self, Arguments, Write as _};
use std::io;

use serde::Serialize;

use crate::base::{Error, Memory, Reservation, Result, Ticks, grow};

/// Text being written.
pub(super) struct Text {
    bytes: Vec<u8>,
    /// Largest size in bytes.
    longest: usize,
    /// Advice if the text exceeds it.
    way_out: &'static str,
    memory: Reservation,
    ticks: Ticks,
    /// Why the text cannot grow, because writers report errors without a reason.
    problem: Option<Error>,
}

impl Text {
    pub(super) fn new(memory: &Memory, longest: usize, way_out: &'static str) -> Self {
        let (bytes, memory, ticks) = (Vec::new(), memory.nothing(), Ticks::default());
        Self { bytes, longest, way_out, memory, ticks, problem: None }
    }

    pub(super) fn len(&self) -> usize {
        self.bytes.len()
    }

    pub(super) fn clear(&mut self) {
        self.bytes.clear();
    }

    /// Appends text.
    ///
    /// # Errors
    /// [`Error::Unsupported`] for a text that is too long; [`Error::Memory`].
    pub(super) fn push(&mut self, part: Arguments<'_>) -> Result<()> {
        self.write_fmt(part).map_err(|problem| self.reason(&problem))
    }

    /// Appends a value as JSON.
    ///
    /// # Errors
    /// As [`Self::push`].
    pub(super) fn push_json(&mut self, value: &(impl Serialize + ?Sized)) -> Result<()> {
        serde_json::to_writer(&mut *self, value).map_err(|problem| self.reason(&problem))
    }

    /// The text.
    pub(super) fn finish(self) -> Result<String> {
        String::from_utf8(self.bytes)
            .map_err(|problem| Error::Internal(format!("a text of a model: {problem}")))
    }

    fn reason(&mut self, problem: &dyn fmt::Display) -> Error {
        self.problem.take().unwrap_or_else(|| Error::Internal(format!("a text of a model: {problem}")))
    }

    fn append(&mut self, part: &[u8]) -> Result<()> {
        self.ticks.add(64 + part.len());
        let needed = self.bytes.len() + part.len();
        if needed > self.longest {
            let Self { longest, way_out, .. } = self;
            return Err(Error::Unsupported(format!("its text has more than {longest} bytes; {way_out}")));
        }
        if needed > self.bytes.capacity() {
            let capacity = needed.max((2 * self.bytes.capacity()).min(self.longest));
            // SQLite copies the text.
            self.memory.resize(2 * capacity as u64, "the text of the model", self.way_out)?;
            let more = capacity - self.bytes.len();
            grow(&mut self.bytes, more)?;
        }
        self.bytes.extend_from_slice(part);
        Ok(())
    }
}

impl fmt::Write for Text {
    fn write_str(&mut self, part: &str) -> fmt::Result {
        self.append(part.as_bytes()).map_err(|problem| {
            self.problem = Some(problem);
            fmt::Error
        })
    }
}

impl io::Write for Text {
    fn write(&mut self, part: &[u8]) -> io::Result<usize> {
        self.append(part).map(|()| part.len()).map_err(|problem| {
            self.problem = Some(problem);
            io::ErrorKind::Other.into()
        })
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
