//! A source of rows: a table, a view or a SELECT.

use super::names::{name_forms, quote};
use crate::base::{Error, Result, nearest, shorten};
use crate::sqlite::glue::{RunLimits, from_host, message, retry_busy, sql};
use rusqlite::fallible_iterator::FallibleIterator;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, Row};

/// An existing source.
#[derive(Debug, Clone)]
pub struct Source {
    /// The text of the argument, shortened and quoted, for messages.
    pub shown: String,
    /// The statement that reads all rows.
    pub select: String,
    /// The table, or the statement in parentheses, for the FROM of [`Source::with_query`].
    from: String,
    /// Whether the rows are read in rowid order.
    by_rowid: bool,
    /// Changes since a model was trained on it.
    pub warning: Option<String>,
}

/// Name of the parameter that [`Source::with_query`] binds.
pub const QUERY_PARAMETER: &str = ":ltr_query_id";

impl Source {
    /// Finds the source that a text names (rule 1.1).
    ///
    /// # Errors
    /// No such table or view; a statement that writes, does not compile, or is not the only one.
    pub fn resolve(connection: &Connection, text: &str, limits: &RunLimits) -> Result<Self> {
        retry_busy(limits, || Self::find(connection, text))
    }

    fn find(connection: &Connection, text: &str) -> Result<Self> {
        let shown = format!("'{}'", shorten(text));
        let problem = |problem: String| Error::Source { source_text: shown.clone(), problem };
        if text.contains('\0') {
            return Err(problem("a zero byte in the name".to_owned()));
        }
        for name in name_forms(text) {
            match sql::prepare(connection, &format!("SELECT * FROM {} LIMIT 0", name.sql)) {
                Ok(_) => return Ok(Self::table(connection, shown, &name.sql)),
                Err(error) if is_missing(&error, &name.plain) => {}
                Err(error) => return Err(from_host(&error, problem)),
            }
        }
        if is_query(text) {
            Self::statement(connection, text, &shown)
        } else {
            Err(problem(no_such_table(connection, text)))
        }
    }

    fn table(connection: &Connection, shown: String, name: &str) -> Self {
        let by_rowid = sql::prepare(connection, &format!("SELECT rowid FROM {name} LIMIT 0")).is_ok()
            && !is_view(connection, name);
        let order = if by_rowid { " ORDER BY rowid" } else { "" };
        let select = format!("SELECT * FROM {name}{order}");
        Self { shown, select, from: name.to_owned(), by_rowid, warning: None }
    }

    /// A view with this name, `from` in SQL.
    pub(super) fn view(name: &str, from: &str) -> Self {
        let (shown, select) = (format!("'{}'", shorten(name)), format!("SELECT * FROM {from}"));
        Self { shown, select, from: from.to_owned(), by_rowid: false, warning: None }
    }

    fn statement(connection: &Connection, text: &str, shown: &str) -> Result<Self> {
        let problem = |problem: String| Error::Source { source_text: shown.to_owned(), problem };
        let mut batch = sql::batch(connection, text);
        let first = batch.next().map_err(|error| from_host(&error, problem))?;
        let Some(first) = first else { return Err(problem("no statement in the text".to_owned())) };
        if !first.readonly() {
            return Err(problem("the statement writes; only a reading statement is allowed".to_owned()));
        }
        drop(first);
        if !matches!(batch.next(), Ok(None)) {
            return Err(problem(
                "more than one statement; only one is allowed, with nothing after it".to_owned(),
            ));
        }
        let bare = &text[..statement_end(text)];
        Ok(Self {
            select: text.to_owned(),
            from: format!("(\n{bare}\n)"),
            by_rowid: false,
            shown: shown.to_owned(),
            warning: None,
        })
    }

    /// The statement that reads the rows of one query; its id is bound to [`QUERY_PARAMETER`]. Documents with ids need no
    /// rowid order, which would require sorting the rows of an index.
    pub fn with_query(&self, query_column: &str, have_ids: bool) -> String {
        let order = if self.by_rowid && !have_ids { " ORDER BY rowid" } else { "" };
        let column = quote(query_column);
        // Rule 3.5: ids compare BINARY, whatever the collation of the column.
        format!("SELECT * FROM {} WHERE {column} = {QUERY_PARAMETER} COLLATE BINARY{order}", self.from)
    }

    /// The statement that reads some columns, ordered by columns with these numbers, from 1.
    pub fn ordered(&self, columns: &[&str], order: &str) -> String {
        let columns: Vec<String> = columns.iter().map(|column| quote(column)).collect();
        format!("SELECT {} FROM {} ORDER BY {order}", columns.join(", "), self.from)
    }

    /// The same, preceded by all columns.
    pub fn ordered_with_all(&self, columns: &[&str], order: &str) -> String {
        let columns: Vec<String> = columns.iter().map(|column| quote(column)).collect();
        format!("SELECT *, {} FROM {} ORDER BY {order}", columns.join(", "), self.from)
    }

    /// The column names.
    pub fn columns(&self, connection: &Connection, limits: &RunLimits) -> Result<Vec<String>> {
        retry_busy(limits, || {
            let statement =
                sql::prepare(connection, &self.select).map_err(|error| self.host_error(&error))?;
            Ok(statement.column_names().into_iter().map(str::to_owned).collect())
        })
    }

    /// The same source with additional columns that are NULL in every row.
    #[must_use]
    pub fn with_null_columns(self, names: &[String]) -> Self {
        let nulls: Vec<String> = names.iter().map(|name| format!(", NULL AS {}", quote(name))).collect();
        let nulls = nulls.concat();
        let select = format!("SELECT *{nulls} FROM {}", self.from);
        Self { from: format!("(\n{select}\n)"), select, by_rowid: false, ..self }
    }

