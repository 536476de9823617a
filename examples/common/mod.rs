//! Printing what a statement returns, for the examples.

use std::time::{Duration, Instant};

use rusqlite::types::ValueRef;
use rusqlite::{Result, Statement};

/// The rows of a statement as texts, and how long they took.
pub struct Answer {
    columns: Vec<String>,
    rows: Vec<Vec<String>>,
    /// From the first step to the last row.
    #[allow(dead_code, reason = "the test of the README prints no times")]
    pub took: Duration,
}

impl Answer {
    /// Runs a statement to its end.
    pub fn of(statement: &mut Statement<'_>) -> Result<Self> {
        let columns: Vec<String> = statement.column_names().into_iter().map(str::to_owned).collect();
        let started = Instant::now();
        let mut found = statement.query([])?;
        let mut rows = Vec::new();
        while let Some(row) = found.next()? {
            let cells = (0..columns.len()).map(|column| row.get_ref(column).map(text));
            rows.push(cells.collect::<Result<_>>()?);
        }
        Ok(Self { columns, rows, took: started.elapsed() })
    }

    /// The rows as lines with aligned columns.
    pub fn lines(&self) -> Vec<String> {
        let widths: Vec<usize> = (0..self.columns.len())
            .map(|column| {
                let cells = self.rows.iter().map(|row| &row[column]).chain([&self.columns[column]]);
                // Formatting pads to this width at most.
                let width = cells.map(|cell| cell.chars().count()).max().unwrap_or(0);
                width.min(usize::from(u16::MAX))
            })
            .collect();
        let line = |cells: &[String]| {
            let padded = cells.iter().zip(&widths).map(|(cell, width)| format!("{cell:<width$}"));
            padded.collect::<Vec<_>>().join("  ").trim_end().to_owned()
        };
        let rule: Vec<String> = widths.iter().map(|width| "-".repeat(*width)).collect();
        [&self.columns, &rule].into_iter().chain(&self.rows).map(|cells| line(cells)).collect()
    }
}

fn text(value: ValueRef<'_>) -> String {
    match value {
        ValueRef::Null => "NULL".to_owned(),
        ValueRef::Integer(value) => value.to_string(),
        ValueRef::Real(value) => format!("{value:?}"),
        ValueRef::Text(value) => String::from_utf8_lossy(value).into_owned(),
        ValueRef::Blob(value) => format!("{} bytes", value.len()),
    }
}
