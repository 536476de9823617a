//! Registration does not touch the database file (rule 17.6): whatever its state, loading succeeds, and `ltr_fts` is there when
//! the file can be read.

use std::path::PathBuf;
use std::time::Duration;

use rusqlite::{Connection, OpenFlags};

use crate::support::value;

const DOCS: &str = "CREATE VIRTUAL TABLE docs USING fts5(a); INSERT INTO docs VALUES ('red shoes');";
const FIRST: &str = "SELECT length(ltr_fts(docs)) FROM docs WHERE docs MATCH 'red'";

/// A file in a new folder, removed at the end.
struct File(PathBuf);

impl File {
    fn new(name: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("ltr-fts-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        Self(folder.join("docs.db"))
    }

    fn with_docs(name: &str) -> Self {
        let file = Self::new(name);
        file.open().execute_batch(DOCS).unwrap();
        file
    }

    /// A connection without the functions.
    fn open(&self) -> Connection {
        let connection = Connection::open(&self.0).unwrap();
        connection.busy_timeout(Duration::ZERO).unwrap();
        connection
    }
}

impl Drop for File {
    fn drop(&mut self) {
        drop(std::fs::remove_dir_all(self.0.parent().unwrap()));
    }
}

fn works(connection: &Connection) {
    assert_eq!(value::<i64>(connection, FIRST, []), 32);
    let debug: String = value(connection, "SELECT ltr_debug()", []);
    assert!(debug.contains(r#""fts5":true"#), "{debug}");
}

#[test]
fn the_first_statement_can_be_a_match() {
    let file = File::with_docs("first");
    let connection = file.open();
    sqlite_ltr::register(&connection).unwrap();
    works(&connection);
    // Registration again, inside a transaction and while a statement runs.
    connection.execute_batch("BEGIN; DELETE FROM docs").unwrap();
    sqlite_ltr::register(&connection).unwrap();
    connection.execute_batch("ROLLBACK").unwrap();
    works(&connection);
}

#[test]
fn a_lock_at_load_time_does_not_hide_fts5() {
    let file = File::with_docs("lock");
    let (connection, other) = (file.open(), file.open());
    other.execute_batch("BEGIN EXCLUSIVE").unwrap();
    sqlite_ltr::register(&connection).unwrap();
    connection.query_row(FIRST, [], |_| Ok(())).expect_err("the schema cannot be read");
    other.execute_batch("COMMIT").unwrap();
    works(&connection);
}

#[test]
fn loading_reads_and_creates_no_file() {
    let file = File::new("none");
    let connection = file.open();
    sqlite_ltr::register(&connection).unwrap();
    let size = std::fs::metadata(&file.0).map_or(0, |found| found.len());
    assert_eq!(size, 0);
    // What must come before the first read still takes effect.
    connection
        .execute_batch("PRAGMA encoding = 'UTF-16le'; PRAGMA page_size = 8192; PRAGMA auto_vacuum = 1")
        .unwrap();
    connection.execute_batch(DOCS).unwrap();
    works(&connection);
    assert_eq!(value::<String>(&connection, "PRAGMA encoding", []), "UTF-16le");
    assert_eq!(value::<i64>(&connection, "PRAGMA page_size", []), 8192);
}

/// An encrypted file looks like this one before its key is set.
#[test]
fn a_file_that_is_not_a_database_is_reported_at_first_use() {
    let file = File::with_docs("damaged");
    let good = std::fs::read(&file.0).unwrap();
    std::fs::write(&file.0, vec![0x5a; good.len()]).unwrap();
    let connection = file.open();
    sqlite_ltr::register(&connection).unwrap();
    let problem = connection.query_row(FIRST, [], |_| Ok(())).expect_err("no database").to_string();
    assert!(problem.contains("not a database"), "{problem}");
    // Once the file can be read, everything works.
    std::fs::write(&file.0, good).unwrap();
    works(&connection);
}

#[test]
fn a_read_only_database_has_features() {
    let file = File::with_docs("read-only");
    let connection = Connection::open_with_flags(&file.0, OpenFlags::SQLITE_OPEN_READ_ONLY).unwrap();
    sqlite_ltr::register(&connection).unwrap();
    works(&connection);
    let missing =
        Connection::open_with_flags(file.0.with_extension("none"), OpenFlags::SQLITE_OPEN_READ_ONLY);
    assert!(missing.is_err());
}

#[test]
fn without_fts5_the_rest_works() {
    let connection = Connection::open_in_memory().unwrap();
    // As in a build without FTS5.
    connection.remove_function("fts5", 1).unwrap();
    sqlite_ltr::register(&connection).unwrap();
    let debug: String = value(&connection, "SELECT ltr_debug() ->> 'fts5'", []);
    assert_eq!(debug, "no such function: fts5");
    let problem = connection.query_row("SELECT ltr_fts(1)", [], |_| Ok(())).unwrap_err().to_string();
    assert_eq!(problem, "ltr_fts: it needs FTS5, which this SQLite does not offer: no such function: fts5");
    assert_eq!(value::<String>(&connection, "SELECT ltr_fts_query('a')", []), "\"a\"");
    let fit = "SELECT length(ltr_fit('regression', 'SELECT 1 AS query_id, 2 AS x, 1 AS relevance UNION ALL SELECT 1, 1, 0', '{\"lambda\": 1}'))";
    assert!(value::<i64>(&connection, fit, []) > 0);
}

/// With a shared cache no statement can be prepared while another connection changes the schema. Later calls try again.
#[test]
fn fts5_that_is_found_later_is_used() {
    let flags = OpenFlags::default() | OpenFlags::SQLITE_OPEN_SHARED_CACHE | OpenFlags::SQLITE_OPEN_MEMORY;
    let open = || Connection::open_with_flags("file:ltr_fts?mode=memory&cache=shared", flags).unwrap();
    let (connection, other, third) = (open(), open(), open());
    other.execute_batch(DOCS).unwrap();
    other.execute_batch("BEGIN; CREATE TABLE x(y)").unwrap();
    sqlite_ltr::register(&connection).unwrap();
    sqlite_ltr::register(&third).unwrap();
    other.execute_batch("COMMIT").unwrap();
    let problem = connection.query_row(FIRST, [], |_| Ok(())).unwrap_err().to_string();
    assert!(problem.contains("prepare the statement again"), "{problem}");
    // Also for statements that were prepared before FTS5 was found, and are executed later.
    let problem = connection.query_row("SELECT ltr_fts(1)", [], |_| Ok(())).unwrap_err().to_string();
    assert!(problem.contains("prepare the statement again"), "{problem}");
    works(&connection);
    assert_eq!(value::<String>(&third, "SELECT ltr_fts_query('red')", []), "\"red\"");
    works(&third);
}
