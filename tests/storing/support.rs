//! Database files with a toy set, calls, and what must hold after each of them.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use rusqlite::{Connection, OpenFlags};

/// Journal modes.
pub const MODES: &[&str] = &["wal", "delete"];

/// Eight judged queries of four documents.
pub const ROWS: &str = "
CREATE TABLE j AS
WITH RECURSIVE n(i) AS (VALUES (0) UNION ALL SELECT i + 1 FROM n WHERE i < 31)
SELECT i / 4 AS query_id, i AS doc_id, i * 7 % 3 AS relevance, i * 17 % 31 / 31.0 AS a, i * 29 % 37 / 37.0 AS b FROM n;
CREATE TABLE log(x);";

pub const TRAIN: &str = r#"SELECT ltr_train('rank_svm', 'j', '{"name": "m", "lambda": 0.1, "threads": 1}')"#;

/// A new folder with a database, removed at the end.
pub struct Folder(PathBuf);

impl Folder {
    /// A database in this journal mode with the toy set.
    pub fn new(mode: &str) -> Self {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let folder = Self(std::env::temp_dir().join(format!("ltr-storing-{}-{number}", std::process::id())));
        std::fs::create_dir_all(&folder.0).expect("a folder");
        let connection = folder.open();
        connection.pragma_update(None, "journal_mode", mode).expect("a journal mode");
        connection.execute_batch(ROWS).expect("a toy set");
        folder
    }

    pub fn database(&self) -> PathBuf {
        self.0.join("models.db")
    }

    /// A connection with all functions, without a busy handler.
    pub fn open(&self) -> Connection {
        open(&self.database(), None)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        drop(std::fs::remove_dir_all(&self.0));
    }
}

/// A connection with all functions, without a busy handler.
pub fn open(path: &Path, files: Option<&std::ffi::CStr>) -> Connection {
    let flags = OpenFlags::default();
    let connection = match files {
        None => Connection::open_with_flags(path, flags),
        Some(files) => Connection::open_with_flags_and_vfs(path, flags, files),
    };
    let connection = connection.expect("a database");
    connection.busy_timeout(Duration::ZERO).expect("no waiting");
    sqlite_ltr::register(&connection).expect("registration");
    connection
}

/// Calls of scalar functions that use the table `ltr_models`.
pub const SCALARS: &[&str] = &[
    TRAIN,
    "SELECT ltr_train('rank_svm', 'j', '{\"prior\": \"@m\"}')",
    "SELECT ltr_update('m', 'j')",
    "SELECT ltr_import('{}')",
    "SELECT ltr_info('m')",
    "SELECT ltr_export('m', 'json')",
    "SELECT ltr_score('m', '[0.5, 0.5]')",
    "SELECT ltr_score('m', '[0.5, 0.5]', '[1]')",
    "SELECT ltr_prefer('m', '[0.5, 0.5]', '[0, 1]')",
    "SELECT ltr_plot('weights', 'm')",
    "SELECT ltr_report('m', 'j')",
];

/// Calls of table-valued functions that use the table `ltr_models`.
pub const TABLES: &[&str] = &[
    "SELECT * FROM ltr_rank('m', 'j')",
    "SELECT * FROM ltr_rank('m@1', 'j')",
    "SELECT * FROM ltr_evaluate('m', 'j')",
    "SELECT * FROM ltr_compare('m', 'm', 'j')",
    "SELECT * FROM ltr_monitor('m', 'j')",
    "SELECT * FROM ltr_importance('m', 'j')",
    "SELECT * FROM ltr_explain('m', '[0.5, 0.5]')",
    "SELECT * FROM ltr_explain_rank('m', 'j', 1, 4, 5)",
    "SELECT * FROM ltr_weights('m')",
    "SELECT * FROM ltr_training_log('m')",
    "SELECT * FROM ltr_neighbors('m', '[0.5]')",
    "SELECT * FROM ltr_factors('m')",
    "SELECT * FROM ltr_recommend('m', 1)",
];

pub fn run(connection: &Connection, sql: &str) -> Result<String, String> {
    connection.query_row(sql, [], |row| row.get(0)).map_err(|problem| problem.to_string())
}

pub fn number(connection: &Connection, sql: &str) -> i64 {
    connection.query_row(sql, [], |row| row.get(0)).unwrap_or_else(|problem| panic!("{sql}: {problem}"))
}

pub fn has_table(connection: &Connection) -> bool {
    number(connection, "SELECT count(*) FROM sqlite_master WHERE name = 'ltr_models'") == 1
}

/// Every stored version of every model: name, version, whether it is active.
pub fn versions(connection: &Connection) -> Vec<(String, i64, bool)> {
    if !has_table(connection) {
        return Vec::new();
    }
    let sql = "SELECT name, version, active FROM ltr_models ORDER BY name, version";
    let mut statement = connection.prepare(sql).expect("the table");
    let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?))).expect("rows");
    rows.map(|row| row.expect("a row")).collect()
}

/// The versions and the active one of the model "m".
pub fn m(connection: &Connection) -> (Vec<i64>, Vec<i64>) {
    let rows = versions(connection).into_iter().filter(|(name, ..)| name == "m").collect::<Vec<_>>();
    let active = rows.iter().filter(|(.., active)| *active).map(|(_, version, _)| *version).collect();
    (rows.iter().map(|(_, version, _)| *version).collect(), active)
}

/// The database is intact, each model is complete (a BLOB argument is checked byte by byte), and one version of each name is
/// active.
pub fn assert_intact(connection: &Connection, context: &str) {
    assert_eq!(run(connection, "PRAGMA integrity_check").as_deref(), Ok("ok"), "{context}");
    if has_table(connection) {
        let read = "SELECT count(ltr_info(model)) FROM ltr_models";
        let read = connection.query_row(read, [], |row| row.get::<_, i64>(0));
        assert_eq!(read, Ok(versions(connection).len() as i64), "{context}");
        let sql = "SELECT count(*) FROM (SELECT 1 FROM ltr_models GROUP BY name HAVING total(active) <> 1)";
        assert_eq!(number(connection, sql), 0, "{context}: one active version");
    }
}

/// Whether `LTR_LONG` asks for the long forms of the tests.
pub fn is_long() -> bool {
    std::env::var_os("LTR_LONG").is_some()
}