    /// An error about this source.
    pub fn error(&self, problem: impl Into<String>) -> Error {
        Error::Source { source_text: self.shown.clone(), problem: problem.into() }
    }

    /// A database error while reading this source.
    pub fn host_error(&self, error: &rusqlite::Error) -> Error {
        from_host(error, |problem| self.error(problem))
    }

    pub fn value<'r>(&self, row: &'r Row<'_>, column: usize) -> Result<ValueRef<'r>> {
        row.get_ref(column).map_err(|error| self.host_error(&error))
    }
}

/// The problem with a name that is not a table, with the closest name or what is allowed.
pub fn no_such_table(connection: &Connection, text: &str) -> String {
    let is_file = [".csv", ".tsv", ".json"].iter().any(|end| text.to_lowercase().ends_with(end));
    if is_file {
        return "no such table or view; read a file into a table first (.import --csv FILE TABLE in the sqlite3 shell)"
            .to_owned();
    }
    match nearest(text, tables(connection).unwrap_or_default().iter().map(String::as_str)) {
        Some(name) => format!("no such table or view, did you mean '{name}'?"),
        None => "no such table or view; expected the name of a table or view, schema.name, or text that begins with \
                 SELECT, WITH or VALUES"
            .to_owned(),
    }
}

/// The names of tables and views. Names of attached databases need their schema.
fn tables(connection: &Connection) -> rusqlite::Result<Vec<String>> {
    let query = "SELECT iif(schema IN ('main', 'temp'), '', schema || '.') || name FROM pragma_table_list \
               WHERE name NOT LIKE 'sqlite\\_%' ESCAPE '\\' AND name NOT LIKE 'ltr\\_%' ESCAPE '\\'";
    sql::prepare(connection, query)?.query_map([], |row| row.get(0))?.collect()
}

/// Whether an error says that this table or view does not exist, rather than that a view with this name uses a missing one.
pub fn is_missing(error: &rusqlite::Error, name: &str) -> bool {
    let text = message(error);
    text == format!("no such table: {name}") || text.starts_with("unknown database")
}

fn is_view(connection: &Connection, name: &str) -> bool {
    // Views have no rowid, but whether selecting it is an error depends on the SQLite version.
    let explain = format!("EXPLAIN QUERY PLAN SELECT rowid FROM {name} WHERE rowid = 1");
    sql::query_row(connection, &explain, [], |row| row.get::<_, String>(3))
        .map_or(true, |plan| !plan.contains("INTEGER PRIMARY KEY"))
}

/// Whether the first word after comments starts a reading statement.
pub fn is_query(text: &str) -> bool {
    let mut rest = text.trim_start();
    loop {
        if let Some(comment) = rest.strip_prefix("--") {
            rest = comment.split_once('\n').map_or("", |(_, after)| after).trim_start();
        } else if let Some(comment) = rest.strip_prefix("/*") {
            rest = comment.split_once("*/").map_or("", |(_, after)| after).trim_start();
        } else {
            break;
        }
    }
    let word: String = rest.chars().take_while(char::is_ascii_alphabetic).collect();
    ["SELECT", "WITH", "VALUES"].contains(&word.to_ascii_uppercase().as_str())
}

/// The end of the first statement: a semicolon outside quotes and comments, or the end of the text.
fn statement_end(text: &str) -> usize {
    let bytes = text.as_bytes();
    // Length of the token that begins at `from` and ends with `end`, which is searched after `skip` bytes.
    let until = |from: usize, skip: usize, end: &[u8]| {
        let rest = bytes.get(from + skip..).unwrap_or_default();
        let position = rest.windows(end.len()).position(|window| window == end);
        position.map_or(bytes.len() - from, |offset| skip + offset + end.len())
    };
    let mut at = 0;
    while at < bytes.len() {
        at += match &bytes[at..] {
            [b';', ..] => return at,
            [quote @ (b'\'' | b'"' | b'`'), ..] => until(at, 1, &[*quote]),
            [b'[', ..] => until(at, 1, b"]"),
            [b'-', b'-', ..] => until(at, 2, b"\n"),
            [b'/', b'*', ..] => until(at, 2, b"*/"),
            _ => 1,
        };
    }
    bytes.len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sqlite::source::names::schema_and_name;

    #[test]
    fn schema_and_name_may_be_bare_or_quoted() {
        let quoted = |text: &str| name_forms(text).nth(1).map(|name| name.sql);
        assert_eq!(quoted("main.t").as_deref(), Some("\"main\".\"t\""));
        assert_eq!(quoted("\"a.b\".\"c\"\"d\"").as_deref(), Some("\"a.b\".\"c\"\"d\""));
        assert_eq!(schema_and_name("a.b.c"), None);
        assert_eq!(schema_and_name("t"), None);
    }

    #[test]
    fn a_reading_statement_is_known_by_its_first_word() {
        assert!(
            is_query("-- why\n /* and */ select 1")
                && is_query("VALUES (1)")
                && is_query("WITH a AS (SELECT 1) SELECT 1")
        );
        assert!(!is_query("selection") && !is_query("DELETE FROM t") && !is_query("-- select"));
    }

    #[test]
    fn a_statement_ends_at_its_own_semicolon() {
        for text in
            ["SELECT ';--' AS \"/*;\"", "SELECT [;] -- ;\n, `;` /* ; */", "SELECT 1 /* ;", "SELECT '", "é"]
        {
            assert_eq!(statement_end(text), text.len(), "{text}");
        }
        assert_eq!(statement_end("SELECT 1; -- all"), 8);
    }
}
