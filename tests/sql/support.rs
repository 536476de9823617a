//! What several test files share.

use std::io::Write;
use std::path::PathBuf;

use rusqlite::{Connection, Params};

/// An in-memory database with all functions.
pub fn database() -> Connection {
    let connection = Connection::open_in_memory().unwrap();
    sqlite_ltr::register(&connection).unwrap();
    connection
}

/// The single value that a statement returns.
pub fn value<T: rusqlite::types::FromSql>(connection: &Connection, sql: &str, params: impl Params) -> T {
    connection.query_row(sql, params, |row| row.get(0)).unwrap_or_else(|error| panic!("{sql}: {error}"))
}

/// The folder of real data of that name, or none with a loud message.
pub fn real_data(name: &str) -> Option<PathBuf> {
    let folder = std::env::var_os("LTR_DATA").map_or_else(|| PathBuf::from("../shared/data"), PathBuf::from);
    let folder = folder.join(name);
    if folder.is_dir() {
        return Some(folder);
    }
    // Written past the test harness, which would swallow what a passing test prints.
    let message = format!(
        "*** NOT TESTED: there is no {} (set LTR_DATA to the folder of real data) ***\n",
        folder.display()
    );
    std::io::stderr().write_all(message.as_bytes()).unwrap();
    None
}

/// Rows of a file of comma-separated numbers, by the names of its header; texts are kept as they are.
pub fn csv(text: &str) -> (Vec<String>, Vec<Vec<String>>) {
    let mut lines = text.lines().map(|line| line.split(',').map(str::to_owned).collect::<Vec<_>>());
    (lines.next().unwrap(), lines.collect())
}
